//! TLS of eras that rustls does not speak, as flights of the right sizes and round trips: TLS 1.0 as a browser and Apache spoke it in 2013, and
//! False Start (RFC 7918) over it or over TLS 1.2.
//!
//! **Nothing is encrypted or authenticated.** A model is accurate in what a network sees: which end speaks when, how many bytes
//! each message has, and the framing of every record - header, MAC, padding, and the split of each of the client's writes into
//! a byte and the rest that browsers have made since the BEAST attack. It leaves out the time that cryptography takes.
//!
//! Both ends identify themselves in their hello's random bytes, and refuse a peer that does not: a model never speaks
//! to real TLS, nor real TLS to a model. It is selected only as [`Security::Modelled`](super::Security::Modelled),
//! which no reader of a server's configuration yields; the proxy cannot select it.
//!
//! Sources of the sizes: RFC 2246 (TLS 1.0), RFC 5246 (1.2), RFC 5077 (tickets), RFC 4492 (ECDHE), RFC 5288 (GCM), RFC
//! 7301 (ALPN), the draft of NPN (agl-tls-nextprotoneg-04). Chrome 26 with Apache 2.2 is reported to have had a
//! ClientHello of 180 to 300 bytes and a ServerHello of 80 to 100; no capture was available.

mod handshake;
mod record;
mod stream;

pub(crate) use handshake::Sessions;
pub(crate) use handshake::{accept, connect};
pub(crate) use stream::Stream;

/// The modelled TLS: version and start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Modelled {
    /// Its version.
    pub version: Version,
    /// The moment of the client's first request.
    pub start: HandshakeStart,
}

/// The modelled version, with the cipher suite of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// TLS 1.0 with `TLS_RSA_WITH_AES_128_CBC_SHA`.
    Tls10,
    /// TLS 1.2 with `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`.
    Tls12,
}

/// The moment of a client's first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandshakeStart {
    /// After the server's Finished.
    Patient,
    /// With its own Finished: False Start, a round trip earlier in a full handshake (RFC 7918 section 2).
    False,
}

impl Modelled {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match (self.version, self.start) {
            (Version::Tls10, HandshakeStart::Patient) => "modelled tls10",
            (Version::Tls10, HandshakeStart::False) => "modelled tls10 with False Start",
            (Version::Tls12, HandshakeStart::Patient) => "modelled tls12",
            (Version::Tls12, HandshakeStart::False) => "modelled tls12 with False Start",
        }
    }
}
