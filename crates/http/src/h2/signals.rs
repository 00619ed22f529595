//! Parser of a client's priority signals, which h2 ignores.
//!
//! These are the priority in HEADERS (RFC 7540 section 6.2), PRIORITY (6.3) and PRIORITY_UPDATE (RFC 9218 section 7.1).
//! Protocol errors are left to h2; here they are no signal.

use super::frame::{FrameHead, Frames, HEADERS, PRIORITY, PRIORITY_FLAG, PRIORITY_UPDATE};
use crate::schedule::{Dependency, Signal, Urgency, dependency};

/// Bytes of a payload that are examined: padding, a stream number and a field of sensible length.
const LONGEST: usize = 256;

/// The flag of HEADERS that begin with the length of their padding.
const PADDED: u8 = 0x8;

/// A client's signals, in the order of their arrival.
#[derive(Debug)]
pub(super) struct SignalReader {
    frames: Frames,
    payload: Vec<u8>,
    found: Vec<(u32, Signal)>,
}

impl SignalReader {
    pub(super) fn new() -> SignalReader {
        SignalReader { frames: Frames::of_client(), payload: Vec::new(), found: Vec::new() }
    }

    /// The signals since the last call.
    pub(super) fn take(&mut self) -> Vec<(u32, Signal)> {
        std::mem::take(&mut self.found)
    }

    /// Reads the next bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
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
            let bytes = payload.get(padding..)?.first_chunk::<{ dependency::WIRE_BYTES }>()?;
            Some((frame.stream, Signal::Dependency(Dependency::parse(*bytes))))
        }
        PRIORITY => {
            let bytes = <[u8; dependency::WIRE_BYTES]>::try_from(payload).ok()?;
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
        let mut reader = SignalReader::new();
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
