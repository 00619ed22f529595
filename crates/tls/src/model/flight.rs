//! Flights: handshake messages of their usual lengths, each in its own record as OpenSSL writes them, handed to TCP in one write.

use super::Version;
use super::record::{self, Content, Protection};

/// A handshake message (RFC 5246 section 7.4, RFC 6066 section 8, the draft of NPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
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
pub(super) struct Flight {
    version: Version,
    protection: Protection,
    bytes: Vec<u8>,
}

impl Flight {
    pub(super) fn new(version: Version) -> Flight {
        Flight { version, protection: Protection::Clear, bytes: Vec::new() }
    }

    pub(super) fn message(mut self, message: Message, body: &[u8]) -> Flight {
        let [_, a, b, c] = (body.len() as u32).to_be_bytes();
        let header = [message as u8, a, b, c];
        let parts = [&header[..], body].into_iter();
        record::write(&mut self.bytes, self.version, self.protection, Content::Handshake, parts);
        self
    }

    fn filler(self, message: Message, bytes: usize) -> Flight {
        self.message(message, &vec![0; bytes])
    }

    /// The chain, each certificate after its length (RFC 5246 section 7.4.2).
    pub(super) fn certificate(self, chain: impl Iterator<Item = usize>) -> Flight {
        let bytes: usize = chain.map(|certificate| 3 + certificate).sum();
        self.filler(Message::Certificate, 3 + bytes)
    }

    /// The OCSP response after its type and length, if there is one.
    pub(super) fn certificate_status(self, staple_bytes: usize) -> Flight {
        match staple_bytes {
            0 => self,
            _ => self.filler(Message::CertificateStatus, 1 + 3 + staple_bytes),
        }
    }

    /// With ECDHE the server signs its share; RSA key exchange lacks this message.
    pub(super) fn server_key_exchange(self, signature_bytes: usize) -> Flight {
        match self.version {
            Version::Tls10 => self,
            Version::Tls12 => {
                self.filler(Message::ServerKeyExchange, ECDHE_SERVER + signature_bytes)
            }
        }
    }

    pub(super) fn server_hello_done(self) -> Flight {
        self.filler(Message::ServerHelloDone, 0)
    }

    pub(super) fn client_key_exchange(self) -> Flight {
        let bytes = match self.version {
            Version::Tls10 => RSA_KEY_EXCHANGE,
            Version::Tls12 => ECDHE_CLIENT,
        };
        self.filler(Message::ClientKeyExchange, bytes)
    }

    pub(super) fn new_session_ticket(self) -> Flight {
        self.filler(Message::NewSessionTicket, NEW_SESSION_TICKET)
    }

    /// From here on records have the length of encrypted ones.
    pub(super) fn change_cipher_spec(mut self) -> Flight {
        let parts = std::iter::once(&[1][..]);
        let content = Content::ChangeCipherSpec;
        record::write(&mut self.bytes, self.version, self.protection, content, parts);
        self.protection = Protection::Sealed(self.version);
        self
    }

    pub(super) fn next_protocol(self) -> Flight {
        self.filler(Message::NextProtocol, NEXT_PROTOCOL)
    }

    pub(super) fn finished(self) -> Flight {
        self.filler(Message::Finished, FINISHED)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flights_have_the_sizes_of_the_era() {
        let client = |version| {
            let flight = Flight::new(version).client_key_exchange().change_cipher_spec();
            flight.finished().into_bytes().len()
        };
        // RSA: 267 + 6 + 53, ECDHE with GCM: 75 + 6 + 45.
        assert_eq!(client(Version::Tls10), 326);
        assert_eq!(client(Version::Tls12), 126);
        let exchange = Flight::new(Version::Tls12).server_key_exchange(256).into_bytes();
        assert_eq!(exchange.len(), 5 + 333);
        let server = Flight::new(Version::Tls10).new_session_ticket().change_cipher_spec();
        assert_eq!(server.finished().into_bytes().len(), 207 + 6 + 53);
        let certificate = Flight::new(Version::Tls10).certificate([600].into_iter());
        assert_eq!(certificate.into_bytes().len(), 5 + 4 + 3 + 3 + 600);
    }
}
