//! Server push (3.3.1).

use ::spdy::{PushedHead, StreamId};

use super::{Exchange, Origin, Serving};
use crate::spdy::fields;
use crate::{Answer, Handler, Precedence, Push, Reply, RequestHead, Transport};

/// A pushed stream that has been promised.
pub(super) struct Promised {
    stream: StreamId,
    path: String,
    /// The answer, if the promise waited for it.
    answer: Option<Answer>,
}

impl<S: Transport, H: Handler> Serving<S, H> {
    /// Promises the responses that the handler pushes with the answer to `request` on `stream`, as far as the client accepts them.
    pub(super) fn promise(&mut self, stream: StreamId, request: RequestHead<'_>) -> Vec<Promised> {
        let mut promised = Vec::new();
        for Push { path, priority } in self.handler.pushes(request) {
            let answer = match self.session.config().pushed_head {
                PushedHead::Apart => None,
                PushedHead::Joined => Some(self.handler.handle(request.promised(&path))),
            };
            let (version, scheme, host) =
                (self.session.version(), request.scheme, request.authority);
            let fields = match &answer {
                Some(Answer::Ready(reply)) => {
                    fields::of_answered_promise(version, scheme, host, &path, reply)
                }
                _ => fields::of_promise(version, scheme, host, &path),
            };
            let priority = ::spdy::Priority::new(Precedence::from(priority).spdy);
            // A client that accepts no (more) pushed streams refuses the others too.
            let Ok(opened) = self.session.push(stream, &fields, priority) else { break };
            promised.push(Promised { stream: opened.stream, path, answer });
        }
        promised
    }

    /// Answers the promise made with `request`.
    pub(super) fn keep(&mut self, promised: Promised, request: RequestHead<'_>) {
        let Promised { stream, path, answer } = promised;
        let exchange = Exchange { stream, head_only: false, origin: Origin::Pushed, tunnel: None };
        match answer {
            Some(Answer::Ready(reply)) => self.complete(stream, reply),
            Some(later) => self.work(exchange, later),
            None => {
                let answer = self.handler.handle(request.promised(&path));
                self.work(exchange, answer);
            }
        }
    }

    /// Sends the rest of `reply`, whose head has gone.
    fn complete(&mut self, stream: StreamId, reply: Reply) {
        let body = if reply.head.is_bodiless() { Default::default() } else { reply.body };
        self.answered += body.len() as u64;
        // A client that has reset the stream misses nothing.
        let _ = self.session.send(stream, body, true);
    }
}
