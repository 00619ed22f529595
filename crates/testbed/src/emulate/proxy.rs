//! The proxy's node: farlink's proxy on the kernel's TCP in a network namespace of its own.

use chance::Source;
use proxy::Meters;
use world::real;

use super::messages::Channel;
use super::messages::{Begin, Listening, Order, ServerReport};
use super::{NodeError, reporting};
use crate::tour::{self, Arms, Detail, Library, Proxy, Ready, StepLog};

/// Serves until the supervisor is gone.
pub(super) fn serve(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: Order = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario).and_then(|ready| {
        let arms = ready.arms(&order.scenario)?;
        Ok((ready, arms))
    });
    let (ready, arms) = super::tell_prepared(&mut supervisor, prepared)?;
    let begin: Begin = supervisor.receive()?;
    let source = Source::new(order.seed, 0);
    let mut config = super::world_config(source, &begin, order.detail);
    config.hosts = tour::hosts(&ready.page, order.scenario.hosting).collect();
    real::run(config, work(order, &ready, &arms, source, supervisor))?
}

async fn work(
    order: Order,
    ready: &Ready,
    arms: &Arms,
    source: Source,
    mut supervisor: Channel,
) -> Result<(), NodeError> {
    let (meters, journal) = (Meters::default(), StepLog::default());
    let proxies = Proxy::all(&order.scenario, ready, &arms.usual, source, Detail::Records);
    for proxy in proxies.map_err(NodeError::Scenario)? {
        proxy.start(&meters, &journal)?;
    }
    supervisor.send(&Listening)?;
    let report = || ServerReport { proxied: journal.all(), ..reporting::report(&meters) };
    reporting::answer(supervisor, report).await;
    Ok(())
}
