//! Settings of TLS beside its version.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tls::{Group, LEAST_CHAIN_BYTES, MOST_CHAIN_BYTES};
use units::parse;

use super::knobs::{self, KnobError, KnobProblem, Knobs, list, name_of, on_or_off, one_of, switch};
use super::{Program, Protocol, Tls};

/// TLS's knobs: `resume=session,chain=4KB,key=rsa-2048,group=x25519mlkem768,staple=1.5KB,records=dynamic,false-start=on`.
/// Defaults: a client that knows no server, Ed25519 with a chain of 2,656 bytes, X25519, no OCSP response, records of
/// 16 KB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// Sessions that the client resumes.
    pub resume: Option<Resume>,
    /// Size of the servers' certificate chain, in bytes.
    pub chain_bytes: Option<u32>,
    /// Key of the certificate.
    pub key: Option<CertificateKey>,
    /// Group of the key exchange.
    pub group: Option<Group>,
    /// Size of the stapled OCSP response, in bytes.
    pub staple_bytes: Option<u32>,
    /// Size of the servers' records.
    pub records: Option<RecordSize>,
    /// True if the client sends its first request with its Finished (RFC 7918).
    pub false_start: Option<bool>,
}

/// Sessions that a client resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// None, not even those of its own other connections.
    Never,
    /// Also those of an earlier visit: it has connected to each host before.
    Session,
    /// The same, and requests are sent in its first flight (TLS 1.3; RFC 8446 section 2.3).
    EarlyData,
}

/// Key types of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateKey {
    /// Ed25519: 64 bytes a signature.
    Ed25519,
    /// RSA-2048: 256 bytes a signature.
    Rsa2048,
    /// ECDSA with P-256: 71 bytes a signature.
    EcdsaP256,
}

/// Size of a server's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSize {
    /// A fixed number of bytes.
    Fixed(u32),
    /// Small first, then larger (`tls::Records::Dynamic`).
    Dynamic,
}

const RESUME: [(&str, Resume); 3] =
    [("never", Resume::Never), ("session", Resume::Session), ("0rtt", Resume::EarlyData)];
const KEYS: [(&str, CertificateKey); 3] = [
    ("ed25519", CertificateKey::Ed25519),
    ("rsa-2048", CertificateKey::Rsa2048),
    ("ecdsa-p256", CertificateKey::EcdsaP256),
];
const GROUPS: [(&str, Group); 2] =
    [("x25519", Group::X25519), ("x25519mlkem768", Group::X25519MlKem768)];

/// A record must be worth its header, and holds at most this much (RFC 8446 section 5.1).
const RECORDS: (u32, u32) = (64, 16_384);
/// A certificate with its OCSP response must fit into one message of one record.
const MOST_STAPLE_BYTES: u32 = 4_000;

impl Security {
    /// True if no knob is set.
    pub fn is_usual(&self) -> bool {
        *self == Security::default()
    }

    /// True if the client has connected to each host before its first visit.
    pub fn is_acquainted(&self) -> bool {
        matches!(self.resume, Some(Resume::Session | Resume::EarlyData))
    }

    /// The reason why `tls` below `protocol` does not support these settings, if it does not.
    pub fn contradiction(
        &self,
        protocol: Protocol,
        tls: Tls,
        program: Program,
    ) -> Option<&'static str> {
        let begins_falsely = self.false_start == Some(true);
        let is_hybrid = self.group == Some(Group::X25519MlKem768);
        let of_servers =
            Security { records: self.records, group: self.group, ..Security::default() };
        let is_own = tls == Tls::Tls10 || *self != of_servers;
        match (protocol, tls) {
            _ if program == Program::Chromium && is_own => Some(
                "modelled TLS, sessions and certificates of a chosen kind are for farlink's own loader: use the client `loader`, or tls12 or tls13 with no knobs but `records` and `group`",
            ),
            (protocol, _) if protocol.is_quic() && self.records.is_some() => {
                Some("QUIC has packets where TLS has records: leave `records` out with HTTP/3")
            }
            (_, Tls::Tls10 | Tls::Tls12) if is_hybrid => {
                Some("only TLS 1.3 has x25519mlkem768: use tls13, or leave `group` out")
            }
            (_, Tls::Tls13) if begins_falsely => Some(
                "False Start is a matter of TLS 1.2 and before (RFC 7918): TLS 1.3 needs one round trip anyway",
            ),
            (_, Tls::Tls10 | Tls::Tls12) if self.resume == Some(Resume::EarlyData) => {
                Some("only TLS 1.3 has early data: use tls13, or resume=session")
            }
            (Protocol::H2 | Protocol::Recorded, Tls::Tls10) => Some(
                "HTTP/2 runs over TLS 1.2 or later (RFC 9113 section 9.2): use tls10 with h1, h1-pipelined or spdy",
            ),
            _ => None,
        }
    }
}

impl Knobs for Security {
    const ONE: &'static str = "TLS knob";
    const ALL: &'static str = "resume, chain, key, group, staple, records and false-start";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "resume" => self.resume = Some(one_of(value, &RESUME, "never, session or 0rtt")?),
            "chain" => {
                let range = (LEAST_CHAIN_BYTES as u32, MOST_CHAIN_BYTES as u32);
                self.chain_bytes = Some(bytes(value, range, "a size of 1000B to 12000B")?);
            }
            "key" => {
                self.key = Some(one_of(value, &KEYS, "ed25519, rsa-2048 or ecdsa-p256")?);
            }
            "group" => {
                self.group = Some(one_of(value, &GROUPS, "x25519 or x25519mlkem768")?);
            }
            "staple" => {
                self.staple_bytes = Some(bytes(value, (0, MOST_STAPLE_BYTES), "up to 4000B")?);
            }
            "records" if value == "dynamic" => self.records = Some(RecordSize::Dynamic),
            "records" => {
                let bytes = bytes(value, RECORDS, "a size of 64B to 16384B, or dynamic")?;
                self.records = Some(RecordSize::Fixed(bytes));
            }
            "false-start" => self.false_start = Some(on_or_off(value)?),
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }
}

fn bytes(
    value: &str,
    (least, most): (u32, u32),
    expected: &'static str,
) -> Result<u32, KnobProblem> {
    let read = parse::size_bytes(value).ok().and_then(|bytes| u32::try_from(bytes).ok());
    let fits = read.filter(|bytes| (least..=most).contains(bytes));
    fits.ok_or(KnobProblem::Expected(expected))
}

impl FromStr for Security {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Security, KnobError> {
        knobs::parse(text)
    }
}

impl fmt::Display for RecordSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordSize::Fixed(bytes) => write!(f, "{bytes}B"),
            RecordSize::Dynamic => f.write_str("dynamic"),
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&list([
            self.resume.map(|value| format!("resume={}", name_of(&RESUME, &value))),
            self.chain_bytes.map(|bytes| format!("chain={bytes}B")),
            self.key.map(|value| format!("key={}", name_of(&KEYS, &value))),
            self.group.map(|value| format!("group={}", name_of(&GROUPS, &value))),
            self.staple_bytes.map(|bytes| format!("staple={bytes}B")),
            self.records.map(|size| format!("records={size}")),
            self.false_start.map(|on| format!("false-start={}", switch(on))),
        ]))
    }
}

impl Serialize for Security {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Security {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Security, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_turned_is_written_back() {
        for text in [
            "",
            "resume=0rtt",
            "resume=never,chain=4000B,key=ecdsa-p256,group=x25519mlkem768,staple=1500B,records=dynamic,false-start=off",
            "records=4096B",
        ] {
            assert_eq!(text.parse::<Security>().unwrap().to_string(), text);
        }
        let turned: Security = "key=rsa-2048, chain=4KB".parse().unwrap();
        assert_eq!(turned.to_string(), "chain=4000B,key=rsa-2048");
    }

    #[test]
    fn mistakes_are_named() {
        let refusal = |text: &str| text.parse::<Security>().unwrap_err().to_string();
        assert_eq!(
            refusal("resume=yes"),
            "the TLS knob `resume` cannot be `yes`: it takes never, session or 0rtt"
        );
        assert_eq!(
            refusal("chain=100B"),
            "the TLS knob `chain` cannot be `100B`: it takes a size of 1000B to 12000B"
        );
        assert!(refusal("records=big").ends_with("a size of 64B to 16384B, or dynamic"));
        assert!(refusal("alpn=h2").contains("resume, chain, key"));
        assert_eq!(refusal("key=ed25519,key=ed25519"), "the TLS knob `key` is set twice; keep one");
    }
}
