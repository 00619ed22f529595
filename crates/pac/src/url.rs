//! URLs as shown to PAC files.

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
