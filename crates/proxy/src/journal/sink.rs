//! Log lines on their way to a writer thread: no request waits for a disk.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::entry::Entry;
use super::lines;
use super::metrics::Metrics;
use super::note::Journal;
use crate::config::LogFormat;

/// Maximum number of lines waiting for the writer; more are lost, and counted.
const WAITING: usize = 16 * 1024;

/// A message to the writer.
#[derive(Debug)]
pub enum LogMessage {
    /// Write a line, given without its end.
    Line(String),
    /// Reopen the file: it has been rotated.
    Reopen,
}

/// The sender to the writer. Clones share one channel.
pub type LogSender = SyncSender<LogMessage>;

/// The sender to a writer, and the writer's end.
pub fn log_channel() -> (LogSender, Receiver<LogMessage>) {
    sync_channel(WAITING)
}

/// A journal that writes each request as a line.
#[derive(Debug)]
pub struct LogLines {
    /// Format of the lines.
    pub format: LogFormat,
    /// Channel to the writer.
    pub sender: LogSender,
    /// Counter of lost lines.
    pub metrics: Arc<Metrics>,
    /// Unix time at which the world's clock started.
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
