//! Two sessions joined by a lossless transport without delay.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use farlink_spdy::message::{self, RequestLine};
use farlink_spdy::{
    Config, Event, Fields, Message, Priority, Role, Session, StreamId, Version, frame,
};

pub struct Pair {
    pub client: Session,
    pub server: Session,
}

impl Pair {
    pub fn new(version: Version, client: Config, server: Config) -> Pair {
        Pair {
            client: Session::new(Role::Client, version, client),
            server: Session::new(Role::Server, version, server),
        }
    }

    pub fn usual(version: Version) -> Pair {
        Pair::new(version, Config::CLIENT, Config::SERVER)
    }

    /// Carries bytes until both outputs are empty. Data are not consumed.
    pub fn run(&mut self) {
        loop {
            let moved = carry(&mut self.client, &mut self.server, usize::MAX)
                + carry(&mut self.server, &mut self.client, usize::MAX);
            if moved == 0 {
                return;
            }
        }
    }
}

/// Carries at most `most` bytes (and a frame); returns their number.
pub fn carry(from: &mut Session, to: &mut Session, most: usize) -> usize {
    from.produce(most);
    let bytes = from.output().to_vec();
    from.advance(bytes.len());
    to.receive(Duration::ZERO, bytes.clone().into());
    bytes.len()
}

pub fn events(session: &mut Session) -> Vec<Event> {
    std::iter::from_fn(|| session.poll_event()).collect()
}

/// The events of `session`, except those about settings or sending.
pub fn news(session: &mut Session) -> Vec<Event> {
    let mut events = events(session);
    events.retain(|event| !matches!(event, Event::Settings(_) | Event::Sent { .. }));
    events
}

pub fn id(number: u32) -> StreamId {
    StreamId::new(number)
}

pub fn get(version: Version, path: &str) -> Fields {
    let line = RequestLine {
        method: b"GET",
        scheme: b"https",
        host: b"www.example.com",
        path: path.as_bytes(),
    };
    message::request(version, line).with("user-agent", "Mozilla/5.0")
}

pub fn ok(version: Version) -> Fields {
    message::response(version, "200 OK").with("content-type", "text/html")
}

/// Opens a stream without a body.
pub fn ask(session: &mut Session, path: &str) -> StreamId {
    let fields = get(session.version(), path);
    session.open(&fields, Priority::HIGHEST, true).expect("a stream").stream
}

pub fn replied(event: Option<&Event>) -> &Message {
    match event {
        Some(Event::Replied(message)) => message,
        other => panic!("no reply but {other:?}"),
    }
}

/// The data among `events`, and true if they ended.
pub fn data(events: &[Event], stream: StreamId) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    let mut ended = false;
    for event in events {
        if let Event::Data { stream: of, payload, fin } = event
            && *of == stream
        {
            all.extend_from_slice(payload);
            ended |= fin;
        }
    }
    (all, ended)
}

/// Frames as written by a peer that ignores the rules.
pub fn raw(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::new();
    write(&mut out);
    out.freeze()
}

/// The frames that `session` has queued so far, taken from it.
pub fn frames(session: &mut Session) -> Vec<frame::Frame> {
    session.produce(usize::MAX);
    let bytes = session.output().to_vec();
    session.advance(bytes.len());
    let mut reader = frame::Reader::new(session.version(), usize::MAX);
    let mut bytes = Bytes::from(bytes);
    std::iter::from_fn(|| reader.next(&mut bytes).expect("a session writes frames")).collect()
}
