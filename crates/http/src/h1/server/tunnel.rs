//! A connection that has become a tunnel (RFC 9110 section 9.3.6), or has switched protocols (section 7.8).

use http::{Response, StatusCode};

use super::connection::{Connection, Ended};
use super::core::Core;
use crate::h1::buffer::Buffer;
use crate::h1::codec::encode;
use crate::relay::{Buffers, Joined, join};
use crate::{Duplex, Transport};

impl<S: Transport> Connection<'_, S> {
    /// Grants the tunnel, joins the connection to `far`, and returns how that ended. Bytes that the client sent ahead go first.
    pub(super) async fn tunnel(&mut self, far: Box<dyn Duplex>) -> Ended {
        // No framing field: everything after it belongs to the tunnel.
        self.outbox.text(b"HTTP/1.1 200 OK\r\n\r\n");
        self.join(far).await
    }

    /// Announces the protocol switch, joins the connection to `far`, and returns how that ended.
    pub(super) async fn switch(&mut self, head: &Response<()>, far: Box<dyn Duplex>) -> Ended {
        self.outbox.with_text(|text| {
            encode::open_head(text, StatusCode::SWITCHING_PROTOCOLS, head.headers());
            text.extend_from_slice(b"connection: upgrade\r\n\r\n");
        });
        self.join(far).await
    }

    async fn join(&mut self, mut far: Box<dyn Duplex>) -> Ended {
        if let Err(ended) = self.send().await {
            return ended;
        }
        let (carried, patience) = (self.input.take(), self.core.patience());
        let ends = (&mut self.stream, &mut *far);
        match join(ends, carried, self.core, &self.timer, patience).await {
            Ok(Joined::Ended) => Ended::Orderly,
            Ok(Joined::Stalled) => Ended::Stalled,
            Err(error) => Ended::Broken(error),
        }
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
