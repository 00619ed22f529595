//! The `Alt-Svc` field (RFC 7838): a server's alternative services.
//!
//! Parsing and writing only: its use is up to the client. A malformed field is an error, which a client ignores: the
//! field is advice. The `ALTSVC` frame of HTTP/2 (section 4) is not read: browsers do not support it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http::header::{ALT_SVC, HeaderMap, HeaderValue};
use thiserror::Error;

use crate::Progress;

/// Default freshness of an alternative (RFC 7838 section 3.1): 24 hours.
pub const USUAL_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The content of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AltSvc {
    /// All earlier alternatives are void.
    Clear,
    /// These replace all earlier alternatives, in order of preference.
    Services(Vec<Alternative>),
}

/// One alternative service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The protocol, by its ALPN name: `h3`.
    pub protocol: String,
    /// The host; none: the origin's.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
    /// Its freshness lifetime.
    pub max_age: Duration,
    /// True if it outlives a change of the client's network.
    pub persist: bool,
}

impl Alternative {
    /// HTTP/3 at a port of the same host, for the default time.
    pub fn h3(port: u16) -> Alternative {
        let protocol = "h3".to_owned();
        Alternative { protocol, host: None, port, max_age: USUAL_MAX_AGE, persist: false }
    }
}

/// Reports the field, if there is one. Only the first of several lines counts.
pub(crate) fn tell(fields: &HeaderMap, progress: &mut dyn Progress) {
    if let Some(Ok(field)) = fields.get(ALT_SVC).map(HeaderValue::to_str) {
        progress.alternatives(field);
    }
}

/// A malformed field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid Alt-Svc value `{field}`: expected {expected} at byte {at}")]
pub struct AltSvcError {
    field: String,
    at: usize,
    expected: &'static str,
}

impl FromStr for AltSvc {
    type Err = AltSvcError;

    fn from_str(field: &str) -> Result<AltSvc, AltSvcError> {
        // RFC 7838 section 3: `clear` is case-sensitive.
        if field.trim_matches(is_blank) == "clear" {
            return Ok(AltSvc::Clear);
        }
        let mut reader = FieldReader { field, at: 0 };
        let mut services = Vec::new();
        loop {
            reader.skip_blanks();
            // A list may have empty elements (RFC 9110 section 5.6.1).
            if !reader.takes(',') {
                if reader.rest().is_empty() {
                    break;
                }
                services.push(reader.alternative()?);
                reader.skip_blanks();
                if !reader.rest().is_empty() && !reader.rest().starts_with(',') {
                    return Err(reader.expected("a comma"));
                }
            }
        }
        match services.is_empty() {
            true => Err(reader.expected("an alternative")),
            false => Ok(AltSvc::Services(services)),
        }
    }
}

impl fmt::Display for AltSvc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AltSvc::Clear => f.write_str("clear"),
            AltSvc::Services(services) => {
                let texts: Vec<String> = services.iter().map(Alternative::to_string).collect();
                f.write_str(&texts.join(", "))
            }
        }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.protocol.bytes() {
            match char::from(byte) {
                letter if is_token(letter) && letter != '%' => write!(f, "{letter}")?,
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        write!(f, "=\"{}:{}\"", self.host.as_deref().unwrap_or(""), self.port)?;
        write!(f, "; ma={}", self.max_age.as_secs())?;
        if self.persist {
            f.write_str("; persist=1")?;
        }
        Ok(())
    }
}

/// Optional white space (RFC 9110 section 5.6.3).
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

/// RFC 9110 section 5.6.2.
fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}

struct FieldReader<'a> {
    field: &'a str,
    at: usize,
}

impl<'a> FieldReader<'a> {
    fn rest(&self) -> &'a str {
        &self.field[self.at..]
    }

    fn expected(&self, expected: &'static str) -> AltSvcError {
        AltSvcError { field: self.field.to_owned(), at: self.at, expected }
    }

    fn skip_blanks(&mut self) {
        self.at = self.field.len() - self.rest().trim_start_matches(is_blank).len();
    }

    fn takes(&mut self, letter: char) -> bool {
        let is_there = self.rest().starts_with(letter);
        self.at += if is_there { letter.len_utf8() } else { 0 };
        is_there
    }

    fn token(&mut self) -> Result<&'a str, AltSvcError> {
        let rest = self.rest();
        let end = rest.find(|letter| !is_token(letter)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.expected("a token"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// RFC 9110 section 5.6.4, with its escapes removed.
    fn quoted(&mut self) -> Result<String, AltSvcError> {
        if !self.takes('"') {
            return Err(self.expected("a quotation mark"));
        }
        let (mut text, mut letters) = (String::new(), self.rest().char_indices());
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += place + 1;
                    return Ok(text);
                }
                '\\' => text.extend(letters.next().map(|(_, letter)| letter)),
                _ => text.push(letter),
            }
        }
        self.at = self.field.len();
        Err(self.expected("a closing quotation mark"))
    }

    /// `protocol-id "=" alt-authority *( OWS ";" OWS parameter )`
    fn alternative(&mut self) -> Result<Alternative, AltSvcError> {
        let protocol = self.token()?;
        let protocol = percent_decoded(protocol)
            .ok_or_else(|| self.expected("a protocol's name with whole percent-encodings"))?;
        if !self.takes('=') {
            return Err(self.expected("an equals sign"));
        }
        let place = self.at;
        let authority = self.quoted()?;
        let port = authority
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        let Some((host, port)) = port else {
            self.at = place;
            return Err(self.expected("a host and a port"));
        };
        let host = (!host.is_empty()).then(|| host.to_owned());
        let (max_age, persist) = (USUAL_MAX_AGE, false);
        let mut alternative = Alternative { protocol, host, port, max_age, persist };
        loop {
            self.skip_blanks();
            if !self.takes(';') {
                return Ok(alternative);
            }
            self.skip_blanks();
            self.parameter(&mut alternative)?;
        }
    }

    /// Unknown parameters are ignored (RFC 7838 section 3.1).
    fn parameter(&mut self, alternative: &mut Alternative) -> Result<(), AltSvcError> {
        let name = self.token()?;
        if !self.takes('=') {
            return Err(self.expected("an equals sign"));
        }
        let value = match self.rest().starts_with('"') {
            true => self.quoted()?,
            false => self.token()?.to_owned(),
        };
        match name {
            "ma" => {
                let seconds = value.parse().map_err(|_| self.expected("a number of seconds"))?;
                alternative.max_age = Duration::from_secs(seconds);
            }
            "persist" => alternative.persist = value == "1",
            _ => {}
        }
        Ok(())
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, others) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = others;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn services(field: &str) -> Vec<Alternative> {
        match field.parse() {
            Ok(AltSvc::Services(services)) => services,
            other => panic!("{field}: {other:?}"),
        }
    }

    #[test]
    fn the_examples_of_rfc_7838_are_read() {
        let said = services(r#"h2=":8000""#);
        assert_eq!((said[0].protocol.as_str(), said[0].port), ("h2", 8000));
        assert_eq!(said[0].max_age, USUAL_MAX_AGE);
        let said = services(r#"h2="alt.example.com:8000", h2=":443"; ma=3600; persist=1"#);
        assert_eq!(said[0].host.as_deref(), Some("alt.example.com"));
        assert_eq!(said[1].max_age, Duration::from_secs(3600));
        assert!(said[1].persist && !said[0].persist);
        // Section 3: ALPN names are percent-encoded.
        assert_eq!(services(r#"w%3Dx%3Ay#z="h:1""#)[0].protocol, "w=x:y#z");
        assert_eq!("clear".parse(), Ok(AltSvc::Clear));
    }

    #[test]
    fn what_servers_say_today_is_read() {
        let said =
            services(r#"h3=":443"; ma=2592000,h3-29=":443"; ma=2592000,quic=":443"; v="46,43""#);
        let names: Vec<&str> = said.iter().map(|one| one.protocol.as_str()).collect();
        assert_eq!(names, ["h3", "h3-29", "quic"]);
    }

    #[test]
    fn what_says_nothing_is_told_where() {
        for (field, expected) in [
            ("", "an alternative"),
            ("h3", "an equals sign"),
            ("h3=443", "a quotation mark"),
            (r#"h3=":443"#, "a closing quotation mark"),
            (r#"h3="443""#, "a host and a port"),
            (r#"h3=":70000""#, "a host and a port"),
            (r#"h3=":443"; ma=soon"#, "a number of seconds"),
            (r#"h%3=":443""#, "whole percent-encodings"),
            (r#"h3=":443" h2=":443""#, "a comma"),
        ] {
            let error = field.parse::<AltSvc>().unwrap_err().to_string();
            assert!(error.contains(expected), "{field}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            protocol in "[a-zA-Z0-9=:%/ -]{1,12}",
            host in proptest::option::of("[a-z0-9.-]{1,20}"),
            (port, seconds, persist) in (any::<u16>(), any::<u64>(), any::<bool>()),
        ) {
            let max_age = Duration::from_secs(seconds);
            let said = AltSvc::Services(vec![Alternative { protocol, host, port, max_age, persist }; 2]);
            prop_assert_eq!(said.to_string().parse(), Ok(said));
        }

        #[test]
        fn nothing_makes_it_panic(field in ".{0,60}") {
            let _ = field.parse::<AltSvc>();
        }
    }
}
