//! Pages that are dropped on the window: kept beside the store, for runs name them by path.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use tokio::process::Command;

use super::kept::keep;
use super::state::{UiError, UiState};

/// Endings of files that `farlink load` reads.
const ENDINGS: [&str; 7] = [".har", ".har.gz", ".wacz", ".warc", ".warc.gz", ".toml", ".json"];

/// `PUT /api/pages/NAME`: the page's path and its summary, or the reason why it is none.
pub async fn put(
    State(state): State<UiState>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, UiError> {
    let name = safe_name(&name)?;
    let scratch = state.scratch().join(&name);
    tokio::fs::write(&scratch, &body).await?;
    let shown =
        Command::new(state.program()).args(["pages", "show"]).arg(&scratch).output().await?;
    if !shown.status.success() {
        tokio::fs::remove_file(&scratch).await?;
        let told =
            String::from_utf8_lossy(&shown.stderr).replace(&*scratch.to_string_lossy(), &name);
        return Err(UiError::bad(told.trim()));
    }
    tokio::fs::remove_file(&scratch).await?;
    let (stem, ending) = name.split_at(name.find('.').unwrap_or(name.len()));
    let kept = std::path::absolute(keep(&body, state.files().await?, stem, ending).await?)?;
    let text = String::from_utf8_lossy(&shown.stdout);
    let summary = text.lines().next().unwrap_or_default();
    Ok(Json(json!({ "page": kept.to_string_lossy(), "name": name, "summary": summary })))
}

/// The name without what a path or an option could be made of.
fn safe_name(name: &str) -> Result<String, UiError> {
    let lower = name.to_ascii_lowercase();
    if !ENDINGS.iter().any(|ending| lower.ends_with(ending) && lower.len() > ending.len()) {
        let known = ENDINGS.join(", ");
        return Err(UiError::bad(format!("{name}: expected a recorded page ({known})")));
    }
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(safe).collect();
    Ok(name.trim_start_matches(['.', '-']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        assert_eq!(safe_name("../../a b.har").unwrap(), "_.._a_b.har");
        assert_eq!(safe_name("--json.har").unwrap(), "json.har");
        assert_eq!(safe_name("Shop.HAR").unwrap(), "Shop.HAR");
        assert!(safe_name("page.html").is_err());
        assert!(safe_name(".har").is_err());
    }
}
