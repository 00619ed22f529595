//! One request and its response.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;

use ::spdy::{ResetReason, StreamId, message};

use super::State;
use super::inbox::{Closed, Part};
use crate::{Failure, Progress};

pub(super) struct Exchange<'a> {
    shared: &'a Rc<RefCell<State>>,
    stream: StreamId,
    /// The sizes of the request's head and body.
    bytes: (u64, u64),
    /// True once the response's head has come.
    has_begun: bool,
    progress: &'a mut dyn Progress,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        shared: &'a Rc<RefCell<State>>,
        stream: StreamId,
        bytes: (u64, u64),
        progress: &'a mut dyn Progress,
    ) -> Exchange<'a> {
        Exchange { shared, stream, bytes, has_begun: false, progress }
    }

    pub(super) async fn run(mut self) -> Result<(), Failure> {
        loop {
            let stream = self.stream;
            let next = poll_fn(|cx| self.shared.borrow_mut().inboxes.poll(stream, cx)).await;
            let part = next.map_err(|closed| self.failure(closed))?;
            if self.on_part(part)? {
                return Ok(());
            }
        }
    }

    /// Reports `part`; returns true if it is the response's last.
    fn on_part(&mut self, part: Part) -> Result<bool, Failure> {
        match part {
            Part::Sent => {
                self.progress.sent(self.bytes.0, self.bytes.1);
                Ok(false)
            }
            Part::Head(head) => {
                let version = self.shared.borrow().session.version();
                // "If a client receives a SYN_REPLY without a status or without a version header, the client must reply with a
                // RST_STREAM frame indicating a PROTOCOL ERROR" (3.2.2).
                let status = message::read_status(version, &head.fields).map_err(|missing| {
                    self.reset(ResetReason::PROTOCOL_ERROR);
                    Failure::Protocol(missing.to_string())
                })?;
                self.has_begun = true;
                self.progress.head(status, head.wire_bytes as u64);
                Ok(head.fin)
            }
            Part::Data { payload, fin } => {
                self.progress.data(&payload);
                let state = &mut *self.shared.borrow_mut();
                state.session.consume(self.stream, payload.len());
                state.send_queued();
                Ok(fin)
            }
            Part::Trailers { fin } => Ok(fin),
            Part::Refused(reason) => Err(Failure::Refused(reason.to_string())),
            Part::Broken(reason) => {
                Err(Failure::Protocol(format!("its stream was reset with {reason}")))
            }
        }
    }

    fn failure(&self, closed: Closed) -> Failure {
        let aborted = io::Error::from(io::ErrorKind::ConnectionAborted);
        match closed {
            Closed::Protocol(error) => Failure::Protocol(error.to_string()),
            Closed::Transport if self.has_begun => Failure::Broken(aborted),
            Closed::Transport => Failure::Unanswered(aborted),
        }
    }

    fn reset(&self, reason: ResetReason) {
        let state = &mut *self.shared.borrow_mut();
        state.session.reset(self.stream, reason);
        state.send_queued();
    }
}

impl Drop for Exchange<'_> {
    /// Cancels an unwanted response, unless it is over.
    fn drop(&mut self) {
        let state = &mut *self.shared.borrow_mut();
        let untold = state.inboxes.forget(self.stream);
        state.session.consume(self.stream, untold);
        state.session.reset(self.stream, ResetReason::CANCEL);
        state.send_queued();
    }
}
