//! Options of `farlink replay`, and those of replays in `farlink shell`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use replay::ReplayProtocol;
use scenario::{Quic, Stretch};

#[derive(Args)]
pub struct Replay {
    /// Recording to replay: .wacz, .warc, .warc.gz, or a HAR file with bodies.
    #[arg(value_hint = ValueHint::FilePath)]
    pub recording: PathBuf,

    /// Network, as for `load --network`. Repeat to chain several, the first next to the browser.
    #[arg(long, required = true, value_name = "NETWORK")]
    pub network: Vec<String>,

    /// Protocols of the servers, separated by commas: recorded, h1, h2, h3, spdy. Chromium does not speak SPDY.
    #[arg(long, value_delimiter = ',', default_value = "h1,h2,h3", value_name = "PROTOCOL")]
    pub protocol: Vec<ReplayProtocol>,

    #[command(flatten)]
    pub how: ReplayOptions,

    /// Loads with each protocol.
    #[arg(short = 'n', long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,

    /// Seed of random losses and jitter in the first load; later ones count up.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Seconds until a load that does not end is stopped.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,

    /// Write every load as JSON: its times, what was asked for and not recorded, and what each link delivered.
    #[arg(long, value_name = "OUT.json", value_hint = ValueHint::FilePath)]
    pub proof: Option<PathBuf>,

    /// Run Chromium without its sandbox, and as root if farlink is: for pages that you trust.
    #[arg(long)]
    pub no_sandbox: bool,

    #[command(flatten, next_help_heading = "Proxy")]
    pub proxy: ReplayProxy,
}

/// Conditions of a replay.
#[derive(Args, Clone, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Time that servers take for an answer: as fitted to the recording, or none.
    #[arg(long, value_enum, default_value_t)]
    pub think: ReplayThink,

    /// Distances of servers beyond the network: as fitted to the recording, or all equal.
    #[arg(long, value_enum, default_value_t)]
    pub origins: ReplayOrigins,

    /// Names of the recording: looked up over the network, or known beforehand.
    #[arg(long, value_enum, default_value_t)]
    pub names: ReplayNames,

    /// QUIC settings of HTTP/3's servers: cc=cubic-hystart,iw=32 is close to Google's and Caddy's (docs/quic.md).
    #[arg(long, value_name = "KNOBS")]
    pub quic: Option<Quic>,

    /// Fix Math.random and the date in documents, so that pages ask for the URLs of the recording.
    #[arg(long)]
    pub deterministic: bool,
}

/// A proxy in front of the replay's servers.
#[derive(Args, Clone, Default, PartialEq, Eq)]
pub struct ReplayProxy {
    /// Load through `farlink proxy` at the network's far end, too, with this configuration. Its port, its clients and destinations, and the
    /// authority by which it intercepts TLS are the replay's.
    #[arg(long = "proxy", value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Cache of the proxy when the load begins: empty, or as after another visitor's load of the recorded page.
    #[arg(long = "proxy-cache", value_enum, default_value_t, requires = "config")]
    pub cache: ProxyCache,

    /// Round trip between the network's far end and the servers, besides their own distances.
    #[arg(long = "proxy-rtt", value_name = "TIME", default_value = "0ms", value_parser = proxy_rtt)]
    pub rtt: Duration,
}

/// Cache of a proxy when a load begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProxyCache {
    /// Empty.
    #[default]
    Cold,
    /// As after another visitor's load of the recorded page.
    Primed,
}

fn proxy_rtt(text: &str) -> Result<Duration, String> {
    Stretch::parse_rtt(text).map(Duration::from_nanos)
}

/// Time that replayed servers take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReplayThink {
    /// Fitted to the recording.
    #[default]
    Recorded,
    /// None.
    None,
}

/// Distances of replayed servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReplayOrigins {
    /// Fitted to the recording.
    #[default]
    Recorded,
    /// All equal.
    Equal,
}

/// Resolution of replayed names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReplayNames {
    /// By a name server beyond the network.
    #[default]
    Dns,
    /// By a hosts file.
    Hosts,
}

/// Options of `farlink shell --replay`.
#[derive(Args, Clone)]
pub struct ShellReplay {
    /// Serve the hosts of a recording at the far side, under their names: .wacz, .warc, .warc.gz, or a HAR file with bodies.
    #[arg(long = "replay", value_name = "RECORDING", value_hint = ValueHint::FilePath, help_heading = "Replay")]
    pub recording: Option<PathBuf>,

    /// Protocol of the replayed servers: recorded, h1, h2, h3 or spdy.
    #[arg(
        long = "replay-protocol",
        value_name = "PROTOCOL",
        default_value = "recorded",
        requires = "recording",
        help_heading = "Replay"
    )]
    pub protocol: ReplayProtocol,

    #[command(flatten, next_help_heading = "Replay")]
    pub how: ReplayOptions,

    #[command(flatten, next_help_heading = "Replay")]
    pub proxy: ReplayProxy,
}
