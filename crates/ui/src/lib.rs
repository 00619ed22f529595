//! `farlink ui`: a local web page over a store.
//!
//! The page is a shell over the program: a run, a comparison or advice is the same command that a user would type, started as a child
//! process and shown with its command line. Answers are read from the store while the run writes into it, so runs started elsewhere appear, too,
//! and a run is not slower for being watched. Nothing is fetched from anywhere else.
//!
//! Only this machine can connect, and only who knows the token may ask ([`guard`]).

#![forbid(unsafe_code)]

mod answers;
mod assets;
mod choices;
mod events;
mod guard;
mod jobs;
mod kept;
mod pages;
mod runs;
mod state;

use std::io;
use std::path::PathBuf;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post, put};

pub use guard::Token;

use self::state::UiState;

/// Most bytes of a page that is dropped on the window.
const MOST_PAGE_BYTES: usize = 1 << 30;

/// Store, program and secret of a page.
pub struct Ui {
    /// The store; it may not exist yet.
    pub store: PathBuf,
    /// Folder for pages that are dropped on the window and for experiments; made when needed.
    pub files: PathBuf,
    /// The program whose commands are run.
    pub program: PathBuf,
    /// The secret in the address of the page.
    pub token: Token,
}

/// Serves the page until `stop` is done; then its child processes are interrupted and waited for.
pub async fn serve(
    listener: std::net::TcpListener,
    ui: Ui,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let state = UiState::new(ui, listener.local_addr()?)?;
    let jobs = state.clone();
    tokio::select! {
        // Not a graceful shutdown: streams of events never end by themselves.
        ended = axum::serve(listener, router(state)) => ended?,
        () = stop => {}
    }
    jobs::end_all(&jobs).await;
    Ok(())
}

fn router(state: UiState) -> Router {
    Router::new()
        .route("/api/choices", get(choices::list))
        .route("/api/events", get(events::stream))
        .route("/api/jobs", get(jobs::list).post(jobs::start))
        .route("/api/jobs/{id}", get(jobs::show).delete(jobs::interrupt))
        .route("/api/pages/{name}", put(pages::put))
        .route("/api/runs", post(runs::start))
        .route("/api/runs/{id}", get(answers::show))
        .route("/api/runs/{id}/report", get(answers::report))
        .layer(DefaultBodyLimit::max(MOST_PAGE_BYTES))
        .merge(assets::router())
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard::check))
        .with_state(state)
}
