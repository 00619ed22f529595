//! Writes each request's head separately, as browsers do.
//!
//! h2 gathers all requests since its last poll into one write: the number of requests per segment, and the number of segments
//! of the initial window that they take, would depend on the speed of the client's processor. Chromium writes a frame at a
//! time (`SpdySession::DoWrite`), each in its own TLS record; without Nagle's algorithm each is then a segment, until the
//! congestion window is full. This does the same for frames that carry heads; others go with the frames after them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frame::{CONTINUATION, Frames, HEADERS};

/// A client's stream that writes at most one request's head at a time.
pub struct Singly<S> {
    stream: S,
    written: Frames,
}

impl<S> Singly<S> {
    /// Writes to `stream`.
    pub fn new(stream: S) -> Singly<S> {
        Singly { stream, written: Frames::of_client() }
    }

    /// Number of bytes of `parts` up to the end of the first head.
    fn first_head(&self, parts: &[IoSlice<'_>]) -> usize {
        let mut frames = self.written.clone();
        let mut bytes = 0;
        for part in parts {
            let mut part: &[u8] = part;
            loop {
                let (taken, ended) = frames.step(part);
                part = &part[taken..];
                bytes += taken;
                match ended {
                    Some(frame) if matches!(frame.kind, HEADERS | CONTINUATION) => return bytes,
                    None if taken == 0 => break,
                    _ => {}
                }
            }
        }
        bytes
    }

    fn note(&mut self, parts: &[IoSlice<'_>], mut bytes: usize) {
        for part in parts {
            let taken = bytes.min(part.len());
            self.written.feed(&part[..taken], |_| {});
            bytes -= taken;
        }
    }
}

/// The first `bytes` of `parts`.
fn beginning<'a>(parts: &'a [IoSlice<'_>], mut bytes: usize) -> Vec<IoSlice<'a>> {
    let cut = |part: &'a IoSlice<'_>| {
        let taken = bytes.min(part.len());
        bytes -= taken;
        (taken > 0).then(|| IoSlice::new(&part[..taken]))
    };
    parts.iter().filter_map(cut).collect()
}

impl<S: AsyncRead + Unpin> AsyncRead for Singly<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Singly<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let head = beginning(parts, self.first_head(parts));
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, &head))?;
        self.note(parts, written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::super::frame::{DATA, PREFACE};
    use super::*;
    use crate::reluctant::Reluctant;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 4, 0, 0, 0, 1];
        frame.resize(9 + usize::from(length), 0xee);
        frame
    }

    fn writes(all: &[u8], most: usize) -> Vec<usize> {
        let mut singly = Singly::new(Reluctant::taking(Vec::new(), most));
        let mut left = all;
        while !left.is_empty() {
            // In two parts, like h2's writes of a buffer and borrowed data.
            let (a, b) = left.split_at(left.len() / 2);
            let mut write = Box::pin(poll_fn(|cx| {
                Pin::new(&mut singly).poll_write_vectored(cx, &[IoSlice::new(a), IoSlice::new(b)])
            }));
            let mut cx = Context::from_waker(std::task::Waker::noop());
            let Poll::Ready(Ok(taken)) = write.as_mut().poll(&mut cx) else {
                panic!("it never waits")
            };
            drop(write);
            left = &left[taken..];
        }
        assert_eq!(singly.stream.writes.concat(), all);
        singly.stream.writes.iter().map(Vec::len).collect()
    }

    #[test]
    fn each_head_goes_alone_and_the_rest_with_what_follows() {
        let settings = frame(4, 18);
        let heads = [frame(HEADERS, 40), frame(HEADERS, 0), frame(DATA, 100), frame(HEADERS, 7)];
        let all = [PREFACE.to_vec(), settings, heads.concat(), frame(DATA, 30)].concat();
        assert_eq!(writes(&all, usize::MAX), [24 + 27 + 49, 9, 109 + 16, 39]);
    }

    #[test]
    fn a_stream_that_takes_little_gets_the_same_bytes() {
        let all = [PREFACE.to_vec(), frame(HEADERS, 40), frame(HEADERS, 33)].concat();
        assert_eq!(writes(&all, 30), [30, 30, 13, 30, 12]);
    }
}
