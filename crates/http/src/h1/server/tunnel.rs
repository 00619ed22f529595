//! A connection that has become a tunnel (RFC 9110 section 9.3.6).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use super::connection::{Connection, Ended};
use super::core::Core;
use crate::h1::buffer::Buffer;
use crate::relay::{Buffers, Way};
use crate::{Duplex, Transport};

impl<S: Transport> Connection<'_, S> {
    /// Grants the tunnel, joins the connection to `far`, and says how that ended. What the client sent ahead goes first.
    pub(super) async fn tunnel(&mut self, mut far: Box<dyn Duplex>) -> Ended {
        // No field of framing: what follows is the tunnel's.
        self.outbox.text(b"HTTP/1.1 200 OK\r\n\r\n");
        if let Err(ended) = self.send().await {
            return ended;
        }
        let (mut up, mut down) = (Way::carrying(self.input.take()), Way::default());
        self.timer.set(self.core.settings.tunnel_timeout);
        poll_fn(|cx| {
            let (near, far, mut moved) = (&mut self.stream, &mut *far, false);
            let to_far = (Pin::new(&mut *near), Pin::new(&mut *far));
            let upward = up.poll(to_far.0, to_far.1, self.core, &mut moved, cx);
            let downward = down.poll(Pin::new(far), Pin::new(near), self.core, &mut moved, cx);
            match (upward, downward) {
                (Poll::Ready(Err(error)), _) | (_, Poll::Ready(Err(error))) => {
                    return Poll::Ready(Ended::Broken(error));
                }
                (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => return Poll::Ready(Ended::Orderly),
                _ => {}
            }
            if moved {
                let settings = &self.core.settings;
                let is_half_closed = up.has_ended() || down.has_ended();
                let patience =
                    if is_half_closed { settings.idle_timeout } else { settings.tunnel_timeout };
                self.timer.set(patience);
            }
            self.timer.poll_expired(cx).map(|()| Ended::Stalled)
        })
        .await
    }
}

impl Buffers for Core {
    fn lend(&self) -> Buffer {
        self.input()
    }

    fn take_back(&self, buffer: Buffer) {
        self.return_input(buffer);
    }
}
