//! Properties of sessions: any bytes, any segmentation, any order of commands.

mod checks;
mod common;

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use common::*;
use farlink_spdy::frame::{self, Block, Setting, SettingId, Settings, SynStream};
use farlink_spdy::{
    CloseReason, Compression, Config, Deflater, Event, Policy, Priority, ResetReason, StreamId,
    Version,
};
use proptest::prelude::*;

/// A frame of a malicious peer that knows the protocol.
#[derive(Clone, Debug)]
enum Move {
    Syn { stream: u32, associated: u32, flags: u8 },
    Reply(u32, bool),
    Headers(u32, bool),
    Data(u32, usize, bool),
    Reset(u32, u32),
    Update(u32, u32),
    Set(u32, u32),
    Ping(u32),
    GoAway(u32),
    Bytes(Vec<u8>),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let stream = 0u32..14;
    let delta = prop_oneof![0u32..70_000, 0x7fff_0000u32..0x7fff_ffff];
    let one = prop_oneof![
        4 => (stream.clone(), stream.clone(), 0u8..4)
            .prop_map(|(stream, associated, flags)| Move::Syn { stream, associated, flags }),
        2 => (stream.clone(), any::<bool>()).prop_map(|(s, fin)| Move::Reply(s, fin)),
        1 => (stream.clone(), any::<bool>()).prop_map(|(s, fin)| Move::Headers(s, fin)),
        4 => (stream.clone(), 0usize..9_000, any::<bool>())
            .prop_map(|(s, bytes, fin)| Move::Data(s, bytes, fin)),
        1 => (stream.clone(), 0u32..13).prop_map(|(s, reason)| Move::Reset(s, reason)),
        2 => (stream.clone(), delta.clone()).prop_map(|(s, delta)| Move::Update(s, delta)),
        1 => (0u32..9, delta).prop_map(|(id, value)| Move::Set(id, value)),
        1 => any::<u32>().prop_map(Move::Ping),
        1 => stream.prop_map(Move::GoAway),
        1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(Move::Bytes),
    ];
    prop::collection::vec(one, 0..60)
}

fn bytes_of(version: Version, moves: &[Move]) -> Vec<u8> {
    let mut deflater = Deflater::new(version, Compression::Deflate);
    let mut block = || {
        let (mut plain, mut packed) = (Vec::new(), Vec::new());
        get(version, "/").write(version, &mut plain).expect("these fields are right");
        deflater.deflate(&plain, &mut packed);
        Bytes::from(packed)
    };
    let mut out = BytesMut::new();
    for one in moves {
        match one {
            Move::Syn { stream, associated, flags } => {
                let syn = SynStream {
                    stream: id(*stream),
                    associated: id(*associated),
                    priority: Priority::LOWEST,
                    slot: 0,
                    fin: flags & 1 != 0,
                    unidirectional: flags & 2 != 0,
                    block: block(),
                };
                frame::syn_stream(&mut out, version, &syn);
            }
            Move::Reply(stream, fin) => {
                let reply = Block { stream: id(*stream), fin: *fin, block: block() };
                frame::syn_reply(&mut out, version, &reply);
            }
            Move::Headers(stream, fin) => {
                let headers = Block { stream: id(*stream), fin: *fin, block: block() };
                frame::headers(&mut out, version, &headers);
            }
            Move::Data(stream, bytes, fin) => {
                frame::data_head(&mut out, id(*stream), *fin, *bytes);
                out.put_bytes(0, *bytes);
            }
            Move::Reset(stream, reason) => {
                frame::rst_stream(&mut out, version, id(*stream), ResetReason(*reason));
            }
            Move::Update(stream, delta) => {
                frame::window_update(&mut out, version, id(*stream), *delta);
            }
            Move::Set(what, value) => {
                let entries = vec![Setting::new(SettingId(*what), *value)];
                frame::settings(&mut out, version, &Settings { clear: false, entries });
            }
            Move::Ping(ping) => frame::ping(&mut out, version, *ping),
            Move::GoAway(last) => frame::go_away(&mut out, version, id(*last), CloseReason::OK),
            Move::Bytes(bytes) => out.put_slice(bytes),
        }
    }
    out.to_vec()
}

proptest! {
    #[test]
    fn any_bytes(kind in 0u8..8, cut in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        checks::check_session(&[&[kind, cut], &bytes[..]].concat());
    }

    #[test]
    fn frames_in_any_order(kind in 0u8..8, cut in any::<u8>(), moves in moves()) {
        let version = Version::ALL[usize::from(kind & 3) % 3];
        checks::check_session(&[&[kind, cut], &bytes_of(version, &moves)[..]].concat());
    }

    /// For any windows, chunks, policy and pace: every body arrives completely and in order.
    #[test]
    fn bodies_arrive_whole(
        version in prop::sample::select(Version::ALL.to_vec()),
        policy in prop::sample::select(vec![
            Policy::Priority, Policy::PriorityInOrder, Policy::RoundRobin, Policy::InOrder]),
        sizes in prop::collection::vec(0usize..150_000, 1..8),
        stream_window in 1_000u32..200_000,
        session_window in 65_536u32..300_000,
        chunk_bytes in 1_000usize..40_000,
        pace in 1usize..60_000,
    ) {
        let client = Config {
            stream_window_bytes: stream_window,
            session_window_bytes: session_window,
            ..Config::CLIENT
        };
        let server = Config { policy, chunk_bytes, ..Config::SERVER };
        let mut pair = Pair::new(version, client, server);
        for _ in &sizes {
            ask(&mut pair.client, "/");
        }
        pair.run();
        let body = |index: usize, size: usize| -> Vec<u8> {
            (0..size).map(|at| (at * 7 + index) as u8).collect()
        };
        for (index, size) in sizes.iter().enumerate() {
            let stream = id(2 * index as u32 + 1);
            pair.server.reply(stream, &ok(version), false).unwrap();
            let body = Bytes::from(body(index, *size));
            pair.server.send(stream, body.slice(..size / 3), false).unwrap();
            pair.server.send(stream, body.slice(size / 3..), true).unwrap();
        }
        let mut received: BTreeMap<StreamId, Vec<u8>> = BTreeMap::new();
        let mut ended = 0;
        while ended < sizes.len() {
            let moved = carry(&mut pair.server, &mut pair.client, pace)
                + carry(&mut pair.client, &mut pair.server, pace);
            for event in events(&mut pair.client) {
                if let Event::Data { stream, payload, fin } = event {
                    received.entry(stream).or_default().extend_from_slice(&payload);
                    pair.client.consume(stream, payload.len());
                    ended += usize::from(fin);
                }
            }
            prop_assert!(moved > 0, "stuck");
        }
        for (index, size) in sizes.iter().enumerate() {
            prop_assert_eq!(&received[&id(2 * index as u32 + 1)], &body(index, *size));
        }
        prop_assert_eq!(pair.server.open_streams(), 0);
    }
}
