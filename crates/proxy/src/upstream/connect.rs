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
use super::parents::{self, Parents};
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

/// A connection that was opened for a request.
#[derive(Clone, Debug)]
pub struct OpenedConnection {
    /// Address of the origin, or of the parent before it.
    pub address: SocketAddr,
    /// Duration of the name's lookup.
    pub dns: Duration,
    /// Duration of TCP's handshake.
    pub tcp: Duration,
    /// TLS's handshake, if there was one.
    pub tls: Option<TlsHandshake>,
}

/// A handshake with an origin.
#[derive(Clone, Debug)]
pub struct TlsHandshake {
    /// Its duration.
    pub took: Duration,
    /// The certificates that the origin sent, its own first (DER).
    pub certificates: Vec<Vec<u8>>,
}

/// Connect timeout of one of several addresses before the next is tried.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Connects to the first of `destination`'s addresses that may be reached and answers. The judged address is the one
/// connected to.
pub(super) async fn connect(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
) -> Result<(TcpStream, OpenedConnection), FetchError> {
    let began = world::now();
    let addresses = world::lookup(destination.bare_host()).await.map_err(FetchError::Unresolved)?;
    let dns = world::now().since(began);
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
        let began = world::now();
        let connecting = TcpStream::connect(address);
        let connected = match index == last {
            true => connecting.await,
            false => world::timeout(ATTEMPT, connecting)
                .await
                .unwrap_or(Err(io::ErrorKind::TimedOut.into())),
        };
        match connected {
            Ok(stream) => {
                let tcp = world::now().since(began);
                return Ok((stream, OpenedConnection { address, dns, tcp, tls: None }));
            }
            Err(error) => failed = Some(FetchError::Unconnected(error)),
        }
    }
    Err(failed.expect("a name that was found has an address"))
}

/// Opens a direct connection to `destination`: a tunnel through a parent, if there is one.
pub(super) async fn reach(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
    parents: &Parents,
) -> Result<(Stream, SocketAddr), FetchError> {
    if parents.is_empty() {
        let (tcp, opened) = connect(destination, reach).await?;
        return Ok((Stream::plain(tcp), opened.address));
    }
    let (tcp, opened) = connect_to_parent(destination, parents).await?;
    let (tcp, ahead) = led(tcp, &destination.host_and_port()).await?;
    Ok((Stream::plain(tcp).after(ahead), opened.address))
}

/// Opens a connection for TLS: as [`reach`], to a server that waits for the client to speak first.
async fn connect_for_tls(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
    parents: &Parents,
) -> Result<(TcpStream, OpenedConnection), FetchError> {
    if parents.is_empty() {
        return connect(destination, reach).await;
    }
    let (tcp, opened) = connect_to_parent(destination, parents).await?;
    Ok((through(tcp, &destination.host_and_port()).await?, opened))
}

/// Connects to the parent that `destination` belongs to, or to another one if that cannot be reached.
async fn connect_to_parent(
    destination: &OriginAddress,
    parents: &Parents,
) -> Result<(TcpStream, OpenedConnection), FetchError> {
    for parent in parents.in_order(destination.bare_host(), world::now()) {
        let connecting = connect(&parent.address, ReachPolicy::Operator);
        let connected = match parent.has_more {
            true => world::timeout(parents::ATTEMPT, connecting)
                .await
                .unwrap_or(Err(FetchError::ConnectTimeout)),
            false => connecting.await,
        };
        parents.note(parent.index, connected.is_ok(), world::now());
        if connected.is_ok() || !parent.has_more {
            return connected;
        }
    }
    unreachable!("the last parent's failure is final")
}

/// Opens a connection for HTTP.
pub(super) async fn open(
    destination: &OriginAddress,
    reach: ReachPolicy<'_>,
    parents: &Parents,
    settings: &UpstreamSettings,
    tls: &PublicClient,
) -> Result<(ClientConnection, OpenedConnection), FetchError> {
    let (stream, opened) = match destination.scheme {
        // With parents, `destination` is one of them.
        Scheme::Http => {
            let (tcp, opened) = connect(destination, reach).await?;
            (Stream::plain(tcp), opened)
        }
        Scheme::Https => {
            let (tcp, opened) = connect_for_tls(destination, reach, parents).await?;
            let began = world::now();
            let shaken = tls.connect(tcp, destination.bare_host(), settings.protocol).await;
            let stream = shaken.map_err(FetchError::Insecure)?;
            let certificates = stream.server_certificates();
            let handshake = TlsHandshake { took: world::now().since(began), certificates };
            (stream, OpenedConnection { tls: Some(handshake), ..opened })
        }
    };
    let connection = ClientConnection::begin(stream, Protocol::H1, &settings.h2).await?;
    Ok((connection, opened))
}
