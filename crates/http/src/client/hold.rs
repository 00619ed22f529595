//! Request bodies that wait until their server wants them (RFC 9110 section 10.1.1).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::HeaderMap;

use crate::message::expects_continue;

/// How long a body waits for a server that does not say 100 (Continue), as curl does: many never heard of it.
const PATIENCE: Duration = Duration::from_secs(1);

/// What holds a body back.
#[derive(Default)]
pub(crate) struct Hold(Option<Pin<Box<dyn Future<Output = ()>>>>);

impl Hold {
    /// Of the body behind a head with these fields.
    pub(crate) fn of(fields: &HeaderMap) -> Hold {
        Hold(expects_continue(fields).then(|| Box::pin(world::sleep(PATIENCE)) as _))
    }

    /// Ready once the body may go.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(hold) = &mut self.0 {
            ready!(hold.as_mut().poll(cx));
            self.0 = None;
        }
        Poll::Ready(())
    }

    /// The server has said something; whether the body was held until now.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}
