//! How servers keep connections.

use clap::Args;

#[derive(Args)]
pub struct KeepAlive {
    /// How long servers keep idle connections of HTTP/1.1, and for how many requests: idle=5s, requests=100, or both with a
    /// comma (default: 75 s, any number; docs/browsers.md).
    #[arg(long, value_name = "idle=TIME,requests=N", help_heading = "Servers")]
    pub keep_alive: Option<String>,
}
