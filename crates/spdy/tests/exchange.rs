//! Exchanges between two sessions of this crate, and frames compressed by the zlib library.

mod common;

use bytes::Bytes;
use common::*;
use farlink_spdy::frame::{Setting, SettingId, Settings};
use farlink_spdy::message::{self, read_request, read_status};
use farlink_spdy::{
    CloseReason, CommandError, Compression, Config, Event, OpenError, Policy, Priority,
    ResetReason, Role, Session, Version,
};

#[test]
fn a_request_and_its_response_in_every_version() {
    for version in Version::ALL {
        for compression in [Compression::Deflate, Compression::Stored] {
            let mut pair = Pair::usual(version);
            pair.server =
                Session::new(Role::Server, version, Config { compression, ..Config::SERVER });
            let fields = get(version, "/upload");
            let stream = pair.client.open(&fields, Priority::new(2), false).unwrap().stream;
            pair.client.send(stream, Bytes::from_static(b"to the server"), true).unwrap();
            pair.run();
            let events = news(&mut pair.server);
            let Event::Opened { stream: opened, priority, fields, fin, .. } = &events[0] else {
                panic!("{events:?}")
            };
            assert_eq!((*opened, priority.level(), *fin), (stream, 2, false));
            assert_eq!(read_request(version, fields).unwrap().path, b"/upload");
            assert_eq!(data(&events, stream), (b"to the server".to_vec(), true));

            pair.server.reply(stream, &ok(version), false).unwrap();
            pair.server.send(stream, Bytes::from(vec![7; 50_000]), true).unwrap();
            pair.run();
            let events = news(&mut pair.client);
            assert_eq!(read_status(version, &replied(events.first()).fields), Ok(200));
            assert_eq!(data(&events, stream), (vec![7; 50_000], true));
            assert_eq!((pair.client.open_streams(), pair.server.open_streams()), (0, 0));
        }
    }
}

/// SYN_STREAMs compressed by zlib 1.3 as in Chrome: level 9, a window of 2^11, memLevel 1, a sync flush.
#[test]
fn what_zlib_itself_has_compressed_is_read() {
    let captured = [
        (
            Version::V2,
            "80020001010000700000000100000000400038eadfa251b26260636001e512067e602ceba55624e616e4a4ea25e7e732\
             b0e502b3677e0a03b3bb6b08035b31304673531958334a4a0a8a1998415ab9f533f352522bf4400e63e042a47c066edf\
             fcaacc9c9c447d533d030676a8650c1c303700000000ffff",
            "8002000101000013000000030000000040001a002b01000000ffff",
        ),
        (
            Version::V31,
            "80030001010000690000000100000000400038eae3c6a7c202a5235076b2821608fcc014ad975a91080a5cbd647059c1\
             6e8548d1eeae2160d50589e0728b5b3f332f25b5420fe478b0ca626079990b2e54334a4a0a40699ec30a7b5247cd62dc\
             bef95599393989faa67a0600000000ffff",
            "8003000101000013000000030000000040001a844e02000000ffff",
        ),
    ];
    for (version, first, second) in captured {
        let mut server = Session::new(Role::Server, version, Config::SERVER);
        for hex in [first, second] {
            server.receive(Default::default(), unhex(hex));
        }
        let events = news(&mut server);
        assert_eq!(events.len(), 2, "{events:?}");
        for (event, number) in events.iter().zip([1, 3]) {
            let Event::Opened { stream, priority, fields, fin, .. } = event else {
                panic!("{event:?}")
            };
            assert_eq!((stream.get(), *fin), (number, true));
            assert_eq!(priority.level(), if version == Version::V2 { 1 } else { 2 });
            assert_eq!(fields, &sorted(get(version, "/index.html")));
        }
    }
}

fn unhex(text: &str) -> Bytes {
    let digits = text.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| {
        u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).expect("two hexadecimal digits")
    };
    digits.iter().map(byte).collect()
}

/// Chrome kept its header blocks in a sorted map.
fn sorted(fields: farlink_spdy::Fields) -> farlink_spdy::Fields {
    let mut pairs: Vec<_> = fields.iter().collect();
    pairs.sort();
    pairs.into_iter().collect()
}

#[test]
fn header_blocks_shrink_when_they_repeat() {
    let mut client = Session::new(Role::Client, Version::V31, Config::CLIENT);
    let mut size = |path: &str| {
        let fields = get(Version::V31, path).with("cookie", "0123456789abcdef".repeat(20));
        client.open(&fields, Priority::HIGHEST, true).unwrap().wire_bytes
    };
    let (first, second) = (size("/a/picture/of/1.png"), size("/a/picture/of/2.png"));
    assert!(second < 60 && first > 120, "{first}, then {second}");
}

#[test]
fn the_most_urgent_stream_sends_first() {
    let order = |policy| {
        let server = Config { policy, chunk_bytes: 1_000, ..Config::SERVER };
        let mut pair = Pair::new(Version::V31, Config::CLIENT, server);
        for level in [7, 0, 7, 0] {
            let fields = get(Version::V31, "/");
            pair.client.open(&fields, Priority::new(level), true).unwrap();
        }
        pair.run();
        for stream in [1, 3, 5, 7].map(id) {
            pair.server.reply(stream, &ok(Version::V31), false).unwrap();
            pair.server.send(stream, vec![0; 2_000].into(), true).unwrap();
        }
        pair.run();
        let mut order = Vec::new();
        for event in events(&mut pair.client) {
            if let Event::Data { stream, .. } = event {
                order.push(stream.get());
            }
        }
        order
    };
    assert_eq!(order(Policy::Priority), [3, 7, 3, 7, 1, 5, 1, 5]);
    assert_eq!(order(Policy::PriorityInOrder), [3, 3, 7, 7, 1, 1, 5, 5]);
    assert_eq!(order(Policy::RoundRobin), [1, 3, 5, 7, 1, 3, 5, 7]);
    assert_eq!(order(Policy::InOrder), [1, 1, 3, 3, 5, 5, 7, 7]);
}

/// Number of bytes that a server can send to a client of `windows` (stream, session) that consumes nothing.
fn unconsumed(version: Version, windows: (u32, u32), streams: u32) -> usize {
    let client = Config {
        stream_window_bytes: windows.0,
        session_window_bytes: windows.1,
        ..Config::CLIENT
    };
    let mut pair = Pair::new(version, client, Config::SERVER);
    for _ in 0..streams {
        ask(&mut pair.client, "/");
    }
    pair.run();
    for stream in (0..streams).map(|n| id(2 * n + 1)) {
        pair.server.reply(stream, &ok(version), false).unwrap();
        pair.server.send(stream, vec![0; 300_000].into(), true).unwrap();
    }
    pair.run();
    let limited = pair.server.is_window_limited();
    assert_eq!(limited, pair.server.queued() > 0);
    let events = news(&mut pair.client);
    let sent = (0..streams).map(|n| data(&events, id(2 * n + 1)).0.len()).sum();
    // After consumption the rest arrives.
    let mut received = sent;
    let mut pending = events;
    while received < 300_000 * streams as usize {
        for event in pending {
            if let Event::Data { stream, payload, .. } = event {
                pair.client.consume(stream, payload.len());
            }
        }
        pair.run();
        pending = news(&mut pair.client);
        let more: usize = (0..streams).map(|n| data(&pending, id(2 * n + 1)).0.len()).sum();
        assert!(more > 0, "{version}: stuck at {received}");
        received += more;
    }
    sent
}

#[test]
fn windows_hold_back_what_each_version_says() {
    let initial = (65_536, 65_536);
    // Version 2 has no windows, 3 one per stream, 3.1 one for the session as well.
    assert_eq!(unconsumed(Version::V2, initial, 2), 600_000);
    assert_eq!(unconsumed(Version::V3, initial, 2), 131_072);
    assert_eq!(unconsumed(Version::V31, initial, 2), 65_536);
    assert_eq!(unconsumed(Version::V31, (100_000, 1 << 20), 2), 200_000);
    assert_eq!(unconsumed(Version::V31, (1 << 20, 400_000), 2), 400_000);
    // Smaller than the initial one: the server knows it before it sends.
    assert_eq!(unconsumed(Version::V3, (10_000, 65_536), 3), 30_000);
}

#[test]
fn a_window_that_shrinks_below_what_was_sent_goes_negative() {
    let server = Config { stream_window_bytes: 16 << 10, ..Config::SERVER };
    let mut pair = Pair::new(Version::V3, Config::CLIENT, server);
    let fields = get(Version::V3, "/");
    let stream = pair.client.open(&fields, Priority::HIGHEST, false).unwrap().stream;
    pair.client.send(stream, vec![0; 200_000].into(), true).unwrap();
    // The client sends a full initial window before it learns of the smaller one.
    pair.run();
    assert_eq!(pair.client.queued(), 200_000 - 65_536);
    for event in events(&mut pair.server) {
        if let Event::Data { payload, .. } = event {
            pair.server.consume(stream, payload.len());
        }
    }
    pair.run();
    // The last 512 bytes are less than half a window: they are not returned yet.
    assert_eq!(pair.client.queued(), 200_000 - 65_536 - ((16 << 10) - 512));
}

#[test]
fn an_empty_body_ends_without_a_window() {
    let mut pair = Pair::usual(Version::V31);
    let stream = ask(&mut pair.client, "/");
    pair.run();
    pair.server.reply(stream, &ok(Version::V31), false).unwrap();
    pair.server.send(stream, Bytes::new(), true).unwrap();
    pair.run();
    assert_eq!(data(&news(&mut pair.client), stream), (vec![], true));
    assert_eq!(pair.server.open_streams(), 0);
}

#[test]
fn who_has_sent_its_last_byte_is_told() {
    let mut pair = Pair::usual(Version::V31);
    let first = ask(&mut pair.client, "/");
    let fields = get(Version::V31, "/");
    let second = pair.client.open(&fields, Priority::HIGHEST, false).unwrap().stream;
    pair.client.send(second, vec![0; 100].into(), true).unwrap();
    pair.client.produce(usize::MAX);
    let all = pair.client.output().len();
    pair.client.advance(all - 1);
    assert_eq!(events(&mut pair.client), [Event::Sent { stream: first }]);
    pair.client.advance(1);
    assert_eq!(events(&mut pair.client), [Event::Sent { stream: second }]);
}

#[test]
fn no_more_streams_than_the_peer_allows() {
    let server = Config { streams: 2, ..Config::SERVER };
    let client = Config { assumed_streams: 3, ..Config::CLIENT };
    let mut pair = Pair::new(Version::V31, client, server);
    let streams = [(); 3].map(|()| ask(&mut pair.client, "/"));
    let fields = get(Version::V31, "/");
    let full = pair.client.open(&fields, Priority::HIGHEST, true);
    assert_eq!(full, Err(OpenError::Full(3)));
    pair.run();
    // The third came before the client knew.
    let refused = Event::Reset { stream: streams[2], reason: ResetReason::REFUSED_STREAM };
    assert_eq!(news(&mut pair.client), [refused]);
    assert!(!pair.client.has_room());
    pair.server.reply(streams[0], &ok(Version::V31), true).unwrap();
    pair.run();
    assert!(pair.client.has_room());
}

#[test]
fn a_cancelled_stream_is_gone_at_both_ends_and_its_data_passed_over() {
    let mut pair = Pair::usual(Version::V31);
    let stream = ask(&mut pair.client, "/");
    pair.run();
    pair.server.reply(stream, &ok(Version::V31), false).unwrap();
    pair.server.send(stream, vec![0; 100_000].into(), true).unwrap();
    pair.server.produce(30_000);
    pair.client.reset(stream, ResetReason::CANCEL);
    pair.run();
    assert_eq!(news(&mut pair.client), []);
    let gone = Event::Reset { stream, reason: ResetReason::CANCEL };
    assert_eq!(news(&mut pair.server)[1..], [gone]);
    let closed = pair.server.send(stream, Bytes::new(), true);
    assert_eq!(closed, Err(CommandError::Closed(stream)));
    assert_eq!((pair.server.queued(), pair.server.open_streams()), (0, 0));
}

#[test]
fn a_response_is_pushed_and_cancelled_with_its_request() {
    for version in Version::ALL {
        let client = Config { streams: 10, ..Config::CLIENT };
        let mut pair = Pair::new(version, client, Config::SERVER);
        let stream = ask(&mut pair.client, "/");
        pair.run();
        pair.server.reply(stream, &ok(version), false).unwrap();
        let fields = message::pushed(version, "https", "www.example.com", "/style.css");
        let push = |pair: &mut Pair| pair.server.push(stream, &fields, Priority::LOWEST);
        let [first, second] = [push(&mut pair), push(&mut pair)].map(|it| it.unwrap().stream);
        pair.server.headers(first, &ok(version), false).unwrap();
        pair.server.send(first, Bytes::from_static(b"body {}"), true).unwrap();
        pair.run();
        let events = news(&mut pair.client);
        assert!(matches!(&events[1], Event::Opened { stream: s, associated, fin: false, .. }
            if *s == first && *associated == stream));
        assert!(matches!(&events[3], Event::Headers(head) if head.stream == first));
        assert_eq!(data(&events, first), (b"body {}".to_vec(), true));
        pair.client.reset(stream, ResetReason::CANCEL);
        pair.run();
        let reason = ResetReason::CANCEL;
        let lost = [second, stream].map(|stream| Event::Reset { stream, reason });
        assert_eq!(news(&mut pair.server)[1..], lost);
        assert_eq!(push(&mut pair).unwrap_err(), OpenError::Associated(stream));
    }
}

#[test]
fn a_client_that_wants_no_push_is_not_pushed_to() {
    let mut pair = Pair::usual(Version::V31);
    let stream = ask(&mut pair.client, "/");
    pair.run();
    let fields = message::pushed(Version::V31, "https", "www.example.com", "/style.css");
    let full = pair.server.push(stream, &fields, Priority::LOWEST);
    assert_eq!(full, Err(OpenError::Full(0)));
}

#[test]
fn pings_come_back_once() {
    let mut pair = Pair::usual(Version::V2);
    let (one, two) = (pair.client.ping(), pair.server.ping());
    assert_eq!((one, two, pair.client.ping()), (1, 2, 3));
    pair.run();
    assert_eq!(news(&mut pair.client), [Event::Pong(1), Event::Pong(3)]);
    assert_eq!(news(&mut pair.server), [Event::Pong(2)]);
}

#[test]
fn after_goaway_what_is_open_goes_on_and_nothing_new_begins() {
    for version in Version::ALL {
        let mut pair = Pair::usual(version);
        let stream = ask(&mut pair.client, "/");
        pair.run();
        pair.server.go_away(CloseReason::OK);
        let late = ask(&mut pair.client, "/late");
        pair.run();
        let unprocessed = Event::Reset { stream: late, reason: ResetReason::REFUSED_STREAM };
        let going = Event::GoAway { last: stream, reason: CloseReason::OK };
        assert_eq!(news(&mut pair.client), [unprocessed, going]);
        let fields = get(version, "/");
        let closed = pair.client.open(&fields, Priority::HIGHEST, true);
        assert_eq!(closed, Err(OpenError::Closed));
        pair.server.reply(stream, &ok(version), true).unwrap();
        pair.run();
        replied(news(&mut pair.client).first());
    }
}

#[test]
fn kept_settings_are_told_with_their_flags() {
    let mut pair = Pair::usual(Version::V31);
    pair.run();
    events(&mut pair.client);
    let entry = Setting { persist: true, ..Setting::new(SettingId::CURRENT_CWND, 32) };
    let settings = Settings { clear: true, entries: vec![entry] };
    pair.server.send_settings(&settings);
    pair.run();
    assert_eq!(events(&mut pair.client), [Event::Settings(settings)]);
}
