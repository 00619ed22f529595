//! Answers to a hostile or broken peer, with bounded memory.

mod common;

use std::time::Duration;

use bytes::{BufMut, Bytes};
use common::*;
use farlink_spdy::frame::{
    self, Block, Frame, FrameError, Setting, SettingId, Settings, SynStream,
};
use farlink_spdy::{
    CloseReason, Compression, Config, Deflater, Event, Fields, InflateError, Priority, ResetReason,
    Role, Session, SessionError, StreamId, Version,
};

/// A peer that writes any frames, with a working header context.
struct Hostile {
    version: Version,
    deflater: Deflater,
    session: Session,
}

impl Hostile {
    /// A peer of a server (`Role::Server`) or a client.
    fn against(role: Role, version: Version, config: Config) -> Hostile {
        let deflater = Deflater::new(version, Compression::Deflate);
        let mut session = Session::new(role, version, config);
        frames(&mut session);
        Hostile { version, deflater, session }
    }

    fn server(version: Version) -> Hostile {
        Hostile::against(Role::Server, version, Config::SERVER)
    }

    fn client(version: Version) -> Hostile {
        let config = Config { streams: 5, ..Config::CLIENT };
        let mut hostile = Hostile::against(Role::Client, version, config);
        ask(&mut hostile.session, "/");
        frames(&mut hostile.session);
        hostile
    }

    fn block(&mut self, fields: &Fields) -> Bytes {
        let mut plain = Vec::new();
        fields.write(self.version, &mut plain).expect("fields that obey the rules");
        self.packed(&plain)
    }

    fn packed(&mut self, plain: &[u8]) -> Bytes {
        let mut packed = Vec::new();
        self.deflater.deflate(plain, &mut packed);
        packed.into()
    }

    fn syn(&mut self, stream: u32) -> SynStream {
        let fields = get(self.version, "/");
        syn(stream, self.block(&fields))
    }

    fn send(&mut self, bytes: Bytes) {
        self.send_at(0, bytes);
    }

    fn send_at(&mut self, second: u64, bytes: Bytes) {
        self.session.receive(Duration::from_secs(second), bytes);
    }

    fn send_syn(&mut self, syn: &SynStream) {
        let version = self.version;
        self.send(raw(|out| frame::syn_stream(out, version, syn)));
    }

    fn open(&mut self, stream: u32) {
        let syn = self.syn(stream);
        self.send_syn(&syn);
    }

    fn send_data(&mut self, stream: u32, bytes: usize) {
        self.send(raw(|out| {
            frame::data_head(out, id(stream), false, bytes);
            out.put_bytes(0, bytes);
        }));
    }

    fn update(&mut self, stream: u32, delta: u32) {
        let version = self.version;
        self.send(raw(|out| frame::window_update(out, version, id(stream), delta)));
    }

    fn reply(&mut self, stream: u32) {
        let fields = ok(self.version);
        let block = Block { stream: id(stream), fin: false, block: self.block(&fields) };
        let version = self.version;
        self.send(raw(|out| frame::syn_reply(out, version, &block)));
    }

    #[track_caller]
    fn expect_reset(&mut self, stream: u32, reason: ResetReason) {
        assert!(!self.session.has_failed());
        let expected = Frame::RstStream { stream: id(stream), reason };
        let mut answers = frames(&mut self.session);
        answers.retain(|frame| !matches!(frame, Frame::WindowUpdate { .. }));
        assert_eq!(answers, [expected]);
    }

    #[track_caller]
    fn expect_end(&mut self, error: SessionError, last: u32) {
        assert!(self.session.has_failed());
        assert_eq!(events(&mut self.session).last(), Some(&Event::Failed(error)));
        let reason = if self.version == Version::V2 { CloseReason::OK } else { error.reason() };
        let last_frame = frames(&mut self.session).pop();
        assert_eq!(last_frame, Some(Frame::GoAway { last: id(last), reason }));
    }
}

fn syn(stream: u32, block: Bytes) -> SynStream {
    SynStream {
        stream: id(stream),
        associated: StreamId::ZERO,
        priority: Priority::HIGHEST,
        slot: 0,
        fin: false,
        unidirectional: false,
        block,
    }
}

#[test]
fn a_zlib_bomb_ends_the_session() {
    let mut hostile = Hostile::server(Version::V31);
    let block = hostile.packed(&vec![0; 20 << 20]);
    assert!(block.len() < 64 << 10, "it fits a frame that is taken");
    hostile.send_syn(&syn(1, block));
    let limit = Config::SERVER.limits.header_block_bytes;
    hostile.expect_end(SessionError::Inflate(InflateError::TooLarge { limit }), 0);
}

#[test]
fn a_frame_that_is_too_large_ends_the_session_before_it_has_come() {
    let mut hostile = Hostile::server(Version::V31);
    hostile.send(Bytes::from_static(b"\x80\x03\0\x08\0\xff\xff\xff"));
    let limit = Config::SERVER.limits.control_frame_bytes;
    let (kind, length) = ("HEADERS", frame::MAX_LENGTH);
    let error = FrameError::TooLarge { kind, length, limit };
    hostile.expect_end(SessionError::Frame(error), 0);
}

#[test]
fn a_block_that_breaks_the_rules_resets_its_stream_only() {
    let mut hostile = Hostile::server(Version::V31);
    for (stream, plain) in [
        (1, &b"\0\0\0\x01\0\0\0\x04HOST\0\0\0\x01a"[..]),
        (5, &b"\0\0\0\x02\0\0\0\x01a\0\0\0\x01x\0\0\0\x01a\0\0\0\x01y"[..]),
        (9, &b"\0\0\0\x01\0\0\0\x01a\0\0\0\x02x\0"[..]),
        (13, &b"\0\0\xff\xff"[..]),
    ] {
        let block = hostile.packed(plain);
        hostile.send_syn(&syn(stream, block));
        hostile.expect_reset(stream, ResetReason::PROTOCOL_ERROR);
        // The context is intact: the next stream opens.
        hostile.open(stream + 2);
        assert!(matches!(events(&mut hostile.session)[..], [Event::Opened { .. }]));
    }
}

#[test]
fn numbers_that_may_not_be_used_end_the_session() {
    for (before, stream) in [(None, 0), (None, 2), (Some(9), 7)] {
        let mut hostile = Hostile::server(Version::V31);
        if let Some(before) = before {
            hostile.open(before);
        }
        hostile.open(stream);
        let last = id(before.unwrap_or(0));
        hostile.expect_end(SessionError::StreamId { stream: id(stream), last }, last.get());
    }
    let mut hostile = Hostile::server(Version::V31);
    hostile.open(1);
    hostile.open(1);
    hostile.expect_reset(1, ResetReason::PROTOCOL_ERROR);
}

#[test]
fn windows_that_overflow_or_move_by_nothing() {
    let mut hostile = Hostile::server(Version::V31);
    hostile.open(1);
    hostile.update(1, 0x7fff_ffff);
    hostile.expect_reset(1, ResetReason::FLOW_CONTROL_ERROR);
    hostile.open(3);
    hostile.update(3, 0);
    hostile.expect_reset(3, ResetReason::FLOW_CONTROL_ERROR);
    hostile.update(0, 0x7fff_ffff);
    hostile.expect_end(SessionError::WindowOverflow, 3);

    let mut hostile = Hostile::server(Version::V31);
    hostile.update(0, 0);
    hostile.expect_end(SessionError::EmptyUpdate, 0);

    let mut hostile = Hostile::server(Version::V3);
    hostile.update(0, 0x7fff_ffff);
    assert_eq!(frames(&mut hostile.session), [], "version 3 has no window of the session");
}

#[test]
fn an_initial_window_that_overflows_one_ends_the_session() {
    let mut hostile = Hostile::server(Version::V31);
    hostile.open(1);
    hostile.update(1, 0x7fff_0000 - 65_536);
    let entries = vec![Setting::new(SettingId::INITIAL_WINDOW_SIZE, 65_536 + 0x1_0000)];
    let settings = Settings { clear: false, entries };
    hostile.send(raw(|out| frame::settings(out, Version::V31, &settings)));
    hostile.expect_end(SessionError::WindowOverflow, 1);
}

#[test]
fn who_overruns_a_window_is_stopped() {
    let small =
        Config { stream_window_bytes: 65_536, session_window_bytes: 100_000, ..Config::SERVER };
    let mut hostile = Hostile::against(Role::Server, Version::V31, small);
    hostile.open(1);
    hostile.send_data(1, 65_537);
    hostile.expect_reset(1, ResetReason::FLOW_CONTROL_ERROR);
    hostile.open(3);
    // Data of the reset stream were ignored, and their bytes returned to the window.
    hostile.send_data(3, 65_536);
    hostile.open(5);
    hostile.send_data(5, 40_000);
    hostile.expect_end(SessionError::Overrun, 5);
}

#[test]
fn data_where_none_may_be() {
    let mut hostile = Hostile::server(Version::V31);
    hostile.send_data(7, 1);
    hostile.expect_reset(7, ResetReason::INVALID_STREAM);
    let mut syn = hostile.syn(9);
    syn.fin = true;
    hostile.send_syn(&syn);
    hostile.send_data(9, 1);
    hostile.expect_reset(9, ResetReason::STREAM_ALREADY_CLOSED);

    let mut hostile = Hostile::client(Version::V31);
    hostile.send_data(1, 1);
    hostile.expect_reset(1, ResetReason::PROTOCOL_ERROR);
    let mut hostile = Hostile::client(Version::V2);
    hostile.send_data(1, 1);
    hostile.expect_end(SessionError::DataBeforeReply(id(1)), 0);
}

#[test]
fn replies_where_none_may_be() {
    let mut hostile = Hostile::client(Version::V31);
    hostile.reply(1);
    hostile.reply(1);
    hostile.expect_reset(1, ResetReason::STREAM_IN_USE);
    hostile.reply(3);
    hostile.expect_reset(3, ResetReason::INVALID_STREAM);
    let mut hostile = Hostile::client(Version::V2);
    hostile.reply(1);
    hostile.reply(1);
    hostile.expect_reset(1, ResetReason::PROTOCOL_ERROR);
    let mut hostile = Hostile::server(Version::V31);
    hostile.open(1);
    hostile.reply(1);
    hostile.expect_reset(1, ResetReason::PROTOCOL_ERROR);
}

#[test]
fn pushes_that_may_not_be() {
    let push = |hostile: &mut Hostile, stream, associated, unidirectional| {
        let syn = hostile.syn(stream);
        hostile.send_syn(&SynStream { associated: id(associated), unidirectional, ..syn });
    };
    let mut hostile = Hostile::client(Version::V31);
    push(&mut hostile, 2, 3, true);
    hostile.expect_reset(2, ResetReason::INVALID_STREAM);
    // One of five lacks the mandatory flag, which is tolerated.
    for stream in 3..8 {
        push(&mut hostile, 2 * stream, 1, stream > 3);
    }
    assert_eq!(frames(&mut hostile.session), []);
    push(&mut hostile, 16, 1, true);
    hostile.expect_reset(16, ResetReason::REFUSED_STREAM);
    push(&mut hostile, 18, 0, true);
    hostile.expect_end(SessionError::Unassociated(id(18)), 18);

    let mut hostile = Hostile::client(Version::V2);
    push(&mut hostile, 2, 0, true);
    hostile.expect_reset(2, ResetReason::INVALID_STREAM);

    let mut hostile = Hostile::server(Version::V31);
    push(&mut hostile, 1, 0, true);
    hostile.expect_reset(1, ResetReason::PROTOCOL_ERROR);
}

#[test]
fn client_certificates_are_refused() {
    let mut hostile = Hostile::server(Version::V3);
    let syn = hostile.syn(1);
    hostile.send_syn(&SynStream { slot: 1, ..syn });
    hostile.expect_reset(1, ResetReason::INVALID_CREDENTIALS);
    hostile.send(Bytes::from_static(b"\x80\x03\0\x0a\0\0\0\x02\0\x01"));
    hostile.expect_end(SessionError::Credential, 1);
    // 3.1 has no slots: that byte is ignored.
    let mut hostile = Hostile::server(Version::V31);
    let syn = hostile.syn(1);
    hostile.send_syn(&SynStream { slot: 1, ..syn });
    assert!(matches!(events(&mut hostile.session)[..], [Event::Opened { .. }]));
}

#[test]
fn another_versions_stream_is_reset() {
    let mut hostile = Hostile::server(Version::V31);
    let syn = hostile.syn(1);
    hostile.send(raw(|out| frame::syn_stream(out, Version::V2, &syn)));
    hostile.expect_reset(1, ResetReason::UNSUPPORTED_VERSION);
}

#[test]
fn streams_that_are_reset_as_soon_as_they_are_opened() {
    let mut hostile = Hostile::server(Version::V31);
    let limit = Config::SERVER.limits.resets;
    let reset = raw(|out| {
        frame::rst_stream(out, Version::V31, id(1), ResetReason::CANCEL);
    });
    for round in 0..=limit {
        assert!(!hostile.session.has_failed());
        hostile.open(2 * round + 1);
        let mut reset = reset.to_vec();
        reset[8..12].copy_from_slice(&(2 * round + 1).to_be_bytes());
        hostile.send(reset.into());
        if round < limit {
            events(&mut hostile.session);
        }
    }
    hostile.expect_end(SessionError::Flood("resets"), 2 * limit + 1);
}

#[test]
fn floods_of_pings_settings_and_nothing() {
    let ping = raw(|out| frame::ping(out, Version::V31, 1));
    let settings = raw(|out| frame::settings(out, Version::V31, &Settings::default()));
    let nothing = raw(|out| frame::data_head(out, id(1), false, 0));
    let stray = raw(|out| frame::rst_stream(out, Version::V31, id(1), ResetReason::CANCEL));
    let limits = Config::SERVER.limits;
    for (frame, limit, what) in [
        (ping, limits.pings, "PINGs"),
        (settings, limits.settings, "SETTINGS"),
        (nothing, limits.idle_frames, "frames that say nothing"),
        (stray, limits.idle_frames, "frames that say nothing"),
    ] {
        let mut hostile = Hostile::server(Version::V31);
        let is_data = frame[0] & 0x80 == 0;
        if is_data {
            hostile.open(1);
        }
        for _ in 0..limit {
            hostile.send(frame.clone());
            assert!(!hostile.session.has_failed(), "{what}");
        }
        // A quarter of them is refilled per second.
        for _ in 0..limit / 4 {
            hostile.send_at(1, frame.clone());
        }
        assert!(!hostile.session.has_failed(), "{what}");
        hostile.send_at(1, frame);
        hostile.expect_end(SessionError::Flood(what), u32::from(is_data));
    }
}

#[test]
fn a_goaway_that_has_taken_every_stream_loses_none() {
    let mut hostile = Hostile::client(Version::V31);
    let last = id(0x7fff_ffff);
    hostile.send(raw(|out| frame::go_away(out, Version::V31, last, CloseReason::OK)));
    let reason = CloseReason::OK;
    assert_eq!(news(&mut hostile.session), [Event::GoAway { last, reason }]);
}

#[test]
fn after_its_end_a_session_hears_and_says_nothing() {
    let mut hostile = Hostile::server(Version::V31);
    hostile.open(1);
    hostile.update(0, 0);
    frames(&mut hostile.session);
    events(&mut hostile.session);
    hostile.open(3);
    let _ = hostile.session.send(id(1), vec![0; 10].into(), true);
    assert_eq!(frames(&mut hostile.session), []);
    assert_eq!(events(&mut hostile.session), []);
}
