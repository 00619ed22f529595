//! What lies before a connection's first request: names and TLS.

use clap::Args;

/// TLS beside its version, and DNS.
#[derive(Args)]
pub struct Handshake {
    /// TLS's knobs, for the arms that have TLS: resume=session (never, 0rtt), chain=4KB, key=rsa-2048 (ed25519, ecdsa-p256),
    /// staple=1.5KB, records=4KB (or dynamic), false-start=on (docs/tls.md).
    #[arg(long, value_name = "KNOBS", help_heading = "Stack")]
    pub security: Option<String>,

    /// How names become addresses: off (a hosts file), on (DNS over the network), or DNS with settings:
    /// at=first-hop,think=1ms,hit=80%,miss=100ms,ask=a+aaaa,retry=chrome,prefetch=on (docs/tls.md).
    #[arg(long, default_value = "off", value_name = "DNS", help_heading = "Network")]
    pub dns: String,
}
