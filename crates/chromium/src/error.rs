//! Errors of Chromium.

use std::io;

use thiserror::Error;

/// Why a visit by Chromium failed, or gave no results. A page that did not load is not an error: that is the
/// visit's outcome.
#[derive(Debug, Error)]
pub enum ChromiumError {
    /// There is no Chromium.
    #[error(
        "Chromium not found: {searched}; install it (`apt-get install chromium`) or set FARLINK_CHROMIUM to its path"
    )]
    NotFound {
        /// The places searched.
        searched: String,
    },
    /// It could not be started.
    #[error("cannot start Chromium: {0}")]
    Start(#[source] io::Error),
    /// It ended unexpectedly.
    #[error("Chromium exited while {doing}{}", said(.last_words))]
    Gone {
        /// The command in progress.
        doing: String,
        /// The end of its standard error.
        last_words: String,
    },
    /// It no longer answers.
    #[error("Chromium did not respond within {seconds} s while {doing} and was killed")]
    Hung {
        /// The command in progress.
        doing: String,
        /// The time waited for it.
        seconds: u64,
    },
    /// The process of the page crashed; the browser lives.
    #[error("Chromium's page crashed while loading")]
    Crashed,
    /// The document of a recording did not arrive.
    #[error("cannot load {url}: {problem}")]
    NoDocument {
        /// The document.
        url: String,
        /// The browser's error: `net::ERR_NAME_NOT_RESOLVED`.
        problem: String,
    },
    /// It rejected a command.
    #[error("Chromium refused {method}: {message}")]
    Refused {
        /// The command.
        method: String,
        /// Its error message.
        message: String,
    },
    /// It sent a message that violates the protocol.
    #[error("unexpected response of Chromium to {method}: {problem}")]
    NotUnderstood {
        /// The command or event.
        method: String,
        /// The problem.
        problem: String,
    },
    /// A scenario that it cannot load.
    #[error("Chromium cannot load {host}: {reason}")]
    Unsupported {
        /// The host concerned.
        host: String,
        /// The reason, and advice.
        reason: String,
    },
}

fn said(last_words: &str) -> String {
    match last_words.trim() {
        "" => String::new(),
        words => format!("; last output: {words}"),
    }
}
