//! Invariants of SOCKS handshakes for any input. The property tests, the replay of the fuzzing corpus and the fuzz
//! targets share these checks.
#![allow(dead_code, reason = "each test file uses its part")]

use farlink_http::socks::{Handshake, HandshakeEvent, SocksDestination, SocksRefusal, client};

/// The longest message is a name and a password.
const LONGEST: usize = 513;

/// A server's interpretation of a client's bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub events: Vec<HandshakeEvent>,
    pub refusal: Option<SocksRefusal>,
    pub sent: Vec<u8>,
    /// Bytes consumed, except those of a refused message.
    pub used: usize,
}

/// Feeds `input`, cut at `cuts`, to a server. Users whose name and password have the same length are known.
pub fn hear(input: &[u8], cuts: &[usize], asks_password: bool) -> Heard {
    let (mut handshake, mut heard) = (Handshake::new(asks_password), Heard::default());
    let (mut buffer, mut arrived) = (Vec::new(), 0);
    for end in cuts.iter().copied().chain([input.len()]) {
        buffer.extend_from_slice(&input[arrived..end]);
        arrived = end;
        loop {
            match handshake.next(&buffer, &mut heard.sent) {
                Err(refusal) => {
                    (heard.refusal, heard.used) = (Some(refusal), 0);
                    return heard;
                }
                Ok((used, event)) => {
                    assert!(used <= buffer.len(), "no more is used than there is");
                    buffer.drain(..used);
                    heard.used += used;
                    if event == HandshakeEvent::More {
                        break;
                    }
                    heard.events.push(event);
                }
            }
            if let Some(HandshakeEvent::User { name, password }) = heard.events.last() {
                let is_known = name.len() == password.len();
                if let Err(refusal) = handshake.admit(is_known, &mut heard.sent) {
                    (heard.refusal, heard.used) = (Some(refusal), 0);
                    return heard;
                }
            }
            if let Some(HandshakeEvent::Connect(..)) = heard.events.last() {
                return heard;
            }
        }
        assert!(buffer.len() < LONGEST, "what is kept is bounded");
    }
    heard
}

/// No panic, no unbounded buffering, and the same result however the input is cut. The first byte decides whether a
/// password is requested.
pub fn check_server(input: &[u8]) {
    let Some((first, input)) = input.split_first() else { return };
    let asks_password = first % 2 == 1;
    let whole = hear(input, &[], asks_password);
    let each: Vec<usize> = (1..input.len()).collect();
    assert_eq!(hear(input, &each, asks_password), whole);
    if let Some(HandshakeEvent::Connect(_, destination)) = whole.events.last() {
        let text = destination.to_string();
        let (host, port) = text.rsplit_once(':').expect("an authority has a port");
        let host = host.trim_start_matches('[').trim_end_matches(']');
        assert_eq!(SocksDestination::new(host, port.parse().unwrap()).as_ref(), Some(destination));
        assert!(!asks_password || whole.events.len() == 2, "nobody comes without a password");
    }
}

/// No panic of a client, and the same result however the proxy's output is cut.
pub fn check_client(input: &[u8]) {
    let told = |cuts: &[usize]| {
        let destination = SocksDestination::new("a.test", 443).expect("a name");
        let mut handshake = client::Handshake::new(destination);
        let (mut buffer, mut sent, mut arrived) = (Vec::new(), Vec::new(), 0);
        for end in cuts.iter().copied().chain([input.len()]) {
            buffer.extend_from_slice(&input[arrived..end]);
            arrived = end;
            loop {
                let before = sent.len();
                let used = match handshake.next(&buffer, &mut sent) {
                    Ok(used) => used,
                    Err(failure) => return (Err(failure.to_string()), sent),
                };
                buffer.drain(..used);
                if used == 0 && sent.len() == before {
                    break;
                }
            }
        }
        (Ok((handshake.is_done(), buffer)), sent)
    };
    let each: Vec<usize> = (1..input.len()).collect();
    assert_eq!(told(&each), told(&[]));
}
