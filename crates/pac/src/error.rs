//! Why a PAC file gives no answer.

use std::io;

use thiserror::Error;

/// Why a PAC file gives no answer. The message is one sentence that names the file and, where it is known, the line.
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
    /// It is larger than browsers take.
    #[error("the PAC file {name} is larger than 1 MiB, which is as much as browsers read")]
    TooLarge {
        /// Its path.
        name: String,
    },
    /// It is no JavaScript, or throws an exception.
    #[error("the PAC file {name}{}: {message}", at(*line))]
    Script {
        /// Its path.
        name: String,
        /// The line, counted from 1.
        line: Option<u32>,
        /// What the engine says: "`TypeError: x is not a function`".
        message: String,
    },
    /// It has no function that could be asked.
    #[error("the PAC file {name} has no function `FindProxyForURL`")]
    NoFunction {
        /// Its path.
        name: String,
    },
    /// It does not come to an end.
    #[error("the PAC file {name} was still at work after {steps} steps: {task}")]
    Endless {
        /// Its path.
        name: String,
        /// After so many turns of loops and calls.
        steps: u64,
        /// What it was at: "it asks for http://a.test/".
        task: String,
    },
    /// It uses more memory than is good.
    #[error("the PAC file {name} uses more than {mebibytes} MiB: {task}")]
    Greedy {
        /// Its path.
        name: String,
        /// The limit.
        mebibytes: usize,
        /// What it was at.
        task: String,
    },
    /// It answers with something that means nothing here.
    #[error("the PAC file {name} answered for {url}: {problem}")]
    Answer {
        /// Its path.
        name: String,
        /// What it was asked for.
        url: String,
        /// What is wrong with it: "`SOCKS a:1` names a proxy of SOCKS, ...".
        problem: String,
    },
    /// The engine itself failed.
    #[error("the PAC file {name} cannot be run: {message}")]
    Engine {
        /// Its path.
        name: String,
        /// What the engine says.
        message: String,
    },
}

fn at(line: Option<u32>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}
