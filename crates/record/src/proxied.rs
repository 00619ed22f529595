//! A proxy's handling of one request: the steps of erman2013's Figure 8.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A proxy's handling of one request, timed by the proxy's own clock, which is the journey's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxied {
    /// Address of the client, if known. Not part of the detail: a visit's events are its client's.
    pub client: Option<IpAddr>,
    /// Number of proxies between the client and this one.
    pub behind: u32,
    /// URL requested.
    pub url: String,
    /// Arrival of the request.
    pub asked_at_ns: u64,
    /// Arrival of the first byte of the origin's response, if an origin was asked.
    pub origin_first_ns: Option<u64>,
    /// Arrival of the last byte of the origin's response.
    pub origin_last_ns: Option<u64>,
    /// Time at which the first byte of the response was sent to the client.
    pub client_first_ns: Option<u64>,
    /// Time at which the last byte was handed to the transport.
    pub client_last_ns: Option<u64>,
    /// Outcome, in the words of the proxy's log: `passed`, `hit`, `tunnelled`, ...
    pub outcome: String,
}

impl Proxied {
    /// The detail of its [event](crate::EventKind::Proxied): spans since the request's arrival, in nanoseconds.
    pub fn detail(&self) -> String {
        self.to_string()
    }

    /// Parses the detail of a request that arrived at `asked_at_ns`; `None` if it has another form.
    pub fn read(asked_at_ns: u64, detail: &str) -> Option<Proxied> {
        let mut proxied = Proxied { asked_at_ns, ..Proxied::default() };
        let mut rest = detail;
        // The URL comes last, as it may contain anything.
        while !rest.starts_with(URL) {
            let (step, behind) = rest.split_once(SEPARATOR)?;
            let (name, value) = step.split_once(' ')?;
            let at = || Some(Some(asked_at_ns + value.strip_suffix(NS)?.parse::<u64>().ok()?));
            match name {
                "outcome" => proxied.outcome = value.to_owned(),
                "behind" => proxied.behind = value.parse().ok()?,
                "origin-first" => proxied.origin_first_ns = at()?,
                "origin-last" => proxied.origin_last_ns = at()?,
                "client-first" => proxied.client_first_ns = at()?,
                "client-last" => proxied.client_last_ns = at()?,
                _ => return None,
            }
            rest = behind;
        }
        proxied.url = rest.strip_prefix(URL)?.to_owned();
        Some(proxied)
    }
}

const SEPARATOR: &str = ", ";
const NS: &str = "ns";
const URL: &str = "of ";

impl fmt::Display for Proxied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "outcome {}{SEPARATOR}", self.outcome)?;
        if self.behind > 0 {
            write!(f, "behind {}{SEPARATOR}", self.behind)?;
        }
        for (name, at) in [
            ("origin-first", self.origin_first_ns),
            ("origin-last", self.origin_last_ns),
            ("client-first", self.client_first_ns),
            ("client-last", self.client_last_ns),
        ] {
            if let Some(at) = at {
                write!(f, "{name} {}{NS}{SEPARATOR}", at.saturating_sub(self.asked_at_ns))?;
            }
        }
        write!(f, "{URL}{}", self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let whole = Proxied {
            client: None,
            behind: 0,
            url: "http://a.test/b, of c?d".to_owned(),
            asked_at_ns: 1_000,
            origin_first_ns: Some(1_500),
            origin_last_ns: Some(1_700),
            client_first_ns: Some(1_600),
            client_last_ns: Some(1_800),
            outcome: "passed".to_owned(),
        };
        let text = "outcome passed, origin-first 500ns, origin-last 700ns, client-first 600ns, client-last 800ns, of http://a.test/b, of c?d";
        assert_eq!(whole.detail(), text);
        assert_eq!(Proxied::read(1_000, text), Some(whole.clone()));
        let second = Proxied { behind: 1, ..whole };
        assert!(second.detail().starts_with("outcome passed, behind 1, origin-first"));
        assert_eq!(Proxied::read(1_000, &second.detail()), Some(second));
        let (url, outcome) = ("http://a.test/".to_owned(), "hit".to_owned());
        let least = Proxied { url, outcome, ..Proxied::default() };
        assert_eq!(Proxied::read(0, &least.detail()), Some(least));
        assert_eq!(Proxied::read(0, "1500 bytes, down"), None);
    }
}
