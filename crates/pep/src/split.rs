//! Split TCP (RFC 3135 sections 2.4, 3.1): each half of a connection is acknowledged where it ends, and the leg carries it in between.

mod splice;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use thiserror::Error;
use tokio::io::copy_bidirectional;
use world::TcpStream;

pub(crate) use splice::{Splice, SpliceEnd, room};

/// Joins two TCP connections without a leg, the way past the proxy: `client`, from which `first` was read already, and `server` until both
/// directions have ended. If either breaks, both do.
///
/// # Errors
/// The error of the connection that broke.
pub(crate) async fn join(client: TcpStream, server: TcpStream, first: Bytes) -> io::Result<()> {
    let (mut client, mut server) = (ResetOnDrop::new(client), ResetOnDrop::new(server));
    server.write_bytes(first).await?;
    copy_bidirectional(&mut *client, &mut *server).await?;
    drop((client.release(), server.release()));
    Ok(())
}

/// Connects to `target`, for at most `patience`.
///
/// # Errors
/// Errors of [`TcpStream::connect`], and a timeout.
pub(crate) async fn connect(target: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    world::timeout(patience, TcpStream::connect(target))
        .await
        .map_err(|elapsed| io::Error::new(io::ErrorKind::TimedOut, elapsed))?
}

/// A TCP connection that is reset when it is dropped, or this process killed, unless it was let go: to the peer, an interrupted transfer
/// must not look complete.
pub(crate) struct ResetOnDrop(Option<TcpStream>);

impl ResetOnDrop {
    pub(crate) fn new(tcp: TcpStream) -> ResetOnDrop {
        tcp.set_resets_if_orphaned(true);
        ResetOnDrop(Some(tcp))
    }

    /// Lets the connection go, to be closed as usual.
    pub(crate) fn release(mut self) -> TcpStream {
        let tcp = self.0.take().expect("it is there until it is let go");
        tcp.set_resets_if_orphaned(false);
        tcp
    }
}

impl Deref for ResetOnDrop {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        self.0.as_ref().expect("it is there until it is let go")
    }
}

impl DerefMut for ResetOnDrop {
    fn deref_mut(&mut self) -> &mut TcpStream {
        self.0.as_mut().expect("it is there until it is let go")
    }
}

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        if let Some(tcp) = self.0.take() {
            tcp.abort();
        }
    }
}

// Requests of the leg's streams to the far end: heads of HTTP/2 requests; without IO.
//
// A tunnel is a `CONNECT` whose authority is the address (RFC 9113 section 8.5). A fetch is the client's own request, whose URL names the
// host; two fields of ours add what the URL lacks: the address that the client connected to, and the client's own.

/// The address and port that the client connected to.
const TARGET: &str = "farlink-target";
/// The client's own address.
const CLIENT: &str = "farlink-client";

/// Request of a stream.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "handed over once, at once")]
pub enum StreamRequest {
    /// A connection to this address, joined to the stream.
    Tunnel(SocketAddr),
    /// An HTTP request, to be sent to this address.
    Fetch {
        /// The server's address.
        target: SocketAddr,
        /// The client.
        client: IpAddr,
        /// The request, with an absolute URL.
        request: Request<()>,
    },
}

/// Reason for refusing a stream before any connection is made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StreamRequestError {
    /// A `CONNECT` to something that is not an address.
    #[error("CONNECT needs an address and a port, not `{0}`")]
    NoAddress(String),
    /// A field of ours is missing or wrong.
    #[error("a fetch has no valid field `{0}`")]
    Field(&'static str),
    /// The URL is not of clear-text HTTP.
    #[error("only URLs of the scheme `http` are fetched, not `{0}`")]
    Url(String),
}

impl StreamRequest {
    /// Encodes it as an HTTP/2 request.
    ///
    /// # Errors
    /// If a fetch's URL is not an absolute one of the scheme `http`.
    pub fn into_request(self) -> Result<Request<()>, StreamRequestError> {
        match self {
            StreamRequest::Tunnel(target) => {
                let mut request = Request::new(());
                *request.method_mut() = Method::CONNECT;
                let authority = target.to_string();
                *request.uri_mut() =
                    authority.parse().map_err(|_| StreamRequestError::NoAddress(authority))?;
                Ok(request)
            }
            StreamRequest::Fetch { target, client, mut request } => {
                check(request.uri())?;
                let fields = request.headers_mut();
                fields.insert(TARGET, value(target));
                fields.insert(CLIENT, value(client));
                Ok(request)
            }
        }
    }

    /// Decodes `request`.
    ///
    /// # Errors
    /// If it is invalid: see [`StreamRequestError`].
    pub fn from_request(mut request: Request<()>) -> Result<StreamRequest, StreamRequestError> {
        if request.method() == Method::CONNECT {
            let authority = request.uri().authority().map_or("", |authority| authority.as_str());
            let target = authority
                .parse()
                .map_err(|_| StreamRequestError::NoAddress(authority.to_owned()))?;
            return Ok(StreamRequest::Tunnel(target));
        }
        check(request.uri())?;
        let target = take(request.headers_mut(), TARGET)?;
        let client = take(request.headers_mut(), CLIENT)?;
        Ok(StreamRequest::Fetch { target, client, request })
    }
}

fn check(url: &Uri) -> Result<(), StreamRequestError> {
    let is_http = url.scheme_str() == Some("http") && url.authority().is_some();
    if is_http { Ok(()) } else { Err(StreamRequestError::Url(url.to_string())) }
}

fn value(text: impl ToString) -> HeaderValue {
    HeaderValue::from_str(&text.to_string()).expect("addresses are written in ASCII")
}

fn take<T: FromStr>(fields: &mut HeaderMap, name: &'static str) -> Result<T, StreamRequestError> {
    let value = fields.remove(name).ok_or(StreamRequestError::Field(name))?;
    let text = value.to_str().map_err(|_| StreamRequestError::Field(name))?;
    text.parse().map_err(|_| StreamRequestError::Field(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tunnels_survive_the_leg(target: SocketAddr) {
            // A flow label and a scope have no meaning at the far end, and an authority cannot hold them.
            let target = SocketAddr::new(target.ip(), target.port());
            let request = StreamRequest::Tunnel(target).into_request().unwrap();
            match StreamRequest::from_request(request).unwrap() {
                StreamRequest::Tunnel(read) => prop_assert_eq!(read, target),
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn fetches_survive_the_leg(ip: IpAddr, port: u16, client: IpAddr, path in "/[a-z0-9/?=]{0,40}") {
            let target = SocketAddr::new(ip, port);
            let url = format!("http://a.example{path}");
            let request = Request::get(&url).header("cookie", "a=b").body(()).unwrap();
            let request = StreamRequest::Fetch { target, client, request }.into_request().unwrap();
            match StreamRequest::from_request(request).unwrap() {
                StreamRequest::Fetch { target: t, client: c, request } => {
                    prop_assert_eq!((t, c), (target, client));
                    prop_assert_eq!(request.uri().to_string(), url);
                    prop_assert_eq!(request.headers().len(), 1);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn what_is_no_ask_is_refused(authority in "[a-z.]{1,20}:[0-9]{1,4}", field in "[ -~]{0,20}") {
            let connect = Request::connect(&authority).body(()).unwrap();
            prop_assert!(matches!(StreamRequest::from_request(connect), Err(StreamRequestError::NoAddress(_))));
            let fetch = Request::get("http://a/").header(TARGET, field).body(()).unwrap();
            prop_assert!(StreamRequest::from_request(fetch).is_err());
        }
    }

    #[test]
    fn nothing_but_clear_text_http_is_fetched() {
        for url in ["https://a/", "/path", "ftp://a/"] {
            let request = Request::get(url).body(()).unwrap();
            assert!(
                matches!(StreamRequest::from_request(request), Err(StreamRequestError::Url(_))),
                "{url}"
            );
        }
    }
}
