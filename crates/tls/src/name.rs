//! The name of the server that a handshake asks for.

use std::io;

use rustls::pki_types::ServerName;

/// The longest label in DNS, in bytes (RFC 1035, section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// The server called `host`: a DNS name or an address, an IPv6 address with or without brackets.
///
/// # Errors
/// If it is neither; the message gives the reason.
pub fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let name = ServerName::try_from(unbracketed(host)).map(|name| name.to_owned());
    name.map_err(|_| {
        let label = host.split('.').find(|label| label.len() > LONGEST_LABEL);
        let message = match label {
            Some(label) => format!(
                "`{host}` is no host name: its label `{label}` has {} bytes, and DNS allows {LONGEST_LABEL}",
                label.len()
            ),
            None => format!("`{host}` is neither a DNS name nor an address that TLS could ask for"),
        };
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

/// A host as TLS names it: without the brackets that a URL puts around an IPv6 address (RFC 3986, section 3.2.2).
pub fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses() {
        for host in ["a.test", "[2001:db8::7]", "2001:db8::7", "192.0.2.1", "a_b.test"] {
            assert!(server_name(host).is_ok(), "{host}");
        }
        assert!(matches!(server_name("[::1]"), Ok(ServerName::IpAddress(_))));
        let long = format!("{}.test", "a".repeat(64));
        let error = server_name(&long).unwrap_err().to_string();
        assert!(error.contains("has 64 bytes, and DNS allows 63"), "{error}");
        assert!(server_name(&format!("{}.test", "a".repeat(63))).is_ok());
        assert!(server_name("a b").is_err());
    }
}
