//! `farlink proxy` and `farlink pep`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use proxy::config::{Address, ConfigNetwork, Size};

#[derive(Args)]
pub struct Proxy {
    /// Configuration file (TOML; docs/proxy.md). SIGHUP reloads it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["listen", "allow", "reach", "reverse", "cache", "compress", "admin", "log"])]
    pub config: Option<PathBuf>,

    /// Check a configuration file, print what it does, and exit.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, exclusive = true)]
    pub check: Option<PathBuf>,

    /// Read a password from standard input and print this user's line for a users file.
    #[arg(long, value_name = "NAME", exclusive = true)]
    pub hash_password: Option<String>,

    /// Create a certificate authority for [intercept]: the certificate DIR/ca.pem, which clients must trust, and the
    /// key DIR/ca-key.pem.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, exclusive = true)]
    pub new_ca: Option<PathBuf>,

    /// Address to listen on, with one port or a range: 127.0.0.1:8001-8020 (default: 127.0.0.1:3128; repeatable).
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<Address>,

    /// Network of clients to serve: 10.0.0.0/8 (default: all, which requires a loopback listener; repeatable).
    #[arg(long, value_name = "NETWORK")]
    pub allow: Vec<ConfigNetwork>,

    /// Private, loopback or similar network that clients may reach through the proxy (repeatable).
    #[arg(long, value_name = "NETWORK")]
    pub reach: Vec<ConfigNetwork>,

    /// Reverse-proxy requests for HOST (default: any) to the origin at URL, which disables forward proxying:
    /// www.example.com=http://127.0.0.1:8000 (repeatable).
    #[arg(long, value_name = "[HOST=]URL")]
    pub reverse: Vec<String>,

    /// Memory for cached responses: 256MiB (default: no cache).
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Size>,
    /// Compress text for clients that accept it (br, zstd, gzip).
    #[arg(long)]
    pub compress: bool,

    /// Address to serve /metrics and /health on: 127.0.0.1:9180.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub admin: Option<Address>,

    /// Log requests to standard output as JSON lines.
    #[arg(long)]
    pub log: bool,

    /// Number of worker threads (default: from the file, else one per core).
    #[arg(long, value_name = "N")]
    pub workers: Option<NonZeroUsize>,
}

#[derive(Subcommand)]
pub enum Pep {
    /// Run the near end, on the clients' side.
    Local(PepEnd),
    /// Run the far end, on the servers' side.
    Remote(PepEnd),
    /// Generate a private key; its public key goes to standard error.
    Key,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct PepEnd {
    /// Configuration file (TOML; docs/pep.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Check a configuration file, print what it does, and exit.
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
