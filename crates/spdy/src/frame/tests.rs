//! Frames compared with their bytes in the drafts, and invalid input.

use proptest::prelude::*;

use super::*;
use crate::frame::{self, Block, Setting, SettingId, Settings, SynStream};
use crate::{CloseReason, Priority, ResetReason};

const LIMIT: usize = 4096;

/// The frames in `bytes`, pieces of a DATA frame joined.
fn read(version: Version, pieces: &[&[u8]]) -> Result<Vec<Frame>, FrameError> {
    let mut reader = Reader::new(version, LIMIT);
    let mut frames: Vec<Frame> = Vec::new();
    let mut is_cut = false;
    for piece in pieces {
        let mut bytes = Bytes::copy_from_slice(piece);
        while let Some(frame) = reader.next(&mut bytes)? {
            match (frames.last_mut(), frame) {
                (
                    Some(Frame::Data { payload: all, fin, .. }),
                    Frame::Data { payload, fin: end, .. },
                ) if is_cut => {
                    *all = [&all[..], &payload[..]].concat().into();
                    *fin = end;
                }
                (_, frame) => frames.push(frame),
            }
            is_cut = reader.data.is_some();
        }
    }
    Ok(frames)
}

fn write(version: Version, frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    match frame {
        Frame::Data { stream, payload, fin } => {
            frame::data_head(&mut out, *stream, *fin, payload.len());
            out.extend_from_slice(payload);
        }
        Frame::SynStream(frame) => frame::syn_stream(&mut out, version, frame),
        Frame::SynReply(frame) => frame::syn_reply(&mut out, version, frame),
        Frame::Headers(frame) => frame::headers(&mut out, version, frame),
        Frame::RstStream { stream, reason } => {
            frame::rst_stream(&mut out, version, *stream, *reason);
        }
        Frame::Settings(settings) => frame::settings(&mut out, version, settings),
        Frame::Noop => frame::noop(&mut out),
        Frame::Ping(id) => frame::ping(&mut out, version, *id),
        Frame::GoAway { last, reason } => frame::go_away(&mut out, version, *last, *reason),
        Frame::WindowUpdate { stream, delta } => {
            frame::window_update(&mut out, version, *stream, *delta);
        }
        Frame::Credential | Frame::OtherVersion(_) | Frame::Unknown => {
            unreachable!("nobody writes these")
        }
    }
    out.to_vec()
}

#[track_caller]
fn same(version: Version, frame: Frame, bytes: &[u8]) {
    assert_eq!(write(version, &frame), bytes, "written");
    assert_eq!(read(version, &[bytes]), Ok(vec![frame]), "read");
}

fn id(number: u32) -> StreamId {
    StreamId::new(number)
}

#[test]
fn the_frames_of_the_drafts() {
    let block = Bytes::from_static(b"\xaa\xbb");
    let syn = SynStream {
        stream: id(5),
        associated: id(2),
        priority: Priority::new(3),
        slot: 0,
        fin: true,
        unidirectional: true,
        block: block.clone(),
    };
    same(
        Version::V31,
        Frame::SynStream(syn.clone()),
        b"\x80\x03\0\x01\x03\0\0\x0c\0\0\0\x05\0\0\0\x02\x60\0\xaa\xbb",
    );
    same(
        Version::V2,
        Frame::SynStream(syn),
        b"\x80\x02\0\x01\x03\0\0\x0c\0\0\0\x05\0\0\0\x02\xc0\0\xaa\xbb",
    );
    let reply = Block { stream: id(1), fin: false, block };
    same(
        Version::V3,
        Frame::SynReply(reply.clone()),
        b"\x80\x03\0\x02\0\0\0\x06\0\0\0\x01\xaa\xbb",
    );
    same(Version::V2, Frame::Headers(reply), b"\x80\x02\0\x08\0\0\0\x08\0\0\0\x01\0\0\xaa\xbb");
    same(
        Version::V3,
        Frame::RstStream { stream: id(7), reason: ResetReason::STREAM_IN_USE },
        b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x07\0\0\0\x08",
    );
    same(Version::V2, Frame::Noop, b"\x80\x02\0\x05\0\0\0\0");
    same(Version::V31, Frame::Ping(0x0102_0304), b"\x80\x03\0\x06\0\0\0\x04\x01\x02\x03\x04");
    same(
        Version::V2,
        Frame::GoAway { last: id(9), reason: CloseReason::OK },
        b"\x80\x02\0\x07\0\0\0\x04\0\0\0\x09",
    );
    same(
        Version::V3,
        Frame::GoAway { last: id(9), reason: CloseReason::PROTOCOL_ERROR },
        b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x09\0\0\0\x01",
    );
    same(
        Version::V31,
        Frame::WindowUpdate { stream: StreamId::ZERO, delta: 0x1_0000 },
        b"\x80\x03\0\x09\0\0\0\x08\0\0\0\0\0\x01\0\0",
    );
    same(
        Version::V3,
        Frame::Data { stream: id(3), payload: Bytes::from_static(b"hi"), fin: true },
        b"\0\0\0\x03\x01\0\0\x02hi",
    );
    same(
        Version::V3,
        Frame::Data { stream: id(3), payload: Bytes::new(), fin: false },
        b"\0\0\0\x03\0\0\0\0",
    );
}

#[test]
fn settings_ids_are_little_endian_in_version_2() {
    let entry = Setting { persist: true, ..Setting::new(SettingId::MAX_CONCURRENT_STREAMS, 100) };
    let settings = Frame::Settings(Settings { clear: true, entries: vec![entry] });
    same(
        Version::V3,
        settings.clone(),
        b"\x80\x03\0\x04\x01\0\0\x0c\0\0\0\x01\x01\0\0\x04\0\0\0\x64",
    );
    same(Version::V2, settings, b"\x80\x02\0\x04\x01\0\0\x0c\0\0\0\x01\x04\0\0\x01\0\0\0\x64");
}

#[test]
fn what_a_version_lacks_is_unknown_to_it() {
    let update = b"\x80\x02\0\x09\0\0\0\x08\0\0\0\x01\0\x01\0\0";
    assert_eq!(read(Version::V2, &[update]), Ok(vec![Frame::Unknown]));
    let noop = b"\x80\x03\0\x05\0\0\0\0";
    assert_eq!(read(Version::V3, &[noop]), Ok(vec![Frame::Unknown]));
    let credential = b"\x80\x03\0\x0a\0\0\0\x02\0\x01";
    assert_eq!(read(Version::V31, &[credential]), Ok(vec![Frame::Credential]));
}

#[test]
fn another_versions_stream_is_told_and_its_other_frames_ignored() {
    let syn = b"\x80\x02\0\x01\x03\0\0\x0c\0\0\0\x05\0\0\0\0\xc0\0\xaa\xbb";
    assert_eq!(read(Version::V3, &[syn]), Ok(vec![Frame::OtherVersion(id(5))]));
    let ping = b"\x80\x09\0\x06\0\0\0\x04\x01\x02\x03\x04";
    assert_eq!(read(Version::V3, &[ping]), Ok(vec![Frame::Unknown]));
}

#[test]
fn version_2_is_told_what_it_knows() {
    let mut out = BytesMut::new();
    frame::rst_stream(&mut out, Version::V2, id(1), ResetReason::STREAM_ALREADY_CLOSED);
    assert_eq!(out[12..], [0, 0, 0, 1]);
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    let wrong = |kind, length| Err(FrameError::Length { kind, length });
    let cases: [(&[u8], _); 5] = [
        (b"\x80\x03\0\x06\0\0\0\x05\x01\x02\x03\x04\x05", wrong("PING", 5)),
        (b"\x80\x03\0\x01\0\0\0\x03\0\0\0", wrong("SYN_STREAM", 3)),
        (b"\x80\x03\0\x04\0\0\0\x0c\0\0\0\x02\0\0\0\x04\0\0\0\x64", wrong("SETTINGS", 12)),
        (b"\x80\x03\0\x04\0\0\0\x04\xff\xff\xff\xff", wrong("SETTINGS", 4)),
        (
            b"\x80\x03\0\x08\0\xff\xff\xff",
            Err(FrameError::TooLarge { kind: "HEADERS", length: MAX, limit: LIMIT }),
        ),
    ];
    for (bytes, error) in cases {
        assert_eq!(read(Version::V3, &[bytes]), error);
    }
}

const MAX: usize = frame::MAX_LENGTH;

#[test]
fn a_data_frame_of_any_size_is_told_as_it_comes() {
    let mut reader = Reader::new(Version::V3, LIMIT);
    let mut bytes = Bytes::from_static(b"\0\0\0\x03\x01\xff\xff\xffab");
    let first = reader.next(&mut bytes).unwrap();
    let payload = Bytes::from_static(b"ab");
    assert_eq!(first, Some(Frame::Data { stream: id(3), payload, fin: false }));
    let mut rest = Bytes::from(vec![7; MAX - 2]);
    let Some(Frame::Data { payload, fin, .. }) = reader.next(&mut rest).unwrap() else {
        panic!("the rest follows")
    };
    assert!(fin && payload.len() == MAX - 2);
}

fn streams() -> impl Strategy<Value = StreamId> {
    any::<u32>().prop_map(StreamId::new)
}

fn blocks() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..80).prop_map(Bytes::from)
}

fn frames(version: Version) -> impl Strategy<Value = Frame> {
    let is_v2 = version == Version::V2;
    let syn =
        (streams(), streams(), 0..=version.lowest_priority(), any::<u8>(), any::<[bool; 2]>());
    let syn = (syn, blocks()).prop_map(
        |((stream, associated, level, slot, [fin, unidirectional]), block)| {
            let priority = Priority::new(level);
            let frame =
                SynStream { stream, associated, priority, slot, fin, unidirectional, block };
            Frame::SynStream(frame)
        },
    );
    let block = (streams(), any::<bool>(), blocks());
    let block = block.prop_map(|(stream, fin, block)| Block { stream, fin, block }).boxed();
    let setting = (0u32..1 << 24, any::<u32>(), any::<[bool; 2]>()).prop_map(
        |(id, value, [persist, persisted])| Setting {
            id: SettingId(id),
            value,
            persist,
            persisted,
        },
    );
    let settings = (any::<bool>(), prop::collection::vec(setting, 0..9))
        .prop_map(|(clear, entries)| Frame::Settings(Settings { clear, entries }));
    prop_oneof![
        (streams(), blocks(), any::<bool>()).prop_map(|(stream, payload, fin)| Frame::Data {
            stream,
            payload,
            fin
        }),
        syn,
        block.clone().prop_map(Frame::SynReply),
        block.prop_map(Frame::Headers),
        (streams(), 0u32..8)
            .prop_map(|(stream, reason)| Frame::RstStream { stream, reason: ResetReason(reason) }),
        settings,
        any::<u32>().prop_map(Frame::Ping),
        (streams(), any::<u32>()).prop_map(move |(last, reason)| Frame::GoAway {
            last,
            reason: CloseReason(if is_v2 { 0 } else { reason }),
        }),
        (streams(), 1u32..1 << 31).prop_map(move |(stream, delta)| match is_v2 {
            true => Frame::Noop,
            false => Frame::WindowUpdate { stream, delta },
        }),
    ]
}

fn versions_and_frames() -> impl Strategy<Value = (Version, Vec<Frame>)> {
    prop::sample::select(Version::ALL.to_vec())
        .prop_flat_map(|version| (Just(version), prop::collection::vec(frames(version), 1..8)))
}

/// `bytes` cut after each of `sizes`.
fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes {
        let (piece, rest) = bytes.split_at((*size).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

proptest! {
    #[test]
    fn what_is_written_is_read_however_it_is_cut(
        (version, frames) in versions_and_frames(),
        sizes in prop::collection::vec(0usize..40, 0..30),
    ) {
        let bytes: Vec<u8> =
            frames.iter().flat_map(|frame| write(version, frame)).collect();
        prop_assert_eq!(read(version, &cut(&bytes, &sizes)), Ok(frames));
    }

    #[test]
    fn no_cut_changes_what_any_bytes_mean(
        version in prop::sample::select(Version::ALL.to_vec()),
        bytes in prop::collection::vec(
            prop_oneof![Just(0u8), Just(0x80), Just(3), 0u8..12, any::<u8>()], 0..120),
        sizes in prop::collection::vec(0usize..20, 0..30),
    ) {
        let whole = read(version, &[&bytes]);
        let cut = read(version, &cut(&bytes, &sizes));
        if let (Ok(whole), Ok(cut)) = (&whole, &cut) {
            prop_assert_eq!(whole, cut);
        }
        prop_assert_eq!(whole.is_ok(), cut.is_ok());
    }
}
