//! The two ends' handshakes: full, resumed, and with False Start.
//!
//! ```text
//! full        hello ->   <- hello, certificate .. done   key, ccs, finished ->   <- ticket, ccs, finished   (RFC 5246 section 7.3)
//! resumed     hello, ticket ->   <- hello, ccs, finished   ccs, finished ->                                 (RFC 5077 section 3.1)
//! False Start as full, and the first data right behind the client's finished                               (RFC 7918 section 2)
//! ```

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

use super::flight::{Flight, MESSAGE_HEADER, Message};
use super::hello::{ClientHello, ServerHello};
use super::record::{self, Content, HEADER_BYTES, Protection, invalid};
use super::stream::{Side, Stream};
use super::{Modelled, Sessions, Start, Version};
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
    let mut wire = Wire::new(tcp, version);
    let negotiates = version == Version::Tls10 && protocols.len() > 1;
    let resumes = settings.resumption != Resumption::Off && sessions.holds(host);
    let hello = ClientHello { resumes, protocols }.write(version, host);
    wire.send(Flight::new(version).message(Message::ClientHello, &hello)).await?;
    let answer = ServerHello::read(&wire.expect(Message::ServerHello).await?)?;
    let finish = |flight: Flight| match negotiates {
        true => flight.next_protocol().finished(),
        false => flight.finished(),
    };
    if answer.resumes {
        wire.until(Message::Finished).await?;
        wire.send(finish(Flight::new(version).change_cipher_spec())).await?;
        return Ok(wire.into_stream(Side::Client, answer, settings));
    }
    wire.until(Message::ServerHelloDone).await?;
    let flight = Flight::new(version).client_key_exchange().change_cipher_spec();
    wire.send(finish(flight)).await?;
    if modelled.start == Start::False {
        let stream = wire.into_stream(Side::Client, answer, settings);
        return Ok(stream.before_the_servers_finished(sessions.clone(), host));
    }
    wire.until(Message::Finished).await?;
    sessions.keep(host);
    Ok(wire.into_stream(Side::Client, answer, settings))
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
    let mut wire = Wire::new(tcp, version);
    let hello = ClientHello::read(&wire.expect(Message::ClientHello).await?)?;
    let common = |protocol: &&Protocol| hello.protocols.contains(protocol);
    let answer = ServerHello {
        resumes: hello.resumes && settings.resumption != Resumption::Off,
        protocol: settings.protocols.iter().find(common).copied(),
    };
    let body = answer.write(version, &settings.protocols);
    let flight = Flight::new(version).message(Message::ServerHello, &body);
    if answer.resumes {
        wire.send(flight.change_cipher_spec().finished()).await?;
        wire.until(Message::Finished).await?;
    } else {
        let chain = settings.identity.chain(settings.chain);
        let flight = flight
            .certificate(chain.iter().map(|certificate| certificate.len()))
            .certificate_status(settings.staple_bytes)
            .server_key_exchange(settings.identity.signature_bytes())
            .server_hello_done();
        wire.send(flight).await?;
        wire.until(Message::Finished).await?;
        let flight = match settings.resumption {
            Resumption::Off => Flight::new(version),
            Resumption::Tickets | Resumption::EarlyData => {
                Flight::new(version).new_session_ticket()
            }
        };
        wire.send(flight.change_cipher_spec().finished()).await?;
    }
    Ok(wire.into_stream(Side::Server, answer, settings))
}

/// The transport during the handshake.
struct Wire {
    tcp: TcpStream,
    version: Version,
    /// Protection of incoming records.
    incoming: Protection,
}

impl Wire {
    fn new(tcp: TcpStream, version: Version) -> Wire {
        Wire { tcp, version, incoming: Protection::Clear }
    }

    async fn send(&mut self, flight: Flight) -> io::Result<()> {
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
                Content::Handshake => {
                    let message = record::content(&body, self.incoming)?;
                    let (header, body) = message
                        .split_at_checked(MESSAGE_HEADER)
                        .ok_or_else(|| invalid("a handshake message has no header".to_owned()))?;
                    return Ok((header[0], body.to_vec()));
                }
                Content::ChangeCipherSpec => self.incoming = Protection::Sealed(self.version),
                Content::Alert | Content::Application => {
                    return Err(invalid(format!("{content:?} in the middle of a handshake")));
                }
            }
        }
    }

    async fn expect(&mut self, message: Message) -> io::Result<Vec<u8>> {
        match self.message().await? {
            (kind, body) if kind == message as u8 => Ok(body),
            (kind, _) => Err(invalid(format!("message {kind} came where {message:?} was due"))),
        }
    }

    /// Reads all messages up to `last`.
    async fn until(&mut self, last: Message) -> io::Result<()> {
        while self.message().await?.0 != last as u8 {}
        Ok(())
    }

    fn into_stream(self, side: Side, answer: ServerHello, settings: &Settings) -> Stream {
        Stream::new(self.tcp, self.version, side, answer, settings.records)
    }
}
