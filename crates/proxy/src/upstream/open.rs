//! Opening connections: the name, the rules, TCP, TLS.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http_stack::client::Connection;
use http_stack::tls::{Protocol, PublicClient, Stream};
use world::TcpStream;

use super::destination::{Destination, Reach};
use super::error::FetchError;
use super::settings::Settings;
use crate::target::Scheme;

/// As long is one of several addresses waited for before the next is tried.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Connects to `destination`, by the first of its addresses that may be reached and answers. What is judged is what is
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

/// Opens a connection for HTTP.
pub(super) async fn open(
    destination: &Destination,
    reach: Reach<'_>,
    settings: &Settings,
    tls: &PublicClient,
) -> Result<(Connection, SocketAddr), FetchError> {
    let (tcp, address) = connect(destination, reach).await?;
    let stream = match destination.scheme {
        Scheme::Http => Stream::plain(tcp),
        Scheme::Https => {
            let host = destination.bare_host();
            tls.connect(tcp, host, settings.protocol).await.map_err(FetchError::Insecure)?
        }
    };
    let connection = Connection::begin(stream, Protocol::H1, &settings.h2).await?;
    Ok((connection, address))
}
