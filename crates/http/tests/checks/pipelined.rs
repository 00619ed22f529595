//! Invariants of a client's pipeline for any server output. The replay of the fuzzing corpus and the fuzz target share them.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use farlink_http::h1::client::Settings;
use farlink_http::h1::codec::CodecLimits;
use farlink_http::h1::pipeline::Pipeline;
use farlink_http::{Priority, Progress, RequestError, Transport};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use world::sim::HeldNotes;

/// Number of pipelined requests; a bit of the first byte makes one a HEAD.
const REQUESTS: usize = 8;
/// Small enough that inputs reach them.
const SETTINGS: Settings =
    Settings { limits: CodecLimits { head_bytes: 512, fields: 12 }, read_bytes: 256 };

/// A server that accepts every request and sends fixed pieces, one per read; then it closes.
struct Said(VecDeque<Vec<u8>>);

impl Transport for Said {
    fn held(&self) -> Option<HeldNotes> {
        None
    }
}

impl AsyncRead for Said {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buf.remaining()));
            buf.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Said {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The progress reported to one request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    status: Option<u16>,
    body: Vec<u8>,
}

impl Progress for Told {
    fn sent(&mut self, _: u64, _: u64) {}
    fn head(&mut self, status: u16, _: u64) {
        assert_eq!(self.status.replace(status), None, "a response has one head");
    }
    fn data(&mut self, piece: &[u8]) {
        assert!(self.status.is_some(), "a body follows its head");
        self.body.extend_from_slice(piece);
    }
}

/// The outcome of a request.
type Answered = (Told, Result<(), RequestError>);

/// The complete responses to all requests, in order; an error ends them.
fn responses(input: &[u8], cut: usize, heads: u8) -> Vec<Told> {
    let server = Said(input.chunks(cut.max(1)).map(<[u8]>::to_vec).collect());
    let pipeline = Pipeline::new(server, SETTINGS);
    let mut pending: Vec<Pin<Box<dyn Future<Output = Answered>>>> = Vec::new();
    for at in 0..REQUESTS {
        let method = if heads >> at & 1 == 1 { "HEAD" } else { "GET" };
        let request = Request::builder()
            .method(method)
            .uri("http://a/")
            .body(Bytes::new())
            .expect("a request");
        let pipeline = pipeline.clone();
        pending.push(Box::pin(async move {
            let mut told = Told::default();
            let ended = pipeline.fetch(&request, Priority::Medium, &mut told).await;
            (told, ended)
        }));
    }
    let mut whole = Vec::new();
    let mut is_broken = false;
    // A request only waits for the one before: in their order each is ready at once.
    for fetch in &mut pending {
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready((told, ended)) = fetch.as_mut().poll(&mut cx) else {
            panic!("a request waits for ever")
        };
        assert!(!(is_broken && ended.is_ok()), "behind what is broken nothing is answered");
        is_broken |= ended.is_err();
        if ended.is_ok() {
            whole.push(told);
        }
    }
    assert!(whole.len() == REQUESTS || !pipeline.is_usable(), "what has broken is not used again");
    whole
}

/// No panic, no request waits for ever, and the same responses however they are cut.
pub fn check_pipeline(input: &[u8]) {
    let [heads, cut, said @ ..] = input else { return };
    let whole = responses(said, usize::MAX, *heads);
    for cut in [1, usize::from(*cut)] {
        assert_eq!(responses(said, cut, *heads), whole, "cut at every {cut}");
    }
    for (at, told) in whole.iter().enumerate() {
        assert!(heads >> at & 1 == 0 || told.body.is_empty(), "a HEAD has no body");
    }
}
