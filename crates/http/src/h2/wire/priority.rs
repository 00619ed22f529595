//! Priority signals, which h2 neither writes nor reports: written by a client into its HEADERS, read by a server.
//!
//! These are the priority in HEADERS (RFC 7540 section 6.2), PRIORITY (6.3) and PRIORITY_UPDATE (RFC 9218 section 7.1).
//! Protocol errors are left to h2; here they are no signal.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::h2::client::priority_tree::PriorityTree;
use crate::h2::frame::{
    FrameHead, Frames, HEADERS, PREFACE, PRIORITY, PRIORITY_FLAG, PRIORITY_UPDATE,
};
use crate::h2::settings::FRAME_BYTES;
use crate::schedule::{DEPENDENCY_BYTES, Dependency, Signal, Urgency};

/// Bytes of a payload that are examined: padding, a stream number and a field of sensible length.
const LONGEST: usize = 256;

/// The flag of HEADERS that begin with the length of their padding.
const PADDED: u8 = 0x8;

/// A client's signals, in the order of their arrival.
#[derive(Debug)]
pub(crate) struct PriorityReader {
    frames: Frames,
    payload: Vec<u8>,
    found: Vec<(u32, Signal)>,
}

impl PriorityReader {
    pub(crate) fn new() -> PriorityReader {
        PriorityReader { frames: Frames::of_client(), payload: Vec::new(), found: Vec::new() }
    }

    /// The signals since the last call.
    pub(crate) fn take(&mut self) -> Vec<(u32, Signal)> {
        std::mem::take(&mut self.found)
    }

    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        loop {
            let is_payload = self.frames.current().is_some_and(says_something);
            let (taken, ended) = self.frames.step(bytes);
            if is_payload {
                let wanted = taken.min(LONGEST - self.payload.len());
                self.payload.extend_from_slice(&bytes[..wanted]);
            }
            bytes = &bytes[taken..];
            match ended {
                Some(frame) => {
                    self.found.extend(signal(frame, &self.payload));
                    self.payload.clear();
                }
                None if taken == 0 => return,
                None => {}
            }
        }
    }
}

fn says_something(frame: FrameHead) -> bool {
    match frame.kind {
        HEADERS => frame.flags & PRIORITY_FLAG != 0,
        kind => matches!(kind, PRIORITY | PRIORITY_UPDATE),
    }
}

/// The signal in `frame`, and its stream.
fn signal(frame: FrameHead, payload: &[u8]) -> Option<(u32, Signal)> {
    match frame.kind {
        HEADERS if frame.flags & PRIORITY_FLAG != 0 => {
            let padding = usize::from(frame.flags & PADDED != 0);
            let bytes = payload.get(padding..)?.first_chunk::<{ DEPENDENCY_BYTES }>()?;
            Some((frame.stream, Signal::Dependency(Dependency::parse(*bytes))))
        }
        PRIORITY => {
            let bytes = <[u8; DEPENDENCY_BYTES]>::try_from(payload).ok()?;
            Some((frame.stream, Signal::Dependency(Dependency::parse(bytes))))
        }
        PRIORITY_UPDATE if frame.stream == 0 => {
            let (stream, field) = payload.split_first_chunk::<4>()?;
            let stream = u32::from_be_bytes(*stream) & 0x7fff_ffff;
            Some((stream, Signal::Update(Urgency::parse(field))))
        }
        _ => None,
    }
}

// Adds to HEADERS the dependency that h2 omits (RFC 7540 section 6.2).
//
// h2 writes frames without it, so they are completed on their way to the transport. Frames that would become too long
// stay without it, which means the default.

/// Dependencies of streams whose HEADERS have not been written.
pub(crate) type PendingPriorities = Rc<RefCell<BTreeMap<u32, Dependency>>>;

/// A client's stream that adds dependencies to HEADERS.
pub(crate) struct PriorityWriter<S> {
    stream: S,
    completing: Option<Completing>,
}

/// Frames being completed.
struct Completing {
    pending: PendingPriorities,
    /// Frames to send before the first HEADERS.
    introduction: Vec<u8>,
    frames: Frames,
    /// The partial head of a frame.
    head: BytesMut,
    /// Completed bytes that the stream has not accepted.
    out: BytesMut,
}

impl<S> PriorityWriter<S> {
    /// Adds the tree's dependencies; without a tree, everything passes unchanged.
    pub(crate) fn new(stream: S, tree: Option<&PriorityTree>) -> PriorityWriter<S> {
        let completing = tree.map(|tree| Completing {
            pending: Rc::clone(&tree.pending),
            introduction: tree.introduction(),
            // h2 writes the preface in a write of its own.
            frames: Frames::of_server(),
            head: BytesMut::new(),
            out: BytesMut::new(),
        });
        PriorityWriter { stream, completing }
    }
}

impl Completing {
    fn take(&mut self, mut bytes: &[u8]) {
        loop {
            let is_payload = self.frames.current().is_some();
            let (taken, ended) = self.frames.step(bytes);
            let part = if is_payload { &mut self.out } else { &mut self.head };
            part.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            match self.frames.current() {
                Some(frame) if !is_payload => self.pass_head(frame),
                _ if taken == 0 && ended.is_none() => return,
                _ => {}
            }
        }
    }

    /// Handles the complete head of `frame`.
    fn pass_head(&mut self, frame: FrameHead) {
        if frame.kind == HEADERS {
            self.out.extend(self.introduction.drain(..));
        }
        let said =
            self.pending.borrow_mut().remove(&frame.stream).filter(|_| frame.kind == HEADERS);
        let longer = frame.length + DEPENDENCY_BYTES as u32;
        match said.filter(|_| longer <= FRAME_BYTES) {
            None => self.out.extend_from_slice(&self.head),
            Some(dependency) => {
                let completed =
                    FrameHead { length: longer, flags: frame.flags | PRIORITY_FLAG, ..frame };
                self.out.extend_from_slice(&completed.encode());
                self.out.extend_from_slice(&dependency.encode());
            }
        }
        self.head.clear();
    }
}

impl<S: AsyncWrite + Unpin> PriorityWriter<S> {
    /// Ready when the stream has accepted all completed bytes.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(Completing { out, .. }) = &mut self.completing else { return Poll::Ready(Ok(())) };
        while !out.is_empty() {
            let taken = ready!(Pin::new(&mut self.stream).poll_write(cx, out))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            out.advance(taken);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PriorityWriter<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PriorityWriter<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if data == PREFACE {
            return Pin::new(&mut self.stream).poll_write(cx, data);
        }
        self.poll_write_vectored(cx, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        let Some(completing) = &mut self.completing else {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        };
        parts.iter().for_each(|part| completing.take(part));
        // Anything left goes before the next write or with a flush.
        if let Poll::Ready(drained) = self.poll_drain(cx) {
            drained?;
        }
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::h2::frame::{DATA, PREFACE};

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let head = FrameHead { length: payload.len() as u32, kind, flags, stream };
        [&head.encode(), payload].concat()
    }

    fn read(bytes: &[u8], step: usize) -> Vec<(u32, Signal)> {
        let mut reader = PriorityReader::new();
        bytes.chunks(step).for_each(|chunk| reader.feed(chunk));
        reader.take()
    }

    #[test]
    fn what_is_said_is_heard_however_it_is_cut() {
        let said = Dependency { parent: 3, weight: 220, is_exclusive: true };
        let update = [&[0, 0, 0, 9][..], b"u=1, i"].concat();
        let padded = [&[2][..], &said.encode(), b"head", &[0, 0]].concat();
        let bytes = [
            PREFACE.to_vec(),
            frame(4, 0, 0, &[0; 6]),
            frame(HEADERS, 0x4, 1, b"nothing said"),
            frame(HEADERS, PRIORITY_FLAG | PADDED | 0x4, 5, &padded),
            frame(DATA, 0, 5, &[7; 1_000]),
            frame(PRIORITY, 0, 7, &said.encode()),
            frame(PRIORITY, 0, 7, b"much too long"),
            frame(PRIORITY_UPDATE, 0, 0, &update),
        ];
        let urgency = Urgency { level: 1, is_incremental: true };
        let expected = [
            (5, Signal::Dependency(said)),
            (7, Signal::Dependency(said)),
            (9, Signal::Update(urgency)),
        ];
        for step in [1, 7, 10_000] {
            assert_eq!(read(&bytes.concat(), step), expected, "in steps of {step}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let all = [PREFACE.to_vec(), bytes].concat();
            prop_assert_eq!(read(&all, 1), read(&all, all.len()));
        }
    }
}

#[cfg(test)]
mod prioritised_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::h2::DependencyShape;
    use crate::h2::frame::DATA;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let head = FrameHead { length: payload.len() as u32, kind, flags: 4, stream };
        [&head.encode(), payload].concat()
    }

    /// The output when `bytes` are cut at `cuts`.
    fn completed(bytes: &[u8], cuts: &[usize], pending: &[(u32, Dependency)]) -> Vec<u8> {
        completed_in(DependencyShape::Chain, bytes, cuts, pending)
    }

    fn completed_in(
        shape: DependencyShape,
        bytes: &[u8],
        cuts: &[usize],
        pending: &[(u32, Dependency)],
    ) -> Vec<u8> {
        let tree = PriorityTree::new(shape);
        tree.pending.borrow_mut().extend(pending.iter().copied());
        let mut stream = PriorityWriter::new((), Some(&tree));
        let completing = stream.completing.as_mut().expect("there is something to say");
        let mut cuts = cuts.to_vec();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2).for_each(|cut| completing.take(&bytes[cut[0]..cut[1]]));
        completing.out.to_vec()
    }

    const SAID: Dependency = Dependency { parent: 3, weight: 220, is_exclusive: true };

    proptest! {
        #[test]
        fn heads_are_completed_however_they_are_cut(cuts in prop::collection::vec(0usize..75, 0..9)) {
            let frames = [
                frame(4, 0, &[0; 12]),
                frame(HEADERS, 5, b"head"),
                frame(DATA, 5, b""),
                frame(HEADERS, 7, b"x"),
                frame(DATA, 7, b"rest"),
            ];
            let bytes = frames.concat();
            prop_assume!(cuts.iter().all(|cut| *cut <= bytes.len()));
            let said = [&[0x80, 0, 0, 3, 219][..], b"head"].concat();
            let mut longer = frame(HEADERS, 5, &said);
            longer[4] |= PRIORITY_FLAG;
            let expected = [&frames[0], &longer, &frames[2], &frames[3], &frames[4]].map(|f| f.clone());
            prop_assert_eq!(completed(&bytes, &cuts, &[(5, SAID)]), expected.concat());
        }
    }

    #[test]
    fn groups_are_made_before_the_first_request() {
        let frames = [frame(4, 0, &[0; 12]), frame(HEADERS, 15, b"a"), frame(HEADERS, 17, b"b")];
        let all = completed_in(DependencyShape::Groups, &frames.concat(), &[5], &[]);
        let groups = crate::h2::client::priority_tree::frames();
        assert_eq!(all, [&frames[0], &groups, &frames[1], &frames[2]].map(Clone::clone).concat());
    }

    #[test]
    fn a_frame_that_is_full_keeps_silent() {
        let full = frame(HEADERS, 5, &vec![0; FRAME_BYTES as usize]);
        assert_eq!(completed(&full, &[], &[(5, SAID)]), full);
    }
}
