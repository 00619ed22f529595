//! One stream: its halves, its windows and its queued data.
//!
//! ```text
//!                 SYN_STREAM
//!                     |
//!     FIN received    v     FIN sent
//!   +------------- [ open ] ----------+
//!   v                 |               v
//! half-closed         | RST     half-closed
//! (remote)            | either  (local)
//!   |   FIN sent      v     FIN       |
//!   +-----------> [ gone ] <----------+
//! ```
//! FLAG_UNIDIRECTIONAL opens a stream with the recipient's half closed. State of a gone stream is dropped.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::StreamId;
use crate::schedule::Place;
use crate::window::{ReceiveWindow, SendWindow};

/// One direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Open,
    /// FLAG_FIN was sent, or the half was closed from the start.
    Closed,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) sending: Half,
    pub(super) receiving: Half,
    /// The request that this pushed stream belongs to; 0 for none.
    pub(super) associated: StreamId,
    /// True after a SYN_REPLY, or if none will come.
    pub(super) is_replied: bool,
    /// None in version 2.
    pub(super) send_window: Option<SendWindow>,
    pub(super) receive_window: Option<ReceiveWindow>,
    pub(super) place: Place,
    queue: VecDeque<Bytes>,
    queued: usize,
    /// True if the queue's end is the stream's end.
    is_ending: bool,
}

impl Stream {
    pub(super) fn new(
        place: Place,
        send_window: Option<SendWindow>,
        receive_window: Option<ReceiveWindow>,
    ) -> Stream {
        Stream {
            sending: Half::Open,
            receiving: Half::Open,
            associated: StreamId::ZERO,
            is_replied: false,
            send_window,
            receive_window,
            place,
            queue: VecDeque::new(),
            queued: 0,
            is_ending: false,
        }
    }

    /// Queues `data`; with `fin` nothing can be queued after it.
    pub(super) fn queue(&mut self, data: Bytes, fin: bool) {
        self.queued += data.len();
        if !data.is_empty() {
            self.queue.push_back(data);
        }
        self.is_ending |= fin;
    }

    /// Returns true if more may be queued.
    pub(super) fn takes_data(&self) -> bool {
        self.sending == Half::Open && !self.is_ending
    }

    /// Number of queued bytes.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// Number of bytes that may be sent now if the session has `room`; `None` if nothing is queued or allowed. 0 is
    /// an empty frame that ends the stream, which needs no window.
    pub(super) fn sendable(&self, room: usize) -> Option<usize> {
        if self.queued == 0 {
            return self.is_ending.then_some(0);
        }
        let window = self.send_window.map_or(usize::MAX, SendWindow::available);
        Some(self.queued.min(window).min(room)).filter(|bytes| *bytes > 0)
    }

    /// Returns true if the next `bytes` are the stream's last.
    pub(super) fn is_last(&self, bytes: usize) -> bool {
        self.is_ending && self.queued == bytes
    }

    /// Removes the next `bytes` from the queue, piece by piece, and deducts them from the window.
    pub(super) fn take(&mut self, bytes: usize, mut piece: impl FnMut(Bytes)) {
        let is_last = self.is_last(bytes);
        let mut left = bytes;
        while left > 0 {
            let front = self.queue.front_mut().expect("no more is taken than is queued");
            if front.len() > left {
                piece(front.split_to(left));
                break;
            }
            left -= front.len();
            piece(self.queue.pop_front().expect("it has a front"));
        }
        self.queued -= bytes;
        if let Some(window) = &mut self.send_window {
            window.spend(bytes);
        }
        if is_last {
            self.sending = Half::Closed;
            self.is_ending = false;
        }
    }

    /// Returns true if both halves are closed.
    pub(super) fn is_over(&self) -> bool {
        self.sending == Half::Closed && self.receiving == Half::Closed
    }
}
