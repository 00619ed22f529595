//! Records: the framing of each version, without cryptography; and flights of handshake messages in them.
//!
//! ```text
//! TLS 1.0  | type 1 | version 2 | length 2 | content | MAC 20 | padding | padding length 1 |   to a multiple of 16 (RFC 2246 section 6.2.3.2)
//! TLS 1.2  | type 1 | version 2 | length 2 | nonce 8 | content | tag 16 |                      (RFC 5288 section 3)
//! ```

use std::io;

use super::{Version, record};

/// A record's content type (RFC 5246 section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentType {
    ChangeCipherSpec = 20,
    Alert = 21,
    Handshake = 22,
    Application = 23,
}

/// The framing of records: clear, or as long as encrypted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Before ChangeCipherSpec.
    Clear,
    /// After it.
    Sealed(Version),
}

pub(super) const HEADER_BYTES: usize = 5;
/// The longest body of a record (RFC 5246 section 6.2.3).
const MOST_BODY_BYTES: usize = 16_384 + 2_048;
const MAC_BYTES: usize = 20;
const BLOCK_BYTES: usize = 16;
const NONCE_BYTES: usize = 8;
const TAG_BYTES: usize = 16;

/// The length of a record's body with this much content.
fn body_bytes(protection: Protection, content: usize) -> usize {
    match protection {
        Protection::Clear => content,
        Protection::Sealed(Version::Tls10) => {
            (content + MAC_BYTES + 1).next_multiple_of(BLOCK_BYTES)
        }
        Protection::Sealed(Version::Tls12) => NONCE_BYTES + content + TAG_BYTES,
    }
}

/// Appends a record that holds the concatenation of `parts`.
pub(super) fn write<'a>(
    out: &mut Vec<u8>,
    version: Version,
    protection: Protection,
    content: ContentType,
    parts: impl Iterator<Item = &'a [u8]> + Clone,
) {
    let content_bytes = parts.clone().map(<[u8]>::len).sum();
    let body = body_bytes(protection, content_bytes);
    let length = u16::try_from(body).expect("a record's content is limited by who cuts it");
    let minor = match version {
        Version::Tls10 => 1,
        Version::Tls12 => 3,
    };
    out.extend([content as u8, 3, minor]);
    out.extend(length.to_be_bytes());
    let end = out.len() + body;
    if protection == Protection::Sealed(Version::Tls12) {
        out.extend([0; NONCE_BYTES]);
    }
    parts.for_each(|part| out.extend_from_slice(part));
    match protection {
        Protection::Sealed(Version::Tls10) => {
            let padding = body - content_bytes - MAC_BYTES - 1;
            out.extend([0; MAC_BYTES]);
            out.resize(end, padding as u8);
        }
        Protection::Sealed(Version::Tls12) | Protection::Clear => out.resize(end, 0),
    }
}

/// A record's header: its content type and the length of its body.
pub(super) fn header(bytes: [u8; HEADER_BYTES]) -> io::Result<(ContentType, usize)> {
    let [kind, major, _, high, low] = bytes;
    let content = match kind {
        20 => ContentType::ChangeCipherSpec,
        21 => ContentType::Alert,
        22 => ContentType::Handshake,
        23 => ContentType::Application,
        other => return Err(invalid(format!("a record of the unknown type {other}"))),
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if major != 3 || length > MOST_BODY_BYTES {
        return Err(invalid(format!("no record: version {major}, {length} bytes")));
    }
    Ok((content, length))
}

/// The content of a record's body.
pub(super) fn content(body: &[u8], protection: Protection) -> io::Result<&[u8]> {
    let content = match protection {
        Protection::Clear => Some(body),
        Protection::Sealed(Version::Tls10) => body.split_last().and_then(|(padding, rest)| {
            let content = rest.len().checked_sub(usize::from(*padding) + MAC_BYTES)?;
            rest.get(..content)
        }),
        Protection::Sealed(Version::Tls12) => {
            body.len().checked_sub(TAG_BYTES).and_then(|end| body.get(NONCE_BYTES..end))
        }
    };
    content.ok_or_else(|| invalid(format!("a body of {} bytes holds no content", body.len())))
}

pub(super) fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("modelled TLS: {what}"))
}

/// A handshake message (RFC 5246 section 7.4, RFC 6066 section 8, the draft of NPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeMessage {
    ClientHello = 1,
    ServerHello = 2,
    NewSessionTicket = 4,
    Certificate = 11,
    ServerKeyExchange = 12,
    ServerHelloDone = 14,
    ClientKeyExchange = 16,
    Finished = 20,
    CertificateStatus = 22,
    NextProtocol = 67,
}

/// Type and length.
pub(super) const MESSAGE_HEADER: usize = 4;

/// `verify_data` (RFC 5246 section 7.4.9).
const FINISHED: usize = 12;
/// The chosen protocol, padded to 32 bytes (agl-tls-nextprotoneg-04).
const NEXT_PROTOCOL: usize = 32;
/// A lifetime, and the ticket after its length.
const NEW_SESSION_TICKET: usize = 4 + 2 + 192;
/// An RSA-2048 ciphertext after its length (RFC 5246 section 7.4.7.1).
const RSA_KEY_EXCHANGE: usize = 2 + 256;
/// A point on P-256 after its length (RFC 4492 section 5.7).
const ECDHE_CLIENT: usize = 1 + 65;
/// The curve and the point, then the signature's algorithm and length (RFC 4492 section 5.4).
const ECDHE_SERVER: usize = 3 + 1 + 65 + 2 + 2;

/// A flight under construction.
pub(super) struct FlightWriter {
    version: Version,
    protection: Protection,
    bytes: Vec<u8>,
}

impl FlightWriter {
    pub(super) fn new(version: Version) -> FlightWriter {
        FlightWriter { version, protection: Protection::Clear, bytes: Vec::new() }
    }

    pub(super) fn message(mut self, message: HandshakeMessage, body: &[u8]) -> FlightWriter {
        let [_, a, b, c] = (body.len() as u32).to_be_bytes();
        let header = [message as u8, a, b, c];
        let parts = [&header[..], body].into_iter();
        record::write(
            &mut self.bytes,
            self.version,
            self.protection,
            ContentType::Handshake,
            parts,
        );
        self
    }

    fn filler(self, message: HandshakeMessage, bytes: usize) -> FlightWriter {
        self.message(message, &vec![0; bytes])
    }

    /// The chain, each certificate after its length (RFC 5246 section 7.4.2).
    pub(super) fn certificate(self, chain: impl Iterator<Item = usize>) -> FlightWriter {
        let bytes: usize = chain.map(|certificate| 3 + certificate).sum();
        self.filler(HandshakeMessage::Certificate, 3 + bytes)
    }

    /// The OCSP response after its type and length, if there is one.
    pub(super) fn certificate_status(self, staple_bytes: usize) -> FlightWriter {
        match staple_bytes {
            0 => self,
            _ => self.filler(HandshakeMessage::CertificateStatus, 1 + 3 + staple_bytes),
        }
    }

    /// With ECDHE the server signs its share; RSA key exchange lacks this message.
    pub(super) fn server_key_exchange(self, signature_bytes: usize) -> FlightWriter {
        match self.version {
            Version::Tls10 => self,
            Version::Tls12 => {
                self.filler(HandshakeMessage::ServerKeyExchange, ECDHE_SERVER + signature_bytes)
            }
        }
    }

    pub(super) fn server_hello_done(self) -> FlightWriter {
        self.filler(HandshakeMessage::ServerHelloDone, 0)
    }

    pub(super) fn client_key_exchange(self) -> FlightWriter {
        let bytes = match self.version {
            Version::Tls10 => RSA_KEY_EXCHANGE,
            Version::Tls12 => ECDHE_CLIENT,
        };
        self.filler(HandshakeMessage::ClientKeyExchange, bytes)
    }

    pub(super) fn new_session_ticket(self) -> FlightWriter {
        self.filler(HandshakeMessage::NewSessionTicket, NEW_SESSION_TICKET)
    }

    /// From here on records have the length of encrypted ones.
    pub(super) fn change_cipher_spec(mut self) -> FlightWriter {
        let parts = std::iter::once(&[1][..]);
        let content = ContentType::ChangeCipherSpec;
        record::write(&mut self.bytes, self.version, self.protection, content, parts);
        self.protection = Protection::Sealed(self.version);
        self
    }

    pub(super) fn next_protocol(self) -> FlightWriter {
        self.filler(HandshakeMessage::NextProtocol, NEXT_PROTOCOL)
    }

    pub(super) fn finished(self) -> FlightWriter {
        self.filler(HandshakeMessage::Finished, FINISHED)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealed(version: Version, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let parts = std::iter::once(content);
        write(&mut out, version, Protection::Sealed(version), ContentType::Application, parts);
        out
    }

    #[test]
    fn records_are_as_long_as_those_of_the_era() {
        // AES-CBC with SHA-1: one byte and its MAC fill two blocks; GCM adds 29 bytes to any content.
        assert_eq!(sealed(Version::Tls10, b"x").len(), 5 + 32);
        assert_eq!(sealed(Version::Tls10, &[0; 16]).len(), 5 + 48);
        assert_eq!(sealed(Version::Tls10, &[0; 1_000]).len(), 5 + 1_024);
        assert_eq!(sealed(Version::Tls12, &[0; 1_000]).len(), 1_029);
    }

    proptest! {
        #[test]
        fn what_is_framed_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..600), old: bool) {
            let version = if old { Version::Tls10 } else { Version::Tls12 };
            let record = sealed(version, &bytes);
            let (kind, length) = header(record[..5].try_into().unwrap()).unwrap();
            prop_assert_eq!((kind, length), (ContentType::Application, record.len() - 5));
            prop_assert_eq!(content(&record[5..], Protection::Sealed(version)).unwrap(), &bytes[..]);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 5..80), old: bool) {
            let version = if old { Version::Tls10 } else { Version::Tls12 };
            let _ = header(bytes[..5].try_into().unwrap());
            let _ = content(&bytes[5..], Protection::Sealed(version));
        }
    }

    #[test]
    fn flights_have_the_sizes_of_the_era() {
        let client = |version| {
            let flight = FlightWriter::new(version).client_key_exchange().change_cipher_spec();
            flight.finished().into_bytes().len()
        };
        // RSA: 267 + 6 + 53, ECDHE with GCM: 75 + 6 + 45.
        assert_eq!(client(Version::Tls10), 326);
        assert_eq!(client(Version::Tls12), 126);
        let exchange = FlightWriter::new(Version::Tls12).server_key_exchange(256).into_bytes();
        assert_eq!(exchange.len(), 5 + 333);
        let server = FlightWriter::new(Version::Tls10).new_session_ticket().change_cipher_spec();
        assert_eq!(server.finished().into_bytes().len(), 207 + 6 + 53);
        let certificate = FlightWriter::new(Version::Tls10).certificate([600].into_iter());
        assert_eq!(certificate.into_bytes().len(), 5 + 4 + 3 + 3 + 600);
    }
}
