//! Data held above a connection's socket: a series of its own beside that of [`tcp::Sample`].
//!
//! The layers that hold bytes - HTTP, TLS - note each change of their number. The state at the end of each time
//! with a change is kept, so bytes that pass a layer at once leave no trace there.

use units::Time;

use super::state;
use super::tcp_table::Id;
use crate::report::Held;

impl Held {
    fn above_socket(&self) -> (u64, u64) {
        (self.application_bytes, self.tls_bytes)
    }
}

/// Recorder for the layers above a connection's socket. Notes for a connection that is gone are lost.
#[derive(Clone, Copy, Debug)]
pub struct HeldNotes(pub(super) Id);

impl HeldNotes {
    /// Notes the bytes that the application has ready and has not handed down.
    pub fn application(&self, bytes: u64) {
        self.note(|held| held.application_bytes = bytes);
    }

    /// Notes the bytes of TLS records that the socket has not taken.
    pub fn tls(&self, bytes: u64) {
        self.note(|held| held.tls_bytes = bytes);
    }

    fn note(&self, change: impl FnOnce(&mut Held)) {
        state::with_if_any(|state| {
            let now = state.now;
            let Some(socket) = state.tcp.find(self.0) else { return };
            let unsent = socket.connection.stats().unsent_bytes;
            if let Some(series) = &mut socket.held {
                series.note(now, unsent, change);
            }
        });
    }
}

/// One connection's series.
#[derive(Debug, Default)]
pub(super) struct Series(Vec<Held>);

impl Series {
    pub(super) fn samples(&self) -> &[Held] {
        &self.0
    }

    fn note(&mut self, now: Time, unsent: u64, change: impl FnOnce(&mut Held)) {
        let mut held = self.0.last().copied().unwrap_or_default();
        // Several changes at one time are one; `held` has them all.
        self.0.pop_if(|last| last.at == now);
        change(&mut held);
        let before = self.0.last().copied().unwrap_or_default();
        if held.above_socket() != before.above_socket() {
            self.0.push(Held { at: now, socket_unsent_bytes: unsent, ..held });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_kept_once_and_only_if_it_changed_something() {
        let mut series = Series::default();
        let at = Time::from_millis;
        series.note(at(1), 0, |held| held.application_bytes = 9);
        series.note(at(1), 7, |held| held.tls_bytes = 2);
        // Bytes that pass at once leave no trace.
        series.note(at(2), 7, |held| held.tls_bytes = 5);
        series.note(at(2), 7, |held| held.tls_bytes = 2);
        series.note(at(3), 4, |held| held.application_bytes = 9);
        series.note(at(4), 1, |held| held.application_bytes = 0);
        let kept = |at, application_bytes, socket_unsent_bytes| Held {
            at,
            application_bytes,
            tls_bytes: 2,
            socket_unsent_bytes,
        };
        assert_eq!(series.samples(), [kept(at(1), 9, 7), kept(at(4), 0, 1)]);
    }
}
