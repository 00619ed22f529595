//! Background traffic of a journey: the client's flows, and their server.
//!
//! It lasts for the whole life of the journey's world: for [`BackgroundTraffic::lead`] before the first visit,
//! during visits and between them. So at navigation start a radio is in the state in which the traffic keeps
//! it. Both worlds run this code; the server has an address of its own at the network's far end, and does not
//! share connections with the page.

mod beacon;
mod ping;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use browser::Arm;
use http_stack::client::Opening;
use http_stack::server::Acceptor;
use tls::ClientSessions;
use units::Time;
use world::{TcpListener, UdpSocket};

use scenario::{BackgroundTraffic, Flow, FlowKind, Nuisance, Scenario};

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
    arm: Arm,
    /// True if the phase of each flow is drawn.
    varies: bool,
}

impl Background {
    /// Background traffic of a scenario whose hosts have these arms, or `None`. Beacons use the first arm with
    /// TLS, or else the first one.
    pub(crate) fn of(scenario: &Scenario, arms: &[Arm]) -> Option<Background> {
        let secure = arms.iter().find(|arm| arm.security.is_secure());
        let arm = *secure.or(arms.first())?;
        let (traffic, varies) = (scenario.traffic.clone(), scenario.nuisance == Nuisance::On);
        (!traffic.is_none()).then_some(Background { traffic, arm, varies })
    }

    /// Starts the server: listens and answers.
    ///
    /// # Errors
    /// If it cannot listen.
    pub(crate) fn serve(&self, tls: &tls::Settings) -> io::Result<()> {
        if self.has(FlowKind::Ping) {
            world::spawn(ping::echo(UdpSocket::bind(SocketAddr::new(TRAFFIC_SERVER, ECHO_PORT))?));
        }
        if self.has(FlowKind::Beacon) {
            let acceptor = Acceptor::with_tls(self.arm.security, tls);
            let listener = TcpListener::bind(SocketAddr::new(TRAFFIC_SERVER, self.arm.port))?;
            world::spawn(beacon::collect(listener, acceptor));
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
                FlowKind::Ping => ping::start_pings(from, ticks, flow.size_bytes)?,
                FlowKind::Beacon => {
                    world::spawn(beacon::send(ticks, flow.size_bytes, self.opening(sessions)));
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
