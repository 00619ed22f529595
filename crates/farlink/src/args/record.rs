//! Options of `farlink record` and `farlink archive`.

use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand, ValueHint};

#[derive(Args)]
pub struct Record {
    /// Page to record: a URL of http: or https:.
    #[arg(value_hint = ValueHint::Url)]
    pub url: String,

    /// File to write: .har (a HAR with bodies), or .wacz (a web archive, which replayweb.page opens). By default a HAR file
    /// named after the host and path, in the working directory.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Connect to this address for a host instead of looking up its name. Repeatable.
    #[arg(long, value_name = "NAME=ADDRESS:PORT", value_hint = ValueHint::Other)]
    pub connect_to: Vec<ConnectTo>,

    /// Accept every certificate.
    #[arg(long)]
    pub insecure: bool,

    /// Accept certificates with this public key: the SHA-256 of its SubjectPublicKeyInfo as base64. Repeatable.
    #[arg(long, value_name = "HASH", value_hint = ValueHint::Other)]
    pub accept_key: Vec<KeyHash>,

    /// Speak HTTP/3 with this host from the first request on. Repeatable.
    #[arg(long = "h3", value_name = "NAME", value_hint = ValueHint::Hostname)]
    pub h3_hosts: Vec<String>,

    /// Keep the values of cookies and authorization fields (default: replaced by as many `x`).
    #[arg(long)]
    pub keep_credentials: bool,

    /// Seconds without events after the load event, after which the recording ends; at most five times as long.
    #[arg(long, default_value_t = SETTLE, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub settle: u64,

    /// Seconds until the recording of a page that does not load ends.
    #[arg(long, default_value_t = TIMEOUT, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,

    /// Width and height of the window in pixels.
    #[arg(long, default_value_t = WindowSize::default(), value_name = "WIDTHxHEIGHT", value_hint = ValueHint::Other)]
    pub viewport: WindowSize,

    /// Run Chromium without its sandbox, and as root if farlink is: for pages that you trust.
    #[arg(long)]
    pub no_sandbox: bool,
}

const SETTLE: u64 = 2;
const TIMEOUT: u64 = 60;

impl Record {
    /// The usual options.
    pub fn of(url: &str) -> Record {
        Record {
            url: url.to_owned(),
            output: None,
            connect_to: Vec::new(),
            insecure: false,
            accept_key: Vec::new(),
            h3_hosts: Vec::new(),
            keep_credentials: false,
            settle: SETTLE,
            timeout: TIMEOUT,
            viewport: WindowSize::default(),
            no_sandbox: false,
        }
    }
}

/// A host and the address to connect to for it.
#[derive(Clone, Debug)]
pub struct ConnectTo {
    pub name: String,
    pub address: SocketAddr,
}

impl FromStr for ConnectTo {
    type Err = String;

    fn from_str(text: &str) -> Result<ConnectTo, String> {
        const FORM: &str = "write NAME=ADDRESS:PORT, as in shop.example=127.0.0.1:8443";
        let (name, address) = text.split_once('=').ok_or(FORM)?;
        let address = address.parse().map_err(|_| format!("`{address}`: {FORM}"))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*');
        match !name.is_empty() && name.chars().all(is_name) {
            true => Ok(ConnectTo { name: name.to_owned(), address }),
            false => Err(format!("`{name}` is not a host's name; {FORM}")),
        }
    }
}

/// The SHA-256 of a public key.
#[derive(Clone, Copy, Debug)]
pub struct KeyHash(pub [u8; 32]);

impl FromStr for KeyHash {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyHash, String> {
        let decoded = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        decoded.map(KeyHash).ok_or_else(|| {
            "write 32 bytes as base64, as `openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64` \
             prints"
                .to_owned()
        })
    }
}

/// Size of a window in pixels.
#[derive(Clone, Copy, Debug)]
pub struct WindowSize {
    pub width: u32,
    pub height: u32,
}

impl Default for WindowSize {
    /// WebPageTest's desktop viewport.
    fn default() -> WindowSize {
        WindowSize { width: 1366, height: 768 }
    }
}

impl Display for WindowSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for WindowSize {
    type Err = String;

    fn from_str(text: &str) -> Result<WindowSize, String> {
        let side = |text: &str| text.parse().ok().filter(|side| (100..=10_000).contains(side));
        let sides = text.split_once('x').and_then(|(w, h)| Some((side(w)?, side(h)?)));
        let (width, height) =
            sides.ok_or("write WIDTHxHEIGHT, each from 100 to 10000 pixels, as in 1366x768")?;
        Ok(WindowSize { width, height })
    }
}

#[derive(Subcommand)]
pub enum Archive {
    /// List the requests of a recording.
    Ls {
        /// Recording: .wacz, .warc, .warc.gz, .wprgo, a HAR file with bodies, or a folder of Mahimahi's.
        #[arg(value_hint = ValueHint::AnyPath)]
        file: PathBuf,
    },
    /// Print the body of a response.
    Cat {
        /// Recording, as for `ls`.
        #[arg(value_hint = ValueHint::AnyPath)]
        file: PathBuf,
        /// URL of the response, as `farlink archive ls` lists it.
        #[arg(value_hint = ValueHint::Url)]
        url: String,
    },
    /// Compare two recordings: requests of one alone, and responses that differ. Exit code 1 if they do.
    Diff {
        /// First recording, as for `ls`.
        #[arg(value_hint = ValueHint::AnyPath)]
        one: PathBuf,
        /// Second recording.
        #[arg(value_hint = ValueHint::AnyPath)]
        other: PathBuf,
    },
    /// Redact cookies, authorization fields and more, in a copy.
    Scrub {
        /// Recording, as for `ls`.
        #[arg(value_hint = ValueHint::AnyPath)]
        file: PathBuf,
        /// Redact this header field, too. Repeatable.
        #[arg(long, value_name = "NAME")]
        field: Vec<String>,
        /// File to write: .wacz or .har.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
    },
    /// Convert a recording, other recorders' too, to a web archive or a HAR file. Credentials are redacted.
    Import {
        /// Recording, as for `ls`.
        #[arg(value_hint = ValueHint::AnyPath)]
        file: PathBuf,
        /// File to write: .wacz or .har.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Keep the values of cookies and authorization fields.
        #[arg(long)]
        keep_credentials: bool,
    },
}
