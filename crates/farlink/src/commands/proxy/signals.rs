//! Operator signals: SIGTERM and Ctrl-C end the proxy in order (the second time at once), SIGHUP reads the
//! configuration again and reopens the log.

use std::{process, thread};

use anstream::eprintln;
use nix::sys::signal::{SigSet, Signal};
use proxy::journal::{LogMessage, LogSender};
use proxy::serve::{PhaseSender, WorkerPhase};

use crate::failure::{CliError, ExitCode};

/// The signals, blocked until they are taken.
pub struct ProxySignals(SigSet);

impl ProxySignals {
    /// Blocks them, on this thread and those that it will start. A file that may not grow further (`RLIMIT_FSIZE`)
    /// is then an error of the write, not the end of the process.
    pub fn block() -> Result<ProxySignals, CliError> {
        SigSet::from(Signal::SIGXFSZ).thread_block().map_err(CliError::machine)?;
        let set: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
        set.thread_block().map_err(CliError::machine)?;
        Ok(ProxySignals(set))
    }

    /// Handles them from now on, on a separate thread. `reload` reads the configuration, if there is a file.
    pub fn obey(
        self,
        control: PhaseSender,
        log: Option<LogSender>,
        mut reload: impl FnMut() -> Result<Option<WorkerPhase>, CliError> + Send + 'static,
    ) {
        let mut log = log;
        let obey = move || {
            let mut is_ending = false;
            while let Ok(signal) = self.0.wait() {
                match signal {
                    Signal::SIGHUP => {
                        reopen(log.as_ref());
                        read_again(&control, &mut reload);
                    }
                    _ if is_ending => process::exit(ExitCode::Interrupted as i32),
                    _ => {
                        is_ending = true;
                        // The log's writer ends when no sender is left.
                        log = None;
                        eprintln!("finishing requests in progress");
                        control.tell(WorkerPhase::Drain);
                    }
                }
            }
        };
        // The thread lives as long as the process.
        drop(thread::spawn(obey));
    }
}

fn reopen(log: Option<&LogSender>) {
    if let Some(log) = log {
        // If the writer is behind, the next SIGHUP does it.
        let _ = log.try_send(LogMessage::Reopen);
    }
}

fn read_again(
    control: &PhaseSender,
    reload: &mut impl FnMut() -> Result<Option<WorkerPhase>, CliError>,
) {
    match reload() {
        Ok(Some(phase)) => {
            control.tell(phase);
            eprintln!("configuration reloaded");
        }
        Ok(None) => eprintln!("nothing to reload: started without --config"),
        Err(failure) => {
            failure.tell();
            eprintln!("reload failed; keeping the current configuration");
        }
    }
}
