//! A TCP connection with an intermediary.

use std::ops::{Deref, DerefMut};

use world::TcpStream;

/// A TCP connection that is reset when it is dropped, or this process killed, unless it was let go: to the peer, an interrupted transfer
/// must not look complete.
pub(crate) struct Fragile(Option<TcpStream>);

impl Fragile {
    pub(crate) fn new(tcp: TcpStream) -> Fragile {
        tcp.set_resets_if_orphaned(true);
        Fragile(Some(tcp))
    }

    /// Lets the connection go, to be closed as usual.
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
