//! Server-sent events: the runs of the store and the jobs, whenever they change.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use serde_json::{Value, json};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use super::answers::summary;
use super::state::{UiError, UiState};

/// Time between two looks at the store.
const INTERVAL: Duration = Duration::from_secs(1);

/// `GET /api/events`.
pub async fn stream(
    State(state): State<UiState>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut told = Value::Null;
        loop {
            let now = overview(&state).await;
            if now != told {
                let event = Event::default().data(now.to_string());
                if sender.send(Ok(event)).await.is_err() {
                    return;
                }
                told = now;
            }
            tokio::select! {
                () = sender.closed() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    });
    Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::default())
}

/// Runs and jobs, or why the store cannot be read.
async fn overview(state: &UiState) -> Value {
    let runs = state.read(|store| {
        let rows = store.runs()?;
        rows.iter().map(|row| summary(store, row)).collect::<Result<Vec<Value>, UiError>>()
    });
    let (runs, error) = match runs.await {
        Ok(runs) => (runs.unwrap_or_default(), None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let jobs = state.jobs().listed();
    json!({ "runs": runs, "jobs": jobs, "error": error })
}
