//! A world's description - nodes, links, routes, names, tasks - and its run.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use thiserror::Error;
use units::Time;

use super::capture::{PacketCapture, SeriesUse, WireTrace};
use super::executor::{self, SimTask, Wakes};
use super::movement::ArrivalLog;
use super::state::{self, SimState};
use super::topology::Topology;
use crate::ambient::{self, SharedContext, WorldKind};
use crate::report::Keeping;

/// A host in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u16);

/// One direction of a link in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(super) u32);

/// A world that has not begun.
pub struct SimPlan {
    source: RandomSource,
    /// Sources of nodes with one of their own, for their tasks.
    sources: BTreeMap<NodeId, RandomSource>,
    topology: Topology,
    hosts: BTreeMap<String, IpAddr>,
    tasks: Vec<(NodeId, SimTask)>,
    limit: Duration,
    trace: WireTrace,
    wake_latency: Option<Range<Duration>>,
}

/// Reason why a world ended before its main task was done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// No event was left.
    #[error("deadlock at {at:?}: no event is left, and the main task waits")]
    Stalled {
        /// Time of the stall.
        at: Time,
    },
    /// The plan's time limit was reached.
    #[error("the main task did not finish within {limit:?} of virtual time")]
    TimeLimit {
        /// The limit.
        limit: Duration,
    },
}

impl SimPlan {
    /// An empty world whose random streams come from `source`.
    pub fn new(source: RandomSource) -> SimPlan {
        SimPlan {
            source,
            sources: BTreeMap::new(),
            topology: Topology::default(),
            hosts: BTreeMap::new(),
            tasks: Vec::new(),
            limit: Duration::from_secs(3600),
            trace: WireTrace::default(),
            wake_latency: None,
        }
    }

    /// Sets the limit of the world's virtual time (default: one hour).
    pub fn limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Keeps a copy of every packet for [`take_sightings`](super::take_sightings).
    pub fn capture(&mut self) {
        self.trace.capture = Some(PacketCapture::default());
    }

    /// Makes every TCP connection record its series, and the data held above its socket, for its
    /// [`Endpoint`](crate::report::Endpoint).
    pub fn record_series(&mut self) {
        self.trace.series = SeriesUse::Told;
    }

    /// Makes every TCP connection record its series for [`movements`](super::movements) alone: reports, which are frequent, omit them.
    pub fn keep_series(&mut self) {
        self.trace.series = self.trace.series.max(SeriesUse::Kept);
    }

    /// Keeps the arrival time of each packet, for [`arrivals`](super::arrivals).
    pub fn keep_arrivals(&mut self) {
        self.trace.arrivals = Some(ArrivalLog::default());
    }

    /// Sets the time that the processes of all nodes take to notice that their sockets are ready; each time is drawn anew.
    /// They take no time by default.
    pub fn wake_latency(&mut self, range: Range<Duration>) {
        self.wake_latency = Some(range);
    }

    /// Adds a host at `address` whose connections use `tcp`.
    ///
    /// # Panics
    /// If the address is taken.
    pub fn node(&mut self, address: IpAddr, tcp: Arc<tcp::Config>) -> NodeId {
        self.topology.add_node(address, tcp)
    }

    /// Adds one direction of a link. Its name keys its random streams (`link/NAME/loss`) and its report.
    pub fn link(&mut self, name: &str, config: net::LinkConfig) -> LinkId {
        self.topology.add_link(name, config, &self.source)
    }

    /// Adds the radio of a host, in front of two links: its packets pass it before they enter them. Its name keys its random streams
    /// (`radio/NAME/paging`) and its report.
    ///
    /// # Panics
    /// If the host has a radio already.
    pub fn radio(
        &mut self,
        name: &str,
        config: net::RadioConfig,
        node: NodeId,
        [up, down]: [LinkId; 2],
    ) {
        self.topology.add_radio(name, config, node, [up, down], &self.source);
    }

    /// Makes a host the client with this number: packets to and from it are that user's on links with a scheduler of users, and its tasks draw
    /// from `source`. Packets between hosts that are not clients count as the first client's.
    pub fn client(&mut self, node: NodeId, number: u32, source: RandomSource) {
        self.topology.set_user(node, number);
        self.sources.insert(node, source);
    }

    /// Adds a route: packets from one node to another cross these links in this order.
    pub fn route(&mut self, from: NodeId, to: NodeId, links: &[LinkId]) {
        self.topology.add_route(from, to, links);
    }

    /// Redirects TCP connections from one node to another to a third, which takes them over in the other's place
    /// ([`TcpListener::bind_transparent`](crate::TcpListener::bind_transparent)). Their packets cross the route between
    /// the two, which leads to the third.
    pub fn lead(&mut self, from: NodeId, to: NodeId, taker: NodeId) {
        self.topology.add_redirect(from, to, taker);
    }

    /// Adds a name for an address.
    pub fn host(&mut self, name: &str, address: IpAddr) {
        self.hosts.insert(name.to_owned(), address);
    }

    /// Adds a task that runs on `node` from the beginning.
    pub fn spawn(&mut self, node: NodeId, task: impl Future<Output = ()> + 'static) {
        self.tasks.push((node, Box::pin(task)));
    }

    /// Runs the world until `main`, on `node`, is done. Unfinished tasks are dropped, then the
    /// world.
    ///
    /// # Errors
    /// If `main` can never be done, or not within the limit.
    ///
    /// # Panics
    /// If the thread is in a world already.
    pub fn run<F>(self, node: NodeId, main: F) -> Result<F::Output, RunError>
    where
        F: Future + 'static,
    {
        let keeping = match self.trace.series {
            SeriesUse::Told => Keeping::Series,
            SeriesUse::None | SeriesUse::Kept => Keeping::Endpoints,
        };
        let common = SharedContext::new(self.source, self.hosts, keeping);
        let _entered = ambient::enter(WorldKind::Sim, common);
        let wakes = Wakes::taking(self.wake_latency);
        state::install(SimState::new(self.topology, self.trace, wakes, self.sources));
        let _running = TeardownGuard;
        for (node, task) in self.tasks {
            executor::spawn_on(node, task);
        }
        let (output, mut receiver) = tokio::sync::oneshot::channel();
        let main = async move {
            // The receiver outlives the run; a failed send cannot happen.
            let _ = output.send(main.await);
        };
        executor::spawn_on(node, Box::pin(main));
        let limit = Time::ZERO + self.limit;
        loop {
            while executor::run_one() {
                if let Ok(output) = receiver.try_recv() {
                    return Ok(output);
                }
            }
            let at = state::with(|state| state.now);
            match state::with(SimState::advance) {
                None => return Err(RunError::Stalled { at }),
                Some(now) if now > limit => return Err(RunError::TimeLimit { limit: self.limit }),
                Some(_) => {}
            }
        }
    }
}

/// Drops tasks, then the world's state, also if a task panics.
struct TeardownGuard;

impl Drop for TeardownGuard {
    fn drop(&mut self) {
        executor::clear();
        ambient::forget_added();
        state::uninstall();
    }
}
