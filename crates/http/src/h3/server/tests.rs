//! Misbehaving clients: raw bytes on QUIC's streams.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use quinn::{ConnectionError, ReadToEndError, VarInt};

use super::*;
use crate::client::{ClientConnection as Client, Opening, Protocol, open};
use crate::h3::client::Handle;
use crate::server::{ClientTimeouts, SharedServerState};
use crate::{Answer, Handler, Priority, Progress, Reply, RequestBody, RequestHead, Response};
use tls::Security;

const HEADERS: u8 = 1;
const NO_ERROR: u32 = 0x100;
const EXCESSIVE_LOAD: u32 = 0x107;
const MESSAGE_ERROR: u32 = 0x10e;

/// `/` is answered at once, `/hints` after two interim responses, `/upload` with its body's size, anything else never;
/// counts the requests that wait for that.
#[derive(Default)]
struct Slow {
    waiting: Rc<Cell<usize>>,
}

struct Waits(Rc<Cell<usize>>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Handler for Slow {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        if request.target == "/" {
            let body = Bytes::from_static(b"hello");
            return Answer::Ready(Reply::new(StatusCode::OK, HeaderMap::new(), body));
        }
        if request.target == "/hints" {
            return Answer::later(async {
                hint(103, hint(102, crate::server::refusal(StatusCode::OK).into()))
            });
        }
        self.waiting.set(self.waiting.get() + 1);
        let waits = Waits(Rc::clone(&self.waiting));
        Answer::later(async move {
            std::future::pending::<()>().await;
            drop(waits);
            crate::server::refusal(StatusCode::OK)
        })
    }

    fn receive(
        &self,
        request: RequestHead<'_>,
        mut body: RequestBody,
    ) -> Result<Answer, RequestBody> {
        if request.target != "/upload" {
            return Err(body);
        }
        Ok(Answer::later(async move {
            let mut bytes = 0;
            while let Some(Ok(piece)) = body.next().await {
                bytes += piece.len();
            }
            Reply::new(StatusCode::OK, HeaderMap::new(), bytes.to_string().into())
        }))
    }
}

/// An interim response with a field of its own, and then `then`.
fn hint(status: u16, then: Response) -> Response {
    let head = http::Response::builder().status(status).header("link", format!("</{status}>"));
    let then = Box::pin(async { then });
    Response::Interim { head: head.body(()).unwrap(), then }
}

/// A raw QUIC connection to a public server; and the number of waiting requests.
fn with_client<F: Future<Output = ()>>(
    patience: Option<ClientTimeouts>,
    test: impl FnOnce(quinn::Connection, Rc<Cell<usize>>) -> F,
) {
    with_handle(patience, |handle, waiting| test(handle.quic().clone(), waiting));
}

/// The same with our own client.
fn with_handle<F: Future<Output = ()>>(
    patience: Option<ClientTimeouts>,
    test: impl FnOnce(Handle, Rc<Cell<usize>>) -> F,
) {
    let main = async {
        let acceptor = Acceptor::new(&tls::Settings::default(), settings::Server::PUBLIC);
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), &acceptor).unwrap();
        let address = listener.local_addr();
        let handler = Rc::new(Slow::default());
        let waiting = Rc::clone(&handler.waiting);
        let common = SharedServerState { patience, ..SharedServerState::default() };
        drop(world::spawn(async move {
            while let Some(incoming) = listener.accept().await {
                let (common, handler) = (common.clone(), Rc::clone(&handler));
                drop(world::spawn(async move { drop(incoming.serve_in(&common, handler).await) }));
            }
        }));
        let opening = Opening::new(address, "any.farlink.test", Security::Tls13, Protocol::H3);
        let client = open(opening, &mut |_| {}).await.unwrap();
        let Client::H3(handle) = &client else { panic!("it is HTTP/3") };
        test(handle.clone(), waiting).await;
    };
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, world::timeout(Duration::from_secs(30), main)).unwrap().unwrap();
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 64, "its length is one byte");
    [&[kind, payload.len() as u8], payload].concat()
}

/// `GET https://a/` by QPACK's static table (RFC 9204 appendix A), `/x` as `path`, and then `more`.
fn get(path: &[u8], more: &[u8]) -> Vec<u8> {
    let length = |text: &[u8]| text.len() as u8;
    let target = [&[0x51, length(path)], path].concat();
    frame(HEADERS, &[&[0, 0, 0xd1, 0xd7, 0x50, 1, b'a'], &target[..], more].concat())
}

/// Sends `bytes` as a whole request; returns the response's bytes.
async fn exchange(client: &quinn::Connection, bytes: &[u8]) -> Result<Vec<u8>, ReadToEndError> {
    let (mut send, mut receive) = client.open_bi().await.unwrap();
    send.write_all(bytes).await.unwrap();
    let _ = send.finish();
    receive.read_to_end(1_000).await
}

fn was_reset(result: Result<Vec<u8>, ReadToEndError>, code: u32) -> bool {
    let code = VarInt::from_u32(code);
    matches!(result, Err(ReadToEndError::Read(quinn::ReadError::Reset(had))) if had == code)
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        world::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn frames_that_would_fill_memory_are_not_taken_in() {
    with_client(None, |client, _| async move {
        // HEADERS, and an unknown type, each of a gigabyte.
        for kind in [HEADERS, 0x21] {
            let (mut send, _receive) = client.open_bi().await.unwrap();
            send.write_all(&[kind, 0xc0, 0, 0, 0, 0x40, 0, 0, 0]).await.unwrap();
            let filler = vec![0; 64 << 10];
            let mut sent = 0;
            let stopped = loop {
                match send.write(&filler).await {
                    Ok(bytes) => sent += bytes,
                    Err(error) => break error,
                }
            };
            assert_eq!(stopped, quinn::WriteError::Stopped(VarInt::from_u32(EXCESSIVE_LOAD)));
            assert!(sent <= 1 << 20, "{sent} bytes were taken of {kind}");
        }
        let answer = exchange(&client, &get(b"/", &[])).await.unwrap();
        assert!(answer.ends_with(b"hello"), "others are served: {answer:?}");
    });
}

#[test]
fn messages_that_could_be_read_in_two_ways_are_refused() {
    with_client(None, |client, _| async move {
        // Of literals: static names by their index (content-length: 4), others spelt out.
        let length = |digits: &[u8]| [&[0x54, digits.len() as u8], digits].concat();
        let field = |name: &[u8], value: &[u8]| {
            let (more, size) = (name.len() as u8 - 7, value.len() as u8);
            [&[0x27, more], name, &[size], value].concat()
        };
        for more in [
            length(b"5"),
            length(b"+0"),
            [length(b"0"), length(b"0")].concat(),
            field(b"transfer-encoding", b"chunked"),
            field(b"connection", b"close"),
            field(b"keep-alive", b"1"),
        ] {
            let answer = exchange(&client, &get(b"/", &more)).await;
            assert!(was_reset(answer, MESSAGE_ERROR), "{more:?}");
        }
        assert!(exchange(&client, &get(b"/", &length(b"0"))).await.unwrap().ends_with(b"hello"));
    });
}

#[test]
fn what_a_client_gives_up_is_not_worked_on() {
    with_client(None, |client, waiting| async move {
        let (mut send, mut receive) = client.open_bi().await.unwrap();
        send.write_all(&get(b"/slow", &[])).await.unwrap();
        send.finish().unwrap();
        until(|| waiting.get() == 1).await;
        receive.stop(VarInt::from_u32(0x10c)).unwrap();
        until(|| waiting.get() == 0).await;
    });
}

#[test]
fn who_asks_for_nothing_is_shown_out_and_who_never_ends_a_head_is_thrown_out() {
    let patience =
        ClientTimeouts { idle_timeout: Duration::from_millis(300), ..ClientTimeouts::default() };
    with_client(Some(patience), |client, _| async move {
        let ConnectionError::ApplicationClosed(close) = client.closed().await else {
            panic!("it is closed by HTTP/3")
        };
        assert_eq!(close.error_code, VarInt::from_u32(NO_ERROR));
    });
    with_client(Some(patience), |client, _| async move {
        let (mut send, _receive) = client.open_bi().await.unwrap();
        send.write_all(&[HEADERS, 40, 0]).await.unwrap();
        let ConnectionError::ApplicationClosed(close) = client.closed().await else {
            panic!("it is closed by HTTP/3")
        };
        assert_eq!(close.error_code, VarInt::from_u32(EXCESSIVE_LOAD));
    });
    // A client whose request is in progress may wait.
    with_client(Some(patience), |client, waiting| async move {
        let (mut send, _receive) = client.open_bi().await.unwrap();
        send.write_all(&get(b"/slow", &[])).await.unwrap();
        send.finish().unwrap();
        until(|| waiting.get() == 1).await;
        assert!(world::timeout(Duration::from_secs(1), client.closed()).await.is_err());
    });
}

/// RFC 9114 section 4.3.
#[test]
fn a_request_names_its_parts_once() {
    with_client(None, |client, _| async move {
        let answered = |head: Vec<u8>| {
            let client = client.clone();
            async move {
                let (mut sending, mut receiving) = client.open_bi().await.unwrap();
                sending.write_all(&head).await.unwrap();
                sending.finish().unwrap();
                receiving.read_to_end(1_000).await
            }
        };
        let reset =
            Err(ReadToEndError::Read(quinn::ReadError::Reset(VarInt::from_u32(MESSAGE_ERROR))));
        assert_eq!(answered(get(b"/", &[0x51, 1, b'/'])).await, reset, "another path");
        assert_eq!(answered(get(b"/", &[0xd1])).await, reset, "another method");
        assert_eq!(
            answered(get(b"/", &[0xdd, 0x50, 1, b'a'])).await,
            reset,
            "another host behind a field"
        );
        // `Host` in the place of `:authority`.
        let host = [0, 0, 0xd1, 0xd7, 0xc1, 0x24, b'h', b'o', b's', b't', 1, b'a'];
        let text = answered(frame(HEADERS, &host)).await.expect("an answer");
        assert!(text.ends_with(b"hello"));
    });
}

/// The statuses received for a request.
#[derive(Default)]
struct Statuses(Vec<u16>);

impl Progress for Statuses {
    fn sent(&mut self, _: u64, _: u64) {}

    fn head(&mut self, status: u16, _: u64) {
        self.0.push(status);
    }

    fn data(&mut self, _: &[u8]) {}
}

/// RFC 9114 section 4.1.
#[test]
fn interim_responses_go_before_the_response() {
    with_handle(None, |handle, _| async move {
        let request = http::Request::get("https://a.test/hints").body(()).unwrap();
        let mut stream = handle.requests().send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let head = stream.recv_response().await.unwrap();
            let link = head.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
            seen.push((head.status().as_u16(), link));
        }
        let hint = |status| (status, Some(format!("</{status}>")));
        assert_eq!(seen, [hint(103), hint(102), (200, None)]);
        // A caller that does not ask for them only gets the final response.
        let request = http::Request::get("https://a.test/hints").body(Bytes::new()).unwrap();
        let mut told = Statuses::default();
        handle.fetch(&request, Priority::Medium, &mut told).await.unwrap();
        assert_eq!(told.0, [200]);
    });
}

/// RFC 9110 section 10.1.1.
#[test]
fn who_waits_for_it_is_told_to_go_on_once_the_body_is_wanted() {
    with_handle(None, |handle, _| async move {
        let request = http::Request::put("https://a.test/upload");
        let request = request.header("expect", "100-continue").body(()).unwrap();
        let mut stream = handle.requests().send_request(request).await.unwrap();
        assert_eq!(stream.recv_response().await.unwrap().status(), StatusCode::CONTINUE);
        stream.send_data(Bytes::from_static(b"hello")).await.unwrap();
        stream.finish().await.unwrap();
        assert_eq!(stream.recv_response().await.unwrap().status(), StatusCode::OK);
        let mut body = stream.recv_data().await.unwrap().expect("a body");
        assert_eq!(bytes::Buf::copy_to_bytes(&mut body, 1), "5");
    });
}
