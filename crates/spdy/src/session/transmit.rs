//! Sending DATA frames, in the order of the schedule and within the windows.

use super::stream::Stream;
use super::{Event, Session};
use crate::window::SendWindow;
use crate::{StreamId, frame};

impl Session {
    /// Fills the output with DATA frames until `bytes` are queued or nothing may be sent.
    pub fn produce(&mut self, bytes: usize) {
        while self.output.len() < bytes && self.send_one() {}
    }

    fn send_one(&mut self) -> bool {
        let Some((stream, allowed)) = self.streams.turn(self.room()) else { return false };
        let bytes = allowed.min(self.config.chunk_bytes);
        if let Some(window) = &mut self.send_window {
            window.spend(bytes);
        }
        let state = self.streams.get_mut(stream).expect("a scheduled stream is open");
        let is_last = state.is_last(bytes);
        let output = &mut self.output;
        output.write(|out| frame::data_head(out, stream, is_last, bytes));
        state.take(bytes, |piece| output.share(piece));
        if is_last {
            self.note_ending(stream);
        }
        self.streams.end_turn(stream);
        true
    }

    /// Available session window.
    fn room(&self) -> usize {
        self.send_window.map_or(usize::MAX, SendWindow::available)
    }

    /// Bytes of bodies that are queued and not in the output.
    pub fn queued(&self) -> usize {
        self.streams.queued()
    }

    /// Bytes that are queued on `stream` and not in the output; `None` if it accepts no more: it has ended, or is gone.
    pub fn waiting(&self, stream: StreamId) -> Option<usize> {
        self.streams.get(stream).filter(|state| state.takes_data()).map(Stream::queued)
    }

    /// Returns true if bodies are queued and only the peer's windows keep them from the output.
    pub fn is_window_limited(&self) -> bool {
        self.queued() > 0 && self.streams.turn(self.room()).is_none()
    }

    /// Removes the first `bytes` of the output, which the transport has taken.
    ///
    /// # Panics
    /// If fewer were queued.
    pub fn advance(&mut self, bytes: usize) {
        self.output.advance(bytes);
        let passed = self.output.passed();
        while let Some((_, stream)) = self.endings.pop_front_if(|(end, _)| *end <= passed) {
            self.events.push_back(Event::Sent { stream });
        }
    }
}
