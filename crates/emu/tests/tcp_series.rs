//! One flow of the kernel, seen in three ways: by polling its sockets, by its packets, and by root with `tcp_probe`. They agree.
//!
//! Each case runs this test program again in its own namespaces, as root if the caller is root and as an ordinary user.

mod inside;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use farlink_emu::derive::{Outflow, conversations};
use farlink_emu::{AccessSide, EmulatedTopology, Passages, Privilege, Testbed};
use kernel::diag::Follower;
use kernel::probe::{Probe, TraceScope};
use kernel::{ConnectionSeries, KernelKnobs, Motions};
use net::{LinkConfig, QueueLimit};
use tcp::{Config, SenderSample};
use units::BitsPerSec;

const PORT: u16 = 8080;
const RESPONSE: usize = 1_000_000;
const SEGMENT: u32 = 1448;

#[test]
fn as_root() {
    inside::as_root("as_root", || compare(Privilege::Root));
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", || compare(Privilege::Rootless));
}

/// The server's end of the flow.
struct Views {
    looks: ConnectionSeries,
    packets: Outflow,
    probe: Option<ConnectionSeries>,
}

fn compare(privilege: Privilege) {
    let Views { looks, packets, probe } = watch(privilege);
    let last = &looks.samples.last().expect("the flow was looked at").stats;
    println!("{} looks that differ, {} flights", looks.samples.len(), packets.flights.len());
    println!("{} segments sent again", last.retransmitted_segments);
    assert!(last.retransmitted_segments > 0, "the queue overflows");
    assert_eq!(packets.retransmits.len() as u64, last.retransmitted_segments);
    assert_eq!((packets.bytes, last.bytes_sent), (RESPONSE as u64, RESPONSE as u64));
    let most = |flights: &mut dyn Iterator<Item = u64>| flights.max().unwrap_or(0);
    let by_packets = most(&mut packets.flights.iter().map(|flight| flight.in_flight_bytes));
    let by_looks = most(&mut looks.samples.iter().map(in_flight_bytes));
    println!("at most {by_packets} bytes in flight by packets, {by_looks} by looks");
    assert!(by_looks.abs_diff(by_packets) < by_packets / 4, "a look may miss the peak");
    let Some(probe) = probe else { return };
    let by_probe = most(&mut probe.samples.iter().map(in_flight_bytes));
    println!("{by_probe} by tcp_probe; {} samples", probe.samples.len());
    assert!(by_probe.abs_diff(by_packets) <= 10 * u64::from(SEGMENT));
    let events = probe.retransmitted_at.len() as u64;
    println!("{events} events of sending again");
    // An event may cover several segments.
    assert!((last.retransmitted_segments * 9 / 10..=last.retransmitted_segments).contains(&events));
    let agree = agreement(&looks.samples, &probe.samples);
    println!("{:.1} % of looks show what tcp_probe does", agree * 100.0);
    assert!(agree > 0.9, "{agree}");
}

fn in_flight_bytes(sample: &SenderSample) -> u64 {
    sample.stats.unacknowledged_bytes.saturating_sub(sample.stats.unsent_bytes)
}

/// The share of polls whose window and round trip are those of the trace: a segment shows the state that the one before it left.
fn agreement(looks: &[SenderSample], trace: &[SenderSample]) -> f64 {
    let state = |sample: &SenderSample| (sample.stats.cwnd, sample.stats.srtt);
    let pairs = looks.iter().filter_map(|look| {
        let next = trace.partition_point(|sample| sample.at <= look.at);
        trace.get(next).map(|after| state(after) == state(look))
    });
    let pairs: Vec<bool> = pairs.collect();
    pairs.iter().filter(|same| **same).count() as f64 / pairs.len() as f64
}

/// Fetches over a link whose queue overflows, and observes the server.
fn watch(privilege: Privilege) -> Views {
    let settings = KernelKnobs::for_config(&Config::default()).unwrap();
    let testbed = Testbed::with_tcp(1500, [settings.clone(), settings]).unwrap();
    let delay = Duration::from_millis(30);
    let link = |queue| LinkConfig::new(BitsPerSec::mbit(10), delay, queue);
    let topology =
        EmulatedTopology::between(link(QueueLimit::Unlimited), link(QueueLimit::Packets(40)));
    let emulator = testbed.emulator(topology, &chance::RandomSource::new(0, 0));
    let emulator = emulator.unwrap().observed_by(Passages::default());
    let (control, began) = (emulator.control(), emulator.clock().began());
    let emulation = std::thread::spawn(move || emulator.run());
    let server = testbed.namespace(AccessSide::Server);
    let follower =
        server.run(move || Ok(Follower::start(Duration::from_millis(1), began).unwrap())).unwrap();
    let wanted = TraceScope { ports: vec![PORT], segment_bytes: SEGMENT };
    let probe = (privilege == Privilege::Root).then(|| Probe::start(wanted).unwrap());
    let address = (AccessSide::Server.address(), PORT);
    let listener = server.run(move || Ok(TcpListener::bind(address).unwrap())).unwrap();
    let serving = server.spawn(move || Ok(serve(&listener))).unwrap();
    testbed.namespace(AccessSide::Client).run(move || Ok(fetch(address.into()))).unwrap();
    let cookie = serving.join().unwrap().unwrap();
    let looks = of(follower.finish().unwrap(), cookie);
    let probe = probe.map(|probe| {
        let traced = probe.finish(began).unwrap();
        assert_eq!(traced.lost, 0);
        of(traced.motions, cookie)
    });
    control.stop();
    let account = emulation.join().unwrap().unwrap();
    let mut all = conversations(&account.observer.0);
    assert_eq!(all.len(), 1);
    Views { looks, packets: all.remove(0).down, probe }
}

fn of(motions: Motions, cookie: u64) -> ConnectionSeries {
    let mut motions = motions.into_iter();
    motions.find(|(connection, _)| connection.cookie == cookie).expect("it was followed").1
}

/// Returns the socket's cookie.
fn serve(listener: &TcpListener) -> u64 {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
    stream.read_exact(&mut [0; 100]).unwrap();
    stream.write_all(&vec![0; RESPONSE]).unwrap();
    // The client closes when it has everything.
    let _ = stream.read(&mut [0]);
    kernel::cookie(&stream).unwrap()
}

fn fetch(server: std::net::SocketAddr) -> usize {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(&[0; 100]).unwrap();
    let mut response = vec![0; RESPONSE];
    stream.read_exact(&mut response).unwrap();
    response.len()
}
