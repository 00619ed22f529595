//! Answers of the nodes behind the network to the supervisor's queries while they serve.

use std::time::Duration;

use proxy::Meters;
use tokio::sync::mpsc;

use super::NodeError;
use super::messages::Channel;
use super::messages::{AskServers, ServerReport};

/// Answers with the result of `report`, until the supervisor is gone.
pub(super) async fn answer(mut supervisor: Channel, report: impl Fn() -> ServerReport) {
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
        if answers.send(report()).is_err() {
            break;
        }
    }
}

/// State of this node's kernel and HTTP so far.
pub(super) fn report(meters: &Meters) -> ServerReport {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    ServerReport {
        endpoints: super::endpoints(),
        limited: meters.all().into_iter().map(|(client, held)| (client, nanos(held))).collect(),
        ..ServerReport::default()
    }
}
