//! The protocol's pipe: commands out, answers and events in.
//!
//! A thread reads and forwards messages; a caller waits on one channel, on which an [`PipeTimeout`] rings as well. So
//! waiting has limits although no clock is read here.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::ChromiumError;

/// Time limit of an answer. Commands are answered in milliseconds; a start takes a second, more on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A conversation with a browser, or with one of its pages.
pub(super) struct Pipe {
    commands: Option<ChildStdin>,
    arrivals: Receiver<PipeInput>,
    ring: Sender<PipeInput>,
    asked: u64,
    rung: u64,
    /// Events received during the wait for an answer.
    queued: VecDeque<DevToolsMessage>,
}

/// Input of the pipe.
enum PipeInput {
    Message(Box<DevToolsMessage>),
    /// The browser closed its end.
    Closed,
    /// It sent bytes that are not a message.
    Garbled(String),
    /// An alarm of this number rang.
    Alarm(u64),
}

/// An answer or an event, in its wire format.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DevToolsMessage {
    id: Option<u64>,
    /// An event's name.
    #[serde(default)]
    pub(super) method: String,
    /// An event's content.
    #[serde(default)]
    pub(super) params: Value,
    #[serde(default)]
    result: Value,
    error: Option<DevToolsError>,
    /// The page it belongs to.
    pub(super) session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct DevToolsError {
    message: String,
}

/// Result of waiting for an event.
pub(super) enum Waited {
    Event(Box<DevToolsMessage>),
    /// Nothing arrived within the caller's patience.
    Quiet,
    /// The alarm rang.
    Alarm,
}

impl Pipe {
    pub(super) fn new(commands: ChildStdin, answers: ChildStdout) -> Pipe {
        let (ring, arrivals) = mpsc::channel();
        let arrived = ring.clone();
        thread::spawn(move || read(BufReader::new(answers), &arrived));
        Pipe {
            commands: Some(commands),
            arrivals,
            ring,
            asked: 0,
            rung: 0,
            queued: VecDeque::new(),
        }
    }

    /// Sends the command `method` and waits for the answer. `session` is the page addressed, `None` the browser.
    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, ChromiumError> {
        self.call_within(session, method, params, ANSWER_LIMIT)
    }

    /// The same as [`Pipe::call`], with another limit.
    pub(super) fn call_within(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, ChromiumError> {
        let id = self.send(session, method, params).map_err(|_| gone(method))?;
        loop {
            let message = match self.arrivals.recv_timeout(limit) {
                Ok(PipeInput::Message(message)) => *message,
                Ok(PipeInput::Alarm(_)) => continue,
                Ok(PipeInput::Closed) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(gone(method));
                }
                Ok(PipeInput::Garbled(problem)) => return Err(garbled(method, problem)),
                Err(RecvTimeoutError::Timeout) => {
                    let doing = format!("asked for {method}");
                    return Err(ChromiumError::Hung { doing, seconds: limit.as_secs() });
                }
            };
            match message {
                DevToolsMessage { id: Some(answered), error, result, .. } if answered == id => {
                    return match error {
                        None => Ok(result),
                        Some(DevToolsError { message }) => {
                            Err(ChromiumError::Refused { method: method.to_owned(), message })
                        }
                    };
                }
                DevToolsMessage { id: Some(_), .. } => {} // An answer that nobody waits for any more.
                event => self.queued.push_back(event),
            }
        }
    }

    /// Sends the command `method`; the answer is ignored.
    pub(super) fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> io::Result<u64> {
        self.asked += 1;
        let mut command = json!({ "id": self.asked, "method": method, "params": params });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut text = command.to_string().into_bytes();
        text.push(0);
        let commands = self.commands.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        commands.write_all(&text)?;
        commands.flush()?;
        Ok(self.asked)
    }

    /// The next event; waits at most `patience` for it.
    pub(super) fn next(&mut self, patience: Duration) -> Result<Waited, ChromiumError> {
        const DOING: &str = "loading a page";
        if let Some(event) = self.queued.pop_front() {
            return Ok(Waited::Event(Box::new(event)));
        }
        loop {
            match self.arrivals.recv_timeout(patience) {
                Ok(PipeInput::Message(message)) if message.id.is_none() => {
                    return Ok(Waited::Event(message));
                }
                Ok(PipeInput::Message(_)) => {}
                Ok(PipeInput::Alarm(number)) if number == self.rung => return Ok(Waited::Alarm),
                Ok(PipeInput::Alarm(_)) => {} // Of an earlier visit.
                Ok(PipeInput::Garbled(problem)) => return Err(garbled(DOING, problem)),
                Ok(PipeInput::Closed) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(gone(DOING));
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Waited::Quiet),
            }
        }
    }

    /// Discards events that no caller has asked for.
    pub(super) fn forget_events(&mut self) {
        self.queued.clear();
        while let Ok(arrival) = self.arrivals.try_recv() {
            if matches!(arrival, PipeInput::Closed | PipeInput::Garbled(_)) {
                // Not to be discarded: the next caller must get it.
                let _ = self.ring.send(arrival);
                return;
            }
        }
    }

    /// Rings after `limit`, unless dropped before. Only the latest alarm counts.
    pub(super) fn alarm(&mut self, limit: Duration) -> PipeTimeout {
        self.rung += 1;
        let number = self.rung;
        let ring = self.ring.clone();
        let (dropped, wait) = mpsc::channel::<()>();
        thread::spawn(move || {
            if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                // With the receiver gone, nobody needs to be told.
                let _ = ring.send(PipeInput::Alarm(number));
            }
        });
        PipeTimeout { _dropped: dropped }
    }

    /// Closes our end and waits up to `patience` until the browser has closed its own.
    pub(super) fn close(&mut self, patience: Duration) {
        self.commands = None;
        while let Ok(arrival) = self.arrivals.recv_timeout(patience) {
            if matches!(arrival, PipeInput::Closed) {
                return;
            }
        }
    }
}

/// Rings on its pipe unless it is dropped before its time.
pub(super) struct PipeTimeout {
    _dropped: Sender<()>,
}

fn read(mut answers: impl BufRead, arrived: &Sender<PipeInput>) {
    loop {
        let mut text = Vec::new();
        let arrival = match answers.read_until(0, &mut text) {
            Ok(0) | Err(_) => PipeInput::Closed,
            Ok(_) => parse(&text),
        };
        let last = matches!(arrival, PipeInput::Closed);
        if arrived.send(arrival).is_err() || last {
            return;
        }
    }
}

fn parse(text: &[u8]) -> PipeInput {
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    match serde_json::from_slice(text) {
        Ok(message) => PipeInput::Message(Box::new(message)),
        Err(error) => {
            let start: String = String::from_utf8_lossy(text).chars().take(200).collect();
            PipeInput::Garbled(format!("{error}: {start}"))
        }
    }
}

fn gone(doing: &str) -> ChromiumError {
    let doing = format!("asked for {doing}");
    ChromiumError::Gone { doing, last_words: String::new() }
}

fn garbled(method: &str, problem: String) -> ChromiumError {
    ChromiumError::NotUnderstood { method: method.to_owned(), problem }
}
