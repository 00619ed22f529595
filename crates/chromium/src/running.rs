//! A running browser.

use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::net_log::NetLog;
use super::pipe::Pipe;
use super::{ChromiumError, Context};

/// Time limit of an orderly end.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Length of the end of its standard error that is repeated in an error.
const LAST_WORDS_BYTES: usize = 600;

/// A running Chromium. Dropped, it is ended with all its processes.
pub struct Running {
    /// `None` once it has been ended.
    child: Option<Child>,
    stderr: PathBuf,
    version: String,
    pub(super) net_log: Option<NetLog>,
    pub(super) pipe: Pipe,
}

impl Running {
    pub(super) fn new(
        mut child: Child,
        stderr: PathBuf,
        net_log: Option<NetLog>,
    ) -> Result<Running, ChromiumError> {
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            panic!("the launcher hands back a child with the pipes it was given");
        };
        let pipe = Pipe::new(commands, answers);
        let mut running =
            Running { child: Some(child), stderr, version: String::new(), net_log, pipe };
        let version = running.call(None, "Browser.getVersion", json!({}))?;
        running.version = version["product"].as_str().unwrap_or_default().to_owned();
        Ok(running)
    }

    /// Its name and version, as it reports them: `Chrome/156.0.8078.79`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A browser as newly started: no cache, no cookies, no connections, no TLS sessions.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn context(&mut self) -> Result<Context<'_>, ChromiumError> {
        Context::new(self)
    }

    /// Ends it in order.
    pub fn close(mut self) {
        // It closes its end of the pipe when it exits; if it cannot be told, it is gone.
        if self.pipe.send(None, "Browser.close", json!({})).is_ok() {
            self.pipe.close(END_LIMIT);
        }
    }

    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, ChromiumError> {
        let answer = self.pipe.call(session, method, params);
        answer.map_err(|error| self.blame(error))
    }

    /// Ends a browser that hangs, and reports the reason of one that is gone.
    pub(super) fn blame(&mut self, error: ChromiumError) -> ChromiumError {
        match error {
            ChromiumError::Gone { doing, .. } => {
                self.end();
                ChromiumError::Gone { doing, last_words: self.last_words() }
            }
            ChromiumError::Hung { .. } => {
                self.end();
                error
            }
            other => other,
        }
    }

    fn last_words(&self) -> String {
        let text = std::fs::read(&self.stderr).unwrap_or_default();
        let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS_BYTES)..]);
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ")
    }

    /// Kills its process group and reaps its first process, in this order: until that one is reaped, its number is
    /// not reused.
    fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // The group is gone already, as intended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
