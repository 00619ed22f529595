//! Request bodies held back until the server wants them (RFC 9110 section 10.1.1).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::HeaderMap;

use crate::message::expects_continue;

/// Timeout of the wait for 100 (Continue), as in curl: many servers do not know it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The wait that holds a body back.
#[derive(Default)]
pub(crate) struct Hold(Option<Pin<Box<dyn Future<Output = ()>>>>);

impl Hold {
    /// The hold of a body whose head has these fields.
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

    /// Ends the hold because the server has answered; returns true if the body was held until now.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}
