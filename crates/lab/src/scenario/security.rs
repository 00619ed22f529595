//! What is turned in TLS beside its version.

use std::fmt;
use std::str::FromStr;

use http_stack::tls::{LEAST_CHAIN_BYTES, MOST_CHAIN_BYTES};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::parse;

/// TLS's knobs: `resume=session,chain=4KB,key=rsa-2048,staple=1.5KB,records=dynamic,false-start=on`. What is not turned is as it has always been: a
/// client that knows no server, Ed25519 with a chain of 2,656 bytes, no OCSP response, records of 16 KB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// Which sessions the client resumes.
    pub resume: Option<Resume>,
    /// The bytes of certificates that servers send.
    pub chain_bytes: Option<u32>,
    /// The key that they are for.
    pub key: Option<CertificateKey>,
    /// The bytes of the OCSP response that servers staple to them.
    pub staple_bytes: Option<u32>,
    /// How much servers put into a record.
    pub records: Option<RecordSize>,
    /// Whether the client sends its first request with its Finished (RFC 7918).
    pub false_start: Option<bool>,
}

/// Which sessions a client resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// None, not even those of its own other connections.
    Never,
    /// Those of an earlier visit, too: it has spoken with each host before.
    Session,
    /// The same, and requests leave with its first flight (TLS 1.3; RFC 8446 section 2.3).
    EarlyData,
}

/// Keys that servers can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateKey {
    /// Ed25519: 64 bytes a signature.
    Ed25519,
    /// RSA-2048: 256 bytes a signature.
    Rsa2048,
    /// ECDSA with P-256: 71 bytes a signature.
    EcdsaP256,
}

/// How much a server puts into a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSize {
    /// As much as this, in bytes.
    Fixed(u32),
    /// Little first, then more (`http_stack::tls::Records::Dynamic`).
    Dynamic,
}

/// A text that turns no knobs of TLS.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SecurityError {
    /// There is no such knob.
    #[error(
        "no TLS knob is called `{name}`; there are resume, chain, key, staple, records and false-start"
    )]
    UnknownKnob {
        /// What was written.
        name: String,
    },
    /// A value that the knob does not take.
    #[error("the TLS knob `{knob}` cannot be `{value}`: it takes {expected}")]
    BadValue {
        /// The knob.
        knob: &'static str,
        /// What was written.
        value: String,
        /// What may be written.
        expected: String,
    },
    /// A knob is set twice.
    #[error("the TLS knob `{knob}` is set twice; keep one")]
    Twice {
        /// The knob.
        knob: String,
    },
}

const RESUME: [(&str, Resume); 3] =
    [("never", Resume::Never), ("session", Resume::Session), ("0rtt", Resume::EarlyData)];
const KEYS: [(&str, CertificateKey); 3] = [
    ("ed25519", CertificateKey::Ed25519),
    ("rsa-2048", CertificateKey::Rsa2048),
    ("ecdsa-p256", CertificateKey::EcdsaP256),
];

/// A record must be worth its header, and holds no more than this (RFC 8446 section 5.1).
const RECORDS: (u32, u32) = (64, 16_384);
/// A certificate with its OCSP response is one message of one record.
const MOST_STAPLE_BYTES: u32 = 4_000;

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    let named = names.iter().find(|(_, known)| known == value);
    named.expect("every choice has a name").0
}

impl Security {
    /// Whether no knob is turned.
    pub fn is_usual(&self) -> bool {
        *self == Security::default()
    }

    /// Whether the client has spoken with each host before its first visit.
    pub fn is_acquainted(&self) -> bool {
        matches!(self.resume, Some(Resume::Session | Resume::EarlyData))
    }

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), SecurityError> {
        match knob {
            "resume" => self.resume = Some(one_of("resume", value, &RESUME)?),
            "chain" => {
                let range = (LEAST_CHAIN_BYTES as u32, MOST_CHAIN_BYTES as u32);
                self.chain_bytes = Some(bytes("chain", value, range)?);
            }
            "key" => self.key = Some(one_of("key", value, &KEYS)?),
            "staple" => self.staple_bytes = Some(bytes("staple", value, (0, MOST_STAPLE_BYTES))?),
            "records" if value == "dynamic" => self.records = Some(RecordSize::Dynamic),
            "records" => self.records = Some(RecordSize::Fixed(bytes("records", value, RECORDS)?)),
            "false-start" => {
                self.false_start =
                    Some(one_of("false-start", value, &[("on", true), ("off", false)])?);
            }
            _ => return Err(SecurityError::UnknownKnob { name: knob.to_owned() }),
        }
        Ok(())
    }
}

fn one_of<T: Copy>(
    knob: &'static str,
    value: &str,
    names: &[(&'static str, T)],
) -> Result<T, SecurityError> {
    let named = names.iter().find(|(name, _)| *name == value);
    named.map(|(_, known)| *known).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        SecurityError::BadValue { knob, value: value.to_owned(), expected: names.join(" or ") }
    })
}

fn bytes(knob: &'static str, value: &str, (least, most): (u32, u32)) -> Result<u32, SecurityError> {
    let read = parse::size_bytes(value).ok().and_then(|bytes| u32::try_from(bytes).ok());
    read.filter(|bytes| (least..=most).contains(bytes)).ok_or_else(|| {
        let also = if knob == "records" { ", or dynamic" } else { "" };
        let expected = format!("a size from {least}B to {most}B{also}");
        SecurityError::BadValue { knob, value: value.to_owned(), expected }
    })
}

impl FromStr for Security {
    type Err = SecurityError;

    fn from_str(text: &str) -> Result<Security, SecurityError> {
        let (mut security, mut seen) = (Security::default(), Vec::new());
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (knob, value) = item.split_once('=').unwrap_or((item, ""));
            let (knob, value) = (knob.trim(), value.trim());
            if seen.contains(&knob) {
                return Err(SecurityError::Twice { knob: knob.to_owned() });
            }
            security.turn(knob, value)?;
            seen.push(knob);
        }
        Ok(security)
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
        let switch = |on: bool| if on { "on" } else { "off" };
        let turned = [
            self.resume.map(|value| format!("resume={}", name_of(&RESUME, &value))),
            self.chain_bytes.map(|bytes| format!("chain={bytes}B")),
            self.key.map(|value| format!("key={}", name_of(&KEYS, &value))),
            self.staple_bytes.map(|bytes| format!("staple={bytes}B")),
            self.records.map(|size| format!("records={size}")),
            self.false_start.map(|on| format!("false-start={}", switch(on))),
        ];
        let turned: Vec<String> = turned.into_iter().flatten().collect();
        f.write_str(&turned.join(","))
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
            "resume=never,chain=4000B,key=ecdsa-p256,staple=1500B,records=dynamic,false-start=off",
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
            "the TLS knob `resume` cannot be `yes`: it takes never or session or 0rtt"
        );
        assert_eq!(
            refusal("chain=100B"),
            "the TLS knob `chain` cannot be `100B`: it takes a size from 1000B to 12000B"
        );
        assert!(refusal("records=big").ends_with("a size from 64B to 16384B, or dynamic"));
        assert!(refusal("alpn=h2").contains("resume, chain, key"));
        assert_eq!(refusal("key=ed25519,key=ed25519"), "the TLS knob `key` is set twice; keep one");
    }
}
