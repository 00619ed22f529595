//! State that all requests share.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use store::{Store, StoreError};
use tempfile::TempDir;

use super::jobs::Jobs;
use super::{Token, Ui};

/// Handle on the shared state.
#[derive(Clone)]
pub struct UiState(Arc<Shared>);

struct Shared {
    ui: Ui,
    address: SocketAddr,
    jobs: Mutex<Jobs>,
    /// For files that children read and write.
    scratch: TempDir,
}

impl UiState {
    pub fn new(ui: Ui, address: SocketAddr) -> io::Result<UiState> {
        let (jobs, scratch) = (Mutex::default(), tempfile::tempdir()?);
        Ok(UiState(Arc::new(Shared { ui, address, jobs, scratch })))
    }

    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    pub fn token(&self) -> &Token {
        &self.0.ui.token
    }

    pub fn program(&self) -> &Path {
        &self.0.ui.program
    }

    pub fn store_path(&self) -> &Path {
        &self.0.ui.store
    }

    /// The folder of pages and experiments, which is there.
    pub async fn files(&self) -> Result<&Path, UiError> {
        tokio::fs::create_dir_all(&self.0.ui.files).await?;
        Ok(&self.0.ui.files)
    }

    pub fn scratch(&self) -> &Path {
        self.0.scratch.path()
    }

    pub fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.jobs.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Reads from the store, away from the threads that serve; `None` if there is no store yet.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, UiError> + Send + 'static,
    ) -> Result<Option<T>, UiError> {
        let path = self.store_path().to_owned();
        let work = move || match Store::open(&path) {
            Ok(store) => read(&store).map(Some),
            Err(StoreError::Absent { .. }) => Ok(None),
            Err(error) => Err(UiError::from(error)),
        };
        tokio::task::spawn_blocking(work).await.map_err(UiError::failed)?
    }
}

/// A request that was not carried out.
#[derive(Debug)]
pub struct UiError {
    status: StatusCode,
    message: String,
}

impl UiError {
    /// The request asks for what is not there.
    pub fn absent(message: impl ToString) -> UiError {
        UiError { status: StatusCode::NOT_FOUND, message: message.to_string() }
    }

    /// The request cannot be carried out as it is.
    pub fn bad(message: impl ToString) -> UiError {
        UiError { status: StatusCode::UNPROCESSABLE_ENTITY, message: message.to_string() }
    }

    /// Something failed here.
    pub fn failed(message: impl ToString) -> UiError {
        UiError { status: StatusCode::INTERNAL_SERVER_ERROR, message: message.to_string() }
    }
}

impl std::fmt::Display for UiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<StoreError> for UiError {
    fn from(error: StoreError) -> UiError {
        match error {
            StoreError::NoSuchRun { .. } => UiError::absent(error),
            _ => UiError::failed(error),
        }
    }
}

impl From<io::Error> for UiError {
    fn from(error: io::Error) -> UiError {
        UiError::failed(error)
    }
}

impl IntoResponse for UiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.message }))).into_response()
    }
}
