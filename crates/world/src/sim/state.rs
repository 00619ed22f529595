//! The state of the simulated world except its tasks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::task::Waker;

use chance::RandomSource;
use units::Time;

use super::capture::WireTrace;
use super::clock::{Agenda, SimEvent, SimTimers};
use super::executor;
use super::executor::Wakes;
use super::plan::NodeId;
use super::tcp_table::{Demux, TcpSockets};
use super::topology::{PacketBody, SimPacket, Topology};
use super::udp_socket::UdpSockets;

pub(super) struct SimState {
    pub(super) now: Time,
    pub(super) agenda: Agenda,
    pub(super) timers: SimTimers,
    pub(super) topology: Topology,
    pub(super) demux: Demux,
    pub(super) tcp: TcpSockets,
    pub(super) udp: UdpSockets,
    pub(super) trace: WireTrace,
    pub(super) wakes: Wakes,
    /// Sources of random numbers of some nodes' tasks.
    sources: BTreeMap<NodeId, RandomSource>,
}

thread_local! {
    static STATE: RefCell<Option<SimState>> = const { RefCell::new(None) };
}

pub(super) fn install(state: SimState) {
    STATE.set(Some(state));
}

pub(super) fn uninstall() {
    STATE.set(None);
}

/// Runs `f` on this thread's simulated world.
///
/// # Panics
/// On a thread that has none: handles of a simulated world work on its own thread only.
pub(super) fn with<T>(f: impl FnOnce(&mut SimState) -> T) -> T {
    STATE.with_borrow_mut(|state| {
        f(state.as_mut().expect("a simulated world's handles work on its own thread only"))
    })
}

/// The random source of the running task's node, if it has its own.
pub(crate) fn own_source() -> Option<RandomSource> {
    with(|state| state.sources.get(&executor::current_node()).copied())
}

/// Makes the running task's node and its peers forget each other's metrics.
pub(crate) fn forget_peers() {
    with(|state| state.topology.forget(executor::current_node()));
}

/// Runs `f` if this thread has a simulated world: for destructors, which may run after its end.
pub(super) fn with_if_any(f: impl FnOnce(&mut SimState)) {
    STATE.with_borrow_mut(|state| {
        if let Some(state) = state {
            f(state);
        }
    });
}

impl SimState {
    pub(super) fn new(
        topology: Topology,
        trace: WireTrace,
        wakes: Wakes,
        sources: BTreeMap<NodeId, RandomSource>,
    ) -> SimState {
        SimState {
            now: Time::ZERO,
            agenda: Agenda::default(),
            timers: SimTimers::default(),
            topology,
            demux: Demux::default(),
            tcp: TcpSockets::default(),
            udp: UdpSockets::default(),
            trace,
            wakes,
            sources,
        }
    }

    /// Moves the clock to the next event and fires it; `None` if there is none.
    pub(super) fn advance(&mut self) -> Option<Time> {
        let (at, event) = self.agenda.next()?;
        debug_assert!(at >= self.now, "time does not run backwards");
        self.now = at;
        match event {
            SimEvent::Timer { slot, generation } => {
                if let Some(waker) = self.timers.fire(slot, generation) {
                    waker.wake();
                }
            }
            SimEvent::Link(link) if self.topology.is_due(at, link) => self.arrivals(link),
            SimEvent::Link(_) => {}
            SimEvent::Radio(radio) => {
                let SimState { now, agenda, topology, trace, .. } = self;
                topology.radio_due(*now, agenda, trace, radio);
            }
            SimEvent::Tcp { slot, generation } => self.tcp_timeout(slot, generation),
            SimEvent::Wake(node) => self.wakes.wake(node),
            SimEvent::Local => {
                if let Some(packet) = self.topology.next_local() {
                    self.deliver(packet);
                }
            }
        }
        Some(at)
    }

    /// Lets a task of `node` run once its process has noticed that there is something to do.
    pub(super) fn schedule_wake(&mut self, node: NodeId, task: Waker) {
        if let Some(latency) = self.wakes.schedule_wake(node, task) {
            self.agenda.plan(self.now + latency, SimEvent::Wake(node));
        }
    }

    /// Sends a packet on its way.
    pub(super) fn send(&mut self, packet: SimPacket) {
        let SimState { now, agenda, topology, trace, .. } = self;
        topology.forward(*now, agenda, trace, packet);
    }

    /// Takes packets that have reached the far end of `link` and passes them on.
    fn arrivals(&mut self, link: u32) {
        while let Some(packet) = self.topology.arrived(self.now, link, &mut self.trace) {
            if self.topology.at_destination(&packet) {
                self.deliver(packet);
            } else {
                self.send(packet);
            }
        }
        self.topology.rearm(link, &mut self.agenda);
    }

    fn deliver(&mut self, packet: SimPacket) {
        if let Some(capture) = &mut self.trace.capture {
            capture.reached(self.now, &packet);
        }
        if let Some(arrivals) = &mut self.trace.arrivals {
            arrivals.note(self.now, &packet);
        }
        let SimPacket { from, to, body, .. } = packet;
        match body {
            PacketBody::Tcp(segment) => self.tcp_arrived(from, to, segment),
            PacketBody::Udp(datagram) => self.udp_arrived(from, to, datagram),
        }
    }
}
