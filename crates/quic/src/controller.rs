//! Congestion control for QUIC: quinn's own or our TCP's, with recording.
//!
//! [`SegmentController`] adapts a controller of the crate `congestion`, which counts segments and is driven by acknowledgements, to
//! quinn's trait, which counts bytes and is driven by packets. The reduction itself is RFC 9002's: one per round trip, at once.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chance::RandomStream;
use congestion::{Ack, CarefulResume, InitialState, RecoveryPhase, Timeout, Window};
use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

use crate::transport::{Congestion, TcpController, Transport};

/// The smallest window (RFC 9002 section 7.2).
const LEAST_PACKETS: u32 = 2;

/// A sender's state after an event changed its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowChange {
    /// Time of the event.
    pub(crate) at: Instant,
    /// The window.
    pub(crate) window_bytes: u64,
    /// The slow start threshold; none before the first congestion.
    pub(crate) ssthresh_bytes: Option<u64>,
    /// Bytes in flight afterwards.
    pub(crate) in_flight_bytes: u64,
    /// Bytes acknowledged so far.
    pub(crate) acknowledged_bytes: u64,
    /// Smoothed, and minimum, round-trip time.
    pub(crate) rtt: Option<(Duration, Duration)>,
    /// True during loss recovery.
    pub(crate) recovering: bool,
    /// Capacity of a packet.
    pub(crate) packet_bytes: u64,
}

/// Recorder of changes, if they are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowRecorder(Option<Arc<Mutex<Vec<WindowChange>>>>);

impl WindowRecorder {
    /// A recorder that keeps changes.
    pub(crate) fn keeping() -> WindowRecorder {
        WindowRecorder(Some(Arc::default()))
    }

    /// The changes recorded so far.
    pub(crate) fn changes(&self) -> Vec<WindowChange> {
        let Some(kept) = &self.0 else { return Vec::new() };
        kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, change: impl FnOnce() -> WindowChange) {
        if let Some(kept) = &self.0 {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(change());
        }
    }
}

/// Periods from the sending of a lost packet to the detection of its loss, the newest that was lost at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossPeriods(Arc<Mutex<Vec<(Instant, Instant)>>>);

impl LossPeriods {
    pub(crate) fn all(&self) -> Vec<(Instant, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, sent: Instant, detected: Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((sent, detected));
    }
}

/// Creates the controllers of one connection: one for each path.
pub(crate) struct Factory {
    congestion: Congestion,
    initial_window_bytes: u64,
    watch: WindowRecorder,
    losses: LossPeriods,
    chance: RandomStream,
}

impl Factory {
    pub(crate) fn new(
        transport: &Transport,
        watch: WindowRecorder,
        losses: LossPeriods,
    ) -> Factory {
        let Transport { congestion, initial_window_bytes, .. } = transport.clone();
        let chance = world::stream("quic/congestion");
        Factory { congestion, initial_window_bytes, watch, losses, chance }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner: Box<dyn Controller> = match &self.congestion {
            Congestion::Quinn(quinn) => quinn.factory(self.initial_window_bytes).build(now, mtu),
            Congestion::AsTcp(as_tcp) => Box::new(SegmentController::new(
                as_tcp.clone(),
                self.initial_window_bytes,
                mtu,
                self.chance.clone(),
            )),
        };
        Box::new(RecordedController {
            inner,
            watch: self.watch.clone(),
            losses: self.losses.clone(),
            packet_bytes: mtu.into(),
            acknowledged_bytes: 0,
            in_flight_bytes: 0,
            rtt: None,
            recovery: None,
        })
    }
}

/// Any controller, with its changes recorded.
struct RecordedController {
    inner: Box<dyn Controller>,
    watch: WindowRecorder,
    losses: LossPeriods,
    packet_bytes: u64,
    acknowledged_bytes: u64,
    in_flight_bytes: u64,
    rtt: Option<(Duration, Duration)>,
    /// Start of the latest recovery period; it lasts until a packet sent later is acknowledged.
    recovery: Option<Instant>,
}

impl RecordedController {
    fn note(&self, at: Instant) {
        self.watch.note(|| {
            let ControllerMetrics { congestion_window, ssthresh, .. } = self.inner.metrics();
            WindowChange {
                at,
                window_bytes: congestion_window,
                ssthresh_bytes: ssthresh.filter(|bytes| *bytes != u64::MAX),
                in_flight_bytes: self.in_flight_bytes,
                acknowledged_bytes: self.acknowledged_bytes,
                rtt: self.rtt,
                recovering: self.recovery.is_some(),
                packet_bytes: self.packet_bytes,
            }
        });
    }
}

impl Controller for RecordedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.acknowledged_bytes += bytes;
        self.rtt = Some((rtt.get(), rtt.min()));
        self.recovery.take_if(|began| sent > *began);
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        self.in_flight_bytes = in_flight;
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.note(now);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.losses.note(sent, now);
        if self.recovery.is_none_or(|began| sent > began) {
            self.recovery = Some(now);
        }
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(lost);
        self.inner.on_congestion_event(now, sent, persistent, lost);
        self.note(now);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.packet_bytes = mtu.into();
        self.inner.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(RecordedController {
            inner: self.inner.clone_box(),
            watch: self.watch.clone(),
            losses: self.losses.clone(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The sum over the packets of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct AckedBytes {
    acknowledged_bytes: u64,
    /// The part of these that may grow the window.
    growth_bytes: u64,
    /// Send time of the newest of them.
    newest: Option<Instant>,
    /// True if some of them were sent before the latest reduction.
    recovering: bool,
}

/// A TCP controller behind quinn's trait.
struct SegmentController {
    as_tcp: TcpController,
    chance: RandomStream,
    controller: Box<dyn congestion::Controller>,
    window: Window,
    initial_bytes: u64,
    packet_bytes: u64,
    batch: AckedBytes,
    /// Acknowledged bytes short of a whole packet.
    rest: AckedBytes,
    /// Time of the latest reduction.
    reduced: Option<Instant>,
    has_started: bool,
    smoothed_rtt: Duration,
    last_sent: Option<Instant>,
    is_idle: bool,
    next_packet: u64,
    lost_packets: u64,
}

impl SegmentController {
    fn new(
        as_tcp: TcpController,
        initial_bytes: u64,
        mtu: u16,
        chance: RandomStream,
    ) -> SegmentController {
        let packet_bytes = u64::from(mtu);
        SegmentController {
            controller: as_tcp.algorithm.controller(&as_tcp.settings, chance.clone()),
            as_tcp,
            chance,
            window: Window::new(in_packets(initial_bytes, packet_bytes)),
            initial_bytes,
            packet_bytes,
            batch: AckedBytes::default(),
            rest: AckedBytes::default(),
            reduced: None,
            has_started: false,
            smoothed_rtt: Duration::ZERO,
            last_sent: None,
            is_idle: true,
            next_packet: 0,
            lost_packets: 0,
        }
    }

    fn start(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.has_started, true) {
            let start = InitialState {
                now: world::from_instant(now),
                rtt: Some(self.smoothed_rtt).filter(|rtt| !rtt.is_zero()),
                segment_bytes: u32::try_from(self.packet_bytes).unwrap_or(u32::MAX),
            };
            self.controller.start(&self.window, &start);
        }
    }

    /// Handles the restart after an idle period with nothing in flight (`tcp_slow_start_after_idle_check`, `CA_EVENT_TX_START`).
    fn resume(&mut self, now: Instant, idle: Duration) {
        if self.as_tcp.slow_start_after_idle {
            let timeout = self.smoothed_rtt + self.as_tcp.min_rto;
            let restart = in_packets(self.initial_bytes, self.packet_bytes);
            if idle > timeout {
                self.window.ssthresh = self.window.remembered_ssthresh();
                self.window.decay(idle, timeout, restart);
            }
        }
        let now = world::from_instant(now);
        self.controller
            .on_resume(&mut self.window, &CarefulResume { now, idle, app_limited: true });
    }
}

/// Whole packets, rounded, at least the minimum window.
fn in_packets(bytes: u64, packet_bytes: u64) -> u32 {
    let packets = (bytes + packet_bytes / 2) / packet_bytes;
    u32::try_from(packets).unwrap_or(u32::MAX).max(LEAST_PACKETS)
}

/// Takes whole packets out of `bytes`.
fn take_packets(bytes: &mut u64, packet_bytes: u64) -> u32 {
    let packets = *bytes / packet_bytes;
    *bytes %= packet_bytes;
    u32::try_from(packets).unwrap_or(u32::MAX)
}

impl Controller for SegmentController {
    fn on_sent(&mut self, now: Instant, _bytes: u64, last_packet_number: u64) {
        if std::mem::replace(&mut self.is_idle, false)
            && let Some(last) = self.last_sent
        {
            self.resume(now, now.saturating_duration_since(last));
        }
        self.last_sent = Some(now);
        self.next_packet = self.next_packet.max(last_packet_number + 1);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        // RFC 9002 section 7.3.2: packets sent before the reduction say nothing about the window since.
        let before_reduction = self.reduced.is_some_and(|reduced| sent <= reduced);
        self.batch.acknowledged_bytes += bytes;
        // RFC 9002 section 7.8: an unused window must not grow.
        if !app_limited && !before_reduction {
            self.batch.growth_bytes += bytes;
        }
        self.batch.recovering |= before_reduction;
        self.batch.newest = self.batch.newest.max(Some(sent));
        self.smoothed_rtt = rtt.get();
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, largest: Option<u64>) {
        self.start(now);
        self.is_idle = in_flight == 0;
        let batch = std::mem::take(&mut self.batch);
        let Some(newest) = batch.newest else { return };
        self.rest.acknowledged_bytes += batch.acknowledged_bytes;
        self.rest.growth_bytes += batch.growth_bytes;
        let ack = Ack {
            now: world::from_instant(now),
            rtt: Some(now.saturating_duration_since(newest)),
            growth: take_packets(&mut self.rest.growth_bytes, self.packet_bytes),
            acked: take_packets(&mut self.rest.acknowledged_bytes, self.packet_bytes),
            phase: if batch.recovering { RecoveryPhase::Recovery } else { RecoveryPhase::Open },
            acknowledged: largest.unwrap_or(0),
            next: self.next_packet,
            rate: None,
        };
        self.controller.on_ack(&mut self.window, &ack);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.lost_packets += lost.div_ceil(self.packet_bytes);
        if self.reduced.is_some_and(|reduced| sent <= reduced) {
            return;
        }
        self.reduced = Some(now);
        // RFC 9002 section 7.3.2: the window is the threshold at once.
        self.window.ssthresh = self.controller.on_congestion(&self.window).max(LEAST_PACKETS);
        self.window.cwnd = self.window.ssthresh;
        self.window.restart_counting();
        if persistent {
            // RFC 9002 section 7.6.2.
            let (now, next) = (world::from_instant(now), self.next_packet);
            self.controller.on_timeout(&Timeout { now, next, lost: self.lost_packets });
            self.window.cwnd = LEAST_PACKETS;
            self.reduced = None;
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        // The same number of bytes in larger packets.
        let (before, after) = (self.packet_bytes, u64::from(mtu));
        self.window.cwnd = in_packets(u64::from(self.window.cwnd) * before, after);
        if self.window.ssthresh != congestion::INFINITE_SSTHRESH {
            self.window.ssthresh = in_packets(u64::from(self.window.ssthresh) * before, after);
        }
        self.packet_bytes = after;
    }

    fn window(&self) -> u64 {
        u64::from(self.window.cwnd) * self.packet_bytes
    }

    fn metrics(&self) -> ControllerMetrics {
        let ssthresh = self.window.ssthresh;
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = (ssthresh != congestion::INFINITE_SSTHRESH)
            .then(|| u64::from(ssthresh) * self.packet_bytes);
        metrics
    }

    /// For a path that differs only in the port, the only kind for which quinn calls this (RFC 9000 section 9.4): the
    /// window and its threshold are kept; the algorithm's other state (CUBIC's epoch, HyStart's round) starts anew.
    fn clone_box(&self) -> Box<dyn Controller> {
        let mtu = u16::try_from(self.packet_bytes).unwrap_or(u16::MAX);
        let fresh = SegmentController::new(
            self.as_tcp.clone(),
            self.initial_bytes,
            mtu,
            self.chance.clone(),
        );
        let (window, smoothed_rtt) = (self.window, self.smoothed_rtt);
        Box::new(SegmentController { window, smoothed_rtt, next_packet: self.next_packet, ..fresh })
    }

    fn initial_window(&self) -> u64 {
        self.initial_bytes
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
