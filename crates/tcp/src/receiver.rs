//! The receiving half: receives data, decides about acknowledgements, advertises a window.
//!
//! Source: Linux 6.18 `tcp_validate_incoming`, `tcp_data_queue`, `tcp_send_dupack`, `tcp_recvmsg`.

use bytes::Bytes;
use units::Time;

use crate::ack_policy::{AckClock, Situation};
use crate::config::Config;
use crate::ecn::{Ecn, EcnReceiver};
use crate::reassembly::{Fit, Reassembly};
use crate::rtt::RttEstimator;
use crate::segment::{Flags, Segment};
use crate::timers::TcpTimers;
use crate::window::{Occupancy, ReceiveWindow};

/// Smaller segments do not open the window (`tcp_event_data_recv`).
const GROWTH_THRESHOLD: u64 = 128;

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) queue: Reassembly,
    pub(crate) window: ReceiveWindow,
    pub(crate) acks: AckClock,
    pub(crate) ecn: EcnReceiver,
    /// The time to echo (`ts_recent`).
    echo: Time,
    /// The tick of the last echo considered for a round trip sample (`rcv_rtt_last_tsecr`).
    sampled: Option<Time>,
}

impl Receiver {
    pub(crate) fn new(config: &Config, now: Time) -> Receiver {
        Receiver {
            queue: Reassembly::new(0),
            window: ReceiveWindow::new(config, now),
            acks: AckClock::new(config.ack_policy, now),
            ecn: EcnReceiver::default(),
            echo: Time::ZERO,
            sampled: None,
        }
    }

    /// The peer's SYN arrived.
    pub(crate) fn establish(&mut self, now: Time, syn: &Segment) {
        self.queue = Reassembly::new(syn.seq + 1);
        self.window.establish(now, syn.seq + 1);
        self.note_echo(syn);
    }

    pub(crate) fn echo(&self) -> Time {
        self.echo
    }

    pub(crate) fn note_echo(&mut self, segment: &Segment) {
        if let Some(timestamps) = segment.timestamps {
            self.echo = self.echo.max(timestamps.value);
        }
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            next: self.queue.next(),
            ready: self.queue.ready_bytes(),
            held: self.queue.held_bytes(),
            highest: self.queue.highest(),
        }
    }

    /// True if a segment lies in the window at all (`tcp_sequence`).
    pub(crate) fn accepts(&self, segment: &Segment) -> bool {
        let next = self.queue.next();
        segment.end() >= self.window.acknowledged()
            && segment.seq <= next + self.window.remaining(next)
    }

    /// Answers a segment outside the window (`tcp_send_dupack`).
    pub(crate) fn refuse(&mut self, segment: &Segment) {
        if segment.seq < segment.end() && segment.seq < self.queue.next() {
            self.acks.on_duplicate(self.window.advertised());
            if segment.end() <= self.queue.next() {
                let fin = segment.is(Flags::FIN);
                self.queue.insert(segment.seq, segment.payload.clone(), fin);
            }
        }
        self.acks.demand();
    }

    /// RFC 7323 section 4.3: the echo is that of the segment which the next acknowledgement covers.
    pub(crate) fn update_echo(&mut self, segment: &Segment) {
        if segment.seq <= self.window.acknowledged() {
            self.note_echo(segment);
        }
    }

    /// Receives data and FIN (`tcp_data_queue`).
    pub(crate) fn take(&mut self, now: Time, segment: Segment, rtt: &RttEstimator) {
        let (len, push) = (segment.payload.len() as u64, segment.is(Flags::PSH));
        let next = self.queue.next();
        if segment.seq >= next + self.window.remaining(next) && segment.seq > next {
            self.acks.on_duplicate(self.window.advertised());
            return;
        }
        if len > 0 && segment.seq <= next && self.window.remaining(next) == 0 {
            // A probe of the closed window, or data past it: refused, with an acknowledgement.
            self.acks.on_duplicate(self.window.advertised());
            return;
        }
        self.window.measure_ratio(len);
        let had_gap = self.queue.has_gap();
        let ecn = segment.ecn;
        match self.queue.insert(segment.seq, segment.payload, segment.flags.contains(Flags::FIN)) {
            Fit::Duplicate if had_gap && segment.seq > next => {
                self.acks.on_gap(now, len, push);
            }
            Fit::Duplicate => self.acks.on_duplicate(self.window.advertised()),
            Fit::Ahead => {
                self.acks.on_gap(now, len, push);
                if self.queue.is_crowded() {
                    // `tcp_sack_compress_send_ack`: the kernel sends the acknowledgement held back and holds this one back; here this one is
                    // sent with it, and the number of acknowledgements is the same.
                    self.acks.demand();
                }
                self.note_mark(now, ecn);
                self.grow(len);
                let occupancy = self.occupancy();
                self.window.allow_for_gap(&occupancy);
            }
            fit => {
                self.acks.owe();
                if len > 0 {
                    self.window.measure_rtt(now, self.queue.next());
                    let advertised = self.window.advertised();
                    self.acks.on_data(now, len, push, advertised, rtt.rto());
                    self.note_mark(now, ecn);
                }
                if len >= GROWTH_THRESHOLD {
                    self.grow(len);
                }
                if fit == Fit::FilledGap {
                    // RFC 5681 section 4.2: at once when a gap is filled.
                    self.acks.demand();
                }
            }
        }
    }

    /// Notes the mark of new data.
    fn note_mark(&mut self, now: Time, ecn: Ecn) {
        if self.ecn.on_data(ecn) {
            self.acks.on_mark(now);
        }
    }

    fn grow(&mut self, len: u64) {
        let occupancy = self.occupancy();
        if self.window.grow(&occupancy, len) {
            self.acks.on_growth();
        }
    }

    /// `tcp_rcv_rtt_measure_ts`: full segments that echo a new time. Timestamps tick every millisecond (`TCP_TS_HZ`). The first segment that
    /// echoes a time uses it up: full segments after a small one, or after an acknowledgement, are no samples. (Linux 3 takes
    /// each full segment; here the first of each time.)
    pub(crate) fn sample_rtt(&mut self, now: Time, segment: &Segment) {
        let Some(timestamps) = segment.timestamps.filter(|_| self.accepts(segment)) else { return };
        let is_full = segment.payload.len() as u64 >= self.acks.rcv_mss();
        let echo = tick(timestamps.echo);
        if self.sampled == Some(echo) || !(is_full || self.window.uses_up_echoes()) {
            return;
        }
        self.sampled = Some(echo);
        let rtt = tick(now) - echo;
        if is_full && !rtt.is_zero() {
            self.window.sample_rtt(rtt, self.queue.ready_bytes() == 0);
        }
    }

    /// Decides whether to acknowledge now.
    pub(crate) fn decide(&mut self, now: Time, rtt: &RttEstimator, timers: &mut TcpTimers) {
        let occupancy = self.occupancy();
        if self.window.is_tight(&occupancy) {
            self.acks.on_shortage();
        }
        let selected = self.window.select(&occupancy, self.acks.rcv_mss());
        let estimates = [rtt.srtt(), self.window.rtt()];
        let situation = Situation {
            next: occupancy.next,
            unacknowledged: occupancy.next - self.window.acknowledged(),
            window_holds: selected >= self.window.advertised(),
            gap: self.queue.has_gap(),
            rtt: estimates.into_iter().flatten().min(),
        };
        self.acks.decide(now, &situation, rtt, timers);
    }

    /// Window to advertise in a segment that leaves now.
    pub(crate) fn advertise(&mut self) -> u64 {
        let occupancy = self.occupancy();
        self.window.advertise(&occupancy, self.acks.rcv_mss())
    }

    pub(crate) fn read(&mut self, now: Time, buf: &mut [u8]) -> usize {
        let read = self.queue.read(buf);
        self.after_read(now, read);
        read
    }

    pub(crate) fn read_bytes(&mut self, now: Time, max: usize) -> Option<Bytes> {
        let slice = self.queue.read_bytes(max)?;
        self.after_read(now, slice.len());
        Some(slice)
    }

    /// Makes room, and advertises it if that matters (`tcp_rcv_space_adjust`, `__tcp_cleanup_rbuf`).
    fn after_read(&mut self, now: Time, read: usize) {
        if read == 0 {
            return;
        }
        let occupancy = self.occupancy();
        self.window.adjust(now, &occupancy);
        let unacknowledged = occupancy.next - self.window.acknowledged();
        self.acks.on_read(unacknowledged, occupancy.ready == 0);
        let remaining = self.window.remaining(occupancy.next);
        if !self.queue.is_finished() && 2 * remaining <= self.window.clamp() {
            let selected = self.window.select(&occupancy, self.acks.rcv_mss());
            if selected > 0 && selected >= 2 * remaining {
                self.acks.demand();
            }
        }
    }
}

/// Timestamp of a time.
fn tick(at: Time) -> Time {
    Time::from_millis(at.as_nanos() / 1_000_000)
}
