//! Users and their hashed passwords, read from a file, for the `Basic` scheme (RFC 7617).
//!
//! A line is `NAME:$pbkdf2-sha256$i=ROUNDS$SALT$HASH` (PHC's string format; salt and hash in base64 without padding). Verification is slow
//! on purpose; verified credentials are remembered by a digest with a key of this process, so that only a user's first request pays.
//! Passwords are not kept.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ipnet::IpNet;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hmac, pbkdf2};
use thiserror::Error;

use super::within;

/// Rounds of new hashes. OWASP's advice for PBKDF2-HMAC-SHA256 (2023) is 600,000: about 0.1 s of a core.
const ROUNDS: u32 = 600_000;
/// Accepted rounds: fewer give no protection, more let password guessing occupy a core.
const ACCEPTED_ROUNDS: std::ops::RangeInclusive<u32> = 10_000..=2_000_000;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// Maximum number of verified users remembered; beyond it, all are verified anew.
const REMEMBERED: usize = 10_000;

/// A password's hash.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    rounds: NonZeroU32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

/// Error in a line of a users file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UsersError {
    /// It has no colon, or nothing before it.
    #[error("a line is NAME:HASH, as `farlink proxy --hash-password NAME` prints it")]
    Form,
    /// The hash is malformed.
    #[error(
        "the hash is not $pbkdf2-sha256$i=ROUNDS$SALT$HASH: make one with `farlink proxy --hash-password NAME`"
    )]
    Hash,
    /// The number of rounds is not accepted.
    #[error("a hash has between 10000 and 2000000 rounds")]
    Rounds,
    /// The user appears twice.
    #[error("this user is in the file twice: remove one of the lines")]
    Twice,
}

impl PasswordHash {
    /// Hashes `password` with a random salt from the system.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn new(password: &str) -> Result<PasswordHash, ring::error::Unspecified> {
        let mut salt = vec![0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt)?;
        Ok(PasswordHash::salted(password, salt, ROUNDS))
    }

    fn salted(password: &str, salt: Vec<u8>, rounds: u32) -> PasswordHash {
        let rounds = NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN);
        let mut hash = vec![0; HASH_BYTES];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut hash);
        PasswordHash { rounds, salt, hash }
    }

    /// Parses the output of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// If it is malformed.
    pub fn parse(text: &str) -> Result<PasswordHash, UsersError> {
        let parts: Vec<&str> = text.split('$').collect();
        let ["", "pbkdf2-sha256", rounds, salt, hash] = parts[..] else {
            return Err(UsersError::Hash);
        };
        let rounds = rounds.strip_prefix("i=").and_then(|rounds| rounds.parse::<u32>().ok());
        let rounds = rounds.ok_or(UsersError::Hash)?;
        if !ACCEPTED_ROUNDS.contains(&rounds) {
            return Err(UsersError::Rounds);
        }
        let bytes = |text| STANDARD_NO_PAD.decode(text).map_err(|_| UsersError::Hash);
        let (salt, hash) = (bytes(salt)?, bytes(hash)?);
        let rounds =
            NonZeroU32::new(rounds).filter(|_| hash.len() == HASH_BYTES && !salt.is_empty());
        Ok(PasswordHash { rounds: rounds.ok_or(UsersError::Hash)?, salt, hash })
    }

    /// Returns true if it is the hash of `password`. Slow.
    pub fn verify(&self, password: &str) -> bool {
        let PasswordHash { rounds, salt, hash } = self;
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::verify(algorithm, *rounds, salt, password.as_bytes(), hash).is_ok()
    }
}

impl fmt::Display for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, hash] = [&self.salt, &self.hash].map(|bytes| STANDARD_NO_PAD.encode(bytes));
        write!(f, "$pbkdf2-sha256$i={}${salt}${hash}", self.rounds)
    }
}

impl fmt::Debug for PasswordHash {
    /// Keeps hashes out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// All users. Shared by all cores.
#[derive(Debug)]
pub struct Users {
    hashes: BTreeMap<String, PasswordHash>,
    /// Verified in place of an unknown user, so that timing does not reveal which users exist.
    dummy: PasswordHash,
    key: hmac::Key,
    /// Tags of verified credentials.
    verified: Mutex<BTreeMap<[u8; HASH_BYTES], String>>,
}

/// A user's name and password from a request, not yet verified.
#[derive(Clone, PartialEq, Eq)]
struct Credentials {
    name: String,
    password: String,
}

impl Credentials {
    /// Reads the value of `Proxy-Authorization` or `Authorization` of the scheme `Basic`.
    fn parse(value: &[u8]) -> Option<Credentials> {
        let (scheme, token) = value.split_at_checked("Basic ".len())?;
        let decoded =
            scheme.eq_ignore_ascii_case(b"Basic ").then(|| STANDARD.decode(token.trim_ascii()));
        let text = String::from_utf8(decoded?.ok()?).ok()?;
        let (name, password) = text.split_once(':')?;
        Some(Credentials { name: name.to_owned(), password: password.to_owned() })
    }
}

impl Users {
    /// Parses a users file; an error comes with its line number. Empty lines and those that begin with `#` are skipped.
    ///
    /// # Errors
    /// If a line does not describe a user.
    pub fn parse(text: &str) -> Result<Users, (usize, UsersError)> {
        let mut hashes = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, hash) = line.split_once(':').ok_or((number, UsersError::Form))?;
            let hash = PasswordHash::parse(hash).map_err(|error| (number, error))?;
            if name.is_empty() {
                return Err((number, UsersError::Form));
            }
            if hashes.insert(name.to_owned(), hash).is_some() {
                return Err((number, UsersError::Twice));
            }
        }
        let rounds = hashes.values().map(|hash| hash.rounds.get()).max().unwrap_or(ROUNDS);
        let dummy = PasswordHash {
            rounds: NonZeroU32::new(rounds).unwrap_or(NonZeroU32::MIN),
            salt: vec![0; SALT_BYTES],
            hash: vec![0; HASH_BYTES],
        };
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .expect("a system that a proxy runs on has randomness");
        Ok(Users { hashes, dummy, key, verified: Mutex::default() })
    }

    /// The user of credentials verified before: fast.
    pub fn recall(&self, value: &[u8]) -> Option<String> {
        let tag = self.tag(value);
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        verified.get(&tag).cloned()
    }

    /// The user of a valid value of `Proxy-Authorization`. Slow: not for a thread that serves other requests.
    pub fn verify(&self, value: &[u8]) -> Option<String> {
        let Credentials { name, password } = Credentials::parse(value)?;
        let hash = self.hashes.get(&name).unwrap_or(&self.dummy);
        if !hash.verify(&password) {
            return None;
        }
        let tag = self.tag(value);
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(tag, name.clone());
        Some(name)
    }

    fn tag(&self, value: &[u8]) -> [u8; HASH_BYTES] {
        let tag = hmac::sign(&self.key, value);
        tag.as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
    }
}

/// The clients that are served, by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedClients {
    /// Their networks; empty to serve all addresses.
    pub networks: Vec<IpNet>,
}

impl AllowedClients {
    /// Returns true if a client at `address` is served.
    pub fn permit(&self, address: IpAddr) -> bool {
        self.networks.is_empty() || within(&self.networks, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users() -> Users {
        let hash = PasswordHash::salted("secret", vec![7; SALT_BYTES], *ACCEPTED_ROUNDS.start());
        Users::parse(&format!("# who may\n\nanna:{hash}\n")).expect("a users' file")
    }

    fn basic(text: &str) -> Vec<u8> {
        format!("Basic {}", STANDARD.encode(text)).into_bytes()
    }

    #[test]
    fn a_user_is_known_by_the_right_password() {
        let users = users();
        let right = basic("anna:secret");
        assert_eq!(users.recall(&right), None);
        assert_eq!(users.verify(&right).as_deref(), Some("anna"));
        assert_eq!(users.recall(&right).as_deref(), Some("anna"));
        for wrong in ["anna:secre", "anna:", "otto:secret", "anna"] {
            assert_eq!(users.verify(&basic(wrong)), None, "{wrong}");
            assert_eq!(users.recall(&basic(wrong)), None, "{wrong}");
        }
        assert_eq!(users.verify(b"Bearer x"), None);
        assert_eq!(users.verify(b"Basic !"), None);
    }

    #[test]
    fn hashes_survive_and_others_are_refused() {
        let hash = PasswordHash::salted("x", vec![1; SALT_BYTES], 10_000);
        assert_eq!(PasswordHash::parse(&hash.to_string()), Ok(hash.clone()));
        let weak = PasswordHash::salted("x", vec![1; SALT_BYTES], 1_000);
        assert_eq!(PasswordHash::parse(&weak.to_string()), Err(UsersError::Rounds));
        for text in
            ["", "secret", "$2y$10$abc", "$pbkdf2-sha256$i=x$AA$AA", "$pbkdf2-sha256$i=20000$AA$AA"]
        {
            assert_eq!(PasswordHash::parse(text), Err(UsersError::Hash), "{text}");
        }
        let twice = format!("a:{hash}\na:{hash}");
        assert_eq!(Users::parse(&twice).unwrap_err(), (2, UsersError::Twice));
        assert_eq!(Users::parse("anna").unwrap_err(), (1, UsersError::Form));
    }

    #[test]
    fn clients_outside_the_networks_are_not_served() {
        let clients = AllowedClients { networks: vec!["10.0.0.0/8".parse().unwrap()] };
        assert!(clients.permit("10.9.8.7".parse().unwrap()));
        assert!(clients.permit("::ffff:10.9.8.7".parse().unwrap()));
        assert!(!clients.permit("11.0.0.1".parse().unwrap()));
        assert!(AllowedClients::default().permit("11.0.0.1".parse().unwrap()));
    }
}
