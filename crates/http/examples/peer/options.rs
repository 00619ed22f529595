//! The command line.

use std::net::SocketAddr;
use std::str::FromStr;

use farlink_http::client::Protocol;
use tls::Security;

/// Options of either end.
#[derive(Clone, Debug)]
pub struct Options {
    pub protocol: Protocol,
    pub pipelined: bool,
    pub security: Security,
    pub address: SocketAddr,
    /// A server's folder, or the paths that a client asks for.
    pub paths: Vec<String>,
    /// Number of times that each path is requested on each connection.
    pub times: usize,
    /// Number of connections, opened one after the other.
    pub connections: usize,
    /// The size of each request's body; with none the requests are GETs.
    pub post: Option<usize>,
    /// The size of a field `x-large` in each message of this end.
    pub header: usize,
    /// Receive windows of this end, of a stream and of a connection. None: the defaults.
    pub window: Option<u32>,
    /// Number of streams that a server allows to be open. None: the default.
    pub streams: Option<u32>,
    /// The file that a server pushes with `/empty`.
    pub push: Option<String>,
    /// True if a client accepts pushes; it then requests its paths one after the other.
    pub takes_pushes: bool,
}

impl Options {
    /// Parses the words after `serve` or `fetch`.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut first = |what| words.next().ok_or(format!("{what} is missing"));
        let protocol = first("PROTOCOL")?;
        let (protocol, pipelined) = match protocol.as_str() {
            "h1-pipelined" => (Protocol::H1, true),
            name => (named(name)?, false),
        };
        let mut options = Options {
            protocol,
            pipelined,
            security: security(&first("SECURITY")?)?,
            address: number("ADDRESS", &first("ADDRESS")?)?,
            paths: Vec::new(),
            times: 1,
            connections: 1,
            post: None,
            header: 0,
            window: None,
            streams: None,
            push: None,
            takes_pushes: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} has no value"));
            match word.as_str() {
                "--times" => options.times = number(&word, &value()?)?,
                "--connections" => options.connections = number(&word, &value()?)?,
                "--post" => options.post = Some(number(&word, &value()?)?),
                "--header" => options.header = number(&word, &value()?)?,
                "--window" => options.window = Some(number(&word, &value()?)?),
                "--streams" => options.streams = Some(number(&word, &value()?)?),
                "--push" => options.push = Some(value()?),
                "--take-pushes" => options.takes_pushes = true,
                option if option.starts_with('-') => return Err(format!("there is no {option}")),
                _ => options.paths.push(word),
            }
        }
        Ok(options)
    }
}

fn named(name: &str) -> Result<Protocol, String> {
    let mut all = Protocol::OVER_TCP.into_iter().chain([Protocol::H3]);
    all.find(|protocol| protocol.name() == name).ok_or(format!("there is no protocol `{name}`"))
}

fn security(name: &str) -> Result<Security, String> {
    let mut all = [Security::None, Security::Tls12, Security::Tls13].into_iter();
    all.find(|security| security.name() == name).ok_or(format!("there is no security `{name}`"))
}

fn number<T: FromStr>(what: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no {what}"))
}
