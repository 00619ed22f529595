//! The machine's resolver: `getaddrinfo`, hence `/etc/hosts` and the configured name servers.

use std::io;
use std::net::IpAddr;

/// The addresses of `name`, in the resolver's order (RFC 6724).
pub(crate) async fn lookup(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for found in tokio::net::lookup_host((name, 0)).await? {
        if !addresses.contains(&found.ip()) {
            addresses.push(found.ip());
        }
    }
    match addresses.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, format!("`{name}` has no address"))),
        false => Ok(addresses),
    }
}
