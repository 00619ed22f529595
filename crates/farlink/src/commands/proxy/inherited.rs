//! Ports that systemd opened (sd_listen_fds(3)): each is the socket of the listener with its address.

use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
use proxy::config::ProxyConfig;

use crate::failure::CliError;

/// Takes over the sockets that were passed, if there are any.
pub(super) fn take(settings: &ProxyConfig) -> Result<(), CliError> {
    let mut passed = ListenFd::from_env();
    let sockets: Vec<TcpListener> =
        (0..passed.len()).map(|index| take_one(&mut passed, index)).collect::<Result<_, _>>()?;
    for socket in &sockets {
        let address = socket.local_addr().map_err(CliError::machine)?;
        if !listens_on(settings, address) {
            let message =
                format!("systemd passed a socket for {address}, and no listener has that address");
            let hint =
                format!("add [[listen]] with address = \"{address}\", or change ListenStream");
            return Err(CliError::bad_input(message).hint(hint));
        }
    }
    match sockets.is_empty() {
        true => Ok(()),
        false => world::real::inherit(sockets).map_err(CliError::machine),
    }
}

fn take_one(passed: &mut ListenFd, index: usize) -> Result<TcpListener, CliError> {
    let taken = passed.take_tcp_listener(index).ok().flatten();
    taken.ok_or_else(|| {
        let message = format!("socket {index} that systemd passed is no listening TCP socket");
        let hint = "use ListenStream with an address and a port; UDP for HTTP/3 is opened here";
        CliError::bad_input(message).hint(hint.to_owned())
    })
}

fn listens_on(settings: &ProxyConfig, address: SocketAddr) -> bool {
    let admin = settings.admin.iter().map(|admin| admin.address);
    settings.listeners.iter().map(|listener| listener.address).chain(admin).any(|it| it == address)
}
