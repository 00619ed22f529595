//! Data written by the application and not yet acknowledged by the peer, and the writes themselves.
//!
//! A queue of shared slices addressed by stream offset: segments are cut from it, for transmission and retransmission,
//! without copying. Small copied writes gather in one block until their bytes are needed.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use units::Time;

use crate::Payload;
use crate::sender::Sender;
use crate::stats::Limit;

/// Copied writes are gathered in blocks of this size.
const BLOCK_BYTES: usize = 64 * 1024;

/// The queue, from the oldest unacknowledged byte to the newest written.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// Slices with the offset of their first byte.
    slices: VecDeque<(u64, Bytes)>,
    /// Copied bytes after the last slice.
    gathering: BytesMut,
    /// Everything below was acknowledged and released.
    start: u64,
    /// The offset after the last byte written.
    end: u64,
    /// Index and offset of the slice where the last cut ended: the next one usually starts there.
    cursor: usize,
}

impl SendBuffer {
    /// The offset after the last byte written.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Number of bytes held.
    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }

    pub(crate) fn push(&mut self, slice: Bytes) {
        self.settle();
        let start = self.end;
        self.end += slice.len() as u64;
        self.slices.push_back((start, slice));
    }

    pub(crate) fn push_copy(&mut self, data: &[u8]) {
        if self.gathering.capacity() - self.gathering.len() < data.len() {
            self.settle();
            self.gathering = BytesMut::with_capacity(BLOCK_BYTES.max(data.len()));
        }
        self.gathering.extend_from_slice(data);
        self.end += data.len() as u64;
    }

    /// Turns the gathered bytes into a slice.
    fn settle(&mut self) {
        if !self.gathering.is_empty() {
            let start = self.end - self.gathering.len() as u64;
            self.slices.push_back((start, self.gathering.split().freeze()));
        }
    }

    /// The bytes from `offset` to `offset + len`.
    ///
    /// # Panics
    /// If they are not all in the buffer.
    pub(crate) fn cut(&mut self, offset: u64, len: usize) -> Payload {
        let end = offset + len as u64;
        assert!(self.start <= offset && end <= self.end, "only what is buffered can be sent");
        let mut payload = Payload::new();
        if len == 0 {
            return payload;
        }
        if end > self.end - self.gathering.len() as u64 {
            self.settle();
        }
        let mut at = offset;
        let mut index = self.find(offset);
        loop {
            let (start, slice) = &self.slices[index];
            let from = (at - start) as usize;
            let take = (slice.len() - from).min((end - at) as usize);
            payload.push(slice.slice(from..from + take));
            at += take as u64;
            if at == end {
                break;
            }
            index += 1;
        }
        self.cursor = index;
        payload
    }

    /// The index of the slice that holds `offset`.
    fn find(&self, offset: u64) -> usize {
        let holds = |index: usize| {
            self.slices.get(index).is_some_and(|(start, slice)| {
                (*start..start + slice.len() as u64).contains(&offset)
            })
        };
        [self.cursor, self.cursor + 1].into_iter().find(|index| holds(*index)).unwrap_or_else(
            || self.slices.partition_point(|(start, slice)| start + slice.len() as u64 <= offset),
        )
    }

    /// Releases everything below `offset`.
    pub(crate) fn release(&mut self, offset: u64) {
        self.start = self.start.max(offset.min(self.end));
        while let Some((start, slice)) = self.slices.front()
            && start + slice.len() as u64 <= self.start
        {
            self.slices.pop_front();
            self.cursor = self.cursor.saturating_sub(1);
        }
    }

    /// Releases everything.
    pub(crate) fn clear(&mut self) {
        *self = SendBuffer { start: self.end, end: self.end, ..SendBuffer::default() };
    }
}

// Writes by the application: space in the send buffer, wake-ups of writers, and growth of the buffer.
//
// Source: Linux 6.18 `tcp_sendmsg_locked`, `tcp_stream_memory_free`, `sk_stream_is_writeable`, `tcp_sndbuf_expand`.

impl Sender {
    /// Sets `TCP_NOTSENT_LOWAT` for this connection alone.
    pub(crate) fn set_notsent_lowat(&mut self, bytes: u64) {
        Arc::make_mut(&mut self.config).notsent_lowat = Some(bytes);
    }

    /// Number of bytes that the limits still permit.
    fn space(&self) -> u64 {
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

    /// Number of the `wanted` bytes to take.
    fn admit(&mut self, now: Time, wanted: usize) -> usize {
        if self.closing || wanted == 0 {
            return 0;
        }
        let room = self.room_in_buffers(wanted as u64);
        self.starved = wanted as u64 > room;
        if room == 0 {
            return 0;
        }
        self.restart_before_write(now);
        self.note_idle_path();
        self.limit.set(now, Limit::Network);
        wanted.min(usize::try_from(room).unwrap_or(usize::MAX))
    }

    /// Number of bytes that a write of `wanted` bytes may add. The kernel compares its limits once for each `sk_buff` and then fills it,
    /// so that the last one exceeds them by up to 64 KB (`tcp_sendmsg_locked`).
    fn room_in_buffers(&self, wanted: u64) -> u64 {
        let goal = self.size_goal();
        let room = self.room_in_last_buffer();
        let room = room + self.space().min(wanted).saturating_sub(room).next_multiple_of(goal);
        // A full buffer is pushed before the write goes on; what leaves makes room in it.
        let waiting = (self.unsent_bytes() + room).saturating_sub(self.permitted_now());
        if room == 0 || waiting == 0 { room } else { room + goal.saturating_sub(waiting) }
    }

    /// Number of new bytes that both windows permit now.
    pub(crate) fn permitted_now(&self) -> u64 {
        if self.cwnd.is_rate_based() {
            return 0;
        }
        let segments = self.cwnd.cwnd().saturating_sub(self.board.in_flight());
        let window = self.window_end().saturating_sub(self.nxt);
        window.min(u64::from(segments) * u64::from(self.mss))
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
    pub(crate) fn expand_buffer(&mut self) {
        let segments =
            self.cwnd.cwnd().max(self.config.initial_window).max(self.rack.reordering() + 1);
        let windows = if self.cwnd.is_rate_based() { 3 } else { 2 };
        let memory = self.config.send_buffer.segment_memory_bytes;
        let wanted = windows * u64::from(segments) * memory;
        let limit = wanted.min(self.config.send_buffer.max_bytes);
        self.buffer_limit = self.buffer_limit.max(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(payload: &Payload) -> Vec<u8> {
        payload.slices().flat_map(|slice| slice.to_vec()).collect()
    }

    #[test]
    fn cuts_across_copies_and_slices_and_again_after_release() {
        let mut buffer = SendBuffer::default();
        buffer.push_copy(b"ab");
        buffer.push_copy(b"cd");
        buffer.push(Bytes::from_static(b"efg"));
        buffer.push_copy(b"h");
        assert_eq!(buffer.len(), 8);
        assert_eq!(bytes(&buffer.cut(0, 3)), b"abc");
        assert_eq!(bytes(&buffer.cut(3, 5)), b"defgh");
        buffer.push_copy(b"ij");
        buffer.release(5);
        assert_eq!((buffer.len(), bytes(&buffer.cut(5, 5))), (5, b"fghij".to_vec()));
        assert_eq!(bytes(&buffer.cut(9, 1)), b"j");
        assert_eq!(bytes(&buffer.cut(6, 2)), b"gh");
        buffer.release(10);
        assert_eq!((buffer.len(), buffer.slices.len()), (0, 0));
    }

    #[test]
    fn small_writes_share_a_slice() {
        let mut buffer = SendBuffer::default();
        for byte in 0..200u8 {
            buffer.push_copy(&[byte]);
        }
        let payload = buffer.cut(0, 200);
        assert_eq!(payload.slices().count(), 1);
    }
}
