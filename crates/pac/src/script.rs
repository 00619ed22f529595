//! A PAC file's text, and the URLs that it sees.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use super::PacError;

/// Maximum size of a file, in bytes: Chromium's limit (`kDefaultMaxResponseBytes` in
/// `net/proxy_resolution/pac_file_fetcher_impl.cc`).
const MOST_BYTES: u64 = 1 << 20;

/// A PAC file, read but not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacScript {
    /// The file's name in errors.
    pub name: String,
    /// The source text.
    pub text: Arc<str>,
}

impl PacScript {
    /// The file at `path`. Bytes that are not UTF-8 are taken for Latin-1, as in browsers.
    ///
    /// # Errors
    /// If it cannot be read, or is larger than a mebibyte.
    pub fn open(path: &str) -> Result<PacScript, PacError> {
        let unreadable = |error| PacError::Unreadable { name: path.to_owned(), error };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(PacError::TooLarge { name: path.to_owned() });
        }
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect());
        Ok(PacScript::new(path, text.trim_start_matches('\u{feff}')))
    }

    /// A file of this name with this text.
    pub fn new(name: &str, text: &str) -> PacScript {
        PacScript { name: name.to_owned(), text: text.into() }
    }
}

/// The URL as Chromium shows it to a file (`SanitizeUrl` in
/// `net/proxy_resolution/configured_proxy_resolution_service.cc`): an `https` URL without path and query, any URL
/// without fragment.
pub fn shown(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let Some(rest) = url.strip_prefix("https://") else { return url.to_owned() };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    format!("https://{authority}/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tls_hides_is_hidden_from_the_file() {
        assert_eq!(shown("https://a.test:8443/secret?x=1#y"), "https://a.test:8443/");
        assert_eq!(shown("https://a.test?x=1"), "https://a.test/");
        assert_eq!(shown("http://a.test/x.png?y=1#z"), "http://a.test/x.png?y=1");
    }
}
