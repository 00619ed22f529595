//! The sizes of a stream's frames (RFC 9114 section 7.1), counted as their bytes pass. No I/O.

use super::pseudo::PseudoScan;

/// `DATA` (RFC 9114 section 7.2.1).
const DATA: u64 = 0x0;
/// `HEADERS` (RFC 9114 section 7.2.2).
const HEADERS: u64 = 0x1;

/// A control stream (RFC 9114 section 6.2.1).
const CONTROL: u64 = 0x0;

/// Bytes of each kind that have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameBytes {
    /// Whole HEADERS frames, including their type and length.
    pub(super) head_bytes: u64,
    /// Payload of DATA frames.
    pub(super) body_bytes: u64,
}

/// The position of the stream within a frame.
#[derive(Clone, Copy, Debug)]
enum FramePosition {
    /// In the type at the start of a unidirectional stream.
    Kind(Varint),
    /// In a unidirectional stream without HTTP/3 frames.
    Elsewhere,
    Type(Varint),
    Length(u64, Varint),
    Payload(u64, u64),
}

/// A partial variable-length integer (RFC 9000 section 16).
#[derive(Clone, Copy, Debug, Default)]
struct Varint {
    value: u64,
    /// Bytes still to come; `None` before the first.
    left: Option<u8>,
}

impl Varint {
    /// Processes a byte; returns the value if it was the last.
    fn take(&mut self, byte: u8) -> Option<u64> {
        let left = match self.left {
            None => {
                self.value = u64::from(byte & 0x3f);
                (1 << (byte >> 6)) - 1
            }
            Some(left) => {
                self.value = (self.value << 8) | u64::from(byte);
                left - 1
            }
        };
        self.left = Some(left);
        (left == 0).then_some(self.value)
    }
}

/// Counts one direction of a request's stream, or a unidirectional stream.
#[derive(Debug)]
pub(super) struct FrameMeter {
    place: FramePosition,
    /// Bytes of the current frame's type and length.
    prefix_bytes: u64,
    passed: FrameBytes,
    gathered_bytes: u64,
    heads: PseudoScan,
}

impl Default for FrameMeter {
    fn default() -> FrameMeter {
        FrameMeter::at(FramePosition::Type(Varint::default()))
    }
}

impl FrameMeter {
    fn at(place: FramePosition) -> FrameMeter {
        FrameMeter {
            place,
            prefix_bytes: 0,
            passed: FrameBytes::default(),
            gathered_bytes: 0,
            heads: PseudoScan::default(),
        }
    }

    /// The meter of a unidirectional stream.
    pub(super) fn one_way() -> FrameMeter {
        FrameMeter::at(FramePosition::Kind(Varint::default()))
    }

    /// The length of the largest frame so far that h3 buffers whole before it looks at it, of known or unknown type: all but DATA.
    pub(super) fn gathered_bytes(&self) -> u64 {
        self.gathered_bytes
    }

    /// Returns true if a head repeats pseudo-header fields, or has them after its fields.
    pub(super) fn is_malformed(&self) -> bool {
        self.heads.is_malformed()
    }

    /// Bytes that have passed so far.
    pub(super) fn passed(&self) -> FrameBytes {
        self.passed
    }

    /// Processes the next bytes of the stream.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first().copied() {
            let taken = match &mut self.place {
                FramePosition::Kind(varint) => {
                    match varint.take(first) {
                        None => {}
                        Some(CONTROL) => self.place = FramePosition::Type(Varint::default()),
                        Some(_) => self.place = FramePosition::Elsewhere,
                    }
                    1
                }
                FramePosition::Elsewhere => return,
                FramePosition::Type(varint) => {
                    let kind = varint.take(first);
                    self.prefix_bytes += 1;
                    if let Some(kind) = kind {
                        self.place = FramePosition::Length(kind, Varint::default());
                    }
                    1
                }
                FramePosition::Length(kind, varint) => {
                    let (kind, length) = (*kind, varint.take(first));
                    self.prefix_bytes += 1;
                    if let Some(length) = length {
                        self.begin(kind, length);
                    }
                    1
                }
                FramePosition::Payload(kind, left) => {
                    let taken = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let (kind, left) = (*kind, *left - taken as u64);
                    self.count(kind, taken as u64);
                    if kind == HEADERS {
                        self.heads.feed(&bytes[..taken]);
                    }
                    self.place = FramePosition::Payload(kind, left);
                    self.end_if_whole();
                    taken
                }
            };
            bytes = &bytes[taken..];
        }
    }

    fn begin(&mut self, kind: u64, length: u64) {
        if kind == HEADERS {
            self.heads.begin();
            self.passed.head_bytes += self.prefix_bytes;
        }
        if kind != DATA {
            self.gathered_bytes = self.gathered_bytes.max(length);
        }
        self.prefix_bytes = 0;
        self.place = FramePosition::Payload(kind, length);
        self.end_if_whole();
    }

    fn count(&mut self, kind: u64, bytes: u64) {
        match kind {
            HEADERS => self.passed.head_bytes += bytes,
            DATA => self.passed.body_bytes += bytes,
            _ => {}
        }
    }

    fn end_if_whole(&mut self) {
        if let FramePosition::Payload(_, 0) = self.place {
            self.place = FramePosition::Type(Varint::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An integer in the shortest of its four lengths.
    fn varint(value: u64) -> Vec<u8> {
        match value {
            0..64 => vec![value as u8],
            64..16_384 => (value as u16 | 0x4000).to_be_bytes().to_vec(),
            16_384..1_073_741_824 => (value as u32 | 0x8000_0000).to_be_bytes().to_vec(),
            _ => (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec(),
        }
    }

    fn frame(kind: u64, payload: usize) -> Vec<u8> {
        [varint(kind), varint(payload as u64), vec![0xee; payload]].concat()
    }

    fn measure(bytes: &[u8], piece: usize) -> FrameBytes {
        let mut meter = FrameMeter::default();
        bytes.chunks(piece).for_each(|piece| meter.feed(piece));
        meter.passed()
    }

    #[test]
    fn heads_count_whole_and_bodies_by_what_they_hold() {
        let unknown = 0x21 + 0x1f * 0x0123_4567_89ab;
        let frames = [frame(HEADERS, 100), frame(unknown, 30), frame(DATA, 0), frame(DATA, 20_000)];
        let passed = FrameBytes { head_bytes: 1 + 2 + 100, body_bytes: 20_000 };
        assert_eq!(measure(&frames.concat(), usize::MAX), passed);
        assert_eq!(measure(&frames.concat(), 1), passed);
    }

    #[test]
    fn what_a_frame_will_have_gathered_is_known_by_its_length() {
        let announced = |kind, length| [varint(kind), varint(length)].concat();
        let gathered = |mut meter: FrameMeter, bytes: &[u8]| {
            bytes.chunks(1).for_each(|byte| meter.feed(byte));
            meter.gathered_bytes()
        };
        assert_eq!(gathered(FrameMeter::default(), &announced(HEADERS, 1 << 40)), 1 << 40);
        assert_eq!(gathered(FrameMeter::default(), &announced(0x21, 70_000)), 70_000);
        assert_eq!(gathered(FrameMeter::default(), &announced(DATA, 1 << 40)), 0);
        let both = [frame(HEADERS, 300), frame(DATA, 50), frame(HEADERS, 20)].concat();
        assert_eq!(gathered(FrameMeter::default(), &both), 300);
        // A control stream, and a QPACK stream.
        let on = |kind| [varint(kind), announced(0x4, 90_000)].concat();
        assert_eq!(gathered(FrameMeter::one_way(), &on(CONTROL)), 90_000);
        assert_eq!(gathered(FrameMeter::one_way(), &on(0x2)), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same(bytes: Vec<u8>, piece in 1..64usize) {
            prop_assert_eq!(measure(&bytes, piece), measure(&bytes, 1));
        }

        #[test]
        fn the_sizes_of_frames_are_told(sizes in prop::collection::vec(0..70_000usize, 0..6), piece in 1..5000usize) {
            let frames: Vec<u8> = sizes.iter().flat_map(|size| frame(DATA, *size)).collect();
            let all = sizes.iter().sum::<usize>() as u64;
            prop_assert_eq!(measure(&frames, piece), FrameBytes { head_bytes: 0, body_bytes: all });
        }
    }
}
