//! The nodes of a PEP's two halves: farlink's own on the kernel's TCP, each in a network namespace of its own.
//!
//! The routes of the near end's namespace lead connections to it: any TCP connection to one of the page's hosts
//! is delivered locally, and it listens at the hosts' addresses (`IP_TRANSPARENT`). This needs no netfilter.

use browser::Arm;
use chance::Source;
use proxy::Meters;
use world::real;

use super::messages::Channel;
use super::messages::{Begin, Listening, Order, ServerReport};
use super::{NodeError, reporting};
use crate::tour::{FarEnd, Library, NearEnd, PepLog, Ready};

/// Runs the half beyond the network, until the supervisor is gone.
pub(super) fn serve_far(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: Order = supervisor.receive()?;
    let far = FarEnd::of(&order.scenario).ok_or_else(|| "the route has no PEP".to_owned());
    let far = super::tell_prepared(&mut supervisor, far)?;
    let config = begun(&mut supervisor, &order)?;
    real::run(config, async move {
        let _remote = far.start()?;
        supervisor.send(&Listening)?;
        reporting::answer(supervisor, || reporting::report(&Meters::default())).await;
        Ok(())
    })?
}

/// Runs the half on the clients' side, until the supervisor is gone; reports that it listens once the leg is
/// established.
pub(super) fn serve_near(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: Order = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario);
    let prepared = prepared.and_then(|ready| near(&order, &ready));
    let near = super::tell_prepared(&mut supervisor, prepared)?;
    let config = begun(&mut supervisor, &order)?;
    real::run(config, async move {
        let log = PepLog::default();
        near.start(&log).await?;
        supervisor.send(&Listening)?;
        let report =
            || ServerReport { carried: log.carried(), ..reporting::report(&Meters::default()) };
        reporting::answer(supervisor, report).await;
        Ok(())
    })?
}

fn near(order: &Order, ready: &Ready) -> Result<NearEnd, String> {
    let plan = ready.load_plan(&order.scenario)?;
    let arms: &[Arm] = plan.arms();
    NearEnd::of(&order.scenario, &ready.page, arms).ok_or_else(|| "the route has no PEP".to_owned())
}

/// Configuration of the node's world, received when the supervisor starts it.
fn begun(supervisor: &mut Channel, order: &Order) -> Result<real::Config, NodeError> {
    let begin: Begin = supervisor.receive()?;
    Ok(super::world_config(Source::new(order.seed, 0), &begin, order.detail))
}
