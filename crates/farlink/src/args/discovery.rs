//! How HTTP/3 is found.

use clap::Args;

/// Of arms that run on QUIC.
#[derive(Args)]
pub struct Discovery {
    /// How a browser comes to know that a server speaks HTTP/3: straight (prior knowledge), alt-svc (a response over HTTP/2 says
    /// so; then QUIC races TCP as in Chrome), or https-record (DNS says so with the address; needs --dns: docs/quic.md).
    #[arg(long, default_value = "straight", value_name = "HOW", help_heading = "Stack")]
    pub h3_discovery: String,

    /// Drop all UDP in front of the servers, as some networks do: QUIC reaches nobody.
    #[arg(long, help_heading = "Network")]
    pub block_udp: bool,
}

impl Discovery {
    /// Whether something was asked for that is not there by itself.
    pub fn is_asked_for(&self) -> bool {
        self.block_udp || self.h3_discovery != "straight"
    }
}
