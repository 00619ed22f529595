//! The page's own files, built into the program.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use super::state::UiState;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Path, media type and contents.
const FILES: [(&str, &str, &str); 9] = [
    ("/", HTML, include_str!("../assets/index.html")),
    ("/ui.css", CSS, include_str!("../assets/ui.css")),
    ("/report.css", CSS, report::frame::STYLE),
    ("/htm-preact.js", SCRIPT, include_str!("../assets/htm-preact.js")),
    ("/app.js", SCRIPT, include_str!("../assets/app.js")),
    ("/network-card.js", SCRIPT, include_str!("../assets/network-card.js")),
    ("/new-run.js", SCRIPT, include_str!("../assets/new-run.js")),
    ("/run-view.js", SCRIPT, include_str!("../assets/run-view.js")),
    ("/server.js", SCRIPT, include_str!("../assets/server.js")),
];

pub fn router() -> Router<UiState> {
    FILES.iter().fold(Router::new(), |router, &(path, kind, contents)| {
        router.route(path, get(move || async move { ([(CONTENT_TYPE, kind)], contents) }))
    })
}
