//! The servers' node: every origin of the page, on the kernel's TCP in the servers' network namespace.

use std::time::Duration;

use browser::Arm;
use chance::Source;
use proxy::Meters;
use tokio::sync::mpsc;
use world::real;

use super::NodeError;
use super::channel::Channel;
use super::messages::{AskServers, Begin, Listening, Order, ServerReport};
use crate::scenario::Beside;
use crate::tour::{self, Detail, Library, Ready, beside};

/// Serves until the supervisor is gone.
pub(super) fn serve(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: Order = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario).and_then(|ready| {
        let plan = ready.load_plan(&order.scenario)?;
        Ok((ready, plan))
    });
    let (ready, plan) = super::tell_prepared(&mut supervisor, prepared)?;
    let begin: Begin = supervisor.receive()?;
    let source = Source::new(order.seed, 0);
    let config = super::world_config(source, &begin, order.detail);
    let arms = plan.arms().to_vec();
    real::run(config, work(order, &ready, &arms, source, supervisor))?
}

async fn work(
    order: Order,
    ready: &Ready,
    arms: &[Arm],
    source: Source,
    mut supervisor: Channel,
) -> Result<(), NodeError> {
    let meters = Meters::default();
    // TLS with the machine's own randomness: the order of packets is not the same twice, so no bytes need be.
    for (listen, origin) in tour::origins(&order.scenario, ready, arms, source, Detail::Records) {
        world::spawn(listen.bind()?.serve(origin, meters.clone()));
    }
    let company = order.scenario.clients.beside;
    if company != Beside::Nobody {
        let listener = world::TcpListener::bind(beside::address(&ready.page))?;
        world::spawn(beside::serve(company, listener));
    }
    if let Some(background) = tour::Background::of(&order.scenario, arms) {
        background.serve(&Detail::Records.tls(source, "server/traffic"))?;
    }
    if let Some(resolver) = tour::Resolver::of(&order.scenario, &ready.page) {
        resolver.start()?;
    }
    supervisor.send(&Listening)?;
    let (questions, mut asked) = mpsc::unbounded_channel();
    let (answers, to_send) = std::sync::mpsc::channel();
    std::thread::spawn(move || -> Result<(), NodeError> {
        loop {
            let AskServers = supervisor.receive()?;
            if questions.send(()).is_err() {
                return Ok(());
            }
            let Ok(report) = to_send.recv() else { return Ok(()) };
            supervisor.send(&report)?;
        }
    });
    while let Some(()) = asked.recv().await {
        if answers.send(report(&meters)).is_err() {
            break;
        }
    }
    Ok(())
}

fn report(meters: &Meters) -> ServerReport {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    ServerReport {
        endpoints: super::endpoints(),
        limited: meters.all().into_iter().map(|(client, held)| (client, nanos(held))).collect(),
    }
}
