//! Explicit congestion notification between two endpoints and a queue that marks.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::World;
use farlink_tcp::{
    Config, CongestionState, Connection, Ecn, EcnPolicy, Flags, Segment, Timestamps,
};
use units::{BitsPerSec, Time};

fn config(ecn: EcnPolicy) -> Config {
    Config { ecn, ..Config::default() }
}

/// A download over 10 Mbit/s and 100 ms through a queue of 100 that marks above 40.
fn download(client: EcnPolicy, server: EcnPolicy) -> (f64, World) {
    let mut world = World::new(config(client), config(server), 1);
    world.both(|pipe| {
        pipe.rate = BitsPerSec::mbit(10);
        pipe.delay = Duration::from_millis(50);
        pipe.queue_packets = 100;
        pipe.mark_above = 40;
    });
    let end = world.fetch(300, 10_000_000, Time::from_millis(60_000)).expect("it completes");
    (end.as_secs_f64(), world)
}

#[test]
fn marks_take_the_place_of_losses() {
    let (seconds, world) = download(EcnPolicy::Active, EcnPolicy::Passive);
    let stats = world.server.as_ref().expect("a server").stats();
    assert!(world.down.marked > 0 && world.down.dropped == 0);
    assert_eq!((stats.retransmitted_segments, stats.timeouts), (0, 0));
    assert!(stats.ssthresh.is_some(), "the window came down");
    assert!(seconds < 9.6, "{seconds} s; the line alone takes 8.3 s");
}

#[test]
fn nothing_is_marked_unless_both_ends_agree() {
    use EcnPolicy::{Active, Off, Passive};
    for (client, server) in [(Passive, Passive), (Passive, Active), (Active, Off), (Off, Active)] {
        let (_, world) = download(client, server);
        assert_eq!(world.down.marked, 0, "{client:?} and {server:?}");
    }
    let (_, world) = download(Active, Active);
    assert!(world.down.marked > 0);
}

/// Segments of 1448 bytes, the first of which begins at 1.
fn number(segment: u64) -> u64 {
    1 + 1448 * segment
}

/// A sender that requested and was granted ECN, with twenty segments to send, and the SYN-ACK that granted it.
fn sender() -> (Connection, Segment) {
    let now = Time::ZERO;
    let mut client = Connection::connect(Arc::new(config(EcnPolicy::Active)), now);
    let syn = client.poll(now).expect("a SYN");
    assert!(syn.is(Flags::ECE.with(Flags::CWR)));
    let mut server = Connection::accept(Arc::new(config(EcnPolicy::Passive)), now, &syn);
    let granted = server.poll(now).expect("a SYN-ACK");
    assert!(granted.is(Flags::ECE) && !granted.is(Flags::CWR));
    client.handle(now, granted.clone());
    client.write(now, &[0; 20 * 1448]);
    (client, granted)
}

fn drain(connection: &mut Connection, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| connection.poll(now)).collect()
}

/// RFC 3168 section 6.1.2: once per round trip, and the next new data reports it.
#[test]
fn the_window_is_reduced_once_a_round_trip() {
    let (mut client, granted) = sender();
    let now = Time::ZERO;
    let first = drain(&mut client, now);
    let marks = first.iter().filter(|segment| segment.ecn == Ecn::Ect0).count();
    assert_eq!(marks, 10, "the initial window");
    let now = Time::from_millis(100);
    let answer = |segments, flags| Segment {
        seq: 1,
        ack: number(segments),
        flags: Flags::ACK.with(flags),
        timestamps: Some(Timestamps { value: now, echo: Time::ZERO }),
        syn: None,
        ..granted.clone()
    };
    let mut sent = Vec::new();
    for segments in 1..=8 {
        client.handle(now, answer(segments, Flags::ECE));
        sent.extend(drain(&mut client, now));
    }
    let stats = client.stats();
    assert_eq!((stats.ssthresh, stats.congestion_state), (Some(7), CongestionState::Cwr));
    let told: Vec<bool> = sent.iter().map(|segment| segment.is(Flags::CWR)).collect();
    assert_eq!(told.iter().filter(|told| **told).count(), 1);
    assert!(told[0], "the first new segment after the reduction");
    assert_eq!(stats.retransmitted_segments, 0);
    // Beyond the data outstanding at its begin the reduction is over.
    client.handle(now, answer(11, Flags::NONE));
    let stats = client.stats();
    assert_eq!((stats.cwnd, stats.congestion_state), (7, CongestionState::Open));
}

/// RFC 3168 section 6.1.3: every acknowledgement echoes a mark until the sender has reacted.
#[test]
fn the_receiver_echoes_until_it_is_told() {
    let (mut client, _) = sender();
    let now = Time::ZERO;
    let data = drain(&mut client, now);
    let mut syn = Connection::connect(Arc::new(config(EcnPolicy::Active)), now);
    let syn = syn.poll(now).expect("a SYN");
    let mut server = Connection::accept(Arc::new(config(EcnPolicy::Passive)), now, &syn);
    drain(&mut server, now);
    let mut echoes = Vec::new();
    for (n, segment) in data.iter().enumerate().take(6) {
        let mut segment = segment.clone();
        match n {
            1 => segment.ecn = Ecn::Ce,
            4 => segment.flags = segment.flags.with(Flags::CWR),
            _ => {}
        }
        server.handle(now, segment);
        echoes.extend(drain(&mut server, now).iter().map(|ack| ack.is(Flags::ECE)));
    }
    assert_eq!(echoes, [false, true, true, true, false, false]);
}
