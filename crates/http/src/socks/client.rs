//! A client's connection through a SOCKS5 proxy.
//!
//! It sends the greeting, waits for the method, sends the request and waits for the answer: two round trips, as in
//! Chromium (`net/socket/socks5_client_socket.cc`) and curl. Left out: authentication, and far ends that speak first.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use world::TcpStream;

use super::Malformed;
use super::{Code, SocksDestination, method};
use crate::RequestError;

/// A client's side of a handshake, without I/O.
#[derive(Debug)]
pub struct Handshake {
    destination: SocksDestination,
    state: ClientState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientState {
    Start,
    Greeted,
    Asked,
    Done,
}

impl Handshake {
    /// A handshake for a connection to `destination`.
    pub fn new(destination: SocksDestination) -> Handshake {
        Handshake { destination, state: ClientState::Start }
    }

    /// Returns true once the connection is established.
    pub fn is_done(&self) -> bool {
        self.state == ClientState::Done
    }

    /// Consumes as much as possible of `input`, which is everything received and not consumed; returns the number of
    /// bytes. Output is appended to `out`.
    ///
    /// # Errors
    /// If the proxy refuses, or does not speak SOCKS5.
    pub fn next(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, RequestError> {
        match self.state {
            ClientState::Start => {
                out.extend([5, 1, method::NONE]);
                self.state = ClientState::Greeted;
                Ok(0)
            }
            ClientState::Greeted => match input {
                [5, method::NONE, ..] => {
                    out.extend([5, 1, 0]);
                    self.destination.write(out);
                    self.state = ClientState::Asked;
                    Ok(2)
                }
                [5, method::UNACCEPTABLE, ..] => Err(RequestError::Refused(
                    "it asks for another authentication than none".to_owned(),
                )),
                [] | [5] => Ok(0),
                _ => Err(unexpected("its choice of a method")),
            },
            ClientState::Asked => self.answer(input),
            ClientState::Done => Ok(0),
        }
    }

    /// RFC 1928 section 6.
    fn answer(&mut self, input: &[u8]) -> Result<usize, RequestError> {
        let Some((head, rest)) = input.split_first_chunk::<3>() else { return Ok(0) };
        let [5, code, 0] = *head else { return Err(unexpected("its answer")) };
        match Code::new(code) {
            Some(Code::Succeeded) => {}
            Some(code) => return Err(RequestError::Refused(format!("it answered: {code}"))),
            None => return Err(unexpected("its answer's code")),
        }
        match SocksDestination::read(rest) {
            Ok(Some((_, bytes))) => {
                self.state = ClientState::Done;
                Ok(head.len() + bytes)
            }
            Ok(None) => Ok(0),
            Err(Malformed::Type(_) | Malformed::Name) => Err(unexpected("its answer's address")),
        }
    }
}

fn unexpected(what: &str) -> RequestError {
    RequestError::Protocol(format!("{what} is not SOCKS5"))
}

/// Asks the proxy at the other end of `tcp` to connect to `destination`: subsequent writes arrive there.
///
/// # Errors
/// If the proxy refuses, or bytes follow its answer.
pub async fn through(
    mut tcp: TcpStream,
    destination: SocksDestination,
) -> Result<TcpStream, RequestError> {
    let mut handshake = Handshake::new(destination);
    let (mut input, mut out) = (Vec::new(), Vec::new());
    loop {
        let used = handshake.next(&input, &mut out)?;
        input.drain(..used);
        if handshake.is_done() {
            break;
        }
        if !out.is_empty() {
            tcp.write_all(&out).await.map_err(RequestError::Unanswered)?;
            out.clear();
            continue;
        }
        read(&mut tcp, &mut input).await.map_err(RequestError::Unanswered)?;
    }
    match input.is_empty() {
        true => Ok(tcp),
        false => Err(RequestError::Protocol("the proxy sent data behind its reply".to_owned())),
    }
}

/// Reads once and appends to `input`.
async fn read(tcp: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = [0; 64];
    let mut space = ReadBuf::new(&mut bytes);
    poll_fn(|cx| Pin::new(&mut *tcp).poll_read(cx, &mut space)).await?;
    if space.filled().is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    input.extend_from_slice(space.filled());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of a handshake in which a proxy sends `words` byte by byte; and the client's output.
    fn told(words: &[u8]) -> (Result<bool, RequestError>, Vec<u8>) {
        let destination = SocksDestination::new("a.test", 443).unwrap();
        let (mut handshake, mut input, mut out) =
            (Handshake::new(destination), Vec::new(), Vec::new());
        for byte in std::iter::once(None).chain(words.iter().map(Some)) {
            input.extend(byte);
            match handshake.next(&input, &mut out) {
                Ok(used) => drop(input.drain(..used)),
                Err(failure) => return (Err(failure), out),
            }
        }
        (Ok(handshake.is_done()), out)
    }

    #[test]
    fn it_greets_and_asks() {
        let (done, sent) = told(&[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert!(done.unwrap());
        assert_eq!(sent, b"\x05\x01\x00\x05\x01\x00\x03\x06a.test\x01\xbb");
        let (done, _) = told(&[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0]);
        assert!(!done.unwrap());
    }

    #[test]
    fn refusals_are_told() {
        let failure = |words: &[u8]| told(words).0.unwrap_err().to_string();
        assert!(failure(&[5, 0xff]).contains("authentication"));
        assert!(failure(&[5, 0, 5, 2, 0]).contains("not allowed by ruleset"));
        assert!(failure(b"HT").contains("not SOCKS5"));
        assert!(failure(&[5, 0, 5, 99, 0]).contains("not SOCKS5"));
        assert!(failure(&[5, 0, 5, 0, 0, 9]).contains("not SOCKS5"));
    }
}
