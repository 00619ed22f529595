//! One end of an HTTP/2 connection that writes raw frames, and so can violate the protocol.

use farlink_http::h2::frame::PREFACE;
use farlink_http::server::{Acceptor, ClientTimeouts, SharedServerState};
use tls::Security;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

use super::Echo;
use super::any::listen;

/// Frame types (RFC 9113 section 6).
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const PRIORITY_UPDATE: u8 = 16;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// Error codes (RFC 9113 section 7).
pub const PROTOCOL_ERROR: u32 = 1;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

pub const NO_ERROR: u32 = 0;

/// A complete request.
pub const REQUEST_FRAME: [u8; 17] = [
    0,
    0,
    8,
    HEADERS,
    END_STREAM | END_HEADERS,
    0,
    0,
    0,
    1,
    0x82,
    0x86,
    0x01,
    1,
    b'a',
    0x04,
    1,
    b'/',
];

/// `GET http://a/9`, by indices of HPACK's static table.
pub const REQUEST: [u8; 8] = [0x82, 0x86, 0x01, 1, b'a', 0x04, 1, b'/'];

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A misbehaving end of a connection.
pub struct Hostile(pub TcpStream);

impl Hostile {
    /// A client of one of our servers.
    pub async fn client() -> Hostile {
        Hostile::client_of(None).await
    }

    /// The same for a server with these timeouts.
    pub async fn client_of(patience: Option<ClientTimeouts>) -> Hostile {
        let common = SharedServerState { patience, ..SharedServerState::default() };
        let server = listen(Echo, Acceptor { common, ..Acceptor::new(Security::None) });
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(PREFACE).await.unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
        Hostile(stream)
    }

    /// Sends all of it, or as much as the peer accepts before it ends the connection.
    pub async fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// Reads until a response begins.
    pub async fn head_of_a_response(&mut self) {
        let mut head = [0; 9];
        loop {
            self.0.read_exact(&mut head).await.expect("a response comes");
            let size = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            self.0.read_exact(&mut vec![0; size as usize]).await.expect("a frame is whole");
            if head[3] == HEADERS {
                return;
            }
        }
    }

    /// The next frame's type, stream and payload, unless it is one of the connection's beginning.
    pub async fn frame(&mut self) -> (u8, u32, Vec<u8>) {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.expect("a frame comes");
            let [_, l0, l1, kind, _, stream @ ..] = head;
            let mut payload = vec![0; usize::from(u16::from_be_bytes([l0, l1]))];
            self.0.read_exact(&mut payload).await.expect("a frame is whole");
            if kind != SETTINGS && kind != WINDOW_UPDATE {
                return (kind, u32::from_be_bytes(stream), payload);
            }
        }
    }

    /// Reads to the end; returns the code of the last GOAWAY.
    pub async fn goaway(&mut self) -> Option<u32> {
        let mut code = None;
        let mut head = [0; 9];
        while self.0.read_exact(&mut head).await.is_ok() {
            let size = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; size as usize];
            if self.0.read_exact(&mut payload).await.is_err() {
                break;
            }
            if head[3] == GOAWAY {
                code = Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
        }
        code
    }
}
