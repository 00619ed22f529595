//! Two TCP connections joined without a leg: the way past the proxy.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::copy_bidirectional;
use world::TcpStream;

use super::Fragile;

/// Joins `client`, from which `first` was read already, and `server` until both directions have ended. If either breaks, both
/// do.
///
/// # Errors
/// The error of the connection that broke.
pub(crate) async fn join(client: TcpStream, server: TcpStream, first: Bytes) -> io::Result<()> {
    let (mut client, mut server) = (Fragile::new(client), Fragile::new(server));
    server.write_bytes(first).await?;
    copy_bidirectional(&mut *client, &mut *server).await?;
    drop((client.let_go(), server.let_go()));
    Ok(())
}

/// Connects to `target`, for at most `patience`.
///
/// # Errors
/// Errors of [`TcpStream::connect`], and a timeout.
pub(crate) async fn connect(target: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    world::timeout(patience, TcpStream::connect(target))
        .await
        .map_err(|elapsed| io::Error::new(io::ErrorKind::TimedOut, elapsed))?
}
