//! Answers of runs: the first part of their report, and all of it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use report::ReportError;
use serde_json::{Value, json};
use store::{RunId, RunRow, Store};
use tokio::process::Command;

use super::state::{UiError, UiState};

/// A run for lists.
pub fn summary(store: &Store, run: &RunRow) -> Result<Value, UiError> {
    Ok(json!({
        "id": run.id.0,
        "name": run.name,
        "state": run.state.name(),
        "stored": store.stored_count(run.id)?,
        "journeys": run.journeys,
        "repetitions": run.repetitions,
        "until_ppm": run.until_ppm,
        "started_at": run.started_at,
        "digest": run.digest,
    }))
}

/// `GET /api/runs/ID`: the run, with its answer so far as HTML.
pub async fn show(
    State(state): State<UiState>,
    Path(id): Path<i64>,
) -> Result<Json<Value>, UiError> {
    let read = move |store: &Store| {
        let row = store.run(RunId(id))?;
        let answer = match report::answer(store, row.id) {
            Ok(html) => Some(html),
            Err(ReportError::Empty { .. }) => None,
            Err(ReportError::Store(error)) => return Err(error.into()),
        };
        let mut shown = summary(store, &row)?;
        shown["answer"] = json!(answer);
        shown["experiment"] = json!(row.experiment);
        shown["conditions"] = conditions(row.experiment.as_deref());
        Ok(shown)
    };
    let shown = state.read(read).await?;
    shown.map(Json).ok_or_else(|| UiError::absent("there are no runs yet"))
}

/// Page, networks and protocols of an experiment that has only those, for questions about them; otherwise null.
fn conditions(experiment: Option<&str>) -> Value {
    let table = experiment.and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let at = |group: &str, key: &str| table.get(group)?.get(key).cloned();
    let list = |value: Option<toml::Value>| match value {
        Some(toml::Value::Array(values)) => json!(values),
        Some(value) => json!([value]),
        None => Value::Null,
    };
    match at("page", "name") {
        Some(toml::Value::String(page)) => json!({
            "page": page,
            "networks": list(at("network", "base")),
            "protocols": list(at("stack", "protocol")),
        }),
        _ => Value::Null,
    }
}

/// `GET /api/runs/ID/report`: the whole report, with waterfalls. It may run its own scripts, and do nothing in the page's name.
pub async fn report(
    State(state): State<UiState>,
    Path(id): Path<i64>,
) -> Result<impl IntoResponse, UiError> {
    let file = tempfile::Builder::new().suffix(".html").tempfile_in(state.scratch())?;
    let made = Command::new(state.program())
        .args(["report", &id.to_string(), "-o"])
        .arg(file.path())
        .arg("--store")
        .arg(state.store_path())
        .output()
        .await?;
    if !made.status.success() {
        return Err(UiError::failed(String::from_utf8_lossy(&made.stderr).trim()));
    }
    let html = tokio::fs::read(file.path()).await?;
    let fields = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "sandbox allow-scripts allow-downloads"),
    ];
    Ok((fields, html))
}
