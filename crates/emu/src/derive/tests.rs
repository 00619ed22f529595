use net::DropCause;

use super::*;

const ACK: u8 = 0x10;
const SYN: u8 = 0x02;
const INITIAL: u32 = u32::MAX - 700;

fn ends() -> (SocketAddr, SocketAddr) {
    ("10.0.0.1:40000".parse().unwrap(), "10.1.0.1:80".parse().unwrap())
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// A segment that leaves at `left` and arrives 50 ms later.
fn passage(from: Side, left: u64, flags: u8, seq: u32, ack: u32, payload_bytes: u32) -> Passage {
    let (client, server) = ends();
    let scale = (flags & SYN != 0).then_some(7);
    Passage {
        from,
        ends: Some(if from == Side::Client { (client, server) } else { (server, client) }),
        arrived: at(left),
        wire_bytes: 52 + payload_bytes,
        tcp: Some(TcpNumbers { seq, ack, flags, window: 100, window_scale: scale, payload_bytes }),
        fate: Fate::Delivered { due: at(left + 50), left: at(left + 50) },
    }
}

fn data(left: u64, offset: u32, payload_bytes: u32) -> Passage {
    let seq = INITIAL.wrapping_add(1 + offset);
    passage(Side::Server, left, ACK, seq, 2, payload_bytes)
}

fn acknowledgement(left: u64, offset: u32) -> Passage {
    passage(Side::Client, left, ACK, 2, INITIAL.wrapping_add(1 + offset), 0)
}

fn handshake() -> Vec<Passage> {
    vec![
        passage(Side::Client, 0, SYN, 1, 0, 0),
        passage(Side::Server, 50, SYN | ACK, INITIAL, 2, 0),
        passage(Side::Client, 100, ACK, 2, INITIAL.wrapping_add(1), 0),
    ]
}

fn down(passages: Vec<Passage>) -> Outflow {
    let mut all = conversations(&[handshake(), passages].concat());
    assert_eq!(all.len(), 1);
    all.remove(0).down
}

#[test]
fn data_is_in_flight_until_it_is_acknowledged_beyond_the_end_of_numbers() {
    let outflow = down(vec![data(150, 0, 1000), data(150, 1000, 1000), acknowledgement(200, 2000)]);
    let last: Vec<Flight> = outflow.flights[outflow.flights.len() - 3..].to_vec();
    assert_eq!(
        last.iter().map(|flight| flight.in_flight_bytes).collect::<Vec<_>>(),
        [1000, 2000, 0]
    );
    assert_eq!(last[2].at, at(250));
    assert_eq!(last[2].rtt, Some(Duration::from_millis(100)));
    assert_eq!(last[2].peer_window_bytes, 100 << 7);
    assert_eq!(outflow.bytes, 2000);
    assert_eq!(outflow.retransmits, []);
}

#[test]
fn what_was_sent_twice_shows_no_round_trip() {
    let mut lost = data(150, 0, 1000);
    lost.fate = Fate::Dropped(DropCause::QueueFull);
    let again = data(400, 0, 1000);
    let outflow = down(vec![lost, again, acknowledgement(450, 1000)]);
    let sent: Vec<_> =
        outflow.retransmits.iter().map(|sent| (sent.at, sent.seq, sent.cause)).collect();
    assert_eq!(sent, [(at(400), 1, Cause::Unknown)]);
    let last = outflow.flights.last().unwrap();
    assert_eq!((last.in_flight_bytes, last.rtt), (0, None));
    assert_eq!(outflow.bytes, 1000);
}

#[test]
fn the_handshake_shows_round_trips_at_both_ends() {
    let all = conversations(&handshake());
    let rtt = |outflow: &Outflow| outflow.flights.iter().find_map(|flight| flight.rtt);
    assert_eq!(rtt(&all[0].up), Some(Duration::from_millis(100)));
    assert_eq!(rtt(&all[0].down), Some(Duration::from_millis(100)));
    assert_eq!((all[0].client, all[0].server), ends());
}

#[test]
fn a_repeated_syn_is_a_retransmission_and_a_new_one_a_connection() {
    let mut passages = vec![passage(Side::Client, 0, SYN, 1, 0, 0)];
    passages.push(passage(Side::Client, 1000, SYN, 1, 0, 0));
    passages.push(passage(Side::Client, 9000, SYN, 77, 0, 0));
    let all = conversations(&passages);
    let causes = |index: usize| -> Vec<Cause> {
        all[index].up.retransmits.iter().map(|sent| sent.cause).collect()
    };
    assert_eq!(all.len(), 2);
    assert_eq!((causes(0), causes(1)), (vec![Cause::Handshake], vec![]));
}

#[test]
fn acknowledgements_of_the_future_are_not_believed() {
    let outflow = down(vec![data(150, 0, 1000), acknowledgement(200, 5000)]);
    assert_eq!(outflow.flights.last().unwrap().in_flight_bytes, 1000);
}
