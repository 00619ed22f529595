//! Opening connections: the name, the rules, TCP, TLS.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http_stack::client::Connection;
use http_stack::h1::client::{led, through};
use tls::{Protocol, PublicClient, Stream};
use world::TcpStream;

use super::destination::{Destination, Reach};
use super::error::FetchError;
use super::settings::Settings;
use crate::target::Scheme;

/// Connect timeout of one of several addresses before the next is tried.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Connects to the first of `destination`'s addresses that may be reached and answers. The judged address is the one
/// connected to.
pub(super) async fn connect(
    destination: &Destination,
    reach: Reach<'_>,
) -> Result<(TcpStream, SocketAddr), FetchError> {
    let addresses = world::lookup(destination.bare_host()).await.map_err(FetchError::Unresolved)?;
    let mut failed = None;
    let last = addresses.len().saturating_sub(1);
    for (index, address) in addresses.into_iter().enumerate() {
        if let Reach::Client(rules) = reach
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
    destination: &Destination,
    reach: Reach<'_>,
    parent: Option<&Destination>,
) -> Result<(Stream, SocketAddr), FetchError> {
    let Some(parent) = parent else {
        let (tcp, address) = connect(destination, reach).await?;
        return Ok((Stream::plain(tcp), address));
    };
    let (tcp, address) = connect(parent, Reach::Operator).await?;
    let (tcp, ahead) = led(tcp, &destination.host_and_port()).await?;
    Ok((Stream::plain(tcp).after(ahead), address))
}

/// Opens a connection for TLS: as [`reach`], to a server that waits for the client to speak first.
async fn connect_for_tls(
    destination: &Destination,
    reach: Reach<'_>,
    parent: Option<&Destination>,
) -> Result<(TcpStream, SocketAddr), FetchError> {
    let Some(parent) = parent else { return connect(destination, reach).await };
    let (tcp, address) = connect(parent, Reach::Operator).await?;
    Ok((through(tcp, &destination.host_and_port()).await?, address))
}

/// Opens a connection for HTTP.
pub(super) async fn open(
    destination: &Destination,
    reach: Reach<'_>,
    settings: &Settings,
    tls: &PublicClient,
) -> Result<(Connection, SocketAddr), FetchError> {
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
    let connection = Connection::begin(stream, Protocol::H1, &settings.h2).await?;
    Ok((connection, address))
}
