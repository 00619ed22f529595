//! The state machine by itself, fed with samples of a path that delivers at a constant rate.

use super::*;

const RTT: Duration = Duration::from_millis(100);
/// Segments that the path delivers per round trip.
const PATH: u32 = 80;

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// A flow over a path without a queue of its own: rounds of acknowledgements.
struct TestFlow {
    bbr: Bbr,
    window: Window,
    now: Time,
    delivered: u64,
    lost: u64,
    phase: RecoveryPhase,
    app_limited: bool,
}

impl TestFlow {
    fn new(seed: u64) -> TestFlow {
        let mut bbr = Bbr::new(chance::RandomSource::new(seed, 0).stream("bbr"));
        let window = Window::new(10);
        bbr.start(&window, &InitialState { now: Time::ZERO, rtt: Some(RTT), segment_bytes: 1448 });
        TestFlow {
            bbr,
            window,
            now: Time::ZERO,
            delivered: 1,
            lost: 0,
            phase: RecoveryPhase::Open,
            app_limited: false,
        }
    }

    /// An acknowledgement of `segments`, with `lost` more found lost and `in_flight` left.
    fn acknowledge(&mut self, segments: u32, lost: u32, in_flight: u32, rtt: Duration) {
        let prior = self.delivered.saturating_sub(u64::from(segments.max(in_flight))).max(1);
        self.delivered += u64::from(segments);
        self.lost += u64::from(lost);
        let delivered = self.delivered - prior;
        // Segments that the path delivers in that time, or fewer if fewer were sent.
        let interval = RTT.mul_f64((delivered as f64 / f64::from(PATH)).max(1.0));
        let sample = RateSample {
            delivery: Some(Delivery {
                segments: delivered,
                interval: Some(interval),
                prior_delivered: prior,
                is_app_limited: self.app_limited,
            }),
            newly_delivered: segments,
            newly_lost: lost,
            delivered: self.delivered,
            delivered_at: self.now,
            lost: self.lost,
            prior_in_flight: in_flight + segments,
            in_flight,
            is_ack_delayed: false,
            srtt: Some(rtt),
            departure: self.now,
        };
        let ack =
            Ack { rtt: Some(rtt), phase: self.phase, rate: Some(&sample), ..Ack::at(self.now) };
        self.bbr.on_ack(&mut self.window, &ack);
    }

    /// A round trip in which the whole window is acknowledged, two segments at a time.
    fn round(&mut self) {
        let cwnd = self.window.cwnd;
        for _ in 0..cwnd.div_ceil(2) {
            self.now += RTT / cwnd.div_ceil(2);
            let in_flight = self.window.cwnd.min(PATH);
            self.acknowledge(2, 0, in_flight, RTT);
        }
    }

    fn rounds_until(&mut self, wanted: fn(&Mode) -> bool) -> u32 {
        for round in 0..200 {
            if wanted(&self.bbr.mode) {
                return round;
            }
            self.round();
        }
        panic!("never, after 200 rounds: {:?}", self.bbr.mode);
    }
}

#[test]
fn gains_are_those_of_the_kernel() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN, CWND_GAIN), (Gain(739), Gain(88), Gain(512)));
    assert_eq!((CYCLE[0], CYCLE[1], CYCLE[2]), (Gain(320), Gain(192), Gain(256)));
}

#[test]
fn the_first_rate_is_the_window_over_the_round_trip_times_the_high_gain() {
    let flow = TestFlow::new(1);
    let expected = 10.0 * 1448.0 / 0.1 * (739.0 / 256.0) * 0.99;
    let rate = flow.bbr.pacing_rate as f64 / expected;
    assert!((rate - 1.0).abs() < 1e-3, "{rate}");
    assert_eq!(flow.bbr.pace().map(|pace| pace.least_burst), Some(2));
}

#[test]
fn startup_doubles_until_the_path_is_full_then_drains_and_cycles() {
    let mut flow = TestFlow::new(1);
    flow.round();
    assert_eq!(flow.window.cwnd, 20);
    flow.rounds_until(|mode| matches!(mode, Mode::ProbeBw { .. }));
    assert!(flow.bbr.full_pipe.is_reached());
    let bandwidth = flow.bbr.bandwidths.get().product(100_000, Gain::UNIT);
    assert!((PATH..=PATH + 2).contains(&bandwidth), "{bandwidth}");
    for _ in 0..20 {
        flow.round();
        let aggregated = flow.bbr.aggregation.allowance(flow.bbr.bandwidth());
        let target = 2 * bandwidth + 3 * flow.bbr.burst() + aggregated;
        assert!((target..target + 16).contains(&flow.window.cwnd), "{}", flow.window.cwnd);
    }
}

#[test]
fn an_application_that_sends_little_does_not_end_startup_or_lower_the_estimate() {
    let mut flow = TestFlow::new(1);
    flow.app_limited = true;
    for _ in 0..20 {
        flow.round();
    }
    assert_eq!(flow.bbr.mode, Mode::Startup);
    let before = flow.bbr.bandwidths.get();
    for _ in 0..30 {
        flow.now += RTT;
        flow.acknowledge(1, 0, 1, RTT);
    }
    assert_eq!(flow.bbr.bandwidths.get(), before);
}

#[test]
fn a_cycle_never_begins_by_giving_way() {
    let mut first = [0; CYCLE.len()];
    for seed in 0..200 {
        let mut flow = TestFlow::new(seed);
        flow.bbr.enter_probe_bw();
        let Mode::ProbeBw { phase, .. } = flow.bbr.mode else { panic!("{:?}", flow.bbr.mode) };
        first[phase] += 1;
    }
    assert_eq!(first[1], 0, "{first:?}");
    assert!(first.iter().enumerate().all(|(phase, count)| phase == 1 || *count > 10), "{first:?}");
}

#[test]
fn a_round_of_recovery_conserves_packets_and_its_end_restores_the_window() {
    let mut flow = TestFlow::new(1);
    flow.rounds_until(|mode| matches!(mode, Mode::ProbeBw { .. }));
    let before = flow.window.cwnd;
    assert_eq!(flow.bbr.on_congestion(&flow.window), flow.window.ssthresh);
    flow.phase = RecoveryPhase::Recovery;
    flow.acknowledge(1, 3, 60, RTT);
    assert_eq!(flow.window.cwnd, 61, "what is in flight and what was delivered");
    flow.phase = RecoveryPhase::Open;
    flow.acknowledge(1, 0, 60, RTT);
    assert!(flow.window.cwnd >= before, "{} after {before}", flow.window.cwnd);
}

#[test]
fn a_timeout_ends_a_round_and_keeps_the_model() {
    let mut flow = TestFlow::new(1);
    flow.rounds_until(|mode| matches!(mode, Mode::ProbeBw { .. }));
    let before = flow.bbr.bandwidth();
    flow.bbr.on_timeout(&Timeout { now: flow.now, next: 0, lost: flow.lost + 10 });
    assert!(flow.bbr.rounds.started && flow.bbr.full_pipe.is_reached());
    assert_eq!(flow.bbr.bandwidth(), before);
    assert_eq!(flow.bbr.undo(&flow.window, 1000), flow.window.cwnd);
}

#[test]
fn a_round_trip_not_seen_for_ten_seconds_is_looked_for() {
    let mut flow = TestFlow::new(1);
    flow.acknowledge(1, 0, 10, RTT);
    let window = flow.window.cwnd;
    let slower = RTT + Duration::from_millis(1);
    flow.now = at(10_000);
    flow.acknowledge(1, 0, 10, slower);
    assert_eq!(flow.bbr.mode, Mode::Startup, "not before ten seconds are over");
    flow.now = at(10_001);
    flow.acknowledge(1, 0, 10, slower);
    assert!(matches!(flow.bbr.mode, Mode::ProbeRtt(_)));
    assert_eq!(flow.window.cwnd, LEAST_WINDOW);
    assert!(flow.bbr.pace().is_some_and(|pace| pace.restrained));
    assert_eq!(flow.bbr.min_rtt.micros(), Some(101_000), "the old one has expired");
    // The bottom is reached; 200 ms and a round later it is over.
    flow.now = at(10_101);
    flow.acknowledge(1, 0, 4, slower);
    for ms in [10_201, 10_301] {
        flow.now = at(ms);
        flow.acknowledge(4, 0, 4, slower);
        assert!(matches!(flow.bbr.mode, Mode::ProbeRtt(_)), "at {ms} ms");
    }
    flow.now = at(10_302);
    flow.acknowledge(4, 0, 4, slower);
    assert_eq!(flow.bbr.mode, Mode::Startup);
    assert!(flow.window.cwnd >= window);
}

#[test]
fn after_idleness_it_sends_at_the_estimate() {
    let mut flow = TestFlow::new(1);
    flow.rounds_until(|mode| matches!(mode, Mode::ProbeBw { .. }));
    flow.bbr.mode = Mode::ProbeBw { phase: 0, began: flow.now };
    let now = flow.now + RTT;
    flow.bbr.on_resume(&mut flow.window, &CarefulResume { now, idle: RTT, app_limited: true });
    let expected = flow.bbr.bandwidth().bytes_per_sec(1448, Gain::UNIT);
    assert_eq!(flow.bbr.pacing_rate, expected);
    assert!(flow.bbr.idle_restart);
}

#[test]
fn slow_paths_get_single_segments() {
    let mut bbr = Bbr::new(chance::RandomSource::new(1, 0).stream("bbr"));
    let rtt = Some(Duration::from_secs(1));
    bbr.start(&Window::new(10), &InitialState { now: Time::ZERO, rtt, segment_bytes: 1448 });
    assert_eq!(bbr.pace().map(|pace| pace.least_burst), Some(1), "331 kbit/s");
}
