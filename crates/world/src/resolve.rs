//! Name resolution: a world's hosts map; then, in the real one, the machine's resolver.
//!
//! DNS packets belong to `http::dns`; a world only knows the names that its plan gave it, and
//! literal addresses.

use std::io;
use std::net::IpAddr;

use crate::ambient::{self, WorldKind};

/// The address of `name`: from the world's hosts map, which may also map an address to another; otherwise `name`
/// itself if it is one.
///
/// # Errors
/// [`io::ErrorKind::NotFound`], naming the host.
pub fn resolve(name: &str) -> io::Result<IpAddr> {
    let listed = ambient::with_common(|common| common.hosts.get(name).copied());
    listed.or_else(|| name.parse().ok()).ok_or_else(|| {
        let message = format!("unknown host `{name}`");
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

/// The addresses of `name`, in order of preference: from [`resolve`], otherwise, in the real world, from the machine's resolver.
///
/// # Errors
/// If there is none.
pub async fn lookup(name: &str) -> io::Result<Vec<IpAddr>> {
    match resolve(name) {
        Ok(address) => Ok(vec![address]),
        Err(error) if ambient::kind() == WorldKind::Sim => Err(error),
        Err(_) => system_lookup(name).await,
    }
}

/// The addresses of `name` from the machine's resolver (`getaddrinfo`, hence `/etc/hosts` and the configured name servers), in its order (RFC 6724).
async fn system_lookup(name: &str) -> io::Result<Vec<IpAddr>> {
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
