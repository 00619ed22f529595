//! Cross traffic beside the clients that load pages: an endless transfer over one TCP connection.

use std::net::SocketAddr;
use std::time::Duration;

use page::Page;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::{TcpListener, TcpStream};

use super::origin_address;
use scenario::CrossTraffic;

const PORT: u16 = 9;

/// Size of a write or read.
const CHUNK: usize = 64 * 1024;

/// Pause before reconnecting after a failed connection.
const PAUSE: Duration = Duration::from_secs(1);

/// Address of its server: behind the last of the page's own.
pub(crate) fn address(page: &Page) -> SocketAddr {
    SocketAddr::new(origin_address(page.hosts.len()), PORT)
}

/// Runs the server.
pub(crate) async fn serve(beside: CrossTraffic, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        world::spawn(carry(stream, beside == CrossTraffic::Download));
    }
}

/// Runs the client.
pub(crate) async fn keep_busy(beside: CrossTraffic, server: SocketAddr) {
    loop {
        if let Ok(stream) = TcpStream::connect(server).await {
            carry(stream, beside == CrossTraffic::Upload).await;
        }
        world::sleep(PAUSE).await;
    }
}

/// Sends, or receives, until the connection ends.
async fn carry(mut stream: TcpStream, sends: bool) {
    let mut chunk = vec![0; CHUNK];
    match sends {
        true => while stream.write_all(&chunk).await.is_ok() {},
        false => while let Ok(1..) = stream.read(&mut chunk).await {},
    }
}
