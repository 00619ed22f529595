//! Names to addresses: a hosts map, then nothing else.
//!
//! DNS packets are `http::dns`'s business; a world only knows the names that its plan gave it, and
//! addresses written as such.

use std::io;
use std::net::IpAddr;

use crate::ambient;

/// The address of `name`: from the world's hosts map, or `name` itself if it is an address.
///
/// # Errors
/// [`io::ErrorKind::NotFound`], naming the host.
pub fn resolve(name: &str) -> io::Result<IpAddr> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    ambient::with_common(|common| common.hosts.get(name).copied()).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("no address is known for the host `{name}`"),
        )
    })
}
