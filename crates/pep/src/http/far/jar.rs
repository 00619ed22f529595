//! Cookie jar: the cookies of each client and host, as far as they passed here, so that unsolicited fetches look like the client's
//! own.
//!
//! A client's own cookies are authoritative; a server's are added. Domains, paths and dates (RFC 6265 section 5) are left to the client:
//! where they matter, its own request has other cookies than were guessed here, and then the unsolicited answer is not used.

use std::collections::BTreeMap;
use std::net::IpAddr;

use http::HeaderMap;
use http::header::{COOKIE, SET_COOKIE};

/// Maximum number of pairs of client and host remembered.
const MOST: usize = 4_096;

/// All clients' cookies.
#[derive(Default)]
pub(super) struct CookieJar(BTreeMap<(IpAddr, String), BTreeMap<String, String>>);

impl CookieJar {
    /// Records the fields that `client` has sent to `host`.
    pub(super) fn sent(&mut self, client: IpAddr, host: &str, fields: &HeaderMap) {
        let values = fields.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        *self.of(client, host) = pairs.collect();
    }

    /// Records the fields of `host`'s answer to `client`.
    pub(super) fn received(&mut self, client: IpAddr, host: &str, fields: &HeaderMap) {
        for line in fields.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            let mut parts = line.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            let (mut is_over, mut is_secure) = (false, false);
            for part in parts {
                let (key, value) = part.split_once('=').unwrap_or((part, ""));
                is_over |= key.eq_ignore_ascii_case("max-age")
                    && value.parse().is_ok_and(|seconds: i64| seconds <= 0);
                is_secure |= key.eq_ignore_ascii_case("secure");
            }
            let cookies = self.of(client, host);
            if is_over || is_secure {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// The cookies that `client` would send to `host`.
    pub(super) fn cookie(&self, client: IpAddr, host: &str) -> Option<String> {
        let cookies = self.0.get(&(client, host.to_owned()))?;
        let pairs: Vec<String> =
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    fn of(&mut self, client: IpAddr, host: &str) -> &mut BTreeMap<String, String> {
        let key = (client, host.to_owned());
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            self.0.pop_first();
        }
        self.0.entry(key).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for value in values {
            fields.append(name, value.parse().unwrap());
        }
        fields
    }

    #[test]
    fn cookies_are_what_was_sent_and_what_was_set_since() {
        let (client, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let mut jar = CookieJar::default();
        jar.sent(client, "a", &fields("cookie", &["x=1; y=2"]));
        let set = ["z=3; Path=/", "x=; Max-Age=0", "s=4; Secure", "nonsense"];
        jar.received(client, "a", &fields("set-cookie", &set));
        assert_eq!(jar.cookie(client, "a").as_deref(), Some("y=2; z=3"));
        assert_eq!(jar.cookie(client, "b"), None);
        assert_eq!(jar.cookie(other, "a"), None);
        jar.sent(client, "a", &HeaderMap::new());
        assert_eq!(jar.cookie(client, "a"), None);
    }
}
