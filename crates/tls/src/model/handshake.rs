//! The two ends' handshakes - full, resumed, and with False Start - and their hellos.
//!
//! ```text
//! full        hello ->   <- hello, certificate .. done   key, ccs, finished ->   <- ticket, ccs, finished   (RFC 5246 section 7.3)
//! resumed     hello, ticket ->   <- hello, ccs, finished   ccs, finished ->                                 (RFC 5077 section 3.1)
//! False Start as full, and the first data right behind the client's finished                               (RFC 7918 section 2)
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

use super::record::{self, ContentType, HEADER_BYTES, Protection, invalid};
use super::record::{FlightWriter, HandshakeMessage, MESSAGE_HEADER};
use super::stream::{EndRole, Stream};
use super::{HandshakeStart, Modelled, Version};
use crate::settings::{Protocol, Resumption, Settings};

/// A client's handshake with the server called `host`, which it offers `protocols`.
///
/// # Errors
/// If the transport fails, or the peer is not a model.
pub(crate) async fn connect(
    tcp: TcpStream,
    host: &str,
    modelled: Modelled,
    protocols: Vec<Protocol>,
    settings: &Settings,
    sessions: &Sessions,
) -> io::Result<Stream> {
    let version = modelled.version;
    let mut wire = HandshakeIo::new(tcp, version);
    let negotiates = version == Version::Tls10 && protocols.len() > 1;
    let resumes = settings.resumption != Resumption::Off && sessions.holds(host);
    let hello = ClientHello { resumes, protocols }.write(version, host);
    wire.send(FlightWriter::new(version).message(HandshakeMessage::ClientHello, &hello)).await?;
    let answer = ServerHello::read(&wire.expect(HandshakeMessage::ServerHello).await?)?;
    let finish = |flight: FlightWriter| match negotiates {
        true => flight.next_protocol().finished(),
        false => flight.finished(),
    };
    if answer.resumes {
        wire.until(HandshakeMessage::Finished).await?;
        wire.send(finish(FlightWriter::new(version).change_cipher_spec())).await?;
        return Ok(wire.into_stream(EndRole::Client, answer, settings));
    }
    wire.until(HandshakeMessage::ServerHelloDone).await?;
    let flight = FlightWriter::new(version).client_key_exchange().change_cipher_spec();
    wire.send(finish(flight)).await?;
    if modelled.start == HandshakeStart::False {
        let stream = wire.into_stream(EndRole::Client, answer, settings);
        return Ok(stream.before_the_servers_finished(sessions.clone(), host));
    }
    wire.until(HandshakeMessage::Finished).await?;
    sessions.keep(host);
    Ok(wire.into_stream(EndRole::Client, answer, settings))
}

/// A server's handshake.
///
/// # Errors
/// If the transport fails, or the peer is not a model.
pub(crate) async fn accept(
    tcp: TcpStream,
    version: Version,
    settings: &Settings,
) -> io::Result<Stream> {
    let mut wire = HandshakeIo::new(tcp, version);
    let hello = ClientHello::read(&wire.expect(HandshakeMessage::ClientHello).await?)?;
    let common = |protocol: &&Protocol| hello.protocols.contains(protocol);
    let answer = ServerHello {
        resumes: hello.resumes && settings.resumption != Resumption::Off,
        protocol: settings.protocols.iter().find(common).copied(),
    };
    let body = answer.write(version, &settings.protocols);
    let flight = FlightWriter::new(version).message(HandshakeMessage::ServerHello, &body);
    if answer.resumes {
        wire.send(flight.change_cipher_spec().finished()).await?;
        wire.until(HandshakeMessage::Finished).await?;
    } else {
        let chain = settings.identity.chain(settings.chain);
        let flight = flight
            .certificate(chain.iter().map(|certificate| certificate.len()))
            .certificate_status(settings.staple_bytes)
            .server_key_exchange(settings.identity.signature_bytes())
            .server_hello_done();
        wire.send(flight).await?;
        wire.until(HandshakeMessage::Finished).await?;
        let flight = match settings.resumption {
            Resumption::Off => FlightWriter::new(version),
            Resumption::Tickets | Resumption::EarlyData => {
                FlightWriter::new(version).new_session_ticket()
            }
        };
        wire.send(flight.change_cipher_spec().finished()).await?;
    }
    Ok(wire.into_stream(EndRole::Server, answer, settings))
}

/// The transport during the handshake.
struct HandshakeIo {
    tcp: TcpStream,
    version: Version,
    /// Protection of incoming records.
    incoming: Protection,
}

impl HandshakeIo {
    fn new(tcp: TcpStream, version: Version) -> HandshakeIo {
        HandshakeIo { tcp, version, incoming: Protection::Clear }
    }

    async fn send(&mut self, flight: FlightWriter) -> io::Result<()> {
        self.tcp.write_all(&flight.into_bytes()).await
    }

    /// The next handshake message: its type and its body.
    async fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        loop {
            let mut header = [0; HEADER_BYTES];
            self.tcp.read_exact(&mut header).await?;
            let (content, length) = record::header(header)?;
            let mut body = vec![0; length];
            self.tcp.read_exact(&mut body).await?;
            match content {
                ContentType::Handshake => {
                    let message = record::content(&body, self.incoming)?;
                    let (header, body) = message
                        .split_at_checked(MESSAGE_HEADER)
                        .ok_or_else(|| invalid("a handshake message has no header".to_owned()))?;
                    return Ok((header[0], body.to_vec()));
                }
                ContentType::ChangeCipherSpec => self.incoming = Protection::Sealed(self.version),
                ContentType::Alert | ContentType::Application => {
                    return Err(invalid(format!("{content:?} in the middle of a handshake")));
                }
            }
        }
    }

    async fn expect(&mut self, message: HandshakeMessage) -> io::Result<Vec<u8>> {
        match self.message().await? {
            (kind, body) if kind == message as u8 => Ok(body),
            (kind, _) => Err(invalid(format!("message {kind} came where {message:?} was due"))),
        }
    }

    /// Reads all messages up to `last`.
    async fn until(&mut self, last: HandshakeMessage) -> io::Result<()> {
        while self.message().await?.0 != last as u8 {}
        Ok(())
    }

    fn into_stream(self, side: EndRole, answer: ServerHello, settings: &Settings) -> Stream {
        Stream::new(self.tcp, self.version, side, answer, settings.records)
    }
}

// Hellos: the fields that the two ends must agree on, in messages of the usual length.
//
// A hello begins with what the peer has to know and is padded to the length of its real counterpart.

/// Replaces the random bytes and identifies a model.
const MARK: &[u8; 32] = b"farlink models this; no secrets!";

/// The content of a ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientHello {
    /// The client has a ticket.
    pub(super) resumes: bool,
    /// The protocols offered, the preferred first.
    pub(super) protocols: Vec<Protocol>,
}

/// The content of a ServerHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerHello {
    /// The server accepted the ticket.
    pub(super) resumes: bool,
    /// The protocol chosen.
    pub(super) protocol: Option<Protocol>,
}

/// Version, random bytes, the length of a session's id.
const FIXED: usize = 2 + 32 + 1;
/// A session id, which comes with a ticket (RFC 5077 section 3.4) and from servers that have a cache.
const SESSION_ID: usize = 32;
/// An OpenSSL ticket: key name 16, IV 16, the sealed state 128, MAC 32.
const TICKET: usize = 192;

impl ClientHello {
    /// 36 suites in Chrome 26, one compression method; extensions: server name, renegotiation, curves, point formats,
    /// ticket, OCSP, and the protocols offered; signature algorithms in TLS 1.2.
    fn usual_bytes(&self, version: Version, host: &str) -> usize {
        let names: usize = self.protocols.iter().map(|protocol| 1 + protocol.alpn().len()).sum();
        let (suites, protocols, signatures) = match version {
            // NPN's extension is empty: the server lists its protocols.
            Version::Tls10 => (36 * 2, if self.protocols.len() > 1 { 4 } else { 0 }, 0),
            Version::Tls12 => (20 * 2, 4 + 2 + names, 4 + 22),
        };
        let resumed = if self.resumes { SESSION_ID + TICKET } else { 0 };
        let extensions = (9 + host.len()) + 5 + 12 + 6 + 4 + 9 + protocols + signatures;
        FIXED + resumed + 2 + suites + 2 + 2 + extensions
    }

    pub(super) fn write(&self, version: Version, host: &str) -> Vec<u8> {
        let mut body = MARK.to_vec();
        body.push(u8::from(self.resumes));
        body.push(self.protocols.len() as u8);
        self.protocols.iter().for_each(|protocol| push_name(&mut body, Some(*protocol)));
        let bytes = self.usual_bytes(version, host).max(body.len());
        body.resize(bytes, 0);
        body
    }

    pub(super) fn read(body: &[u8]) -> io::Result<ClientHello> {
        let rest = marked(body, "client")?;
        let [resumes, count, names @ ..] = rest else { return Err(too_short()) };
        let mut names = names;
        let mut protocols = Vec::new();
        for _ in 0..*count {
            protocols.extend(take_name(&mut names)?);
        }
        Ok(ClientHello { resumes: *resumes == 1, protocols })
    }
}

impl ServerHello {
    /// One suite, one compression method; extensions: renegotiation, ticket, OCSP, and the protocol: with NPN all of the server's.
    fn usual_bytes(&self, version: Version, speaks: &[Protocol]) -> usize {
        let names: usize = speaks.iter().map(|protocol| 1 + protocol.alpn().len()).sum();
        let protocol = match (self.protocol, version) {
            (None, _) => 0,
            (Some(_), Version::Tls10) => 4 + names,
            (Some(chosen), Version::Tls12) => 4 + 2 + 1 + chosen.alpn().len(),
        };
        FIXED + SESSION_ID + 2 + 1 + 2 + 5 + 4 + 4 + protocol
    }

    pub(super) fn write(&self, version: Version, speaks: &[Protocol]) -> Vec<u8> {
        let mut body = MARK.to_vec();
        body.push(u8::from(self.resumes));
        push_name(&mut body, self.protocol);
        let bytes = self.usual_bytes(version, speaks).max(body.len());
        body.resize(bytes, 0);
        body
    }

    pub(super) fn read(body: &[u8]) -> io::Result<ServerHello> {
        let rest = marked(body, "server")?;
        let [resumes, name @ ..] = rest else { return Err(too_short()) };
        let mut name = name;
        Ok(ServerHello { resumes: *resumes == 1, protocol: take_name(&mut name)? })
    }
}

/// The bytes after the mark; a peer without it is refused.
fn marked<'a>(body: &'a [u8], whose: &str) -> io::Result<&'a [u8]> {
    body.strip_prefix(MARK).ok_or_else(|| {
        invalid(format!(
            "the {whose} at the other end is not farlink's, and only farlink's may speak to a model"
        ))
    })
}

fn push_name(body: &mut Vec<u8>, protocol: Option<Protocol>) {
    let name = protocol.map_or(&b""[..], Protocol::alpn);
    body.push(name.len() as u8);
    body.extend_from_slice(name);
}

/// The next protocol name, if any.
fn take_name(names: &mut &[u8]) -> io::Result<Option<Protocol>> {
    let (length, rest) = names.split_first().ok_or_else(too_short)?;
    let (name, rest) = rest.split_at_checked(usize::from(*length)).ok_or_else(too_short)?;
    *names = rest;
    Ok(Protocol::from_alpn(name))
}

fn too_short() -> io::Error {
    invalid("a hello ends too early".to_owned())
}

/// A client's sessions, by server. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions(Rc<RefCell<BTreeSet<String>>>);

impl Sessions {
    pub(super) fn holds(&self, host: &str) -> bool {
        self.0.borrow().contains(host)
    }

    pub(super) fn keep(&self, host: &str) {
        self.0.borrow_mut().insert(host.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hellos_are_as_long_as_those_of_the_era_and_read_back() {
        for version in [Version::Tls10, Version::Tls12] {
            let spdy = Protocol::Spdy(spdy::Version::V3);
            let hello = ClientHello { resumes: false, protocols: vec![spdy, Protocol::H1] };
            let bytes = hello.write(version, "www.example.test");
            // The reported length includes the message's header.
            assert!((180..=300).contains(&(4 + bytes.len())), "{version:?}: {}", bytes.len());
            assert_eq!(ClientHello::read(&bytes).unwrap(), hello);
            let resumed = ClientHello { resumes: true, ..hello };
            assert_eq!(resumed.write(version, "www.example.test").len(), bytes.len() + 224);
            let answer = ServerHello { resumes: false, protocol: Some(spdy) };
            let bytes = answer.write(version, &[spdy, Protocol::H1]);
            assert!((80..=110).contains(&bytes.len()), "{version:?}: {}", bytes.len());
            assert_eq!(ServerHello::read(&bytes).unwrap(), answer);
        }
    }

    #[test]
    fn a_peer_that_is_not_farlinks_is_refused() {
        let error = ClientHello::read(&[3; 200]).unwrap_err().to_string();
        assert!(error.contains("not farlink's"), "{error}");
        assert!(ServerHello::read(&[3; 90]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(rest in proptest::collection::vec(any::<u8>(), 0..40)) {
            let bytes = [&MARK[..], &rest].concat();
            let _ = (ClientHello::read(&bytes), ServerHello::read(&bytes));
        }
    }
}
