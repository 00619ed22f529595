//! Clients and servers that abuse HTTP/2: the memory that they can claim is bounded, and the connection ends with the right code.
//!
//! The cases of h2spec (overflowing windows, wrong stream ids, broken header blocks) are tested by `scripts/interop/h2spec`.

use crate::common;

use std::time::Duration;

use common::any::{fetch, get, open};
use common::hostile::*;
use common::in_world;
use farlink_http::client::{Opening, Protocol};
use farlink_http::h2::frame::PREFACE;
use farlink_http::server::ClientTimeouts;
use tls::Security;
use tokio::io::AsyncReadExt;
use world::TcpListener;

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
fn who_wants_too_many_answers_is_answered_no_longer() {
    in_world(async {
        // Limits of frames sent at once, see `h2/flood.rs`.
        let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]);
        for (frame, allowed) in [(frame(PING, 0, 0, &[7; 8]), 100), (settings, 39)] {
            let mut client = Hostile::client().await;
            client.send(&frame.repeat(allowed)).await;
            client.send(&REQUEST_FRAME).await;
            client.head_of_a_response().await;
            client.send(&frame.repeat(allowed)).await;
            assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
        }
    });
}

#[test]
fn who_orders_anew_again_and_again_is_heeded_no_longer() {
    in_world(async {
        let update = frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1");
        for frame in [frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 7]), update] {
            let mut client = Hostile::client().await;
            client.send(&frame.repeat(900)).await;
            client.send(&REQUEST_FRAME).await;
            client.head_of_a_response().await;
            client.send(&frame.repeat(900)).await;
            assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
        }
    });
}

#[test]
fn requests_that_are_reset_once_they_are_worked_on_end_the_connection() {
    in_world(async {
        let mut client = Hostile::client().await;
        for stream in (1..800).step_by(2) {
            // The handler takes 2 ms for `/later/1`.
            let block = [&REQUEST[..6], b"\x08/later/1"].concat();
            client.send(&frame(HEADERS, END_STREAM | END_HEADERS, stream, &block)).await;
            world::sleep(Duration::from_micros(500)).await;
            client.send(&frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())).await;
        }
        assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
    });
}

/// Short timeouts.
fn impatient() -> Option<ClientTimeouts> {
    Some(ClientTimeouts { idle_timeout: Duration::from_millis(300), ..ClientTimeouts::default() })
}

#[test]
fn who_takes_no_response_is_ended() {
    in_world(async {
        let mut client = Hostile::client_of(impatient()).await;
        // A window of 0, and a request for nine bytes.
        client.send(&frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])).await;
        let block = [&REQUEST[..6], b"\x02/9"].concat();
        client.send(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &block)).await;
        let began = world::now();
        assert_eq!(client.goaway().await, Some(ENHANCE_YOUR_CALM));
        assert!(world::now() - began < Duration::from_secs(4));
    });
}

#[test]
fn who_only_pings_or_never_ends_a_head_is_ended() {
    in_world(async {
        let began_head = frame(HEADERS, END_STREAM, 1, &REQUEST);
        for (first, code) in [(Vec::new(), NO_ERROR), (began_head, NO_ERROR)] {
            let is_head = !first.is_empty();
            let mut client = Hostile::client_of(impatient()).await;
            client.send(&first).await;
            for _ in 0..40 {
                world::sleep(Duration::from_millis(50)).await;
                let trickle = if is_head {
                    frame(CONTINUATION, 0, 1, &[])
                } else {
                    frame(PING, 0, 0, &[7; 8])
                };
                client.send(&trickle).await;
            }
            let began = world::now();
            assert!(client.goaway().await.is_none_or(|goaway| goaway == code || is_head));
            assert!(world::now() - began < Duration::from_secs(3));
        }
    });
}

#[test]
fn a_header_block_without_end_ends_the_connection() {
    in_world(async {
        let mut client = Hostile::client().await;
        let mut bytes = frame(HEADERS, 0, 1, &REQUEST);
        // `x: yyy...`, 15,900 of them, never indexed; each in a separate frame.
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
        // A field of 4,000 bytes into the dynamic table, then 10,000 times its one-byte index.
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
