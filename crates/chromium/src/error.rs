//! What can go wrong with a browser that is not ours.

use std::io;

use thiserror::Error;

/// Why a visit by Chromium could not be made, or gave no account of itself. A page that did not load is
/// no such error: that is the visit's outcome.
#[derive(Debug, Error)]
pub enum ChromiumError {
    /// There is none.
    #[error(
        "no Chromium was found: {searched}; install one (`apt-get install chromium`) or name its program in FARLINK_CHROMIUM"
    )]
    NotFound {
        /// Where it was looked for.
        searched: String,
    },
    /// It could not be started.
    #[error("Chromium could not be started: {0}")]
    Start(#[source] io::Error),
    /// It ended by itself.
    #[error("Chromium ended while {doing}{}", said(.last_words))]
    Gone {
        /// What was asked of it.
        doing: String,
        /// The end of what it wrote to its standard error.
        last_words: String,
    },
    /// It no longer answers.
    #[error("Chromium did not answer within {seconds} s while {doing}; it was ended")]
    Hung {
        /// What was asked of it.
        doing: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The process of the page crashed; the browser lives.
    #[error("Chromium's page crashed while loading")]
    Crashed,
    /// It refused a command.
    #[error("Chromium refused {method}: {message}")]
    Refused {
        /// The command.
        method: String,
        /// Its words.
        message: String,
    },
    /// It said something that is not in the protocol.
    #[error("Chromium's answer to {method} was not understood: {problem}")]
    NotUnderstood {
        /// The command or event.
        method: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A scenario that it cannot load.
    #[error("Chromium cannot load {host}: {reason}")]
    Unsupported {
        /// The host concerned.
        host: String,
        /// Why, and what to do.
        reason: String,
    },
}

fn said(last_words: &str) -> String {
    match last_words.trim() {
        "" => String::new(),
        words => format!("; its last words: {words}"),
    }
}
