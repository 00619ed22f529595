//! A TCP connection that somebody stands in the middle of.

use std::ops::{Deref, DerefMut};

use world::TcpStream;

/// A TCP connection that is reset when it is dropped, or this process killed, unless it was let go: whoever gives up in the middle must not
/// look, to the peer, as if all had been said.
pub(crate) struct Fragile(Option<TcpStream>);

impl Fragile {
    pub(crate) fn new(tcp: TcpStream) -> Fragile {
        tcp.set_resets_if_orphaned(true);
        Fragile(Some(tcp))
    }

    /// The connection, to be closed as usual.
    pub(crate) fn let_go(mut self) -> TcpStream {
        let tcp = self.0.take().expect("it is there until it is let go");
        tcp.set_resets_if_orphaned(false);
        tcp
    }
}

impl Deref for Fragile {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        self.0.as_ref().expect("it is there until it is let go")
    }
}

impl DerefMut for Fragile {
    fn deref_mut(&mut self) -> &mut TcpStream {
        self.0.as_mut().expect("it is there until it is let go")
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        if let Some(tcp) = self.0.take() {
            tcp.abort();
        }
    }
}
