//! The company of the clients that load pages: a transfer without end, over one TCP connection.

use std::net::SocketAddr;
use std::time::Duration;

use page::Page;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::{TcpListener, TcpStream};

use super::origin_address;
use scenario::CrossTraffic;

const PORT: u16 = 9;

/// What is written or read at once.
const CHUNK: usize = 64 * 1024;

/// After a connection that failed, the next one.
const PAUSE: Duration = Duration::from_secs(1);

/// Where its server listens: behind the last of the page's own.
pub(crate) fn address(page: &Page) -> SocketAddr {
    SocketAddr::new(origin_address(page.hosts.len()), PORT)
}

/// The server's part.
pub(crate) async fn serve(beside: CrossTraffic, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        world::spawn(carry(stream, beside == CrossTraffic::Download));
    }
}

/// The client's part.
pub(crate) async fn keep_busy(beside: CrossTraffic, server: SocketAddr) {
    loop {
        if let Ok(stream) = TcpStream::connect(server).await {
            carry(stream, beside == CrossTraffic::Upload).await;
        }
        world::sleep(PAUSE).await;
    }
}

/// Sends, or takes in, until the connection ends.
async fn carry(mut stream: TcpStream, sends: bool) {
    let mut chunk = vec![0; CHUNK];
    match sends {
        true => while stream.write_all(&chunk).await.is_ok() {},
        false => while let Ok(1..) = stream.read(&mut chunk).await {},
    }
}
