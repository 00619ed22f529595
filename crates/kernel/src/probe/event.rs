//! Lines of a trace, and the time series of connections made of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tcp::{CongestionState, SenderSample, Stats, TcpState, Trigger};
use units::Time;

use crate::connection::congestion_state;
use crate::tcp_info::INFINITE_SSTHRESH;
use crate::{Connection, ConnectionSeries, Motions};

/// Content of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProbeEvent {
    /// Time on `CLOCK_MONOTONIC`, to the microsecond.
    pub(super) at: Duration,
    /// The kernel's name of the socket, which may be reused by another socket.
    pub(super) socket: String,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A segment arrived (`tcp_probe`).
    Segment(TracedSegment),
    /// A retransmission (`tcp_retransmit_skb`).
    Retransmit,
    /// Loss recovery entered this state (`tcp_cong_state_set`).
    Congestion(CongestionState),
}

/// A sender before it processes a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedSegment {
    pub(super) cookie: u64,
    pub(super) next: u32,
    pub(super) unacknowledged: u32,
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    pub(super) peer_window: u32,
    pub(super) srtt: Duration,
}

/// The events known to [`parse`], by their names in tracefs.
pub(super) const NAMES: [&str; 3] = ["tcp_probe", "tcp_retransmit_skb", "tcp_cong_state_set"];

/// Reads a line; none if it is not one of our events.
pub(super) fn parse(line: &str) -> Option<ProbeEvent> {
    let (name, (head, fields)) =
        NAMES.iter().find_map(|name| Some((*name, line.split_once(&format!(": {name}: "))?)))?;
    let at = seconds(head.rsplit(' ').next()?)?;
    let fields = EventFields(fields);
    let socket = fields.get("skaddr")?.to_owned();
    let (local, peer, what) = match name {
        "tcp_probe" => (fields.end("src")?, fields.end("dest")?, What::Segment(segment(&fields)?)),
        "tcp_retransmit_skb" => (fields.address("s")?, fields.address("d")?, What::Retransmit),
        _ => {
            let state = congestion_state(fields.number("cong_state")?);
            (fields.address("s")?, fields.address("d")?, What::Congestion(state))
        }
    };
    Some(ProbeEvent { at, socket, local, peer, what })
}

/// Number of events discarded by the kernel, if a line reports it.
pub(super) fn lost(line: &str) -> Option<u64> {
    line.split_once("[LOST ")?.1.split_once(" EVENTS]")?.0.parse().ok()
}

fn segment(fields: &EventFields<'_>) -> Option<TracedSegment> {
    Some(TracedSegment {
        cookie: u64::from_str_radix(fields.get("sock_cookie")?, 16).ok()?,
        next: fields.hex("snd_nxt")?,
        unacknowledged: fields.hex("snd_una")?,
        cwnd: fields.number("snd_cwnd")?,
        ssthresh: fields.number("ssthresh")?,
        peer_window: fields.number("snd_wnd")?,
        srtt: Duration::from_micros(fields.number("srtt")?),
    })
}

/// `1234.567890`
fn seconds(text: &str) -> Option<Duration> {
    let (seconds, micros) = text.split_once('.')?;
    let micros: u32 = micros.parse().ok().filter(|_| micros.len() == 6)?;
    Some(Duration::new(seconds.parse().ok()?, micros * 1000))
}

/// `name=value name=value`
struct EventFields<'a>(&'a str);

impl<'a> EventFields<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.split_ascii_whitespace().find_map(|field| {
            let (of, value) = field.split_once('=')?;
            (of == name).then_some(value)
        })
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    fn hex(&self, name: &str) -> Option<u32> {
        u32::from_str_radix(self.get(name)?.strip_prefix("0x")?, 16).ok()
    }

    /// An address with its port.
    fn end(&self, name: &str) -> Option<SocketAddr> {
        let end: SocketAddr = self.number(name)?;
        Some(SocketAddr::new(end.ip().to_canonical(), end.port()))
    }

    /// An address and a port in separate fields: the source's (`s`) or the destination's (`d`).
    fn address(&self, which: &str) -> Option<SocketAddr> {
        // IPv4 addresses are IPv4-mapped.
        let address: IpAddr = self.number(&format!("{which}addrv6"))?;
        Some(SocketAddr::new(address.to_canonical(), self.number(&format!("{which}port"))?))
    }
}

/// Result of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Time series of each connection. The cookie is 0 if no segment reached the connection while it was established.
    pub motions: Motions,
    /// Events that the kernel discarded because they were not read in time: if there are any, the series have gaps.
    pub lost: u64,
}

/// Sorts events, in the trace's order, by connection. Times count from `began`; a full segment has `segment_bytes` bytes.
pub(super) fn collect(events: &[ProbeEvent], began: Duration, segment_bytes: u32) -> Motions {
    let cookies = cookies(events);
    let mut followed: BTreeMap<Connection, Followed> = BTreeMap::new();
    for event in events {
        let cookie = match &event.what {
            What::Segment(segment) => segment.cookie,
            _ => cookies.get(&key(event)).copied().unwrap_or(0),
        };
        let connection = Connection { local: event.local, peer: event.peer, cookie };
        let at = Time::ZERO + event.at.saturating_sub(began);
        followed.entry(connection).or_default().note(at, &event.what, segment_bytes);
    }
    followed.into_iter().map(|(connection, followed)| (connection, followed.motion)).collect()
}

/// A socket's name and addresses.
type SocketKey<'a> = (&'a str, SocketAddr, SocketAddr);

fn key(event: &ProbeEvent) -> SocketKey<'_> {
    (&event.socket, event.local, event.peer)
}

/// Only segment events carry a socket's cookie; its name and addresses together are as good.
fn cookies(events: &[ProbeEvent]) -> BTreeMap<SocketKey<'_>, u64> {
    let segments = events.iter().filter_map(|event| match &event.what {
        What::Segment(segment) => Some((key(event), segment.cookie)),
        _ => None,
    });
    segments.collect()
}

/// One connection so far.
struct Followed {
    motion: ConnectionSeries,
    congestion_state: CongestionState,
}

impl Default for Followed {
    fn default() -> Followed {
        Followed { motion: ConnectionSeries::default(), congestion_state: CongestionState::Open }
    }
}

impl Followed {
    fn note(&mut self, at: Time, what: &What, segment_bytes: u32) {
        match what {
            What::Congestion(state) => self.congestion_state = *state,
            What::Retransmit => self.motion.retransmitted_at.push(at),
            What::Segment(segment) => {
                let stats = Stats {
                    retransmitted_segments: self.motion.retransmitted_at.len() as u64,
                    congestion_state: self.congestion_state,
                    ..stats(segment, segment_bytes)
                };
                // The event is raised in this state only (`tcp_rcv_established`).
                let state = TcpState::Established;
                self.motion.samples.push(SenderSample {
                    at,
                    trigger: Trigger::Probe,
                    state,
                    stats,
                });
            }
        }
    }
}

fn stats(segment: &TracedSegment, segment_bytes: u32) -> Stats {
    let in_flight_bytes = segment.next.wrapping_sub(segment.unacknowledged);
    Stats {
        bytes_sent: 0,
        bytes_received: 0,
        segments_sent: 0,
        segments_received: 0,
        retransmitted_segments: 0,
        retransmitted_bytes: 0,
        delivered_segments: 0,
        timeouts: 0,
        undone_reductions: 0,
        srtt: (!segment.srtt.is_zero()).then_some(segment.srtt),
        rttvar: Duration::ZERO,
        rto: Duration::ZERO,
        min_rtt: None,
        cwnd: segment.cwnd,
        ssthresh: (segment.ssthresh < INFINITE_SSTHRESH).then_some(segment.ssthresh),
        in_flight: in_flight_bytes.div_ceil(segment_bytes.max(1)),
        pacing_rate: None,
        congestion_state: CongestionState::Open,
        established_at: None,
        peer_window_bytes: segment.peer_window.into(),
        unacknowledged_bytes: in_flight_bytes.into(),
        unsent_bytes: 0,
        busy: Duration::ZERO,
        rwnd_limited: Duration::ZERO,
        sndbuf_limited: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEGMENT: &str = "          <idle>-0       [001] ..s2. 22611.093514: tcp_probe: family=AF_INET src=10.0.0.2:8080 dest=10.0.0.1:54006 mark=0x0 data_len=0 \
        snd_nxt=0xfb0ec2a5 snd_una=0xfb0eb1ad snd_cwnd=12 ssthresh=2147483647 snd_wnd=75008 srtt=60511 rcv_wnd=65152 sock_cookie=1a02 \
        skbaddr=00000000f4f55b2c skaddr=0000000029c8f5ab";
    const AGAIN: &str = " Chrome: x y-12   [000] b.s3. 7.000001: tcp_retransmit_skb: skbaddr=00000000f4f55b2c skaddr=0000000029c8f5ab family=AF_INET6 \
        sport=8080 dport=9 saddr=0.0.0.0 daddr=0.0.0.0 saddrv6=fd00::2 daddrv6=fd00::1 state=TCP_ESTABLISHED err=0";
    const STATE: &str = " a-1 [000] b.s3. 7.000001: tcp_cong_state_set: skaddr=01 family=AF_INET sport=8080 dport=9 saddr=10.0.0.2 daddr=10.0.0.1 \
        saddrv6=::ffff:10.0.0.2 daddrv6=::ffff:10.0.0.1 cong_state=3";

    #[test]
    fn a_segment_tells_of_its_sender() {
        let event = parse(SEGMENT).unwrap();
        assert_eq!(event.at, Duration::from_micros(22_611_093_514));
        assert_eq!(event.local, "10.0.0.2:8080".parse().unwrap());
        let What::Segment(segment) = event.what else { panic!("{event:?}") };
        assert_eq!((segment.cookie, segment.cwnd, segment.peer_window), (0x1a02, 12, 75008));
        assert_eq!(segment.next - segment.unacknowledged, 0x10f8);
        assert_eq!(segment.srtt, Duration::from_micros(60511));
    }

    #[test]
    fn the_other_events_name_addresses_of_both_families() {
        let event = parse(AGAIN).unwrap();
        assert_eq!((event.what, event.peer), (What::Retransmit, "[fd00::1]:9".parse().unwrap()));
        let event = parse(STATE).unwrap();
        assert_eq!(event.what, What::Congestion(CongestionState::Recovery));
        assert_eq!(event.local, "10.0.0.2:8080".parse().unwrap());
    }

    #[test]
    fn lost_events_are_counted_and_other_lines_are_not_ours() {
        assert_eq!(lost("CPU:1 [LOST 4711 EVENTS]"), Some(4711));
        assert_eq!((lost(SEGMENT), parse("# tracer: nop"), parse("")), (None, None, None));
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in ".*", cut in 0usize..300) {
            let _ = parse(&line);
            let cut: String = SEGMENT.chars().take(cut).collect();
            let _ = parse(&(cut + &line));
        }
    }

    fn event(millis: u64, socket: &str, what: What) -> ProbeEvent {
        ProbeEvent {
            at: Duration::from_millis(millis),
            socket: socket.to_owned(),
            local: "10.0.0.2:80".parse().unwrap(),
            peer: "10.0.0.1:9".parse().unwrap(),
            what,
        }
    }

    fn segment(cookie: u64, unacknowledged: u32) -> What {
        What::Segment(TracedSegment {
            cookie,
            next: 2000,
            unacknowledged,
            cwnd: 10,
            ssthresh: INFINITE_SSTHRESH,
            peer_window: 9000,
            srtt: Duration::from_millis(60),
        })
    }

    #[test]
    fn retransmissions_find_their_connection_among_those_of_the_same_addresses() {
        let events = [
            event(1, "a", What::Congestion(CongestionState::Loss)),
            event(2, "a", segment(1, 500)),
            event(3, "b", segment(2, 2000)),
            event(4, "a", What::Retransmit),
            event(5, "a", segment(1, 2000)),
            event(6, "c", What::Retransmit),
        ];
        let motions = collect(&events, Duration::from_millis(1), 1000);
        let cookies: Vec<u64> = motions.keys().map(|connection| connection.cookie).collect();
        assert_eq!(cookies, [0, 1, 2]);
        let of: Vec<&ConnectionSeries> = motions.values().collect();
        assert_eq!(of[0].samples, []);
        let stats: Vec<&Stats> = of[1].samples.iter().map(|sample| &sample.stats).collect();
        assert_eq!(stats[0].congestion_state, CongestionState::Loss);
        assert_eq!((stats[0].unacknowledged_bytes, stats[0].in_flight), (1500, 2));
        assert_eq!((stats[0].ssthresh, stats[0].retransmitted_segments), (None, 0));
        assert_eq!((stats[1].in_flight, stats[1].retransmitted_segments), (0, 1));
        assert_eq!(of[1].retransmitted_at, [Time::from_millis(3)]);
        assert_eq!(of[2].samples.len(), 1);
    }
}
