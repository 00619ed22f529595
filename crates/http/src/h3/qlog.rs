//! A connection's qlog (draft-ietf-quic-qlog-main-schema) as quinn writes it, for the observers of a world.
//!
//! quinn logs packets sent, received and lost and recovery's metrics, in JSON text sequences (RFC 7464); times are
//! milliseconds since the world began. It does not know the names of connections nor, in the file's header, the vantage
//! point: the code that writes files adds them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use quinn::{QlogConfig, QlogStream};
use units::Time;
use world::report::{self, Keeping};

/// The log of one end of a connection; empty, unless this world keeps series.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Option<Arc<Mutex<Vec<u8>>>>);

impl Log {
    /// A log, if this world wants one.
    pub(super) fn open() -> Log {
        Log(matches!(report::keeping(), Keeping::Series).then(Arc::default))
    }

    /// The stream to which quinn writes.
    pub(super) fn stream(&self) -> Option<QlogStream> {
        let text = Arc::clone(self.0.as_ref()?);
        let mut config = QlogConfig::default();
        config.writer(Box::new(Pen(text))).start_time(world::to_instant(Time::ZERO));
        config.into_stream()
    }

    /// The text so far.
    pub(super) fn text(&self) -> String {
        let Some(text) = &self.0 else { return String::new() };
        let text = text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

struct Pen(Arc<Mutex<Vec<u8>>>);

impl Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
