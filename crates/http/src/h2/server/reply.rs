//! A reply on its stream.

use std::rc::Rc;
use std::task::Context;

use ::h2::SendStream;
use ::h2::server::{SendPushedResponse, SendResponse};
use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_LENGTH, HeaderValue};

use crate::Reply;
use crate::h2::backlog::{Backlog, Waiting};
use crate::schedule::Served;

/// Where a response goes.
pub(super) enum Respond {
    /// To a request.
    Asked(SendResponse<Bytes>),
    /// To a promise.
    Pushed(SendPushedResponse<Bytes>),
}

impl Respond {
    fn send(&mut self, head: Response<()>, silent: bool) -> Result<SendStream<Bytes>, ::h2::Error> {
        match self {
            Respond::Asked(respond) => respond.send_response(head, silent),
            Respond::Pushed(respond) => respond.send_response(head, silent),
        }
    }
}

/// A stream whose request has arrived, or was promised an answer.
pub(super) struct Exchange {
    pub(super) respond: Respond,
    /// A request for the head alone: its reply's body is not sent.
    pub(super) head_only: bool,
}

/// A response's body on its way.
pub(super) struct Sending {
    stream: SendStream<Bytes>,
    left: Waiting,
}

impl Exchange {
    /// Sends the head of `reply`; gives what is left to send, if anything is. A stream that the client
    /// has given up sends nothing.
    pub(super) fn answer(mut self, reply: Reply, backlog: &Rc<Backlog>) -> Option<Sending> {
        let silent = self.head_only || reply.body.is_empty() || reply.head.is_bodiless();
        let stream = self.respond.send(head(&reply), silent).ok()?;
        (!silent).then(|| Sending { stream, left: Waiting::new(reply.body, backlog) })
    }
}

fn head(reply: &Reply) -> Response<()> {
    let mut head = reply.head.parts.clone();
    if !reply.head.is_bodiless() {
        head.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(reply.body.len()));
    }
    head
}

impl Sending {
    pub(super) fn id(&self) -> u32 {
        self.stream.stream_id().as_u32()
    }

    /// Hands h2 at most `chunk` bytes.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, chunk: usize) -> Served {
        let wanted = chunk.min(self.left.len());
        self.stream.reserve_capacity(wanted);
        let granted = self.stream.capacity().min(wanted);
        if granted == 0 {
            // What was asked for would else be granted when it is not this stream's turn.
            self.stream.reserve_capacity(0);
            let given_up = self.stream.poll_reset(cx).is_ready();
            return if given_up { Served::Done(0) } else { Served::Blocked };
        }
        let piece = self.left.hand_over(granted);
        let last = self.left.is_empty();
        match self.stream.send_data(piece, last) {
            Ok(()) if !last => Served::Chunk(granted),
            _ => Served::Done(granted),
        }
    }
}
