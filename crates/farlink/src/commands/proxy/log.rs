//! The thread that writes the log of requests.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use anstream::eprintln;
use proxy::config::{LogFormat, LogPlace, LogSettings};
use proxy::journal::{LogMessage, LogSender, log_channel};

use crate::failure::CliError;

/// A log that is being written.
pub struct LogWriter {
    pub sender: LogSender,
    pub format: LogFormat,
    /// Ends when the last sender is dropped.
    pub writer: Option<JoinHandle<()>>,
}

/// Starts the writer of `log`.
pub fn start(log: &LogSettings) -> Result<LogWriter, CliError> {
    let (sender, lines) = log_channel();
    let mut target = LogTarget::open(&log.place)
        .map_err(|error| CliError::machine(format!("cannot write the request log: {error}")))?;
    let writer = thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || write(&mut target, &lines))
        .map_err(CliError::machine)?;
    Ok(LogWriter { sender, format: log.format, writer: Some(writer) })
}

/// Destination of lines.
struct LogTarget {
    place: LogPlace,
    out: BufWriter<Box<dyn Write + Send>>,
}

impl LogTarget {
    fn open(place: &LogPlace) -> io::Result<LogTarget> {
        let out: Box<dyn Write + Send> = match place {
            LogPlace::Output => Box::new(io::stdout()),
            LogPlace::File(path) => Box::new(append(path)?),
        };
        Ok(LogTarget { place: place.clone(), out: BufWriter::new(out) })
    }
}

fn append(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn write(target: &mut LogTarget, messages: &Receiver<LogMessage>) {
    let mut is_failing = false;
    while let Ok(first) = messages.recv() {
        let written = std::iter::once(first)
            .chain(messages.try_iter())
            .try_for_each(|message| obey(target, message))
            .and_then(|()| target.out.flush());
        match written {
            Ok(()) => is_failing = false,
            // A full disk does not stop the proxy. It is reported once.
            Err(error) if !is_failing => {
                is_failing = true;
                eprintln!("warning: request log is losing lines: {error}");
            }
            Err(_) => {}
        }
    }
}

fn obey(target: &mut LogTarget, message: LogMessage) -> io::Result<()> {
    match message {
        LogMessage::Line(line) => writeln!(target.out, "{line}"),
        LogMessage::Reopen => {
            target.out.flush()?;
            *target = LogTarget::open(&target.place)?;
            Ok(())
        }
    }
}
