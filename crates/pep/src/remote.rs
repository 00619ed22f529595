//! The far end: on the servers' side of the satellite.
//!
//! It connects to the address that a client requested and to no other, and only within its [`Reach`].

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use ::http::{Request, Response, StatusCode};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use ipnet::IpNet;
use quic::bare;
use tokio::io::{AsyncRead, AsyncWrite};
use world::TcpStream;

use crate::admin::Counters;
use crate::http::{self, Fetcher};
use crate::leg::{self, LegAcceptor};
use crate::port::{self, Ending, First, ShutdownStage, StreamCount, race};
use crate::split::{self, Splice, SpliceEnd, StreamRequest};

/// Settings of a far end.
#[derive(Clone, Debug)]
pub struct FarSettings {
    /// The leg.
    pub leg: leg::LegSettings,
    /// Destinations that it may connect to.
    pub reach: Reach,
    /// Idle timeout of connections.
    pub idle: Duration,
    /// Timeout for connecting to a server.
    pub connect: Duration,
    /// Limits of prefetching.
    pub http: http::PrefetchSettings,
}

impl Default for FarSettings {
    /// All destinations but itself; an idle timeout of a quarter of an hour, ten seconds to connect.
    fn default() -> FarSettings {
        FarSettings {
            leg: leg::LegSettings::default(),
            reach: Reach::default(),
            idle: Duration::from_secs(900),
            connect: Duration::from_secs(10),
            http: http::PrefetchSettings::default(),
        }
    }
}

/// The far end.
pub struct Remote {
    settings: FarSettings,
    acceptor: LegAcceptor,
    fetcher: Rc<Fetcher>,
    counters: Rc<Counters>,
    ending: Ending,
}

impl Remote {
    /// A far end that does not serve yet.
    pub fn new(settings: FarSettings, acceptor: LegAcceptor) -> Rc<Remote> {
        let counters = Rc::new(Counters::of(&settings.leg));
        let FarSettings { http, connect, .. } = settings;
        let reach = settings.reach.clone();
        let fetcher = Fetcher::new(http, reach, connect, Rc::clone(&counters));
        Rc::new(Remote { settings, acceptor, fetcher, counters, ending: Ending::default() })
    }

    /// Its counters.
    pub fn counters(&self) -> &Rc<Counters> {
        &self.counters
    }

    /// The handle to shut it down.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Listens for near ends at `address`, on its leg's transport.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn listen(&self, address: SocketAddr) -> io::Result<leg::LegPort> {
        leg::LegPort::bind(address, &self.acceptor, &self.settings.leg)
    }

    /// Serves the near ends that connect to `port`, until it is told to end and all connections have ended.
    pub async fn serve(self: Rc<Remote>, port: leg::LegPort) {
        match port {
            leg::LegPort::Tcp(listener) => {
                let carry = |tcp: TcpStream| {
                    let remote = Rc::clone(&self);
                    async move { remote.note(remote.channel(tcp).await) }
                };
                port::serve(listener, &self.ending, carry).await;
            }
            leg::LegPort::Quic(listener) => {
                let carry = |incoming: bare::Incoming| {
                    let remote = Rc::clone(&self);
                    async move { remote.note(remote.streams(incoming).await) }
                };
                port::serve_quic(listener, &self.ending, carry).await;
            }
        }
    }

    fn note(&self, served: io::Result<()>) {
        if served.is_err() {
            self.counters.refused.add(1);
        }
    }

    /// Serves one channel until it is lost, or has been told to end and is empty.
    async fn channel(self: &Rc<Remote>, tcp: TcpStream) -> io::Result<()> {
        let connection = leg::accept(tcp, &self.acceptor, &self.settings.leg).await?;
        self.attend(connection).await;
        Ok(())
    }

    /// Serves a QUIC connection and all its streams in the same way.
    async fn streams(self: &Rc<Remote>, incoming: bare::Incoming) -> io::Result<()> {
        let settings = &self.settings.leg;
        let first = async {
            let quic = incoming.accept().await?;
            let first = quic.accept().await?;
            Ok((quic, first))
        };
        let (quic, first) = leg::within(settings.patience, first).await?;
        let first = leg::accept_stream(first, settings).await?;
        let carried = StreamCount::default();
        let (remote, others, counted) = (Rc::clone(self), quic.clone(), carried.clone());
        drop(world::spawn(async move {
            while let Ok(stream) = others.accept().await {
                let (remote, one) = (Rc::clone(&remote), counted.one());
                drop(world::spawn(async move {
                    if let Ok(connection) = leg::accept_stream(stream, &remote.settings.leg).await {
                        remote.requests(connection).await;
                    }
                    drop(one);
                }));
            }
        }));
        self.attend(first).await;
        if self.ending.has_reached(ShutdownStage::Draining) {
            race(carried.none(), self.ending.reached(ShutdownStage::Over)).await;
        }
        quic.close();
        Ok(())
    }

    /// Serves a connection until it ends or the near end is gone; then the connection is dropped and its streams break.
    async fn attend<T>(self: &Rc<Remote>, mut connection: h2::server::Connection<T, Bytes>)
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let pings = connection.ping_pong().expect("nothing else has taken the pings");
        race(self.requests(connection), leg::until_gone(pings, &self.settings.leg)).await;
    }

    /// Serves the requests on `connection` until it is lost, or has been told to end and is empty.
    async fn requests<T>(self: &Rc<Remote>, mut connection: h2::server::Connection<T, Bytes>)
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let mut stage = ShutdownStage::Draining;
        loop {
            match race(connection.accept(), self.ending.reached(stage)).await {
                First::One(Some(Ok((request, respond)))) => {
                    let remote = Rc::clone(self);
                    drop(world::spawn(async move {
                        race(
                            remote.stream(request, respond),
                            remote.ending.reached(ShutdownStage::Over),
                        )
                        .await;
                    }));
                }
                First::One(_) => break,
                First::Other(()) if stage == ShutdownStage::Draining => {
                    connection.graceful_shutdown();
                    stage = ShutdownStage::Over;
                }
                First::Other(()) => break,
            }
        }
    }

    async fn stream(&self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (head, body) = request.into_parts();
        match StreamRequest::from_request(Request::from_parts(head, ())) {
            Ok(StreamRequest::Tunnel(target)) if self.settings.reach.allows(target) => {
                self.tunnel(target, body, respond).await;
            }
            Ok(StreamRequest::Fetch { target, client, request })
                if self.settings.reach.allows(target) =>
            {
                Rc::clone(&self.fetcher).serve(target, client, request, respond).await;
            }
            Ok(_) => self.refuse(&mut respond, StatusCode::FORBIDDEN),
            Err(_) => self.refuse(&mut respond, StatusCode::BAD_REQUEST),
        }
    }

    fn refuse(&self, respond: &mut SendResponse<Bytes>, status: StatusCode) {
        self.counters.refused.add(1);
        answer(respond, status, true);
    }

    async fn tunnel(&self, target: SocketAddr, body: RecvStream, mut respond: SendResponse<Bytes>) {
        let connecting = split::connect(target, self.settings.connect);
        let tcp = match race(connecting, poll_fn(|cx| respond.poll_reset(cx))).await {
            First::One(Ok(tcp)) => tcp,
            First::One(Err(error)) => {
                let timed_out = error.kind() == io::ErrorKind::TimedOut;
                let gateway =
                    if timed_out { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
                answer(&mut respond, gateway, true);
                return;
            }
            // The client is gone.
            First::Other(_) => return,
        };
        let Some(stream) = answer(&mut respond, StatusCode::OK, false) else { return };
        self.counters.split.add(1);
        let splice = Splice::accepted(tcp, stream, body, self.settings.idle, &self.counters);
        if splice.run().await != SpliceEnd::Orderly {
            self.counters.broken.add(1);
        }
    }
}

/// Answers with a status only; `None` if the stream is gone.
fn answer(
    respond: &mut SendResponse<Bytes>,
    status: StatusCode,
    ends: bool,
) -> Option<h2::SendStream<Bytes>> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let stream = respond.send_response(response, ends).ok()?;
    if ends {
        // RFC 9113 section 8.1: the client need not send the rest.
        respond.send_reset(Reason::NO_ERROR);
    }
    Some(stream)
}

/// Destinations that the far end may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Only these networks, if any are named.
    pub only: Vec<IpNet>,
    /// Exceptions for addresses that belong to the far end itself and its neighbours: see [`Reach::allows`].
    pub also: Vec<IpNet>,
}

impl Reach {
    /// Returns true if the far end may connect to `target`. Loopback, link-local, unspecified, broadcast and multicast addresses have
    /// another meaning at the far end than at the client: they are refused unless named in `also`.
    pub fn allows(&self, target: SocketAddr) -> bool {
        let address = target.ip().to_canonical();
        let named = self.only.is_empty() || within(&self.only, address);
        within(&self.also, address) || named && !is_local(address)
    }
}

/// Returns true if `address` is in one of `networks`. IPv4-mapped IPv6 (`::ffff:10.0.0.1`) counts as IPv4.
pub(crate) fn within(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_link_local()
                || address.is_broadcast()
                || address.is_multicast()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_end_is_no_way_into_itself() {
        let target = |text: &str| text.parse::<SocketAddr>().unwrap();
        let mut reach = Reach::default();
        assert!(reach.allows(target("192.0.2.1:80")));
        let locals =
            ["127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "0.0.0.0:1", "[::ffff:127.0.0.1]:9"];
        for local in locals {
            assert!(!reach.allows(target(local)), "{local}");
        }
        reach.also.push("127.0.0.1/32".parse().unwrap());
        assert!(reach.allows(target("127.0.0.1:80")));
        assert!(reach.allows(target("[::ffff:127.0.0.1]:80")));
        reach.only.push("10.0.0.0/8".parse().unwrap());
        assert!(!reach.allows(target("192.0.2.1:80")));
        assert!(reach.allows(target("10.1.1.1:80")));
    }
}
