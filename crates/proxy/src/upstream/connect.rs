//! Destinations of requests, and connecting to them: name resolution, rules, TCP, TLS.

use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, io};

use http_stack::client::ClientConnection;
use http_stack::h1::client::{led, through};
use tls::{Protocol, PublicClient, Stream};
use world::TcpStream;

use super::UpstreamSettings;
use super::fetch::FetchError;
use crate::access::Destinations;
use crate::target::{Authority, Scheme, bare};

/// An origin: scheme, host and port (RFC 6454 section 4). Only requests to equal origins share connections.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginAddress {
    /// Its scheme.
    pub scheme: Scheme,
    /// Its host in lower case, an IPv6 address in its brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl OriginAddress {
    /// The origin that `authority` names.
    pub fn new(scheme: Scheme, authority: &Authority<'_>) -> OriginAddress {
        let port = authority.port.unwrap_or(scheme.default_port());
        OriginAddress { scheme, host: authority.host.to_ascii_lowercase(), port }
    }

    /// The host for name lookups: an IPv6 address without its brackets.
    pub fn bare_host(&self) -> &str {
        bare(&self.host)
    }

    /// Its form in `CONNECT`.
    fn host_and_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Its form in `Host`: the default port is left out (RFC 9110 section 7.2).
    pub fn authority(&self) -> String {
        match self.port == self.scheme.default_port() {
            true => self.host.clone(),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for OriginAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.name(), self.host, self.port)
    }
}

/// Authority behind a request to an origin. Connections of one kind are not reused for requests of the other: clients may
/// not reach everything that the operator's own settings reach.
#[derive(Clone, Copy, Debug)]
pub enum ReachPolicy<'a> {
    /// The operator: any address.
    Operator,
    /// A client: addresses that the rules permit.
    Client(&'a Destinations),
}

impl ReachPolicy<'_> {
    pub(super) fn is_operator(self) -> bool {
        matches!(self, ReachPolicy::Operator)
    }
}

/// Connect timeout of one of several addresses before the next is tried.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Connects to the first of `destination`'s addresses that may be reached and answers. The judged address is the one
/// connected to.
pub(super) async fn connect(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
) -> Result<(TcpStream, SocketAddr), FetchError> {
    let addresses = world::lookup(destination.bare_host()).await.map_err(FetchError::Unresolved)?;
    let mut failed = None;
    let last = addresses.len().saturating_sub(1);
    for (index, address) in addresses.into_iter().enumerate() {
        if let ReachPolicy::Client(rules) = reach
            && let Err(refusal) = rules.judge_address(address)
        {
            failed = failed.or(Some(FetchError::Forbidden(refusal)));
            continue;
        }
        let address = SocketAddr::new(address, destination.port);
        let connecting = TcpStream::connect(address);
        let connected = match index == last {
            true => connecting.await,
            false => world::timeout(ATTEMPT, connecting)
                .await
                .unwrap_or(Err(io::ErrorKind::TimedOut.into())),
        };
        match connected {
            Ok(tcp) => return Ok((tcp, address)),
            Err(error) => failed = Some(FetchError::Unconnected(error)),
        }
    }
    Err(failed.expect("a name that was found has an address"))
}

/// Opens a direct connection to `destination`: a tunnel through the parent, if there is one.
pub(super) async fn reach(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
    parent: Option<&OriginAddress>,
) -> Result<(Stream, SocketAddr), FetchError> {
    let Some(parent) = parent else {
        let (tcp, address) = connect(destination, reach).await?;
        return Ok((Stream::plain(tcp), address));
    };
    let (tcp, address) = connect(parent, ReachPolicy::Operator).await?;
    let (tcp, ahead) = led(tcp, &destination.host_and_port()).await?;
    Ok((Stream::plain(tcp).after(ahead), address))
}

/// Opens a connection for TLS: as [`reach`], to a server that waits for the client to speak first.
async fn connect_for_tls(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
    parent: Option<&OriginAddress>,
) -> Result<(TcpStream, SocketAddr), FetchError> {
    let Some(parent) = parent else { return connect(destination, reach).await };
    let (tcp, address) = connect(parent, ReachPolicy::Operator).await?;
    Ok((through(tcp, &destination.host_and_port()).await?, address))
}

/// Opens a connection for HTTP.
pub(super) async fn open(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
    settings: &UpstreamSettings,
    tls: &PublicClient,
) -> Result<(ClientConnection, SocketAddr), FetchError> {
    let (stream, address) = match destination.scheme {
        // With a parent, `destination` is the parent itself.
        Scheme::Http => {
            let (tcp, address) = connect(destination, reach).await?;
            (Stream::plain(tcp), address)
        }
        Scheme::Https => {
            let parent = settings.parent.as_ref();
            let (tcp, address) = connect_for_tls(destination, reach, parent).await?;
            let shaken = tls.connect(tcp, destination.bare_host(), settings.protocol).await;
            (shaken.map_err(FetchError::Insecure)?, address)
        }
    };
    let connection = ClientConnection::begin(stream, Protocol::H1, &settings.h2).await?;
    Ok((connection, address))
}
