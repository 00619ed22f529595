//! Invariants of header blocks for any bytes. The replay of the fuzzing corpus and the fuzz target share them.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use farlink_spdy::frame::{self, SynStream};
use farlink_spdy::{
    Compression, Config, Deflater, Event, Fields, Inflater, Limits, Priority, Role, Session,
    StreamId, Version,
};

/// Limits small enough for inputs to reach them.
const BLOCK_BYTES: usize = 2_000;
const FIELDS: usize = 20;

/// The first byte of `input` selects the version and whether the rest is a block before or after compression.
pub fn check_block(input: &[u8]) {
    let [kind, rest @ ..] = input else { return };
    let version = Version::ALL[usize::from(kind & 3) % 3];
    if kind & 4 == 0 { check_plain(version, rest) } else { check_packed(version, rest) }
}

/// A valid block is written back byte for byte, survives compression, and opens a request's stream.
fn check_plain(version: Version, block: &[u8]) {
    let fields = Fields::read(version, block, FIELDS);
    if let Ok(fields) = &fields {
        let mut written = Vec::new();
        fields.write(version, &mut written).expect("what was read can be written");
        assert_eq!(written, block);
    }
    for compression in [Compression::Deflate, Compression::Stored] {
        let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
        Deflater::new(version, compression).deflate(block, &mut packed);
        let mut inflater = Inflater::new(version, block.len());
        inflater.inflate(&packed, &mut unpacked).expect("what was deflated can be inflated");
        assert_eq!(unpacked, block);
        let opened = opened(version, packed);
        let is_readable = block.len() <= BLOCK_BYTES && fields.is_ok();
        assert_eq!(opened.as_ref(), fields.as_ref().ok().filter(|_| is_readable));
    }
}

/// The fields in the server's event when a stream is opened with the compressed block `packed`.
fn opened(version: Version, packed: Vec<u8>) -> Option<Fields> {
    let limits = Limits {
        control_frame_bytes: 1 << 20,
        header_block_bytes: BLOCK_BYTES,
        fields: FIELDS,
        ..Config::SERVER.limits
    };
    let mut server = Session::new(Role::Server, version, Config { limits, ..Config::SERVER });
    let mut bytes = BytesMut::new();
    let syn = SynStream {
        stream: StreamId::new(1),
        associated: StreamId::ZERO,
        priority: Priority::HIGHEST,
        slot: 0,
        fin: true,
        unidirectional: false,
        block: packed.into(),
    };
    frame::syn_stream(&mut bytes, version, &syn);
    server.receive(Duration::ZERO, Bytes::from(bytes));
    std::iter::from_fn(|| server.poll_event()).find_map(|event| match event {
        Event::Opened { fields, .. } => Some(fields),
        _ => None,
    })
}

/// Memory use is bounded by the limit for any inflated block: one that comes alone, and one that follows an honest one.
fn check_packed(version: Version, packed: &[u8]) {
    let mut honest = Vec::new();
    Deflater::new(version, Compression::Deflate).deflate(b"\0\0\0\0", &mut honest);
    for before in [None, Some(&honest)] {
        let mut inflater = Inflater::new(version, BLOCK_BYTES);
        let mut out = Vec::new();
        if let Some(before) = before {
            inflater.inflate(before, &mut out).expect("an honest block");
        }
        let inflated = inflater.inflate(packed, &mut out);
        assert!(out.capacity() <= 2 * BLOCK_BYTES, "{} bytes held", out.capacity());
        if inflated.is_ok() {
            assert!(out.len() <= BLOCK_BYTES);
            if let Ok(fields) = Fields::read(version, &out, FIELDS) {
                assert!(fields.len() <= FIELDS);
            }
        }
    }
}
