//! Answers of PAC files: `PROXY host:port; DIRECT`.

use std::fmt;

/// Route for a URL: the first entry of a file's answer. The others are for a proxy that does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The URL's own host.
    Direct,
    /// A proxy.
    Proxy(ProxyAt),
}

/// A proxy as PAC files name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProxyAt {
    /// Keyword of its protocol.
    pub word: ProxyKeyword,
    /// Its name or address; an IPv6 address is in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// Protocol of the connection to a proxy, by its keyword in PAC files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProxyKeyword {
    /// In clear text.
    Proxy,
    /// Over TLS.
    Https,
}

impl ProxyKeyword {
    /// The default port, as in Chromium.
    fn usual_port(self) -> u16 {
        match self {
            ProxyKeyword::Proxy => 80,
            ProxyKeyword::Https => 443,
        }
    }
}

impl fmt::Display for ProxyKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProxyKeyword::Proxy => "PROXY",
            ProxyKeyword::Https => "HTTPS",
        })
    }
}

impl Choice {
    /// The first entry of an answer. An empty answer means none, as in Chromium (`ProxyList::SetFromPacString`).
    ///
    /// # Errors
    /// The error in it: "`SOCKS a:1080` names ...".
    pub(crate) fn read(answer: &str) -> Result<Choice, String> {
        let first = answer.split(';').map(str::trim).find(|entry| !entry.is_empty());
        let Some(entry) = first else { return Ok(Choice::Direct) };
        let (word, rest) = entry.split_once(char::is_whitespace).unwrap_or((entry, ""));
        let word = match word.to_ascii_uppercase().as_str() {
            "DIRECT" => return Ok(Choice::Direct),
            "PROXY" => ProxyKeyword::Proxy,
            "HTTPS" => ProxyKeyword::Https,
            "SOCKS" | "SOCKS4" | "SOCKS5" => {
                return Err(format!(
                    "`{entry}` names a proxy of SOCKS, which files are not for here: use the route `socks`"
                ));
            }
            _ => {
                return Err(format!(
                    "`{entry}` begins with an unknown keyword: supported are PROXY, HTTPS and DIRECT"
                ));
            }
        };
        let at = ProxyAt::read(word, rest.trim());
        at.map(Choice::Proxy).ok_or_else(|| format!("`{entry}` names no host and port"))
    }
}

impl ProxyAt {
    fn read(word: ProxyKeyword, authority: &str) -> Option<ProxyAt> {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => (authority, word.usual_port()),
        };
        let is_bare = host.contains(':') && !host.starts_with('[');
        let is_host = !host.is_empty() && !host.contains([' ', '/', '@']) && !is_bare;
        (is_host && port > 0).then(|| ProxyAt { word, host: host.to_ascii_lowercase(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(word: ProxyKeyword, host: &str, port: u16) -> Result<Choice, String> {
        Ok(Choice::Proxy(ProxyAt { word, host: host.to_owned(), port }))
    }

    #[test]
    fn the_first_entry_counts() {
        assert_eq!(
            Choice::read("PROXY p.test:3128; DIRECT"),
            proxy(ProxyKeyword::Proxy, "p.test", 3128)
        );
        assert_eq!(
            Choice::read(" ; https\tP.Test:8443;SOCKS s:1"),
            proxy(ProxyKeyword::Https, "p.test", 8443)
        );
        assert_eq!(Choice::read("direct"), Ok(Choice::Direct));
        assert_eq!(Choice::read(""), Ok(Choice::Direct));
    }

    #[test]
    fn ports_may_be_left_out() {
        assert_eq!(Choice::read("PROXY p"), proxy(ProxyKeyword::Proxy, "p", 80));
        assert_eq!(Choice::read("HTTPS [::1]"), proxy(ProxyKeyword::Https, "[::1]", 443));
        assert_eq!(Choice::read("PROXY [::1]:81"), proxy(ProxyKeyword::Proxy, "[::1]", 81));
    }

    #[test]
    fn what_is_no_proxy_of_http_is_refused_by_name() {
        for (answer, says) in [
            ("SOCKS5 s.test:1080; DIRECT", "`SOCKS5 s.test:1080` names a proxy of SOCKS"),
            ("QUIC q.test:443", "`QUIC q.test:443` begins with an unknown keyword"),
            ("PROXY", "`PROXY` names no host"),
            ("PROXY p:0", "`PROXY p:0` names no host and port"),
            ("PROXY p:70000", "no host and port"),
            ("PROXY http://p:1", "no host and port"),
            ("PROXY ::1", "no host and port"),
        ] {
            let error = Choice::read(answer).unwrap_err();
            assert!(error.contains(says), "{answer}: {error}");
        }
    }
}
