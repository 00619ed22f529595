//! BBR, version 1: paces at the bandwidth that the path delivers and keeps little more in flight than
//! the path holds.
//!
//! ```text
//!   Startup --bandwidth stops growing--> Drain --queue gone--> ProbeBw <--+
//!      |                                   |                      |       | 200 ms and a round
//!      +----- smallest round trip older than 10 s: ProbeRtt <-----+-------+
//! ```
//!
//! Cardwell et al., "BBR: Congestion-Based Congestion Control" (ACM Queue 2016), with the details and the
//! integer arithmetic of Linux 6.18 `net/ipv4/tcp_bbr.c`, whose function names are given with ours. Losses do not
//! reduce the model; the window is conserved for a round of recovery and restored after it.
//!
//! Left out: the kernel's jiffies (time is exact) and its clamp of the window (`snd_cwnd_clamp`). The initial phase of
//! a gain cycle is drawn from a stream, so that flows do not probe in step and runs are reproducible.

mod bandwidth;
mod path_model;
mod policer;

use std::time::Duration;

use chance::RandomStream;
use units::{BitsPerSec, Time};

use crate::{
    Ack, CarefulResume, Controller, Delivery, InitialState, PacingRate, RateSample, RecoveryPhase,
    Timeout, Window,
};
use bandwidth::{Bandwidth, Gain, MaxFilter, micros};
use path_model::{Aggregation, Dip, FullPipe, MinRtt};
use policer::{Observation, Policer, PolicerChange, Totals};

/// 2 / ln 2: the smallest gain that doubles the rate each round (`bbr_high_gain`).
const HIGH_GAIN: Gain = Gain(Gain::ratio(2885, 1000).0 + 1);
/// Its inverse, which empties in one round the queue that Startup built (`bbr_drain_gain`).
const DRAIN_GAIN: Gain = Gain::ratio(1000, 2885);
/// Ratio of the window to the estimated product: room for delayed acknowledgements (`bbr_cwnd_gain`).
const CWND_GAIN: Gain = Gain::ratio(2, 1);
/// Probe for more, give way, cruise (`bbr_pacing_gain`).
const CYCLE: [Gain; 8] = [
    Gain::ratio(5, 4),
    Gain::ratio(3, 4),
    Gain::UNIT,
    Gain::UNIT,
    Gain::UNIT,
    Gain::UNIT,
    Gain::UNIT,
    Gain::UNIT,
];
/// A cycle begins in any phase except the one that gives way (`bbr_cycle_rand`).
const FIRST_PHASES: u64 = 7;
/// Lifetime of a bandwidth: a cycle and two rounds (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// The smallest window that keeps a receiver acknowledging every second segment
/// (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;
/// `TCP_INIT_CWND`
const INITIAL_WINDOW: u32 = 10;
/// The nominal round trip before the first sample (`USEC_PER_MSEC`).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this rate segments leave one by one, bytes per second (`bbr_min_tso_rate`, 1.2 Mbit/s).
const LEAST_BURST_RATE: u64 = 1_200_000 / 8;
/// A burst lasts about a millisecond: 2^-10 s (`sk_pacing_shift`).
const BURST_SHIFT: u32 = 10;
/// Bytes of the largest burst: 64 KB less headers (`GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER`).
const MOST_BURST_BYTES: u64 = 65_536 - 1 - 320;

/// `enum bbr_mode`
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Empties the queue that Startup built.
    Drain,
    /// Cycles the pacing gain.
    ProbeBw { phase: usize, began: Time },
    /// Shows the round trip without a queue.
    ProbeRtt(Dip),
}

/// Round trips counted by deliveries.
#[derive(Clone, Debug, Default)]
struct Rounds {
    count: u64,
    /// The round ends with a segment sent after this many were delivered.
    ends: u64,
    /// The latest acknowledgement began a round.
    started: bool,
}

/// The BBR controller.
#[derive(Clone, Debug)]
pub struct Bbr {
    chance: RandomStream,
    segment_bytes: u32,
    mode: Mode,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    bandwidths: MaxFilter,
    rounds: Rounds,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    policer: Policer,
    aggregation: Aggregation,
    totals: Totals,
    /// Bytes per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    /// Sending resumed after a pause by the application, and nothing has been delivered since.
    idle_restart: bool,
    /// The latest acknowledgement was processed in ProbeRTT.
    restrained: bool,
    prior_phase: RecoveryPhase,
    /// In the first round of recovery: send as much as is delivered.
    conserving: bool,
    /// The last window that was not cut by recovery or ProbeRTT.
    good_cwnd: u32,
}

/// Source: `tcp_bbr.c`, in its order.
impl Bbr {
    /// A controller with the phases of its cycles drawn from `chance`.
    pub fn new(chance: RandomStream) -> Bbr {
        Bbr {
            chance,
            segment_bytes: 1448,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            bandwidths: MaxFilter::new(BANDWIDTH_ROUNDS),
            rounds: Rounds::default(),
            min_rtt: MinRtt::new(Time::ZERO, None),
            full_pipe: FullPipe::default(),
            policer: Policer::default(),
            aggregation: Aggregation::new(Time::ZERO),
            totals: Totals::default(),
            pacing_rate: u64::MAX,
            has_seen_rtt: false,
            idle_restart: false,
            restrained: false,
            prior_phase: RecoveryPhase::Open,
            conserving: false,
            good_cwnd: 0,
        }
    }

    /// `bbr_bw`
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or(self.bandwidths.get())
    }

    // ---- pacing

    /// `bbr_init_pacing_rate_from_rtt`: the window over the round trip, times the high gain.
    fn init_pacing_rate(&mut self, cwnd: u32, srtt: Option<Duration>) {
        self.has_seen_rtt = srtt.is_some();
        let rtt = micros(srtt.unwrap_or(NOMINAL_RTT)).max(1);
        let bandwidth = Bandwidth::of(u64::from(cwnd), rtt);
        self.pacing_rate = bandwidth.bytes_per_sec(self.segment_bytes, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`: before the pipe is full the rate only grows.
    fn set_pacing_rate(&mut self, gain: Gain) {
        let rate = self.bandwidth().bytes_per_sec(self.segment_bytes, gain);
        if self.full_pipe.is_reached() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_min_tso_segs`
    fn least_burst(&self) -> u32 {
        if self.pacing_rate < LEAST_BURST_RATE { 1 } else { 2 }
    }

    /// `bbr_tso_segs_goal`
    fn burst(&self) -> u32 {
        let bytes = (self.pacing_rate >> BURST_SHIFT).min(MOST_BURST_BYTES);
        let segments = (bytes / u64::from(self.segment_bytes)) as u32;
        segments.max(self.least_burst()).min(0x7f)
    }

    // ---- segments in flight

    /// `bbr_bdp`
    fn product(&self, bandwidth: Bandwidth, gain: Gain) -> u32 {
        self.min_rtt.micros().map_or(INITIAL_WINDOW, |rtt| bandwidth.product(rtt, gain))
    }

    /// `bbr_quantization_budget`: room for bursts on both hosts and for delayed acknowledgements.
    fn quantized(&self, segments: u32) -> u32 {
        let even = segments.saturating_add(3 * self.burst() + 1) & !1;
        let probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        even.saturating_add(if probing { 2 } else { 0 })
    }

    /// `bbr_inflight`
    fn in_flight_goal(&self, gain: Gain) -> u32 {
        self.quantized(self.product(self.bandwidths.get(), gain))
    }

    /// `bbr_packets_in_net_at_edt`: the part of the segments in flight that will be left in the network when the next segment
    /// departs.
    fn in_network_at_departure(&self, in_flight: u32, now: Time, departure: Time) -> u32 {
        let delivered = self.bandwidth().segments_in(micros(departure - now));
        let departing = if self.pacing_gain > Gain::UNIT { self.burst() } else { 0 };
        let then = u64::from(in_flight) + u64::from(departing);
        u32::try_from(then.saturating_sub(delivered)).unwrap_or(u32::MAX)
    }

    // ---- the model

    /// `bbr_update_bw`
    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.rounds.started = false;
        let Some((delivery, interval)) = valid(sample) else { return };
        if delivery.prior_delivered >= self.rounds.ends {
            self.rounds.ends = sample.delivered;
            self.rounds.count += 1;
            self.rounds.started = true;
            self.conserving = false;
        }
        self.watch_policer(sample.newly_lost > 0, delivery.is_app_limited);
        let bandwidth = Bandwidth::of(delivery.segments, interval);
        if !delivery.is_app_limited || bandwidth >= self.bandwidths.get() {
            self.bandwidths.update(self.rounds.count, bandwidth);
        }
    }

    /// `bbr_lt_bw_sampling`
    fn watch_policer(&mut self, losing: bool, is_app_limited: bool) {
        let change = self.policer.observe(&Observation {
            totals: self.totals,
            losing,
            is_app_limited,
            round_started: self.rounds.started,
            cycling: matches!(self.mode, Mode::ProbeBw { .. }),
            segment_bytes: self.segment_bytes,
        });
        match change {
            PolicerChange::Nothing => {}
            PolicerChange::Policed => self.pacing_gain = Gain::UNIT,
            PolicerChange::Expired => self.enter_probe_bw(),
        }
    }

    /// `bbr_update_ack_aggregation`
    fn update_aggregation(&mut self, cwnd: u32, sample: &RateSample) {
        if sample.newly_delivered == 0 || valid(sample).is_none() {
            return;
        }
        if self.rounds.started {
            self.aggregation.on_round();
        }
        let bandwidth = self.bandwidth();
        let (at, acked) = (sample.delivered_at, sample.newly_delivered);
        self.aggregation.on_delivered(at, acked, bandwidth, cwnd);
    }

    /// `bbr_update_cycle_phase`
    fn update_cycle(&mut self, now: Time, sample: &RateSample) {
        if let Mode::ProbeBw { phase, began } = self.mode
            && self.phase_is_over(now, began, sample)
        {
            let phase = (phase + 1) % CYCLE.len();
            self.mode = Mode::ProbeBw { phase, began: sample.delivered_at };
        }
    }

    /// `bbr_is_next_cycle_phase`
    fn phase_is_over(&self, now: Time, began: Time, sample: &RateSample) -> bool {
        let round_trip = self.min_rtt.micros().unwrap_or(u64::MAX);
        let is_full_length = micros(sample.delivered_at - began) > round_trip;
        if self.pacing_gain == Gain::UNIT {
            return is_full_length;
        }
        let in_flight = self.in_network_at_departure(sample.prior_in_flight, now, sample.departure);
        if self.pacing_gain > Gain::UNIT {
            // Until the probe is in flight, unless the path does not hold it.
            return is_full_length
                && (sample.newly_lost > 0 || in_flight >= self.in_flight_goal(self.pacing_gain));
        }
        is_full_length || in_flight <= self.in_flight_goal(Gain::UNIT)
    }

    /// `bbr_check_full_bw_reached`
    fn check_full_pipe(&mut self, sample: &RateSample) {
        let is_app_limited = sample.delivery.is_some_and(|delivery| delivery.is_app_limited);
        if self.rounds.started && !is_app_limited {
            self.full_pipe.on_round(self.bandwidths.get());
        }
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, window: &mut Window, now: Time, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full_pipe.is_reached() {
            self.mode = Mode::Drain;
            window.ssthresh = self.in_flight_goal(Gain::UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network_at_departure(sample.in_flight, now, sample.departure)
                <= self.in_flight_goal(Gain::UNIT)
        {
            self.enter_probe_bw();
        }
    }

    /// `bbr_reset_probe_bw_mode`
    fn enter_probe_bw(&mut self) {
        let phase = CYCLE.len() - 1 - self.chance.below(FIRST_PHASES) as usize;
        self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), began: self.totals.at };
    }

    /// `bbr_update_min_rtt`
    fn update_min_rtt(&mut self, window: &mut Window, ack: &Ack, sample: &RateSample) {
        let expired = self.min_rtt.observe(ack.now, ack.rtt, sample.is_ack_delayed);
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            // The mode must be set when the window is saved.
            self.mode = Mode::ProbeRtt(Dip::default());
            self.save_window(window);
        }
        self.restrained = matches!(self.mode, Mode::ProbeRtt(_));
        if let Mode::ProbeRtt(dip) = &mut self.mode {
            if !dip.has_reached_bottom() {
                if sample.in_flight <= LEAST_WINDOW && dip.reach_bottom(ack.now) {
                    self.rounds.ends = sample.delivered;
                }
            } else {
                if self.rounds.started {
                    dip.on_round();
                }
                if dip.round_is_done() {
                    self.check_dip_over(window, ack.now);
                }
            }
        }
        if sample.delivery.is_some_and(|delivery| delivery.segments > 0) {
            self.idle_restart = false;
        }
    }

    /// `bbr_check_probe_rtt_done`
    fn check_dip_over(&mut self, window: &mut Window, now: Time) {
        let Mode::ProbeRtt(dip) = &self.mode else { return };
        if !dip.is_over(now) {
            return;
        }
        self.min_rtt.renew(now);
        window.cwnd = window.cwnd.max(self.good_cwnd);
        if self.full_pipe.is_reached() {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw { .. } if self.policer.bandwidth().is_some() => (Gain::UNIT, CWND_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], CWND_GAIN),
            Mode::ProbeRtt(_) => (Gain::UNIT, Gain::UNIT),
        };
    }

    // ---- the window

    /// `bbr_save_cwnd`
    fn save_window(&mut self, window: &Window) {
        let cut =
            self.prior_phase >= RecoveryPhase::Recovery || matches!(self.mode, Mode::ProbeRtt(_));
        self.good_cwnd = if cut { self.good_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    /// `bbr_set_cwnd_to_recover_or_restore`; returns true if the window is conserved.
    fn recover_or_restore(
        &mut self,
        cwnd: &mut u32,
        phase: RecoveryPhase,
        sample: &RateSample,
    ) -> bool {
        *cwnd = cwnd.saturating_sub(sample.newly_lost).max(1);
        let conserved = sample.in_flight + sample.newly_delivered;
        let before = std::mem::replace(&mut self.prior_phase, phase);
        if phase == RecoveryPhase::Recovery && before != RecoveryPhase::Recovery {
            self.conserving = true;
            self.rounds.ends = sample.delivered;
            *cwnd = conserved;
        } else if before >= RecoveryPhase::Recovery && phase < RecoveryPhase::Recovery {
            *cwnd = (*cwnd).max(self.good_cwnd);
            self.conserving = false;
        }
        if self.conserving {
            *cwnd = (*cwnd).max(conserved);
        }
        self.conserving
    }

    /// `bbr_set_cwnd`
    fn set_window(&mut self, window: &mut Window, phase: RecoveryPhase, sample: &RateSample) {
        let acked = sample.newly_delivered;
        if acked > 0 && !self.recover_or_restore(&mut window.cwnd, phase, sample) {
            let bandwidth = self.bandwidth();
            let mut target = self.product(bandwidth, self.cwnd_gain);
            if self.full_pipe.is_reached() {
                target = target.saturating_add(self.aggregation.allowance(bandwidth));
            }
            target = self.quantized(target);
            if self.full_pipe.is_reached() {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || sample.delivered < u64::from(INITIAL_WINDOW) {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }
}

/// The delivery and its interval in microseconds, if they yield a bandwidth.
fn valid(sample: &RateSample) -> Option<(Delivery, u64)> {
    let delivery = sample.delivery?;
    let interval = micros(delivery.interval?);
    (interval > 0).then_some((delivery, interval))
}

impl Controller for Bbr {
    /// `bbr_init`
    fn start(&mut self, window: &Window, start: &InitialState) {
        self.segment_bytes = start.segment_bytes;
        self.min_rtt = MinRtt::new(start.now, start.rtt);
        self.aggregation = Aggregation::new(start.now);
        self.init_pacing_rate(window.cwnd, start.rtt);
    }

    /// `bbr_main`
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.totals =
            Totals { delivered: sample.delivered, at: sample.delivered_at, lost: sample.lost };
        self.update_bandwidth(sample);
        self.update_aggregation(window.cwnd, sample);
        self.update_cycle(ack.now, sample);
        self.check_full_pipe(sample);
        self.check_drain(window, ack.now, sample);
        self.update_min_rtt(window, ack, sample);
        self.update_gains();
        if !self.has_seen_rtt && sample.srtt.is_some() {
            self.init_pacing_rate(window.cwnd, sample.srtt);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(window, ack.phase, sample);
    }

    /// `bbr_ssthresh`: the threshold is not used here; the window is saved for later.
    fn on_congestion(&mut self, window: &Window) -> u32 {
        self.save_window(window);
        window.ssthresh
    }

    /// `bbr_set_state`: a timeout ends a round.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.prior_phase = RecoveryPhase::Loss;
        self.full_pipe.on_timeout();
        self.rounds.started = true;
        self.totals.lost = timeout.lost;
        self.watch_policer(true, false);
    }

    /// `bbr_cwnd_event`
    fn on_resume(&mut self, window: &mut Window, resume: &CarefulResume) {
        if !resume.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(resume.now);
        match self.mode {
            Mode::ProbeBw { .. } => self.set_pacing_rate(Gain::UNIT),
            Mode::ProbeRtt(_) => self.check_dip_over(window, resume.now),
            _ => {}
        }
    }

    /// `bbr_undo_cwnd`
    fn undo(&mut self, window: &Window, _prior_cwnd: u32) -> u32 {
        self.full_pipe.on_undo();
        self.policer.reset(self.totals);
        window.cwnd
    }

    fn is_rate_based(&self) -> bool {
        true
    }

    fn pace(&self) -> Option<PacingRate> {
        Some(PacingRate {
            rate: BitsPerSec(self.pacing_rate.saturating_mul(8)),
            least_burst: self.least_burst(),
            restrained: self.restrained,
        })
    }
}

#[cfg(test)]
mod tests;
