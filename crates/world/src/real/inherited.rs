//! Listening sockets that the process was started with: by a service manager that keeps them open over restarts
//! (systemd's socket activation).

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::OnceLock;

static INHERITED: OnceLock<Vec<TcpListener>> = OnceLock::new();

/// Makes `listeners` those that [`TcpListener::bind`](crate::TcpListener::bind) uses for their addresses, on every thread. Whoever
/// opened them may go on listening when this process has ended: connections that it does not accept any more wait for the next.
///
/// # Errors
/// If it was called before.
pub fn inherit(listeners: Vec<TcpListener>) -> io::Result<()> {
    INHERITED.set(listeners).map_err(|_| io::Error::other("sockets are inherited once"))
}

/// Another handle of the inherited socket for this address, if there is one.
pub(super) fn inherited(address: SocketAddr) -> io::Result<Option<TcpListener>> {
    let has_address = |listener: &&TcpListener| listener.local_addr().is_ok_and(|it| it == address);
    let Some(listener) = INHERITED.get().and_then(|all| all.iter().find(has_address)) else {
        return Ok(None);
    };
    let listener = listener.try_clone()?;
    listener.set_nonblocking(true)?;
    Ok(Some(listener))
}
