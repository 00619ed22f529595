//! Names to addresses: a hosts map, then nothing else.
//!
//! DNS packets are `http::dns`'s business; a world only knows the names that its plan gave it, and
//! addresses written as such.

use std::io;
use std::net::IpAddr;

use crate::ambient;

/// The address of `name`: from the world's hosts map, which may also move an address; else `name`
/// itself if it is one.
///
/// # Errors
/// [`io::ErrorKind::NotFound`], naming the host.
pub fn resolve(name: &str) -> io::Result<IpAddr> {
    let listed = ambient::with_common(|common| common.hosts.get(name).copied());
    listed.or_else(|| name.parse().ok()).ok_or_else(|| {
        let message = format!("no address is known for the host `{name}`");
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}
