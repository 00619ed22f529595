//! Clients and servers that abuse HTTP/2: what they make us hold is bounded, and the connection ends with the right code.
//!
//! What h2spec sends (overflowing windows, wrong stream ids, broken header blocks) is tested by `scripts/interop/h2spec`.

mod common;

use std::time::Duration;

use common::any::{fetch, get, listen, open};
use common::{Echo, in_world};
use farlink_http::client::{Opening, Protocol};
use farlink_http::h2::frame::PREFACE;
use farlink_http::server::Acceptor;
use farlink_http::tls::Security;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::{TcpListener, TcpStream};

/// Frame types (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Error codes (RFC 9113 section 7).
const PROTOCOL_ERROR: u32 = 1;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

/// `GET http://a/9`, by indices of HPACK's static table.
const REQUEST: [u8; 8] = [0x82, 0x86, 0x01, 1, b'a', 0x04, 1, b'/'];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// One end of a connection without manners.
struct Hostile(TcpStream);

impl Hostile {
    /// A client of one of our servers.
    async fn client() -> Hostile {
        let server = listen(Echo, Acceptor::new(Security::None));
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(PREFACE).await.unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
        Hostile(stream)
    }

    /// Sends all of it, or as much as the peer takes before it ends the connection.
    async fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// Reads to the end; gives the code of the last GOAWAY.
    async fn goaway(&mut self) -> Option<u32> {
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

    /// Sends `bytes` again and again and reads nothing; gives how much was taken before the peer stopped reading.
    async fn taken(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        let moment = Duration::from_millis(300);
        while let Ok(Ok(more)) = world::timeout(moment, self.0.write(bytes)).await {
            taken += more;
            assert!(taken < 100 << 20, "{taken} bytes were taken and answered to nobody");
        }
        taken
    }
}

#[test]
fn rapid_resets_end_the_connection() {
    in_world(async {
        let mut client = Hostile::client().await;
        let mut bytes = Vec::new();
        for stream in (1..2_000).step_by(2) {
            bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, &REQUEST));
            bytes.extend(frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
        }
        client.send(&bytes).await;
        assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
    });
}

#[test]
fn resets_that_we_are_made_to_send_end_the_connection() {
    in_world(async {
        let mut client = Hostile::client().await;
        let mut bytes = Vec::new();
        // `:status` in a request is an error of its stream alone.
        let malformed = [&REQUEST[..], &[0x88]].concat();
        for stream in (1..6_000).step_by(2) {
            bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, stream, &malformed));
        }
        client.send(&bytes).await;
        assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
    });
}

#[test]
fn who_reads_no_answers_is_read_no_further() {
    in_world(async {
        for frame in [frame(PING, 0, 0, &[7; 8]), frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0])] {
            let mut client = Hostile::client().await;
            let many = frame.repeat(1_000);
            // What both kernels' buffers hold, and no more.
            let taken = client.taken(&many).await;
            assert!(taken > many.len(), "{taken}");
        }
    });
}

#[test]
fn a_header_block_without_end_ends_the_connection() {
    in_world(async {
        let mut client = Hostile::client().await;
        let mut bytes = frame(HEADERS, 0, 1, &REQUEST);
        // `x: yyy...`, 15,900 of them, never indexed; each in a frame of its own.
        let mut field = vec![0x10, 1, b'x', 0x7f, 0x9d, 0x7b];
        field.resize(6 + 15_900, b'y');
        for _ in 0..1_000 {
            bytes.extend(frame(CONTINUATION, 0, 1, &field));
        }
        client.send(&bytes).await;
        assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
    });
}

#[test]
fn a_header_block_that_inflates_ends_the_connection() {
    in_world(async {
        let mut client = Hostile::client().await;
        // A field of 4,000 bytes into the dynamic table, then 10,000 times one byte that stands for it.
        let mut block = REQUEST.to_vec();
        block.extend([0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
        block.extend([b'y'; 127 + 0x21 + (0x1e << 7)]);
        block.extend([0xbe; 10_000]);
        let head = frame(HEADERS, END_STREAM | END_HEADERS, 1, &block);
        client.send(&head).await;
        assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
    });
}

#[test]
fn a_client_takes_no_push() {
    in_world(async {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let server = world::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut server = Hostile(stream);
            let mut preface = [0; PREFACE.len()];
            server.0.read_exact(&mut preface).await.unwrap();
            server.send(&frame(SETTINGS, 0, 0, &[])).await;
            let mut promise = 2_u32.to_be_bytes().to_vec();
            promise.extend(REQUEST);
            server.send(&frame(PUSH_PROMISE, END_HEADERS, 1, &promise)).await;
            server.send(&frame(DATA, 0, 2, &[0; 1_000])).await;
            server.goaway().await
        });
        let opening = Opening::new(address, "any.farlink.test", Security::None, Protocol::H2);
        let mut connection = open(opening).await;
        let failure = fetch(&mut connection, &get("/9")).await.unwrap_err();
        assert!(failure.to_string().contains("protocol"), "{failure}");
        drop(connection);
        assert_eq!(server.await, Some(PROTOCOL_ERROR));
    });
}
