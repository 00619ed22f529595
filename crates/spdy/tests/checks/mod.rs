//! Invariants of a session for any input. The property tests, the replay of the fuzzing corpus and the fuzz target
//! share them.

use std::time::Duration;

use bytes::Bytes;
use farlink_spdy::frame::Reader;
use farlink_spdy::{Config, Event, Limits, Priority, Role, Session, Version, message};

const LIMITS: Limits = Limits {
    control_frame_bytes: 8_192,
    header_block_bytes: 2_000,
    fields: 20,
    resets: 10,
    pings: 10,
    settings: 10,
    idle_frames: 20,
};

/// Feeds a session with `input`: its first byte selects role and version, the second the segmentation of the rest.
pub fn check_session(input: &[u8]) {
    let [kind, cut, rest @ ..] = input else { return };
    let version = Version::ALL[usize::from(kind & 3) % 3];
    let role = if kind & 4 == 0 { Role::Server } else { Role::Client };
    let config = Config { streams: 5, limits: LIMITS, ..Config::MOD_SPDY };
    let mut session = Session::new(role, version, config);
    if role == Role::Client {
        for _ in 0..3 {
            let fields = message::response(version, "200");
            session.open(&fields, Priority::HIGHEST, true).expect("there is room");
        }
    }
    let mut fed = 0;
    for piece in rest.chunks(usize::from(*cut).max(1)) {
        session.receive(Duration::ZERO, Bytes::copy_from_slice(piece));
        fed += piece.len();
        serve(&mut session);
        assert!(session.open_streams() <= 5 + 3, "streams beyond the limit");
    }
    session.produce(usize::MAX);
    // Answers: a reset, a ping or a window update for a frame, and 200 bytes for a request.
    assert!(session.output().len() <= 1_000 + 12 * fed, "{} bytes", session.output().len());
    let mut reader = Reader::new(version, usize::MAX);
    let mut bytes = Bytes::from(session.output().to_vec());
    while reader.next(&mut bytes).expect("a session writes frames").is_some() {}
}

/// Acts as an owner does.
fn serve(session: &mut Session) {
    let mut is_over = false;
    while let Some(event) = session.poll_event() {
        assert!(!is_over, "nothing happens after the end");
        match event {
            Event::Opened { stream, fin: true, .. } => {
                let fields = message::response(session.version(), "200 OK");
                if session.reply(stream, &fields, false).is_ok() {
                    session.send(stream, Bytes::from_static(b"hello"), true).expect("it is open");
                }
            }
            Event::Data { stream, payload, .. } => session.consume(stream, payload.len()),
            Event::Failed(_) => is_over = true,
            _ => {}
        }
    }
    assert_eq!(is_over, session.has_failed() && is_over);
}
