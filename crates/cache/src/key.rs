//! The primary cache key (RFC 9111 section 2).
//!
//! It consists of a cache partition and the target URI. The method is not part of it, since only responses to GET are stored; they also answer
//! HEAD. Anything else of a request that selects a response must be named by `Vary`.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// A cache partition: tenants that share a cache's memory never see each other's responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u32);

/// The scheme of a target URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// In clear text.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// The scheme as it is written in a URI.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The default port (RFC 9110 section 4.2).
    pub const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    const fn default_port_suffix(self) -> &'static str {
        match self {
            Scheme::Http => ":80",
            Scheme::Https => ":443",
        }
    }
}

/// A primary key, borrowed from a request. Hosts compare case-insensitively, the scheme's default port may be left out, an empty path is
/// `/` (RFC 9110 section 4.2.3). Nothing else is normalised: two spellings of a path are two keys, which costs a miss at most.
#[derive(Clone, Copy, Debug)]
pub struct CacheKey<'a> {
    partition: Partition,
    scheme: Scheme,
    authority: &'a str,
    target: &'a str,
}

impl<'a> CacheKey<'a> {
    /// The key of `scheme://authority` and `target`, the path with its query.
    pub fn new(
        partition: Partition,
        scheme: Scheme,
        authority: &'a str,
        target: &'a str,
    ) -> CacheKey<'a> {
        let authority = authority.strip_suffix(scheme.default_port_suffix()).unwrap_or(authority);
        let target = if target.is_empty() { "/" } else { target };
        CacheKey { partition, scheme, authority, target }
    }

    /// The cache partition.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Host and port; the scheme's default port is left out.
    pub fn authority(&self) -> &'a str {
        self.authority
    }

    /// Path and query.
    pub fn target(&self) -> &'a str {
        self.target
    }

    /// The target URI.
    pub fn uri(&self) -> String {
        let mut uri = format!("{}://{}", self.scheme.name(), self.authority);
        uri.make_ascii_lowercase();
        uri + self.target
    }

    /// SipHash-1-3 under a secret, so that an attacker cannot choose URIs that share a shard or a chain.
    pub(crate) fn hash(&self, secret: (u64, u64)) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(secret.0, secret.1);
        let scheme = u64::from(self.scheme == Scheme::Https);
        hasher.write_u64(
            u64::from(self.partition.0) << 32 | scheme << 31 | self.authority.len() as u64,
        );
        let mut lower = [0; 64];
        for piece in self.authority.as_bytes().chunks(lower.len()) {
            let lower = &mut lower[..piece.len()];
            lower.copy_from_slice(piece);
            lower.make_ascii_lowercase();
            hasher.write(lower);
        }
        hasher.write(self.target.as_bytes());
        hasher.finish()
    }

    /// An owned copy of the key.
    pub fn to_owned(&self) -> OwnedKey {
        let authority = (self.scheme.name().len() + 3) as u32;
        let target = authority + self.authority.len() as u32;
        OwnedKey {
            partition: self.partition,
            scheme: self.scheme,
            authority,
            target,
            uri: self.uri().into(),
        }
    }
}

/// The owned primary key of a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedKey {
    partition: Partition,
    scheme: Scheme,
    /// Offset of the authority in `uri`; `target` is that of the path.
    authority: u32,
    target: u32,
    uri: Box<str>,
}

impl OwnedKey {
    /// The same key, borrowed.
    pub fn borrow(&self) -> CacheKey<'_> {
        let authority = &self.uri[self.authority as usize..self.target as usize];
        let target = &self.uri[self.target as usize..];
        CacheKey { partition: self.partition, scheme: self.scheme, authority, target }
    }

    /// The cache partition.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// The target URI, its scheme and host in lower case.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    pub(crate) fn is(&self, key: &CacheKey<'_>) -> bool {
        let own = self.borrow();
        own.target == key.target
            && own.scheme == key.scheme
            && own.partition == key.partition
            && own.authority.eq_ignore_ascii_case(key.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: (u64, u64) = (1, 2);

    fn key<'a>(
        partition: u32,
        scheme: Scheme,
        authority: &'a str,
        target: &'a str,
    ) -> CacheKey<'a> {
        CacheKey::new(Partition(partition), scheme, authority, target)
    }

    #[test]
    fn spellings_of_one_uri_are_one_key() {
        let plain = key(0, Scheme::Http, "www.example.com", "/");
        for same in [
            key(0, Scheme::Http, "WWW.Example.com:80", "/"),
            key(0, Scheme::Http, "www.example.com", ""),
        ] {
            assert_eq!(plain.hash(SECRET), same.hash(SECRET));
            assert!(plain.to_owned().is(&same) && same.to_owned().is(&plain));
            assert_eq!(plain.to_owned(), same.to_owned());
        }
        assert_eq!(
            key(0, Scheme::Http, "Example.com:8080", "/A?b=C").uri(),
            "http://example.com:8080/A?b=C"
        );
    }

    #[test]
    fn each_part_counts() {
        let one = key(0, Scheme::Http, "a.test", "/x");
        let others = [
            key(1, Scheme::Http, "a.test", "/x"),
            key(0, Scheme::Https, "a.test", "/x"),
            key(0, Scheme::Http, "b.test", "/x"),
            key(0, Scheme::Http, "a.test", "/X"),
            key(0, Scheme::Http, "a.test:443", "/x"),
            // The same bytes in all, split at different places.
            key(0, Scheme::Http, "a.test/x", "/"),
            key(0, Scheme::Http, "a.tes", "t/x"),
        ];
        for other in others {
            assert_ne!(one.hash(SECRET), other.hash(SECRET), "{other:?}");
            assert!(!one.to_owned().is(&other), "{other:?}");
        }
        assert_ne!(one.hash(SECRET), one.hash((1, 3)), "the secret counts");
    }

    #[test]
    fn long_hosts_are_hashed_whole() {
        let (a, b) = ("x".repeat(70) + "a", "x".repeat(70) + "b");
        let (a, b) = (key(0, Scheme::Http, &a, "/"), key(0, Scheme::Http, &b, "/"));
        assert_ne!(a.hash(SECRET), b.hash(SECRET));
    }
}
