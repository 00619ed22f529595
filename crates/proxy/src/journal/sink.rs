//! Lines on their way to a log, which a thread of its own writes: no request waits for a disk.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::entry::Entry;
use super::lines;
use super::metrics::Metrics;
use super::note::Journal;
use crate::config::LogFormat;

/// As many lines wait for the log's writer; more are lost, and counted.
const WAITING: usize = 16 * 1024;

/// What the writer is told.
#[derive(Debug)]
pub enum LogMessage {
    /// To write a line, without its end.
    Line(String),
    /// To open the file anew: somebody has moved it.
    Reopen,
}

/// The way to the writer. Clones lead to the same.
pub type LogSender = SyncSender<LogMessage>;

/// A way to a writer, and the writer's end of it.
pub fn log_channel() -> (LogSender, Receiver<LogMessage>) {
    sync_channel(WAITING)
}

/// Writes each request as a line.
#[derive(Debug)]
pub struct LogLines {
    /// How lines look.
    pub format: LogFormat,
    /// Where they go.
    pub sender: LogSender,
    /// Counts those that were lost.
    pub metrics: Arc<Metrics>,
    /// The date, since 1970, at which the world's clock began.
    pub start: Duration,
}

impl Journal for LogLines {
    fn done(&self, entry: &Entry) {
        let line = match self.format {
            LogFormat::Json => lines::json(entry, self.start),
            LogFormat::Common => lines::common(entry, self.start),
        };
        if let Err(TrySendError::Full(_)) = self.sender.try_send(LogMessage::Line(line)) {
            self.metrics.lost_line();
        }
    }
}
