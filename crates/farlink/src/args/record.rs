//! Options of `farlink record` and `farlink archive`.

use std::ffi::OsString;
use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand, ValueHint};
use proxy::config::{Address, ConfigNetwork};

#[derive(Args)]
pub struct Record {
    /// Pages to record, one after the other by the same visitor: URLs of http: or https:.
    #[arg(value_name = "URL", value_hint = ValueHint::Url, required_unless_present_any = ["no_browser", "from_devtools"], conflicts_with_all = ["no_browser", "from_devtools"])]
    pub urls: Vec<String>,

    /// File to write: .har (a HAR with bodies), .wacz (a web archive, which replayweb.page opens), or with --no-browser
    /// .warc.gz. By default a HAR file named after the host and path, in the working directory, or recording.wacz.
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

    /// Run a command of sh before the first page: a script of Playwright or Puppeteer that logs in, with the browser's DevTools
    /// address in FARLINK_DEVTOOLS.
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, conflicts_with_all = ["no_browser", "from_devtools"])]
    pub script: Option<String>,

    /// Record from standard input: the text of "Copy all as HAR" in a browser's DevTools.
    #[arg(long, conflicts_with_all = ["no_browser", "connect_to", "insecure", "accept_key", "h3_hosts", "settle", "timeout", "viewport", "no_sandbox"])]
    pub from_devtools: bool,

    /// Record what any client sends through a proxy, until the COMMAND ends or Ctrl-C.
    #[arg(long, conflicts_with_all = ["connect_to", "accept_key", "h3_hosts", "settle", "timeout", "viewport", "no_sandbox"])]
    pub no_browser: bool,

    /// Address of the proxy (default: 127.0.0.1:8080, or a free port for a COMMAND).
    #[arg(long, value_name = "ADDRESS:PORT", requires = "no_browser")]
    pub listen: Option<Address>,

    /// Network of clients that the proxy serves: 192.168.1.0/24 (default: all, which requires a loopback address;
    /// repeatable).
    #[arg(long, value_name = "NETWORK", requires = "no_browser")]
    pub allow: Vec<ConfigNetwork>,

    /// Directory of the proxy's certificate authority, made if it is absent: clients must trust DIR/ca.pem (default:
    /// farlink/ca in the user's data directory; a COMMAND is told of one of its own).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "no_browser")]
    pub ca: Option<PathBuf>,

    /// Authorities that the proxy trusts (PEM), instead of the system's.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "no_browser", conflicts_with = "insecure")]
    pub trust: Option<PathBuf>,

    /// Client to run: the proxy and its authority are in http_proxy, SSL_CERT_FILE and the like.
    #[arg(last = true, value_name = "COMMAND", requires = "no_browser")]
    pub command: Vec<OsString>,
}

const SETTLE: u64 = 2;
const TIMEOUT: u64 = 60;

impl Record {
    /// The usual options.
    pub fn of(url: &str) -> Record {
        Record {
            urls: vec![url.to_owned()],
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
            script: None,
            from_devtools: false,
            no_browser: false,
            listen: None,
            allow: Vec::new(),
            ca: None,
            trust: None,
            command: Vec::new(),
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
    /// Put the pages of several recordings into one file. `farlink load --page 2` loads the second.
    Merge {
        /// Recordings, as for `ls`.
        #[arg(required = true, num_args = 2.., value_hint = ValueHint::AnyPath)]
        files: Vec<PathBuf>,
        /// File to write: .wacz or .har.
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
    },
}
