//! Packet scripts: one endpoint against a list of what arrives and what must leave, with times.
//!
//! `send!(script, ms, segment)`: the segment arrives. `recv!(script, ms, [segments])`: exactly these leave at that
//! very time, and nothing left before. `recv_nothing!(script, ms)`: nothing leaves up to then.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use farlink_tcp::{
    Config, Connection, Ecn, Flags, Payload, SackBlocks, Segment, SynOptions, Timestamps,
};
use units::Time;

/// The shape of a segment: what scripts write and compare.
#[derive(Clone, PartialEq, Eq)]
pub struct Shape {
    pub flags: Flags,
    pub seq: u64,
    pub len: usize,
    pub ack: u64,
    pub sack: Vec<(u64, u64)>,
    pub window: u64,
    /// The echoed time in microseconds; none: the time of arrival.
    pub echo_us: Option<u64>,
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?}] {}+{} ack {}", self.flags, self.seq, self.len, self.ack)?;
        if !self.sack.is_empty() {
            write!(f, " sack {:?}", self.sack)?;
        }
        Ok(())
    }
}

/// A segment with the acknowledgement flag.
pub fn seg(seq: u64, len: usize, ack: u64) -> Shape {
    Shape { flags: Flags::ACK, seq, len, ack, sack: Vec::new(), window: 1 << 20, echo_us: None }
}

impl Shape {
    pub fn with(mut self, flag: Flags) -> Shape {
        self.flags = self.flags.with(flag);
        self
    }

    pub fn sack(mut self, blocks: &[(u64, u64)]) -> Shape {
        self.sack = blocks.to_vec();
        self
    }

    pub fn window(mut self, bytes: u64) -> Shape {
        self.window = bytes;
        self
    }

    pub fn echo_ms(mut self, ms: f64) -> Shape {
        self.echo_us = Some((ms * 1000.0) as u64);
        self
    }

    fn of(segment: &Segment) -> Shape {
        Shape {
            flags: segment.flags,
            seq: segment.seq,
            len: segment.payload.len(),
            ack: segment.ack,
            sack: segment.sack.iter().map(|block| (block.start, block.end)).collect(),
            window: 0,
            echo_us: None,
        }
    }

    fn segment(&self, now: Time) -> Segment {
        let mut sack = SackBlocks::NONE;
        for (start, end) in &self.sack {
            assert!(sack.push(*start..*end), "at most four blocks");
        }
        let echo = self.echo_us.map_or(now, Time::from_micros);
        let syn = self.flags.contains(Flags::SYN);
        Segment {
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window_bytes: self.window,
            payload: Payload::from(Bytes::from(vec![0; self.len])),
            sack,
            timestamps: Some(Timestamps { value: now, echo }),
            syn: syn.then_some(SynOptions { mss: 1460, window_scale: 7, sack: true }),
            ecn: Ecn::NotEct,
        }
    }
}

pub fn at(ms: f64) -> Time {
    Time::from_micros((ms * 1000.0).round() as u64)
}

/// One endpoint and what it sent.
pub struct Script {
    pub end: Connection,
    pub now: Time,
    out: VecDeque<(Time, Shape)>,
}

impl Script {
    /// A client whose handshake took `rtt_ms`, with its last acknowledgement taken out.
    pub fn client(config: Config, rtt_ms: f64) -> Script {
        let end = Connection::connect(Arc::new(config), Time::ZERO);
        let mut script = Script { end, now: Time::ZERO, out: VecDeque::new() };
        script.expect(0.0, &[seg(0, 0, 0).bare_syn()]);
        script.arrives(rtt_ms, seg(0, 0, 1).with(Flags::SYN).echo_ms(0.0));
        script.expect(rtt_ms, &[seg(1, 0, 1)]);
        script
    }

    /// A server whose handshake took `rtt_ms`.
    pub fn server(config: Config, rtt_ms: f64) -> Script {
        let syn = seg(0, 0, 0).bare_syn().segment(Time::ZERO);
        let end = Connection::accept(Arc::new(config), Time::ZERO, &syn);
        let mut script = Script { end, now: Time::ZERO, out: VecDeque::new() };
        script.expect(0.0, &[seg(0, 0, 1).with(Flags::SYN)]);
        script.arrives(rtt_ms, seg(1, 0, 1).echo_ms(0.0));
        script
    }

    fn drain(&mut self) {
        while let Some(segment) = self.end.poll(self.now) {
            self.out.push_back((self.now, Shape::of(&segment)));
        }
    }

    fn advance(&mut self, ms: f64) {
        let until = at(ms);
        assert!(until >= self.now, "a script goes forward in time");
        self.drain();
        while let Some(due) = self.end.deadline().filter(|due| *due <= until) {
            self.now = due.max(self.now);
            self.end.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    pub fn arrives(&mut self, ms: f64, shape: Shape) {
        self.advance(ms);
        self.end.handle(self.now, shape.segment(self.now));
        self.drain();
    }

    pub fn write(&mut self, ms: f64, len: usize) {
        self.advance(ms);
        assert_eq!(self.end.write(self.now, &vec![0; len]), len, "the buffer takes it");
        self.drain();
    }

    pub fn read(&mut self, ms: f64) -> usize {
        self.advance(ms);
        let n = self.end.read(self.now, &mut [0; 1 << 20]);
        self.drain();
        n
    }

    pub fn close(&mut self, ms: f64) {
        self.advance(ms);
        self.end.close(self.now);
        self.drain();
    }

    pub fn expect(&mut self, ms: f64, shapes: &[Shape]) {
        self.advance(ms);
        let expected: Vec<(Time, Shape)> = shapes
            .iter()
            .map(|shape| {
                (at(ms), Shape { window: 0, echo_us: None, ..without_push(shape.clone()) })
            })
            .collect();
        let left: Vec<(Time, Shape)> =
            self.out.drain(..).map(|(time, shape)| (time, without_push(shape))).collect();
        assert_eq!(left, expected, "what left by {ms} ms");
    }
}

impl Shape {
    /// A SYN without acknowledgement.
    pub fn bare_syn(mut self) -> Shape {
        self.flags = Flags::SYN;
        self
    }
}

/// Scripts don't care where a write ended.
fn without_push(mut shape: Shape) -> Shape {
    let kept = [Flags::SYN, Flags::FIN, Flags::RST, Flags::ACK];
    shape.flags =
        kept.into_iter().filter(|flag| shape.flags.contains(*flag)).fold(Flags::NONE, Flags::with);
    shape
}

/// A segment arrives.
#[macro_export]
macro_rules! send {
    ($script:expr, $ms:expr, $shape:expr) => {
        $script.arrives($ms as f64, $shape)
    };
}

/// Exactly these segments leave at that time, and none since the last check.
#[macro_export]
macro_rules! recv {
    ($script:expr, $ms:expr, $shapes:expr) => {
        $script.expect($ms as f64, &$shapes)
    };
}

/// Nothing leaves up to that time.
#[macro_export]
macro_rules! recv_nothing {
    ($script:expr, $ms:expr) => {
        $script.expect($ms as f64, &[])
    };
}
