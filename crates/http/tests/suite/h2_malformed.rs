//! Malformed HTTP/2 messages end only their stream (RFC 9113 section 8.1.1), and leave the two ends' HPACK tables in step.

use crate::common;

use common::any::{fetch, get, open};
use common::hostile::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Hostile, PROTOCOL_ERROR,
    RST_STREAM, SETTINGS, frame,
};
use common::in_world;
use farlink_http::client::{Opening, Protocol};
use farlink_http::h2::frame::PREFACE;
use tls::Security;
use tokio::io::AsyncReadExt;
use world::{TcpListener, TcpStream};

/// The start of every request here: `GET http://a`.
const START: [u8; 5] = [0x82, 0x86, 0x01, 1, b'a'];

/// A literal with a literal name; added to the table or not.
fn literal(is_kept: bool, name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut line = vec![if is_kept { 0x40 } else { 0 }];
    for text in [name, value] {
        push_length(text.len(), &mut line);
        line.extend(text);
    }
    line
}

fn push_length(length: usize, out: &mut Vec<u8>) {
    match length.checked_sub(0x7f) {
        None => out.push(length as u8),
        Some(more) => out.extend([0x7f, more as u8 & 0x7f | 0x80, (more >> 7) as u8]),
    }
}

/// `:path: /SIZE`, added to the table, with the name of the static table: answered with `size` bytes.
fn kept_path(size: usize) -> Vec<u8> {
    let path = format!("/{size}");
    [&[0x44, path.len() as u8], path.as_bytes()].concat()
}

fn request(stream: u32, lines: &[&[u8]]) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &lines.concat())
}

/// The outcome of a stream.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// A response with a body of this size came.
    Answered(usize),
    Reset(u32),
    /// The connection ended with this code.
    Ended(u32),
}

/// The outcome of `stream`, the only open one.
async fn fate(client: &mut Hostile, stream: u32) -> Fate {
    let code = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    loop {
        let (kind, of, payload) = client.frame().await;
        match kind {
            GOAWAY => return Fate::Ended(code(&payload[4..8])),
            RST_STREAM if of == stream => return Fate::Reset(code(&payload)),
            DATA if of == stream => return Fate::Answered(payload.len()),
            _ => {}
        }
    }
}

/// Malformed fields, and whether their names are malformed.
const BAD_FIELDS: [(&[u8], &[u8], bool); 13] = [
    (b"X-Upper", b"1", false),
    (b"with space", b"1", false),
    (b"a\0b", b"1", false),
    (b"\xc3\xa9", b"1", false),
    (b"", b"nameless", false),
    (b":unknown", b"1", false),
    (b"x-nul", b"a\0b", true),
    (b"x-cr", b"a\rb", true),
    (b"x-lf", b"a\nb: c", true),
    (b"x-del", b"\x7f", true),
    (b":method", b"G T", true),
    (b":method", b"", false),
    (b":status", b"20", false),
];

#[test]
fn a_malformed_field_ends_its_stream_and_every_entry_keeps_its_place() {
    in_world(async {
        for (name, value, is_name) in BAD_FIELDS {
            for is_kept in [false, true] {
                let what = format!("{:?}, kept: {is_kept}", String::from_utf8_lossy(name));
                let mut client = Hostile::client().await;
                let bad = literal(is_kept, name, value);
                client.send(&request(1, &[&START, &kept_path(7), &bad, &kept_path(8)])).await;
                assert_eq!(fate(&mut client, 1).await, Fate::Reset(PROTOCOL_ERROR), "{what}");
                client.send(&request(3, &[&START, &[0xbe]])).await;
                assert_eq!(fate(&mut client, 3).await, Fate::Answered(8), "{what}");
                let older = if is_kept { 0xc0 } else { 0xbf };
                client.send(&request(5, &[&START, &[older]])).await;
                assert_eq!(fate(&mut client, 5).await, Fate::Answered(7), "{what}");
                if !is_kept {
                    continue;
                }
                // The malformed line again, by its index.
                client.send(&request(7, &[&START, &[0xbe, 0xbf]])).await;
                assert_eq!(fate(&mut client, 7).await, Fate::Reset(PROTOCOL_ERROR), "{what}");
                if !name.starts_with(b":") {
                    // Its name with another value.
                    client.send(&request(9, &[&START, &[0xbe, 0x0f, 0x30, 1, b'1']])).await;
                    let expected =
                        if is_name { Fate::Answered(8) } else { Fate::Reset(PROTOCOL_ERROR) };
                    assert_eq!(fate(&mut client, 9).await, expected, "{what}");
                }
            }
        }
    });
}

/// Detected by h2 itself.
#[test]
fn a_malformed_message_of_good_fields_ends_its_stream() {
    let field = |name: &[u8], value: &[u8]| literal(false, name, value);
    let [path, host] = [field(b":path", b"/9"), field(b"host", b"a")];
    let whole = [&START[..], &path].concat();
    let cases = [
        ("connection", [&whole[..], &field(b"connection", b"close")].concat()),
        ("te", [&whole[..], &field(b"te", b"gzip")].concat()),
        ("transfer-encoding", [&whole[..], &field(b"transfer-encoding", b"chunked")].concat()),
        ("upgrade", [&whole[..], &field(b"upgrade", b"a")].concat()),
        ("keep-alive", [&whole[..], &field(b"keep-alive", b"a")].concat()),
        ("no path", START.to_vec()),
        ("no method", [&START[1..], &path].concat()),
        ("no scheme", [&[0x82], &path[..], &host].concat()),
        ("two paths", [&whole[..], &path].concat()),
        ("two methods", [&whole[..], &[0x82]].concat()),
        ("a part behind a field", [&START[..], &host, &path].concat()),
        ("a status", [&whole[..], &[0x88]].concat()),
        ("an empty path", [&START[..], &field(b":path", b"")].concat()),
        ("a path that is no text", [&START[..], &field(b":path", b"/\xff")].concat()),
        ("an unequal length", [&whole[..], &field(b"content-length", b"5")].concat()),
    ];
    in_world(async move {
        for (what, block) in cases {
            let mut client = Hostile::client().await;
            client.send(&request(1, &[&block])).await;
            assert_eq!(fate(&mut client, 1).await, Fate::Reset(PROTOCOL_ERROR), "{what}");
            client.send(&request(3, &[&whole])).await;
            assert_eq!(fate(&mut client, 3).await, Fate::Answered(9), "{what}");
        }
    });
}

#[test]
fn a_malformed_block_in_many_frames_ends_its_stream() {
    in_world(async {
        for bad in [literal(true, b"X-Upper", b"1"), literal(true, b"connection", b"close")] {
            let mut client = Hostile::client().await;
            let block = [&START[..], &kept_path(7), &bad, &kept_path(8)].concat();
            let mut frames = frame(HEADERS, END_STREAM, 1, &block[..6]);
            for byte in &block[6..] {
                frames.extend(frame(CONTINUATION, 0, 1, &[*byte]));
            }
            frames.extend(frame(CONTINUATION, END_HEADERS, 1, &[]));
            frames.extend(request(3, &[&START, &[0xc0]]));
            // However it is cut.
            for piece in frames.chunks(13) {
                client.send(piece).await;
                world::sleep(std::time::Duration::from_micros(100)).await;
            }
            assert_eq!(fate(&mut client, 1).await, Fate::Reset(PROTOCOL_ERROR));
            assert_eq!(fate(&mut client, 3).await, Fate::Answered(7));
        }
    });
}

#[test]
fn a_malformed_trailer_ends_its_stream() {
    in_world(async {
        let mut client = Hostile::client().await;
        let post = [&[0x83][..], &START[1..], &literal(false, b":path", b"/body")].concat();
        client.send(&frame(HEADERS, END_HEADERS, 1, &post)).await;
        client.send(&frame(DATA, 0, 1, b"body")).await;
        client.send(&request(1, &[&literal(false, b"X-Sum", b"1")])).await;
        assert_eq!(fate(&mut client, 1).await, Fate::Reset(PROTOCOL_ERROR));
        client.send(&request(3, &[&START, &kept_path(5)])).await;
        assert_eq!(fate(&mut client, 3).await, Fate::Answered(5));
    });
}

/// The replacement of a malformed entry has the same size (RFC 7541 section 4.1), to the byte.
#[test]
fn a_malformed_entry_drives_others_out_as_it_should() {
    in_world(async {
        const TABLE: usize = 4_096;
        let path_bytes = 32 + 5 + 2;
        for (name, more, fate_of_path) in [
            (&b"Bad"[..], 0, Fate::Answered(7)),
            (b"bad", 0, Fate::Answered(7)),
            (b"Bad", 1, Fate::Ended(PROTOCOL_ERROR)),
            (b"bad", 1, Fate::Ended(PROTOCOL_ERROR)),
        ] {
            let value = vec![0; TABLE - path_bytes - 32 - name.len() + more];
            let bad = literal(true, name, &value);
            let mut client = Hostile::client().await;
            client.send(&request(1, &[&START, &kept_path(7), &bad])).await;
            assert_eq!(fate(&mut client, 1).await, Fate::Reset(PROTOCOL_ERROR));
            client.send(&request(3, &[&START, &[0xbf]])).await;
            assert_eq!(fate(&mut client, 3).await, fate_of_path, "{name:?} and {more}");
        }
    });
}

/// A client of an origin that gives one malformed answer.
#[test]
fn a_malformed_response_fails_its_request_alone() {
    in_world(async {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        drop(world::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            answer_malformed_once(stream).await;
        }));
        let opening = Opening::new(address, "any.farlink.test", Security::None, Protocol::H2);
        let mut connection = open(opening).await;
        let failure = fetch(&mut connection, &get("/1")).await.unwrap_err();
        assert!(failure.to_string().contains("protocol"), "{failure}");
        let seen = fetch(&mut connection, &get("/2")).await.unwrap();
        assert_eq!(seen.status, 204);
        assert!(connection.is_reusable());
    });
}

async fn answer_malformed_once(mut stream: TcpStream) {
    stream.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
    let mut server = Hostile(stream);
    server.send(&frame(SETTINGS, 0, 0, &[])).await;
    let bad = [&[0x88][..], &literal(true, b"x-nul", b"\0"), &literal(true, b"x-a", b"1")].concat();
    let good = [0x89, 0xbe];
    for (stream, block) in [(1, &bad[..]), (3, &good)] {
        while server.frame().await.0 != HEADERS {}
        server.send(&frame(HEADERS, END_STREAM | END_HEADERS, stream, block)).await;
    }
    // Until the client closes.
    while server.0.read(&mut [0; 1_024]).await.is_ok_and(|bytes| bytes > 0) {}
}
