//! The near end: on the clients' side of the satellite.
//!
//! On certain ports HTTP is inspected: a plain GET in clear text is answered by [split HTTP](crate::http). All else is split TCP.
//!
//! The near end accepts a connection at once, on behalf of the server, and carries it by the leg. If the far end is gone or full, or a rule
//! says so, it connects directly: then the connection crosses the satellite as if there were no proxy.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ipnet::IpNet;
use world::{TcpListener, TcpStream};

use crate::admin::Counters;
use crate::http::{self, Answered, ClientConnection, ClientEvent, GetContext, PushStore};
use crate::leg::{self, Leg, LegConnector, SharedStream, StreamLease};
use crate::port::{self, Ending, ShutdownStage, race};
use crate::remote::within;
use crate::split::{self, Splice, SpliceEnd, StreamRequest};

/// Settings of a near end.
#[derive(Clone, Debug)]
pub struct NearSettings {
    /// The far end's address.
    pub far: SocketAddr,
    /// Number of the leg's connections: with TCP, more lose less to one lost packet, and take more than one connection's
    /// share.
    pub channels: usize,
    /// The leg.
    pub leg: leg::LegSettings,
    /// Networks whose connections go past the proxy.
    pub bypass: Vec<IpNet>,
    /// Ports on which HTTP is inspected. None: TCP alone is split.
    pub http_ports: Vec<u16>,
    /// Idle timeout of connections.
    pub idle: Duration,
}

/// Time for a client to send its first bytes, after which the server is assumed to speak first.
const FIRST_WORD: Duration = Duration::from_secs(3);

impl NearSettings {
    /// Default settings with the far end at `far`: one channel, nothing bypassed, HTTP on port 80, an idle timeout of a
    /// quarter of an hour.
    pub fn new(far: SocketAddr) -> NearSettings {
        NearSettings {
            far,
            channels: 1,
            leg: leg::LegSettings::default(),
            bypass: Vec::new(),
            http_ports: vec![80],
            idle: Duration::from_secs(900),
        }
    }
}

/// Destination of a listener's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardTarget {
    /// This address: a port forward.
    Fixed(SocketAddr),
    /// The original destination: the kernel redirects connections here (`REDIRECT`, `TPROXY`).
    Asked,
}

/// The near end.
pub struct Local {
    settings: NearSettings,
    leg: Leg,
    store: Rc<PushStore>,
    counters: Rc<Counters>,
    ending: Ending,
}

/// Way of carrying a connection, and the reason.
enum ConnectionPath {
    Split(StreamLease),
    Direct(BypassReason),
}

/// Reason for bypassing the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BypassReason {
    /// A rule.
    Bypassed,
    /// The far end is gone or full.
    NoFarEnd,
}

impl Local {
    /// Starts the leg. Connections that come before it is established go directly.
    pub fn start(settings: NearSettings, connector: &LegConnector) -> Rc<Local> {
        let leg = Leg::start(settings.far, settings.channels, connector, &settings.leg);
        let counters = Rc::new(Counters::of(&settings.leg));
        let store = PushStore::new(Rc::clone(&counters));
        Rc::new(Local { settings, leg, store, counters, ending: Ending::default() })
    }

    /// Its counters.
    pub fn counters(&self) -> &Rc<Counters> {
        &self.counters
    }

    /// Returns true if the far end is there.
    pub fn is_up(&self) -> bool {
        self.leg.is_up()
    }

    /// Waits until the leg is established with all its channels, for the first time.
    pub async fn stood(&self) {
        self.leg.stood().await;
    }

    /// The shortest round-trip time to the far end; zero before the first measurement.
    pub fn rtt(&self) -> Duration {
        self.leg.rtt()
    }

    /// The handle to shut it down.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Carries connections that `listener` accepts, until it is told to end and all of them have ended.
    pub async fn serve(self: Rc<Local>, listener: TcpListener, target: ForwardTarget) {
        let listening_at = listener.local_addr().ok();
        let carry = |tcp: TcpStream| {
            let local = Rc::clone(&self);
            async move {
                match local.target(&tcp, target, listening_at) {
                    Some(target) => {
                        let over = local.ending.reached(ShutdownStage::Over);
                        race(local.carry(tcp, target), over).await;
                    }
                    None => local.counters.refused.add(1),
                }
            }
        };
        port::serve(listener, &self.ending, carry).await;
    }

    /// The destination of `tcp`; `None` if the kernel did not redirect it here: connecting there would loop for ever.
    fn target(
        &self,
        tcp: &TcpStream,
        target: ForwardTarget,
        listening_at: Option<SocketAddr>,
    ) -> Option<SocketAddr> {
        match target {
            ForwardTarget::Fixed(target) => Some(target),
            ForwardTarget::Asked => {
                let asked = tcp.original_destination().ok()?;
                let here = listening_at?;
                let is_here = asked.port() == here.port()
                    && (here.ip().is_unspecified() || here.ip() == asked.ip());
                (!is_here || tcp.local_addr().ok()? != asked).then_some(asked)
            }
        }
    }

    async fn carry(&self, tcp: TcpStream, target: SocketAddr) {
        if self.settings.http_ports.contains(&target.port()) && !self.is_bypassed(target) {
            self.trap(ClientConnection::new(tcp), target).await;
        } else {
            self.pass_unread(tcp, target, Bytes::new()).await;
        }
    }

    /// Answers the requests that it can, and passes on the rest.
    async fn trap(&self, mut front: ClientConnection, target: SocketAddr) {
        let Some(client) = front.peer().map(|peer| peer.ip()) else { return };
        let asking = GetContext {
            client,
            target,
            store: &self.store,
            leg: &self.leg,
            line: SharedStream::default(),
            counters: &self.counters,
            idle: self.settings.idle,
        };
        let mut patience = FIRST_WORD;
        loop {
            let next = match world::timeout(patience, front.next()).await {
                Ok(Ok(next)) => next,
                Ok(Err(_)) => return,
                Err(_) if patience == FIRST_WORD => ClientEvent::Foreign,
                Err(_) => return front.close().await,
            };
            patience = self.settings.idle;
            let ClientEvent::Get(trapped) = next else {
                if let ClientEvent::Foreign = next {
                    let (tcp, unread) = front.into_unread();
                    return self.pass_unread(tcp, target, unread).await;
                }
                return front.close().await;
            };
            match http::answer(&mut front, trapped, &asking).await {
                Answered::Kept => front.done(),
                Answered::Last => {
                    front.done();
                    return front.close().await;
                }
                Answered::Not => {
                    let (tcp, unread) = front.into_unread();
                    return self.pass_unread(tcp, target, unread).await;
                }
                // Dropping the connection resets it.
                Answered::Broken => return self.counters.broken.add(1),
            }
        }
    }

    /// Carries `tcp`, from which `first` was read already.
    async fn pass_unread(&self, tcp: TcpStream, target: SocketAddr, first: Bytes) {
        match self.way(target) {
            ConnectionPath::Split(lease) => self.split(tcp, target, lease, first).await,
            ConnectionPath::Direct(why) => self.pass(tcp, target, first, why).await,
        }
    }

    fn is_bypassed(&self, target: SocketAddr) -> bool {
        within(&self.settings.bypass, target.ip())
    }

    fn way(&self, target: SocketAddr) -> ConnectionPath {
        if self.is_bypassed(target) {
            return ConnectionPath::Direct(BypassReason::Bypassed);
        }
        self.leg
            .lease()
            .map_or(ConnectionPath::Direct(BypassReason::NoFarEnd), ConnectionPath::Split)
    }

    /// Carries `tcp` by the leg, behind the bytes that were read from it already.
    async fn split(&self, tcp: TcpStream, target: SocketAddr, lease: StreamLease, first: Bytes) {
        let Ok(mut sender) = lease.sender().await else {
            return self.pass(tcp, target, first, BypassReason::NoFarEnd).await;
        };
        let request =
            StreamRequest::Tunnel(target).into_request().expect("an address can be asked for");
        let Ok((answer, stream)) = sender.send_request(request, false) else {
            // The leg has just been lost; nothing was sent.
            tcp.abort();
            return self.counters.broken.add(1);
        };
        self.counters.split.add(1);
        // The client's handshake did not cross the leg.
        self.counters.save_trips(1, self.leg.rtt());
        let idle = self.settings.idle;
        let splice = Splice::opening(tcp, stream, answer, first, idle, &self.counters);
        if splice.run().await != SpliceEnd::Orderly {
            self.counters.broken.add(1);
        }
    }

    /// Connects directly.
    async fn pass(&self, tcp: TcpStream, target: SocketAddr, first: Bytes, why: BypassReason) {
        match why {
            BypassReason::Bypassed => self.counters.bypassed.add(1),
            BypassReason::NoFarEnd => self.counters.failed_open.add(1),
        }
        match split::connect(target, self.settings.leg.patience).await {
            Ok(server) => drop(split::join(tcp, server, first).await),
            Err(_) => tcp.abort(),
        }
    }
}
