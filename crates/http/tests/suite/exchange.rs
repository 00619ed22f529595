//! Exchanges with streamed bodies, over HTTP/1.1 and HTTP/2.

use crate::common;

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use common::any::{listen, open};
use common::{Echo, in_world, scripted};
use farlink_http::RequestError;
use farlink_http::client::{ClientConnection, Incoming, Opening, Protocol};
use farlink_http::server::{Acceptor, Body, BodyError, RequestBody};
use http::Request;
use tls::Security;

/// This many pieces of 1,000 bytes, every other one only on the second poll; then optionally an error.
struct Pieces {
    left: usize,
    is_ready: bool,
    breaks: bool,
}

impl Body for Pieces {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.is_ready = !self.is_ready;
        if self.is_ready && self.left % 2 == 1 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.left == 0 {
            return Poll::Ready(self.breaks.then(|| Err(BodyError::Stalled)));
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(Bytes::from(vec![b'y'; 1_000]))))
    }
}

fn body(pieces: usize, is_told: bool) -> Option<RequestBody> {
    let source = Pieces { left: pieces, is_ready: false, breaks: false };
    Some(RequestBody::new(Box::new(source), is_told.then_some(1_000 * pieces as u64)))
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder().method(method).uri(format!("http://a.test{path}")).body(()).unwrap()
}

/// All of a response's body.
async fn gather(body: &mut impl Body) -> Result<Vec<u8>, BodyError> {
    let mut gathered = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.poll_next(cx)).await {
        gathered.extend_from_slice(&piece?);
    }
    Ok(gathered)
}

async fn exchange(
    connection: ClientConnection,
    method: &str,
    path: &str,
    body: Option<RequestBody>,
) -> (u16, Option<u64>, Vec<u8>, Option<ClientConnection>) {
    let answer = connection.exchange(&request(method, path), body).await.expect("an answer");
    let Incoming { head, length, mut body } = answer;
    let gathered = gather(&mut body).await.expect("a whole body");
    (head.status().as_u16(), length, gathered, body.into_connection())
}

fn on_each_protocol(test: impl AsyncFn(ClientConnection)) {
    for protocol in [Protocol::H1, Protocol::H2] {
        in_world(async {
            let server = listen(Echo, Acceptor::new(Security::None));
            test(open(Opening::new(server.address, "a.test", Security::None, protocol)).await)
                .await;
        });
    }
}

#[test]
fn bodies_of_either_framing_arrive_whole() {
    on_each_protocol(async |mut connection| {
        for (pieces, is_told) in [(300, true), (300, false), (0, true), (0, false), (1, false)] {
            let shared = connection.share();
            let (status, _, told, again) =
                exchange(connection, "POST", "/body", body(pieces, is_told)).await;
            assert_eq!((status, told), (200, (1_000 * pieces).to_string().into_bytes()));
            connection = again.or(shared).expect("the connection serves the next request");
        }
    });
}

#[test]
fn responses_come_with_their_lengths_and_the_connection_is_used_again() {
    on_each_protocol(async |mut connection| {
        for (method, path, bytes) in [
            ("GET", "/later/3000000", 3_000_000),
            ("GET", "/0", 0),
            ("GET", "/status/204", 0),
            ("GET", "/1", 1),
        ] {
            let shared = connection.share();
            let (_, length, gathered, again) = exchange(connection, method, path, None).await;
            assert_eq!((length, gathered.len()), (Some(bytes), bytes as usize), "{path}");
            connection = again.or(shared).expect("the connection serves the next request");
        }
    });
}

#[test]
fn a_request_whose_body_breaks_off_fails() {
    on_each_protocol(async |connection| {
        let source = Pieces { left: 3, is_ready: false, breaks: true };
        let body = RequestBody::new(Box::new(source), Some(5_000));
        let failed = connection.exchange(&request("POST", "/body"), Some(body)).await;
        assert!(matches!(failed, Err(RequestError::Unsendable(_))), "{:?}", failed.err());
    });
}

#[test]
fn answers_of_http1_that_are_none_are_told_apart() {
    for (answer, is_fine) in [
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", true),
        ("HTTP/1.0 200 OK\r\n\r\nabc", true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
            true,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false),
    ] {
        in_world(async {
            let connection = scripted(answer).await;
            let (head, _, mut body) =
                connection.exchange(&request("GET", "/"), None).await.expect("a head");
            assert_eq!(head.status(), 200);
            let gathered = gather(&mut body).await;
            assert_eq!(gathered.is_ok_and(|body| body == b"abc"), is_fine, "{answer}");
            assert!(body.is_ended());
            assert!(
                body.into_connection().is_none()
                    || answer.contains("chunked")
                    || answer.contains("Continue")
            );
        });
    }
    for (answer, is_unanswered) in [("", true), ("HTTP/1.1 200", false), ("\0\r\n\r\n", false)] {
        in_world(async {
            let failed = scripted(answer).await.exchange(&request("GET", "/"), None).await.err();
            let unanswered = matches!(failed, Some(RequestError::Unanswered(_)));
            assert_eq!(unanswered, is_unanswered, "{answer}: {failed:?}");
        });
    }
}
