//! Lines of a trace.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tcp::CongestionState;

use crate::snapshot::congestion_state;

/// Content of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
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
    Segment(Segment),
    /// A retransmission (`tcp_retransmit_skb`).
    Retransmit,
    /// Loss recovery entered this state (`tcp_cong_state_set`).
    Congestion(CongestionState),
}

/// A sender before it processes a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
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
pub(super) fn parse(line: &str) -> Option<Event> {
    let (name, (head, fields)) =
        NAMES.iter().find_map(|name| Some((*name, line.split_once(&format!(": {name}: "))?)))?;
    let at = seconds(head.rsplit(' ').next()?)?;
    let fields = Fields(fields);
    let socket = fields.get("skaddr")?.to_owned();
    let (local, peer, what) = match name {
        "tcp_probe" => (fields.end("src")?, fields.end("dest")?, What::Segment(segment(&fields)?)),
        "tcp_retransmit_skb" => (fields.address("s")?, fields.address("d")?, What::Retransmit),
        _ => {
            let state = congestion_state(fields.number("cong_state")?);
            (fields.address("s")?, fields.address("d")?, What::Congestion(state))
        }
    };
    Some(Event { at, socket, local, peer, what })
}

/// Number of events discarded by the kernel, if a line reports it.
pub(super) fn lost(line: &str) -> Option<u64> {
    line.split_once("[LOST ")?.1.split_once(" EVENTS]")?.0.parse().ok()
}

fn segment(fields: &Fields<'_>) -> Option<Segment> {
    Some(Segment {
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
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
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
}
