//! A server's side of the handshake before bytes are relayed, without I/O.
//!
//! ```text
//!            5                        0, or no password is asked for
//!  Version ----> Methods ------------------------------> Request ----> Done
//!     |             | 2                                     ^
//!     |             +--------> User --- Event::User, admit -+
//!     |  4
//!     +----> Request4 ----> Done
//! ```
//!
//! No message is longer than 513 bytes; one that is incomplete by then is refused.

use thiserror::Error;

use super::{Code, Host, SocksDestination, Version, method, reply};
use super::{Malformed, Name};

/// CONNECT; BIND is 2, UDP ASSOCIATE 3.
const CONNECT: u8 = 1;
/// The version of RFC 1929's exchange.
const PASSWORD_VERSION: u8 = 1;
/// The longest zero-terminated string of SOCKS4: as in SOCKS5, whose length is a byte.
const TEXT_BYTES: usize = 255;

/// A server's side of a handshake.
#[derive(Debug)]
pub struct Handshake {
    state: HandshakeState,
    asks_password: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeState {
    Version,
    Methods,
    User,
    Request4,
    Request,
    Done,
}

/// A client's message.
#[derive(Debug, PartialEq, Eq)]
pub enum HandshakeEvent {
    /// Nothing yet: more bytes are needed.
    More,
    /// The client's credentials: to be answered by [`Handshake::admit`].
    User {
        /// Its name.
        name: Vec<u8>,
        /// Its password.
        password: Vec<u8>,
    },
    /// The requested destination. [`reply`] answers.
    Connect(Version, SocksDestination),
}

/// The reason for refusing a client. It has been told, as far as the protocol can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SocksRefusal {
    /// Its first byte is not a version of SOCKS.
    #[error("unknown SOCKS version {0}: supported are 4 and 5")]
    Version(u8),
    /// It offers no accepted method.
    #[error("the client offers no supported authentication method")]
    Method,
    /// Its name and password violate the framing of RFC 1929.
    #[error("the client's name and password are malformed")]
    Password,
    /// Its name or password is wrong.
    #[error("the client's name and password are wrong")]
    User,
    /// SOCKS4 has no passwords.
    #[error("SOCKS4 cannot carry the required name and password")]
    NoPassword,
    /// The command is not CONNECT.
    #[error("unsupported command {0}: only CONNECT (1) is supported")]
    Command(u8),
    /// The address is neither IPv4, IPv6 nor a name.
    #[error("unknown address type {0}: supported are 1, 3 and 4")]
    AddressType(u8),
    /// The request is malformed.
    #[error("the request is malformed")]
    Request,
}

type StepResult = Result<Option<(usize, HandshakeEvent)>, SocksRefusal>;

impl Handshake {
    /// A new handshake; `asks_password` requires a name and a password.
    pub fn new(asks_password: bool) -> Handshake {
        Handshake { state: HandshakeState::Version, asks_password }
    }

    /// Consumes as much as possible of `input`, which is everything received and not consumed; returns the number of
    /// bytes. Output is appended to `out`.
    ///
    /// # Errors
    /// The reason for refusing the client, once it has received `out`.
    pub fn next(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, HandshakeEvent), SocksRefusal> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let step = match self.state {
                HandshakeState::Version => self.version(rest)?,
                HandshakeState::Methods => self.methods(rest, out)?,
                HandshakeState::User => self.user(rest, out)?,
                HandshakeState::Request4 => self.request4(rest, out)?,
                HandshakeState::Request => self.request(rest, out)?,
                HandshakeState::Done => None,
            };
            match step {
                None => return Ok((used, HandshakeEvent::More)),
                Some((bytes, HandshakeEvent::More)) => used += bytes,
                Some((bytes, event)) => return Ok((used + bytes, event)),
            }
        }
    }

    /// Answers the credentials of the last `Event::User`.
    ///
    /// # Errors
    /// If the user is refused.
    pub fn admit(&mut self, is_admitted: bool, out: &mut Vec<u8>) -> Result<(), SocksRefusal> {
        out.extend([PASSWORD_VERSION, u8::from(!is_admitted)]);
        match is_admitted {
            true => Ok(()),
            false => Err(SocksRefusal::User),
        }
    }

    fn version(&mut self, input: &[u8]) -> StepResult {
        let Some(first) = input.first() else { return Ok(None) };
        self.state = match Version::of_first_byte(*first) {
            Some(Version::V5) => HandshakeState::Methods,
            Some(Version::V4) => HandshakeState::Request4,
            None => return Err(SocksRefusal::Version(*first)),
        };
        Ok(Some((1, HandshakeEvent::More)))
    }

    /// RFC 1928 section 3, after the version.
    fn methods(&mut self, input: &[u8], out: &mut Vec<u8>) -> StepResult {
        let Some((offered, rest)) = counted(input) else { return Ok(None) };
        let (taken, next) = match self.asks_password {
            true => (method::PASSWORD, HandshakeState::User),
            false => (method::NONE, HandshakeState::Request),
        };
        if !offered.contains(&taken) {
            out.extend([5, method::UNACCEPTABLE]);
            return Err(SocksRefusal::Method);
        }
        out.extend([5, taken]);
        self.state = next;
        Ok(Some((input.len() - rest.len(), HandshakeEvent::More)))
    }

    /// RFC 1929 section 2.
    fn user(&mut self, input: &[u8], out: &mut Vec<u8>) -> StepResult {
        let Some((version, rest)) = input.split_first() else { return Ok(None) };
        if *version != PASSWORD_VERSION {
            out.extend([PASSWORD_VERSION, 1]);
            return Err(SocksRefusal::Password);
        }
        let Some((name, rest)) = counted(rest) else { return Ok(None) };
        let Some((password, rest)) = counted(rest) else { return Ok(None) };
        self.state = HandshakeState::Request;
        let event = HandshakeEvent::User { name: name.to_owned(), password: password.to_owned() };
        Ok(Some((input.len() - rest.len(), event)))
    }

    /// RFC 1928 section 4.
    fn request(&mut self, input: &[u8], out: &mut Vec<u8>) -> StepResult {
        let mut refuse = |code, refusal| {
            reply(Version::V5, code, out);
            Err(refusal)
        };
        let Some((head, rest)) = input.split_first_chunk::<3>() else { return Ok(None) };
        let [version, command, reserved] = *head;
        if version != 5 || reserved != 0 {
            return refuse(Code::Failed, SocksRefusal::Request);
        }
        if command != CONNECT {
            return refuse(Code::Command, SocksRefusal::Command(command));
        }
        match SocksDestination::read(rest) {
            Ok(None) => Ok(None),
            Ok(Some((SocksDestination { port: 0, .. }, _))) | Err(Malformed::Name) => {
                refuse(Code::Failed, SocksRefusal::Request)
            }
            Ok(Some((destination, bytes))) => {
                self.state = HandshakeState::Done;
                Ok(Some((head.len() + bytes, HandshakeEvent::Connect(Version::V5, destination))))
            }
            Err(Malformed::Type(kind)) => {
                refuse(Code::AddressType, SocksRefusal::AddressType(kind))
            }
        }
    }

    /// SOCKS4's request, after the version.
    fn request4(&mut self, input: &[u8], out: &mut Vec<u8>) -> StepResult {
        let mut refuse = |refusal| {
            reply(Version::V4, Code::Failed, out);
            Err(refusal)
        };
        let Some((head, rest)) = input.split_first_chunk::<7>() else { return Ok(None) };
        let [command, high, low, address @ ..] = *head;
        if self.asks_password {
            return refuse(SocksRefusal::NoPassword);
        }
        if command != CONNECT {
            return refuse(SocksRefusal::Command(command));
        }
        let Ok(user) = ended(rest) else { return refuse(SocksRefusal::Request) };
        let Some((_, rest)) = user else { return Ok(None) };
        // SOCKS4A: an impossible address (0.0.0.x) announces a name.
        let (host, rest) = match address {
            [0, 0, 0, last] if last > 0 => {
                let Ok(name) = ended(rest) else { return refuse(SocksRefusal::Request) };
                let Some((name, rest)) = name else { return Ok(None) };
                match Name::new(name) {
                    Some(name) => (Host::Name(name), rest),
                    None => return refuse(SocksRefusal::Request),
                }
            }
            address => (Host::Address(std::net::IpAddr::from(address)), rest),
        };
        let port = u16::from_be_bytes([high, low]);
        if port == 0 {
            return refuse(SocksRefusal::Request);
        }
        self.state = HandshakeState::Done;
        let event = HandshakeEvent::Connect(Version::V4, SocksDestination { host, port });
        Ok(Some((input.len() - rest.len(), event)))
    }
}

/// A string, and the bytes after it.
type SplitString<'a> = (&'a [u8], &'a [u8]);

/// A string after its length, and the bytes after it.
fn counted(input: &[u8]) -> Option<SplitString<'_>> {
    let (length, rest) = input.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

/// A zero-terminated string, and the bytes after it; `None` if the zero has not come yet, an error if it should have.
fn ended(input: &[u8]) -> Result<Option<SplitString<'_>>, ()> {
    match input.iter().take(TEXT_BYTES + 1).position(|byte| *byte == 0) {
        Some(end) => Ok(Some((&input[..end], &input[end + 1..]))),
        None if input.len() > TEXT_BYTES => Err(()),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of `input`, and the output.
    fn heard(
        asks_password: bool,
        input: &[u8],
    ) -> (Result<(usize, HandshakeEvent), SocksRefusal>, Vec<u8>) {
        let (mut handshake, mut out) = (Handshake::new(asks_password), Vec::new());
        (handshake.next(input, &mut out), out)
    }

    fn connect(version: Version, host: &str, port: u16) -> HandshakeEvent {
        HandshakeEvent::Connect(version, SocksDestination::new(host, port).unwrap())
    }

    #[test]
    fn connections_are_asked_for() {
        let v5 = |rest: &[u8]| [&[5, 1, 0, 5, 1, 0][..], rest].concat();
        for (input, host) in [
            (v5(b"\x01\x0a\x00\x00\x01\x01\xbb"), "10.0.0.1"),
            (v5(b"\x03\x06a.test\x01\xbb"), "a.test"),
            (v5(&[&[4][..], &[0; 15], &[1, 1, 0xbb]].concat()), "::1"),
        ] {
            let (event, out) = heard(false, &input);
            assert_eq!(event, Ok((input.len(), connect(Version::V5, host, 443))));
            assert_eq!(out, [5, 0]);
        }
        for (input, host) in [
            (&b"\x04\x01\x00\x50\x0a\x00\x00\x01anna\x00"[..], "10.0.0.1"),
            (b"\x04\x01\x00\x50\x00\x00\x00\x01\x00a.test\x00", "a.test"),
        ] {
            let (event, out) = heard(false, input);
            assert_eq!(event, Ok((input.len(), connect(Version::V4, host, 80))));
            assert!(out.is_empty(), "{out:?}");
        }
    }

    #[test]
    fn users_say_who_they_are() {
        let (mut handshake, mut out) = (Handshake::new(true), Vec::new());
        let (used, event) = handshake.next(b"\x05\x02\x00\x02\x01\x02me\x01x", &mut out).unwrap();
        assert_eq!(
            (used, event),
            (10, HandshakeEvent::User { name: b"me".to_vec(), password: b"x".to_vec() })
        );
        handshake.admit(true, &mut out).unwrap();
        assert_eq!(out, [5, 2, 1, 0]);
        let (_, event) = handshake.next(b"\x05\x01\x00\x03\x01a\x00\x50", &mut out).unwrap();
        assert_eq!(event, connect(Version::V5, "a", 80));
        out.clear();
        assert_eq!(handshake.admit(false, &mut out), Err(SocksRefusal::User));
        assert_eq!(out, [1, 1]);
    }

    #[test]
    fn who_is_sent_away_is_told() {
        let refused = |asks_password, input: &[u8], refusal, told: &[u8]| {
            let (event, out) = heard(asks_password, input);
            assert_eq!(event, Err(refusal), "{input:?}");
            assert_eq!(&out[..out.len().min(4)], told, "{input:?}");
        };
        refused(false, b"GET", SocksRefusal::Version(b'G'), b"");
        refused(false, &[5, 1, 2], SocksRefusal::Method, &[5, 0xff]);
        refused(false, &[5, 0], SocksRefusal::Method, &[5, 0xff]);
        refused(true, &[5, 2, 0, 1], SocksRefusal::Method, &[5, 0xff]);
        refused(true, &[5, 1, 2, 5, 1, 0], SocksRefusal::Password, &[5, 2, 1, 1]);
        refused(false, &[5, 1, 0, 5, 2, 0], SocksRefusal::Command(2), &[5, 0, 5, 7]);
        refused(false, &[5, 1, 0, 5, 3, 0], SocksRefusal::Command(3), &[5, 0, 5, 7]);
        refused(false, &[5, 1, 0, 5, 1, 0, 2], SocksRefusal::AddressType(2), &[5, 0, 5, 8]);
        refused(false, &[5, 1, 0, 4, 1, 0], SocksRefusal::Request, &[5, 0, 5, 1]);
        refused(
            false,
            &[5, 1, 0, 5, 1, 0, 3, 1, b':', 0, 80],
            SocksRefusal::Request,
            &[5, 0, 5, 1],
        );
        refused(false, &[5, 1, 0, 5, 1, 0, 3, 1, b'a', 0, 0], SocksRefusal::Request, &[5, 0, 5, 1]);
        refused(false, &[4, 2, 0, 80, 10, 0, 0, 1], SocksRefusal::Command(2), &[0, 91, 0, 0]);
        refused(true, &[4, 1, 0, 80, 10, 0, 0, 1], SocksRefusal::NoPassword, &[0, 91, 0, 0]);
        let endless = [&[4, 1, 0, 80, 10, 0, 0, 1][..], &[b'a'; 256]].concat();
        refused(false, &endless, SocksRefusal::Request, &[0, 91, 0, 0]);
    }
}
