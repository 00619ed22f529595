//! Sessions that recall send the same bytes as sessions that compute.

mod common;

use std::time::Duration;

use common::*;
use farlink_spdy::{Compression, Config, Event, Recall, Role, Session, StreamId, Version};
use proptest::prelude::*;

/// A client and a server, with everything that they have sent and received.
struct Talk {
    version: Version,
    ends: [Session; 2],
    account: Vec<String>,
}

impl Talk {
    fn new(version: Version, config: Config, recall: Option<&Recall>) -> Talk {
        let session = |role| Session::recalling(role, version, config, recall);
        Talk { version, ends: [Role::Client, Role::Server].map(session), account: Vec::new() }
    }

    /// Makes a request and answers it.
    fn ask(&mut self, path: u8) {
        // Long, repetitive and similar, as heads are.
        let tail = "/a/page/of/many".repeat(usize::from(path));
        let fields = get(self.version, &format!("/{path}{tail}"));
        let opened = self.ends[0].open(&fields, farlink_spdy::Priority::HIGHEST, true);
        self.account.push(format!("{opened:?}"));
        self.carry(0);
        if let Ok(opened) = opened {
            let fields = ok(self.version).with("etag", format!("{path}{tail}"));
            self.account.push(format!("{:?}", self.ends[1].reply(opened.stream, &fields, true)));
            self.carry(1);
        }
    }

    /// Sends the server bytes that are not a header block.
    fn spoil(&mut self, bytes: &[u8]) {
        let stream = StreamId::new(u32::MAX >> 1);
        let frame = raw(|out| {
            let block =
                farlink_spdy::frame::Block { stream, fin: false, block: bytes.to_vec().into() };
            farlink_spdy::frame::headers(out, self.version, &block);
        });
        self.ends[1].receive(Duration::ZERO, frame);
        self.carry(1);
    }

    fn carry(&mut self, from: usize) {
        let said = self.ends[from].output().to_vec();
        self.ends[from].advance(said.len());
        self.ends[1 - from].receive(Duration::ZERO, said.clone().into());
        self.account.push(format!("{said:?}"));
        for end in &mut self.ends {
            let understood: Vec<Event> = events(end);
            self.account.push(format!("{understood:?}"));
        }
    }
}

/// An action on one of several connections.
#[derive(Clone, Debug)]
enum Move {
    Ask(u8),
    Spoil(Vec<u8>),
    /// Drops it and begins another one.
    Renew,
}

fn moves() -> impl Strategy<Value = Vec<(usize, Move)>> {
    let one = prop_oneof![
        // Few paths, so that contexts agree for a while and then diverge.
        20 => (0u8..3).prop_map(Move::Ask),
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Move::Spoil),
        4 => Just(Move::Renew),
    ];
    prop::collection::vec((0usize..3, one), 0..120)
}

/// The log of `moves` on three connections.
fn account(
    version: Version,
    config: Config,
    recall: Option<&Recall>,
    moves: &[(usize, Move)],
) -> Vec<String> {
    let begin = || Talk::new(version, config, recall);
    let (mut talks, mut account) = ([(); 3].map(|()| begin()), Vec::new());
    for (at, one) in moves {
        match one {
            Move::Ask(path) => talks[*at].ask(*path),
            Move::Spoil(bytes) => talks[*at].spoil(bytes),
            Move::Renew => account.extend(std::mem::replace(&mut talks[*at], begin()).account),
        }
    }
    account.extend(talks.into_iter().flat_map(|talk| talk.account));
    account
}

proptest! {
    #[test]
    fn who_recalls_says_what_it_would_have_computed(
        moves in moves(),
        version in prop::sample::select(Version::ALL.to_vec()),
        is_stored in any::<bool>(),
        limit in prop_oneof![0usize..200, 200usize..6_000, Just(1 << 20)],
    ) {
        let compression = if is_stored { Compression::Stored } else { Compression::Deflate };
        let config = Config { compression, ..Config::SERVER };
        let computed = account(version, config, None, &moves);
        let recall = Recall::new(limit);
        // Once while it learns, once with everything learnt.
        for _ in 0..2 {
            let recalled = account(version, config, Some(&recall), &moves);
            prop_assert_eq!(&recalled, &computed);
        }
    }
}

#[test]
fn limits_are_not_mixed_up() {
    let recall = Recall::new(1 << 20);
    let server = |header_block_bytes| {
        let limits = farlink_spdy::Limits { header_block_bytes, ..Config::SERVER.limits };
        let config = Config { limits, ..Config::SERVER };
        let mut talk = Talk::new(Version::V31, config, Some(&recall));
        talk.ask(200);
        talk.ends[1].has_failed()
    };
    assert!(!server(32 << 10));
    assert!(server(1 << 10));
    assert!(!server(32 << 10));
}
