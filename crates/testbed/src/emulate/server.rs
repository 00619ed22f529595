//! The servers' node: every origin of the page, on the kernel's TCP in the servers' network namespace.

use chance::Source;
use proxy::Meters;
use world::real;

use super::messages::Channel;
use super::messages::{Begin, Listening, Order};
use super::{NodeError, reporting};
use crate::tour::{self, Arms, Detail, Library, Ready, cross_traffic};
use scenario::CrossTraffic;

/// Serves until the supervisor is gone.
pub(super) fn serve(mut supervisor: Channel) -> Result<(), NodeError> {
    emu::reserve_memory();
    let order: Order = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario).and_then(|ready| {
        let arms = ready.arms(&order.scenario)?;
        Ok((ready, arms))
    });
    let (ready, arms) = super::tell_prepared(&mut supervisor, prepared)?;
    let begin: Begin = supervisor.receive()?;
    let source = Source::new(order.seed, 0);
    let config = super::world_config(source, &begin, order.detail);
    real::run(config, work(order, &ready, &arms, source, supervisor))?
}

async fn work(
    order: Order,
    ready: &Ready,
    arms: &Arms,
    source: Source,
    mut supervisor: Channel,
) -> Result<(), NodeError> {
    let meters = Meters::default();
    // TLS with the machine's own randomness: the order of packets varies between runs anyway, so bytes may vary
    // as well.
    for server in tour::origins(&order.scenario, ready, arms, source, Detail::Records) {
        world::spawn(server.listen.bind()?.serve(server.answering, meters.clone()));
    }
    let company = order.scenario.clients.cross_traffic;
    if company != CrossTraffic::None {
        let listener = world::TcpListener::bind(cross_traffic::address(&ready.page))?;
        world::spawn(cross_traffic::serve(company, listener));
    }
    if let Some(background) = tour::Background::of(&order.scenario, &arms.usual) {
        background.serve(&Detail::Records.tls(source, "server/traffic"))?;
    }
    if let Some(resolver) = tour::Resolver::of(&order.scenario, &ready.page) {
        resolver.start()?;
    }
    supervisor.send(&Listening)?;
    reporting::answer(supervisor, || reporting::report(&meters)).await;
    Ok(())
}
