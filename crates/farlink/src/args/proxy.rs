//! `farlink proxy` and `farlink pep`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use proxy::config::{Address, Network, Size};

#[derive(Args)]
pub struct Proxy {
    /// Read the whole configuration from this TOML file (docs/proxy.md). SIGHUP reads it again.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["listen", "allow", "reach", "reverse", "cache", "admin", "log"])]
    pub config: Option<PathBuf>,

    /// Check this TOML file, show its effect on a proxy, and start none.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, exclusive = true)]
    pub check: Option<PathBuf>,

    /// Read a password from standard input and print the line of this user for a users' file.
    #[arg(long, value_name = "NAME", exclusive = true)]
    pub hash_password: Option<String>,

    /// Create a certificate authority for the table [intercept]: DIR/ca.pem, which clients are to trust, and its
    /// key, DIR/ca-key.pem.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, exclusive = true)]
    pub new_ca: Option<PathBuf>,

    /// Listen on this address, or on several ports: 127.0.0.1:8001-8020 (default: 127.0.0.1:3128; may be given
    /// several times).
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<Address>,

    /// Serve clients of this network: 10.0.0.0/8 (default: all, but then listeners must be on loopback; may be given
    /// several times).
    #[arg(long, value_name = "NETWORK")]
    pub allow: Vec<Network>,

    /// Allow clients to reach this network through the proxy although it is private, loopback or similar (may be given
    /// several times).
    #[arg(long, value_name = "NETWORK")]
    pub reach: Vec<Network>,

    /// Act as a reverse proxy for the origin at URL, for requests to HOST (default: any); then the proxy is not a
    /// forward proxy (may be given several times): www.example.com=http://127.0.0.1:8000.
    #[arg(long, value_name = "[HOST=]URL")]
    pub reverse: Vec<String>,

    /// Cache responses in this much memory: 256MiB.
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Size>,

    /// Serve metrics and health on this address: 127.0.0.1:9180.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub admin: Option<Address>,

    /// Log requests to standard output, as lines of JSON.
    #[arg(long)]
    pub log: bool,

    /// Number of worker threads (default: the file's, else one per core).
    #[arg(long, value_name = "N")]
    pub workers: Option<NonZeroUsize>,
}

#[derive(Subcommand)]
pub enum Pep {
    /// The near end: on the clients' side of the satellite.
    Local(PepEnd),
    /// The far end: on the servers' side of it.
    Remote(PepEnd),
    /// Generate an end's key: print it, and its public key to standard error.
    Key,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct PepEnd {
    /// Use this TOML file (docs/pep.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Check this TOML file, show its effect, and do nothing.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub check: Option<PathBuf>,
}

impl PepEnd {
    /// The configuration file, from either option.
    pub fn file(&self) -> &Path {
        let named = self.config.as_ref().or(self.check.as_ref());
        named.expect("one of both is required")
    }
}
