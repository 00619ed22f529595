//! In which order responses come: what the client asks for, and what servers make of it.

use clap::Args;

/// Arguments of `farlink load`.
#[derive(Args)]
pub struct Order {
    /// What the client prefers, and says so: chrome-2013, chrome, safari, equal, or a TOML file (default: the page's own
    /// priorities, of which HTTP/2 and HTTP/3 are told nothing; docs/priorities.md).
    #[arg(long, value_name = "NAME", help_heading = "Client")]
    pub priorities: Option<String>,

    /// Which response servers send next where several share a connection: fifo, round-robin, strict (SPDY's three bits,
    /// RFC 9218's urgency), tree (RFC 7540), rfc9218 (default: strict over SPDY, round-robin over HTTP/2; docs/priorities.md).
    #[arg(long, value_name = "NAME", help_heading = "Servers")]
    pub scheduler: Option<String>,

    /// What servers push with a document, and the client then takes: none, css, blocking (style sheets and scripts asked for ahead of
    /// images), all (default: none; h2 and spdy only; docs/priorities.md).
    #[arg(long, value_name = "WHAT", help_heading = "Servers")]
    pub push: Option<String>,

    /// The most payload of servers' DATA frames: 4KB (default: 16 KB less the room for a response's head).
    #[arg(long, value_name = "SIZE", help_heading = "Servers")]
    pub frame: Option<String>,

    /// How much may lie unsent in the servers' TCP, where it can no longer be reordered: 64KB, or unlimited (default: 16 KiB).
    #[arg(long, value_name = "SIZE", help_heading = "Servers")]
    pub unsent: Option<String>,
}
