//! Configuration files of `farlink pep local` and `farlink pep remote`: their syntax, and the resolved settings.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use quic::Transport;
use serde::Deserialize;
use thiserror::Error;
use units::parse;

use crate::leg::{self, Fec, LegQuic, LegTransport, MOST_IN_GROUP, PrivateKey, PublicKey};
use crate::local::{self, ForwardTarget};
use crate::remote::Reach;
use crate::{http, remote};

/// A configuration that is refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("{path} cannot be read: {cause}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// Not TOML, or not what is expected there. The TOML reader's message shows the place.
    #[error("{path}: {cause}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Place and problem.
        cause: toml::de::Error,
    },
    /// An invalid value.
    #[error("{path}: {field}: {problem}", path = path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// The problem.
        problem: String,
    },
}

/// Resolved configuration of `farlink pep local`.
#[derive(Debug)]
pub struct LocalPlan {
    /// The near end's settings.
    pub settings: local::NearSettings,
    /// Its key, and the far end's.
    pub keys: (PrivateKey, PublicKey),
    /// Its listeners.
    pub listeners: Vec<PepListener>,
    /// Address of its metrics.
    pub metrics: Option<SocketAddr>,
}

/// A listener of a near end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PepListener {
    /// The address.
    pub at: SocketAddr,
    /// Destination of its connections.
    pub target: ForwardTarget,
    /// True if the kernel hands over connections to other addresses (`TPROXY`).
    pub transparent: bool,
}

/// Resolved configuration of `farlink pep remote`.
#[derive(Debug)]
pub struct RemotePlan {
    /// The far end's settings.
    pub settings: remote::FarSettings,
    /// Its key, and the near end's.
    pub keys: (PrivateKey, PublicKey),
    /// Address to listen on for near ends.
    pub listen: SocketAddr,
    /// Address of its metrics.
    pub metrics: Option<SocketAddr>,
}

/// The file of `farlink pep local`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LocalFile {
    far: SocketAddr,
    key: PathBuf,
    peer: String,
    #[serde(default = "one")]
    channels: usize,
    #[serde(default)]
    bypass: Vec<String>,
    #[serde(default = "http_ports")]
    http_ports: Vec<u16>,
    idle: Option<String>,
    metrics: Option<SocketAddr>,
    #[serde(default)]
    leg: LegFile,
    #[serde(default)]
    forward: Vec<ForwardFile>,
    #[serde(default)]
    intercept: Vec<InterceptFile>,
}

/// `[[forward]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ForwardFile {
    listen: SocketAddr,
    to: SocketAddr,
}

/// `[[intercept]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct InterceptFile {
    listen: SocketAddr,
    by: InterceptMeans,
}

/// Means by which the kernel redirects connections to the near end.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InterceptMeans {
    Redirect,
    Tproxy,
}

/// `[leg]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct LegFile {
    over: Option<OverFile>,
    fec: Option<u8>,
    initial_window: Option<u32>,
    streams: Option<u32>,
    stream_window: Option<String>,
    keep_alive: Option<String>,
    dead_after: Option<String>,
    congestion: Option<String>,
}

/// Values of `[leg]` for its transport.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OverFile {
    Tcp,
    Quic,
}

/// The file of `farlink pep remote`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RemoteFile {
    listen: SocketAddr,
    key: PathBuf,
    peer: String,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    also: Vec<String>,
    idle: Option<String>,
    metrics: Option<SocketAddr>,
    #[serde(default)]
    leg: LegFile,
    #[serde(default)]
    prefetch: PrefetchFile,
}

/// `[prefetch]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct PrefetchFile {
    depth: Option<u32>,
    objects: Option<usize>,
    object_size: Option<String>,
    page_size: Option<String>,
    at_once: Option<usize>,
    compression: Option<CompressionFile>,
}

/// Values of `[prefetch]` for compression.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CompressionFile {
    Deflate,
    None,
}

fn one() -> usize {
    1
}

fn http_ports() -> Vec<u16> {
    vec![80]
}

impl LocalPlan {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn load(path: &Path) -> Result<LocalPlan, ConfigError> {
        LocalPlan::parse(path, &read(path)?)
    }

    fn parse(path: &Path, text: &str) -> Result<LocalPlan, ConfigError> {
        let at = ConfigPath(path);
        let file: LocalFile = at.toml(text)?;
        let mut settings = local::NearSettings::new(file.far);
        settings.channels = file.channels;
        at.check(file.channels > 0 && file.channels <= 64, "channels", "1 to 64 were expected")?;
        settings.bypass = at.networks("bypass", &file.bypass)?;
        settings.http_ports = file.http_ports;
        settings.leg = at.leg(&file.leg)?;
        let is_one = matches!(settings.leg.over, LegTransport::Tcp) || file.channels == 1;
        at.check(is_one, "channels", "a leg over QUIC is one connection: 1 was expected")?;
        at.span("idle", file.idle.as_deref(), &mut settings.idle)?;
        let forwards = file.forward.iter().map(|forward| PepListener {
            at: forward.listen,
            target: ForwardTarget::Fixed(forward.to),
            transparent: false,
        });
        let intercepts = file.intercept.iter().map(|intercept| PepListener {
            at: intercept.listen,
            target: ForwardTarget::Asked,
            transparent: intercept.by == InterceptMeans::Tproxy,
        });
        let listeners: Vec<PepListener> = forwards.chain(intercepts).collect();
        let problem = "at least one [[forward]] or [[intercept]] was expected";
        at.check(!listeners.is_empty(), "forward", problem)?;
        let keys = at.keys(&file.key, &file.peer)?;
        Ok(LocalPlan { settings, keys, listeners, metrics: file.metrics })
    }
}

impl RemotePlan {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn load(path: &Path) -> Result<RemotePlan, ConfigError> {
        RemotePlan::parse(path, &read(path)?)
    }

    fn parse(path: &Path, text: &str) -> Result<RemotePlan, ConfigError> {
        let at = ConfigPath(path);
        let file: RemoteFile = at.toml(text)?;
        let mut settings =
            remote::FarSettings { leg: at.leg(&file.leg)?, ..remote::FarSettings::default() };
        settings.reach = Reach {
            only: at.networks("only", &file.only)?,
            also: at.networks("also", &file.also)?,
        };
        at.span("idle", file.idle.as_deref(), &mut settings.idle)?;
        settings.http = at.prefetch(&file.prefetch)?;
        let keys = at.keys(&file.key, &file.peer)?;
        Ok(RemotePlan { settings, keys, listen: file.listen, metrics: file.metrics })
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path)
        .map_err(|cause| ConfigError::Unreadable { path: path.to_owned(), cause })
}

/// The file that is being read.
struct ConfigPath<'a>(&'a Path);

impl ConfigPath<'_> {
    fn toml<T: serde::de::DeserializeOwned>(&self, text: &str) -> Result<T, ConfigError> {
        toml::from_str(text)
            .map_err(|cause| ConfigError::Malformed { path: self.0.to_owned(), cause })
    }

    fn wrong(&self, field: &'static str, problem: impl ToString) -> ConfigError {
        ConfigError::Value { path: self.0.to_owned(), field, problem: problem.to_string() }
    }

    fn check(&self, holds: bool, field: &'static str, problem: &str) -> Result<(), ConfigError> {
        if holds { Ok(()) } else { Err(self.wrong(field, problem)) }
    }

    fn span(
        &self,
        field: &'static str,
        text: Option<&str>,
        into: &mut Duration,
    ) -> Result<(), ConfigError> {
        if let Some(text) = text {
            *into = parse::duration(text).map_err(|error| self.wrong(field, error))?;
            self.check(!into.is_zero(), field, "more than zero was expected")?;
        }
        Ok(())
    }

    fn size(&self, field: &'static str, text: Option<&str>) -> Result<Option<usize>, ConfigError> {
        let Some(text) = text else { return Ok(None) };
        let bytes = parse::size_bytes(text).map_err(|error| self.wrong(field, error))?;
        usize::try_from(bytes).map(Some).map_err(|error| self.wrong(field, error))
    }

    fn networks(&self, field: &'static str, texts: &[String]) -> Result<Vec<IpNet>, ConfigError> {
        let network = |text: &String| {
            let alone = text.parse::<IpAddr>().map(IpNet::from);
            alone.or_else(|_| text.parse::<IpNet>()).map_err(|_| {
                let problem =
                    format!("`{text}` is neither an address nor a network such as 10.0.0.0/8");
                self.wrong(field, problem)
            })
        };
        texts.iter().map(network).collect()
    }

    fn leg(&self, file: &LegFile) -> Result<leg::LegSettings, ConfigError> {
        let mut settings = leg::LegSettings::default();
        if let Some(streams) = file.streams {
            self.check((1..=10_000).contains(&streams), "leg.streams", "1 to 10000 were expected")?;
            settings.streams = streams;
        }
        if let Some(bytes) = self.size("leg.stream-window", file.stream_window.as_deref())? {
            // RFC 9113 section 6.9.2, and less than the initial window of HTTP/2 would only cost round trips.
            let holds = (65_535..1 << 31).contains(&bytes);
            self.check(holds, "leg.stream-window", "65535B to 2147483647B were expected")?;
            settings.stream_window_bytes = bytes as u32;
        }
        self.span("leg.keep-alive", file.keep_alive.as_deref(), &mut settings.keep_alive)?;
        self.span("leg.dead-after", file.dead_after.as_deref(), &mut settings.dead_after)?;
        match file.over {
            Some(OverFile::Quic) => settings.over = LegTransport::Quic(self.quic(file)?),
            None | Some(OverFile::Tcp) => {
                let problem = "it needs `over = \"quic\"`: TCP repairs losses in the kernel, above any parity";
                self.check(file.fec.is_none(), "leg.fec", problem)?;
                let problem = "it needs `over = \"quic\"`: for TCP, set it on the route (`ip route change ... initcwnd`)";
                self.check(file.initial_window.is_none(), "leg.initial-window", problem)?;
                settings.congestion.clone_from(&file.congestion);
            }
        }
        Ok(settings)
    }

    /// Settings of a leg over QUIC: the congestion control of our own TCP.
    fn quic(&self, file: &LegFile) -> Result<LegQuic, ConfigError> {
        let mut tcp = tcp::Config { slow_start_after_idle: false, ..tcp::Config::default() };
        if let Some(name) = &file.congestion {
            let problem = "`cubic` or `reno` was expected for QUIC";
            self.check(["cubic", "reno"].contains(&name.as_str()), "leg.congestion", problem)?;
            tcp.set("cc", name).map_err(|error| self.wrong("leg.congestion", error))?;
        }
        if let Some(packets) = file.initial_window {
            let holds = (2..=1_000).contains(&packets);
            self.check(holds, "leg.initial-window", "2 to 1000 packets were expected")?;
            tcp.initial_window = packets;
        }
        if let Some(every) = file.fec {
            let problem = format!("1 to {MOST_IN_GROUP} datagrams were expected");
            self.check((1..=MOST_IN_GROUP).contains(&every), "leg.fec", &problem)?;
        }
        let fec = file.fec.map(|every| Fec { every, counts: Arc::default() });
        Ok(LegQuic { transport: Transport::matching(&tcp), fec })
    }

    fn prefetch(&self, file: &PrefetchFile) -> Result<http::PrefetchSettings, ConfigError> {
        let usual = http::PrefetchSettings::default();
        let object_bytes = self.size("prefetch.object-size", file.object_size.as_deref())?;
        let page_bytes = self.size("prefetch.page-size", file.page_size.as_deref())?;
        let at_once = file.at_once.unwrap_or(usual.at_once);
        self.check((1..=1_000).contains(&at_once), "prefetch.at-once", "1 to 1000 were expected")?;
        Ok(http::PrefetchSettings {
            depth: file.depth.unwrap_or(usual.depth),
            objects: file.objects.unwrap_or(usual.objects),
            object_bytes: object_bytes.unwrap_or(usual.object_bytes),
            page_bytes: page_bytes.unwrap_or(usual.page_bytes),
            at_once,
            compression: match file.compression {
                None | Some(CompressionFile::Deflate) => http::PageCompression::Deflate,
                Some(CompressionFile::None) => http::PageCompression::None,
            },
        })
    }

    /// The path of a key's file is relative to the file that names it.
    fn keys(&self, own: &Path, peer: &str) -> Result<(PrivateKey, PublicKey), ConfigError> {
        let beside = self.0.parent().unwrap_or(Path::new("")).join(own);
        let own = read(&beside)?.parse().map_err(|error| self.wrong("key", error))?;
        let peer = peer.parse().map_err(|error| self.wrong("peer", error))?;
        Ok((own, peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

    /// A directory with a key in it, and a path beside that.
    fn beside_a_key() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let key = PrivateKey::from_seed([7; 32]).reveal();
        std::fs::write(directory.path().join("own.key"), key).unwrap();
        let path = directory.path().join("pep.toml");
        (directory, path)
    }

    #[test]
    fn a_near_end_is_read() {
        let (_directory, path) = beside_a_key();
        let text = format!(
            "far = '203.0.113.7:9400'\nkey = 'own.key'\npeer = '{PEER}'\nbypass = ['10.0.0.0/8', '192.0.2.1']
            idle = '5m'\n[leg]\nstream-window = '1MiB'\n[[forward]]\nlisten = '127.0.0.1:8080'\nto = '192.0.2.9:80'
            [[intercept]]\nlisten = '0.0.0.0:9402'\nby = 'tproxy'"
        );
        let text = text.replace("'5m'", "'300s'");
        let plan = LocalPlan::parse(&path, &text).unwrap();
        assert_eq!(plan.settings.leg.stream_window_bytes, 1 << 20);
        assert_eq!(plan.settings.idle, Duration::from_secs(300));
        assert_eq!(plan.settings.bypass.len(), 2);
        assert_eq!(plan.listeners[0].target, ForwardTarget::Fixed("192.0.2.9:80".parse().unwrap()));
        assert!(plan.listeners[1].transparent);
        assert_eq!(plan.settings.http_ports, [80]);
    }

    #[test]
    fn a_leg_over_quic_is_read() {
        let (_directory, path) = beside_a_key();
        let begin = format!("listen = '0.0.0.0:9400'\nkey = 'own.key'\npeer = '{PEER}'\n");
        let read = |leg: &str| RemotePlan::parse(&path, &format!("{begin}[leg]\n{leg}"));
        let over = |leg: &str| read(leg).unwrap().settings.leg.over;
        assert!(matches!(over(""), LegTransport::Tcp));
        assert!(matches!(over("over = 'tcp'"), LegTransport::Tcp));
        let LegTransport::Quic(quic) = over("over = 'quic'\nfec = 10\ninitial-window = 64") else {
            panic!("it is QUIC");
        };
        assert_eq!(quic.fec.unwrap().every, 10);
        assert_eq!(quic.transport.initial_window_bytes, 64 * 1448);
        assert!(over("over = 'quic'").fec().is_none());
        for (leg, told) in [
            ("over = 'udp'", "unknown variant `udp`"),
            ("fec = 10", "leg.fec: it needs `over = \"quic\"`"),
            ("initial-window = 10", "leg.initial-window: it needs"),
            ("over = 'quic'\nfec = 64", "leg.fec: 1 to 63"),
            ("over = 'quic'\ncongestion = 'bbr'", "leg.congestion: `cubic` or `reno` was expected"),
        ] {
            let error = read(leg).unwrap_err().to_string();
            assert!(error.contains(told), "{leg}: {error}");
        }
        let near = format!(
            "far = '203.0.113.7:9400'\nkey = 'own.key'\npeer = '{PEER}'\nchannels = 2\n[leg]\nover = 'quic'\n[[forward]]\nlisten = '127.0.0.1:8080'\nto = '192.0.2.9:80'"
        );
        let error = LocalPlan::parse(&path, &near).unwrap_err().to_string();
        assert!(error.contains("channels: a leg over QUIC is one connection"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (_directory, path) = beside_a_key();
        let begin = format!("listen = '0.0.0.0:9400'\nkey = 'own.key'\npeer = '{PEER}'\n");
        RemotePlan::parse(&path, &begin).unwrap();
        let cases = [
            ("only = ['example.org']", "only: `example.org`"),
            ("idle = '0s'", "idle: more than zero"),
            ("depht = 3", "depht"),
            ("[leg]\nstream-window = '1KB'", "leg.stream-window"),
            ("[prefetch]\nat-once = 0", "prefetch.at-once"),
        ];
        for (line, told) in cases {
            let error = RemotePlan::parse(&path, &format!("{begin}{line}")).unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
        }
        let alone = "listen = '0.0.0.0:9400'\nkey = 'no.key'\npeer = 'x'";
        let error = RemotePlan::parse(&path, alone).unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
    }
}
