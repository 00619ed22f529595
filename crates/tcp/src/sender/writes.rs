//! Writes by the application: space in the send buffer, wake-ups of writers, and growth of the buffer.
//!
//! Source: Linux 6.18 `tcp_sendmsg_locked`, `tcp_stream_memory_free`, `sk_stream_is_writeable`, `tcp_sndbuf_expand`.

use std::sync::Arc;

use bytes::Bytes;
use units::Time;

use crate::sender::Sender;
use crate::stats::Limit;

impl Sender {
    /// Sets `TCP_NOTSENT_LOWAT` for this connection alone.
    pub(crate) fn set_notsent_lowat(&mut self, bytes: u64) {
        Arc::make_mut(&mut self.config).notsent_lowat = Some(bytes);
    }

    /// Number of bytes that the application may write now.
    pub(crate) fn space(&self) -> u64 {
        if self.closing {
            return 0;
        }
        let space = self.buffer_limit.saturating_sub(self.buffer.len());
        match self.config.notsent_lowat {
            Some(limit) => space.min(limit.saturating_sub(self.unsent_bytes())),
            None => space,
        }
    }

    /// True if there is enough space to wake a writer for: a third of the buffer free
    /// (`sk_stream_is_writeable`) and less than half the unsent limit waiting (`tcp_stream_memory_free`).
    pub(crate) fn is_writable(&self) -> bool {
        let free = self.buffer_limit.saturating_sub(self.buffer.len());
        let drained = self.config.notsent_lowat.is_none_or(|limit| 2 * self.unsent_bytes() < limit);
        !self.closing && free > 0 && free >= self.buffer.len() / 2 && drained
    }

    /// Copies as much as there is room for; returns the number of bytes.
    pub(crate) fn write(&mut self, now: Time, data: &[u8]) -> usize {
        let len = self.admit(now, data.len());
        let begin = self.stream_end();
        self.buffer.push_copy(&data[..len]);
        self.note_written(begin, self.stream_end());
        len
    }

    /// Takes as much as there is room for; returns the number of bytes.
    pub(crate) fn write_bytes(&mut self, now: Time, mut data: Bytes) -> usize {
        let len = self.admit(now, data.len());
        data.truncate(len);
        let begin = self.stream_end();
        if len > 0 {
            self.buffer.push(data);
        }
        self.note_written(begin, self.stream_end());
        len
    }

    /// Number of the `wanted` bytes to take. The last segment begun is filled, so that a full buffer does
    /// not end in a small segment (the kernel checks for memory once per `sk_buff`).
    fn admit(&mut self, now: Time, wanted: usize) -> usize {
        let mss = u64::from(self.mss);
        let space = self.space();
        self.starved = wanted as u64 > space;
        if space == 0 || wanted == 0 {
            return 0;
        }
        self.restart_before_write(now);
        self.note_idle_path();
        self.limit.set(now, Limit::Network);
        let unsent = self.unsent_bytes();
        let filled = (unsent + space).next_multiple_of(mss) - unsent;
        wanted.min(usize::try_from(filled).unwrap_or(usize::MAX))
    }

    /// Before more is written: records that the previous data did not fill the path (`tcp_rate_check_app_limited`).
    fn note_idle_path(&mut self) {
        let board = &self.board;
        let in_flight = board.in_flight();
        if let Some(rate) = &mut self.rate
            && self.nxt + u64::from(self.mss) > 1 + self.buffer.end()
            && in_flight < self.cwnd.cwnd()
            && board.lost() <= board.retransmitted()
        {
            rate.limit(in_flight);
        }
    }

    /// Twice the memory of a window's segments (`tcp_sndbuf_expand`); three times if the controller may send faster
    /// than that even in recovery (`bbr_sndbuf_expand`).
    pub(super) fn expand_buffer(&mut self) {
        let segments =
            self.cwnd.cwnd().max(self.config.initial_window).max(self.rack.reordering() + 1);
        let windows = if self.cwnd.is_rate_based() { 3 } else { 2 };
        let memory = self.config.send_buffer.segment_memory_bytes;
        let wanted = windows * u64::from(segments) * memory;
        let limit = wanted.min(self.config.send_buffer.max_bytes);
        self.buffer_limit = self.buffer_limit.max(limit);
    }
}
