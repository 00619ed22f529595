//! Frame heads in a stream of bytes (RFC 9113 section 4.1), without the frames' meaning.

/// The type of a DATA frame (RFC 9113 section 6.1).
pub const DATA: u8 = 0x0;
/// The type of a HEADERS frame (section 6.2).
pub const HEADERS: u8 = 0x1;
/// The type of a PRIORITY frame (RFC 7540 section 6.3).
pub const PRIORITY: u8 = 0x2;
/// The type of a RST_STREAM frame (section 6.4).
pub const RST_STREAM: u8 = 0x3;
/// The type of a SETTINGS frame (section 6.5).
pub const SETTINGS: u8 = 0x4;
/// The type of a PUSH_PROMISE frame (section 6.6).
pub const PUSH_PROMISE: u8 = 0x5;
/// The type of a PING frame (section 6.7).
pub const PING: u8 = 0x6;
/// The type of a GOAWAY frame (section 6.8).
pub const GOAWAY: u8 = 0x7;
/// The type of a CONTINUATION frame (section 6.10).
pub const CONTINUATION: u8 = 0x9;
/// The type of a PRIORITY_UPDATE frame (RFC 9218 section 7.1).
pub const PRIORITY_UPDATE: u8 = 0x10;

/// The flag of HEADERS that begin with priority fields (RFC 7540 section 6.2).
pub(crate) const PRIORITY_FLAG: u8 = 0x20;

/// The size of a frame's head: 9 bytes.
pub const HEAD_BYTES: usize = 9;

/// The client's connection preface (section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;

/// The fixed part of every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// The payload's size in bytes.
    pub length: u32,
    /// The frame's type.
    pub kind: u8,
    /// Its flags; their meaning depends on the type.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
}

impl FrameHead {
    fn parse(head: [u8; HEAD_BYTES]) -> FrameHead {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = head;
        FrameHead {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            // The first bit is reserved and ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }

    /// Parses the head at the start of `bytes`, if they are long enough.
    pub fn of(bytes: &[u8]) -> Option<FrameHead> {
        bytes.first_chunk().copied().map(FrameHead::parse)
    }

    /// Its encoding on the wire.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let [_, l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    /// Size on the wire.
    pub fn wire_bytes(&self) -> u64 {
        HEAD_BYTES as u64 + u64::from(self.length)
    }

    /// Returns true for a SETTINGS or PING frame that requires an acknowledgement.
    pub(crate) fn wants_answer(&self) -> bool {
        matches!(self.kind, SETTINGS | PING) && self.flags & ACK == 0
    }

    /// Returns true for the last frame of its sender on its stream (a head that continues in CONTINUATION frames
    /// carries the flag at its beginning).
    pub(crate) fn ends_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

/// Finds the frames in the bytes of one sender.
#[derive(Clone, Debug)]
pub struct Frames {
    head: [u8; HEAD_BYTES],
    filled: usize,
    /// Outstanding bytes of the current frame's payload, or of the preface.
    left: usize,
    current: Option<FrameHead>,
}

impl Frames {
    /// For a client's bytes: they begin with the preface.
    pub fn of_client() -> Frames {
        Frames { left: PREFACE.len(), ..Frames::of_server() }
    }

    /// For a server's bytes.
    pub fn of_server() -> Frames {
        Frames { head: [0; HEAD_BYTES], filled: 0, left: 0, current: None }
    }

    /// The frame whose head has come but not its end.
    pub fn current(&self) -> Option<FrameHead> {
        self.current
    }

    /// Bytes received so far of an unfinished DATA frame's payload.
    pub(crate) fn unfinished_data_bytes(&self) -> u64 {
        match self.current {
            Some(FrameHead { kind: DATA, length, .. }) => u64::from(length) - self.left as u64,
            _ => 0,
        }
    }

    /// Processes the next bytes and reports each frame that ends in them.
    pub fn feed(&mut self, bytes: &[u8], mut ended: impl FnMut(FrameHead)) {
        let mut bytes = bytes;
        loop {
            let (taken, frame) = self.step(bytes);
            bytes = &bytes[taken..];
            match frame {
                Some(frame) => ended(frame),
                None if taken == 0 => return,
                None => {}
            }
        }
    }

    /// Processes the next bytes up to the end of a frame or of its head; returns their number, and the frame if it has ended.
    pub fn step(&mut self, bytes: &[u8]) -> (usize, Option<FrameHead>) {
        let skipped = self.left.min(bytes.len());
        self.left -= skipped;
        if self.left > 0 {
            return (skipped, None);
        }
        if let Some(frame) = self.current.take() {
            return (skipped, Some(frame));
        }
        let bytes = &bytes[skipped..];
        let taken = (HEAD_BYTES - self.filled).min(bytes.len());
        self.head[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        if self.filled == HEAD_BYTES {
            let frame = FrameHead::parse(self.head);
            self.filled = 0;
            self.left = frame.length as usize;
            self.current = Some(frame);
        }
        (skipped + taken, None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(frames: &[FrameHead]) -> Vec<u8> {
        let mut out = Vec::new();
        for frame in frames {
            out.extend_from_slice(&frame.encode());
            out.resize(out.len() + frame.length as usize, 0xee);
        }
        out
    }

    fn found(mut frames: Frames, pieces: &[&[u8]]) -> Vec<FrameHead> {
        let mut found = Vec::new();
        for piece in pieces {
            frames.feed(piece, |frame| found.push(frame));
        }
        found
    }

    prop_compose! {
        fn any_frame()(
            length in prop_oneof![Just(0), 0u32..40, 0u32..20_000],
            kind in 0u8..12,
            flags: u8,
            stream in 0u32..0x8000_0000,
        ) -> FrameHead {
            FrameHead { length, kind, flags, stream }
        }
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            frames in prop::collection::vec(any_frame(), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let mut bytes = PREFACE.to_vec();
            bytes.extend(encode(&frames));
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(found(Frames::of_client(), &pieces), frames);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let whole = found(Frames::of_server(), &[&bytes]);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(found(Frames::of_server(), &single), whole);
        }
    }

    #[test]
    fn a_frame_ends_with_its_last_byte() {
        let frame = FrameHead { length: 3, kind: DATA, flags: END_STREAM, stream: 5 };
        let bytes = encode(&[frame]);
        assert_eq!(found(Frames::of_server(), &[&bytes[..11]]), []);
        assert_eq!(found(Frames::of_server(), &[&bytes]), [frame]);
        assert!(frame.ends_stream());
    }

    #[test]
    fn a_frame_without_payload_ends_with_its_head() {
        let frame = FrameHead { length: 0, kind: 4, flags: 1, stream: 0 };
        assert_eq!(found(Frames::of_server(), &[&encode(&[frame])]), [frame]);
        assert!(!frame.ends_stream(), "an acknowledgement of SETTINGS ends no stream");
    }
}
