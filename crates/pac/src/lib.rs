//! Proxy auto-configuration: the proxy, if any, that a browser's PAC file names for a URL.
//!
//! A PAC file is JavaScript with one function, `FindProxyForURL(url, host)` (Netscape, 1996). It runs in QuickJS,
//! with the helper functions that browsers provide (`assets/helpers.js`) and within limits of steps and memory, so
//! that no file prevents a load from ending. The same file, seed and calls give the same answers: random numbers
//! come from a seeded stream, the date stands still, and there is no other clock.
//!
//! It leaves out calendar functions (`weekdayRange`, `dateRange`, `timeRange`: a call is refused by name), and
//! Microsoft's functions for IPv6 (`...Ex`).

#![forbid(unsafe_code)]

use std::io;

use thiserror::Error;

mod choice;
mod engine;
mod script;

pub use choice::{Choice, ProxyAt, ProxyKeyword};
pub use engine::{Engine, PacEnvironment, Resolve};
pub use script::{PacScript, shown};

/// The reason for a missing answer. The message is one sentence that names the file and, if known, the line.
#[derive(Debug, Error)]
pub enum PacError {
    /// There is no such file, or it may not be read.
    #[error("the PAC file {name} cannot be read: {error}")]
    Unreadable {
        /// Its path.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// The file is larger than browsers accept.
    #[error("the PAC file {name} exceeds browsers' limit of 1 MiB")]
    TooLarge {
        /// Its path.
        name: String,
    },
    /// The file is not JavaScript, or throws an exception.
    #[error("the PAC file {name}{}: {message}", at(*line))]
    Script {
        /// Its path.
        name: String,
        /// The line, counted from 1.
        line: Option<u32>,
        /// The engine's message: "`TypeError: x is not a function`".
        message: String,
    },
    /// The file defines no function to call.
    #[error("the PAC file {name} has no function `FindProxyForURL`")]
    NoFunction {
        /// Its path.
        name: String,
    },
    /// The file does not terminate.
    #[error("the PAC file {name} was still at work after {steps} steps: {task}")]
    Endless {
        /// Its path.
        name: String,
        /// Number of steps, loop turns and calls, until it was stopped.
        steps: u64,
        /// The current task: "it asks for http://a.test/".
        task: String,
    },
    /// The file exceeds its memory limit.
    #[error("the PAC file {name} uses more than {mebibytes} MiB: {task}")]
    Greedy {
        /// Its path.
        name: String,
        /// The limit.
        mebibytes: usize,
        /// The current task.
        task: String,
    },
    /// The file gives an unsupported answer.
    #[error("the PAC file {name} answered for {url}: {problem}")]
    Answer {
        /// Its path.
        name: String,
        /// The URL asked about.
        url: String,
        /// The problem: "`SOCKS a:1` names a proxy of SOCKS, ...".
        problem: String,
    },
    /// The engine itself failed.
    #[error("the PAC file {name} cannot be run: {message}")]
    Engine {
        /// Its path.
        name: String,
        /// The engine's message.
        message: String,
    },
}

fn at(line: Option<u32>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}
