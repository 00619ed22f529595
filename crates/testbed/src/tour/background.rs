//! Background traffic of a journey: the client's flows - pings and beacons - and their server.
//!
//! It lasts for the whole life of the journey's world: for [`BackgroundTraffic::lead`] before the first visit,
//! during visits and between them. So at navigation start a radio is in the state in which the traffic keeps
//! it. Both worlds run this code; the server has an address of its own at the network's far end, and does not
//! share connections with the page.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use browser::HostStack;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_stack::client::{self, ClientConnection, Opening};
use http_stack::server::{Acceptor, Answer, Handler, Reply, RequestHead};
use http_stack::{Priority, Progress};
use proxy::origin;
use scenario::{BackgroundTraffic, Flow, FlowKind, Noise, Scenario};
use tls::{ClientSessions, Security};
use units::Time;
use world::{TcpListener, UdpSocket};

/// Address of the server. No page has enough hosts for one of them to get this address.
pub(crate) const TRAFFIC_SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1));

/// The server's name.
pub(crate) const TRAFFIC_HOST: &str = "traffic.test";

/// The echo service's port (RFC 862).
const ECHO_PORT: u16 = 7;

/// A journey's background traffic.
pub(crate) struct Background {
    traffic: BackgroundTraffic,
    /// Protocol and security of beacons.
    arm: HostStack,
    /// True if the phase of each flow is drawn.
    varies: bool,
}

impl Background {
    /// Background traffic of a scenario whose hosts have these arms, or `None`. Beacons use the first arm with
    /// TLS, or else the first one.
    pub(crate) fn of(scenario: &Scenario, arms: &[HostStack]) -> Option<Background> {
        let secure = arms.iter().find(|arm| arm.security.is_secure());
        let arm = *secure.or(arms.first())?;
        let (traffic, varies) =
            (scenario.traffic.clone().into_inner(), scenario.noise == Noise::On);
        (!traffic.is_none()).then_some(Background { traffic, arm, varies })
    }

    /// Starts the server: listens and answers.
    ///
    /// # Errors
    /// If it cannot listen.
    pub(crate) fn serve(&self, tls: &tls::Settings) -> io::Result<()> {
        if self.has(FlowKind::Ping) {
            world::spawn(echo_pings(UdpSocket::bind(SocketAddr::new(TRAFFIC_SERVER, ECHO_PORT))?));
        }
        if self.has(FlowKind::Beacon) {
            let acceptor = Acceptor::with_tls(self.arm.security, tls);
            let listener = TcpListener::bind(SocketAddr::new(TRAFFIC_SERVER, self.arm.port))?;
            world::spawn(collect_beacons(listener, acceptor));
        }
        Ok(())
    }

    /// Starts the client at `from`.
    ///
    /// # Errors
    /// If it gets no socket.
    pub(crate) fn send(&self, from: IpAddr, sessions: &ClientSessions) -> io::Result<()> {
        for (index, flow) in self.traffic.flows().iter().enumerate() {
            let ticks = Ticks::of(flow, index, self.varies);
            match flow.kind {
                FlowKind::Ping => start_pings(from, ticks, flow.size_bytes)?,
                FlowKind::Beacon => {
                    world::spawn(send_beacons(ticks, flow.size_bytes, self.opening(sessions)));
                }
            }
        }
        Ok(())
    }

    fn has(&self, kind: FlowKind) -> bool {
        self.traffic.flows().iter().any(|flow| flow.kind == kind)
    }

    fn opening(&self, sessions: &ClientSessions) -> Opening {
        let address = SocketAddr::new(TRAFFIC_SERVER, self.arm.port);
        Opening::new(address, TRAFFIC_HOST, self.arm.security, self.arm.protocol).sessions(sessions)
    }
}

/// Sending times of a flow.
struct Ticks {
    next: Time,
    every: Duration,
}

impl Ticks {
    /// The phase of a flow is drawn for the journey, or half a period if nothing varies: never aligned with a visit.
    fn of(flow: &Flow, index: usize, varies: bool) -> Ticks {
        let phase = match varies {
            true => world::stream(&format!("traffic/{index}/phase")).span(flow.every),
            false => flow.every / 2,
        };
        Ticks { next: Time::ZERO + phase, every: flow.every }
    }

    /// Waits for the next sending time. Missed ones are skipped.
    async fn tick(&mut self) {
        while self.next < world::now() {
            self.next += self.every;
        }
        world::sleep_until(self.next).await;
        self.next += self.every;
    }
}

// Beacons: small HTTP requests whose responses are ignored, as sent by `navigator.sendBeacon` (W3C Beacon, section 3).
//
// All use one dedicated connection with the page's protocol, which is opened for the first beacon and reopened
// after it was closed. A beacon is skipped if its predecessor is still in flight.

/// Posts bodies of `size_bytes` for ever.
async fn send_beacons(mut ticks: Ticks, size_bytes: u64, opening: Opening) {
    let request = beacon_request(&opening, size_bytes);
    let mut connection = None;
    loop {
        ticks.tick().await;
        connection = post_beacon(connection, &opening, &request).await;
    }
}

/// Posts over the existing connection, if it is still usable; returns the one that was used. A failed beacon is
/// not retried.
async fn post_beacon(
    connection: Option<ClientConnection>,
    opening: &Opening,
    request: &Request<Bytes>,
) -> Option<ClientConnection> {
    let good = connection.and_then(|mut kept| kept.is_reusable().then_some(kept));
    let mut connection = match good {
        Some(connection) => connection,
        None => client::open(opening.clone(), &mut |_| ()).await.ok()?,
    };
    connection.fetch(request, Priority::Lowest, &mut Unwatched).await.ok()?;
    Some(connection)
}

fn beacon_request(opening: &Opening, size_bytes: u64) -> Request<Bytes> {
    let scheme = if opening.security == Security::None { "http" } else { "https" };
    let body = Bytes::from(vec![b'x'; size_bytes as usize]);
    Request::post(format!("{scheme}://{}/beacon", opening.host))
        .header("content-type", "text/plain;charset=UTF-8")
        .body(body)
        .expect("a request of constant parts is one")
}

/// Answers every beacon for ever.
async fn collect_beacons(listener: TcpListener, acceptor: Acceptor) {
    let reply = Reply::new(StatusCode::NO_CONTENT, HeaderMap::new(), Bytes::new());
    // It ends with its listener: beacons fail from then on, unnoticed.
    let _ = origin::serve(listener, acceptor, Rc::new(Collector(reply))).await;
}

/// Handler with the same answer for everything.
struct Collector(Reply);

impl Handler for Collector {
    fn handle(&self, _request: RequestHead<'_>) -> Answer {
        Answer::Ready(self.0.clone())
    }
}

/// Progress that ignores the answer.
struct Unwatched;

impl Progress for Unwatched {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, _status: u16, _head_bytes: u64) {}
    fn data(&mut self, _piece: &[u8]) {}
}

// Pings: UDP datagrams that an echo service (RFC 862) returns.
//
// UDP's header is as long as that of ICMP's echo (RFC 792), so packets are as large as those of `ping`,
// without the privilege that an ICMP socket needs. Like `ping`, the sender goes by the clock, independently of
// answers.

/// The headers of IPv4 and of UDP.
const HEADERS: u64 = 20 + 8;

/// Larger than any ping.
const DATAGRAM: usize = 2048;

/// Starts to send pings of `size_bytes`, headers included, from the client at `from`.
fn start_pings(from: IpAddr, ticks: Ticks, size_bytes: u64) -> io::Result<()> {
    let socket = Rc::new(UdpSocket::bind(SocketAddr::new(from, 0))?);
    let payload_bytes = size_bytes.saturating_sub(HEADERS) as usize;
    world::spawn(discard_echoes(Rc::clone(&socket)));
    world::spawn(send_pings(socket, ticks, payload_bytes));
    Ok(())
}

/// Receives the answers and discards them.
async fn discard_echoes(socket: Rc<UdpSocket>) {
    while socket.recv_from(&mut [0; DATAGRAM]).await.is_ok() {}
}

async fn send_pings(socket: Rc<UdpSocket>, mut ticks: Ticks, payload_bytes: usize) {
    let mut payload = vec![0; payload_bytes];
    for number in 0_u64.. {
        ticks.tick().await;
        // Numbered as in `ping`, as far as there is room.
        for (byte, of_number) in payload.iter_mut().zip(number.to_be_bytes()) {
            *byte = of_number;
        }
        // A ping that the network rejects is lost: the next one follows.
        let _ = socket.send_to(&payload, SocketAddr::new(TRAFFIC_SERVER, ECHO_PORT)).await;
    }
}

/// Echoes every datagram.
async fn echo_pings(socket: UdpSocket) {
    let mut datagram = [0; DATAGRAM];
    while let Ok((bytes, from)) = socket.recv_from(&mut datagram).await {
        let _ = socket.send_to(&datagram[..bytes], from).await;
    }
}
