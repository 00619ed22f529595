//! The emulated link matches its configuration, measured where packets enter and leave; and every packet is accounted for.

mod inside;
mod patience;
mod wires;

use std::net::{IpAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use chance::RandomSource;
use farlink_emu::{
    AccessSide, ControlSocket, EmulatedDrop, EmulatedTopology, EmulationResult, Error,
    ObservedPacket, Observer, Release, Snapshot, Testbed, TestbedConfig, Wire,
};
use net::{Admission, DropCause, Link, LinkConfig, LossModel, Packet, QueueLimit};
use patience::Attempt;
use units::{BitsPerSec, Time};

const PORT: u16 = 7000;
const SEED: u64 = 7;
const PAYLOAD_BYTES: usize = 1200;
/// A receiver that hears nothing for this long has heard everything: longer than the delay of any link here.
const SILENCE: Duration = Duration::from_millis(400);
/// Bytes of IP and UDP headers.
const HEADERS_V4: u64 = 20 + 8;
const HEADERS_V6: u64 = 40 + 8;

#[test]
fn as_root() {
    inside::as_root("as_root", || prove(Wire::Veth));
}

#[test]
fn over_tap_as_root() {
    if wires::has_tap() {
        inside::as_root("over_tap_as_root", || prove(Wire::Tap));
    }
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", || prove(Wire::Veth));
}

#[test]
fn over_tap_as_an_ordinary_user() {
    if wires::has_tap() {
        inside::as_an_ordinary_user("over_tap_as_an_ordinary_user", || prove(Wire::Tap));
    }
}

fn prove(wire: Wire) {
    let coalesced = Release::Coalesced { quantum: Duration::from_micros(500) };
    let (server, server_v6) = (Testbed::host_address(0), Testbed::host_address_v6(0));
    rate_and_delay_are_those_configured(wire, server, AccessSide::Client, Release::Exact);
    rate_and_delay_are_those_configured(wire, server_v6, AccessSide::Client, Release::Exact);
    let client = AccessSide::Client.address().into();
    rate_and_delay_are_those_configured(wire, client, AccessSide::Server, coalesced);
    round_trips_are_those_configured(wire, server);
    round_trips_are_those_configured(wire, server_v6);
    every_packet_is_accounted_for(wire, AccessSide::Server.address().into());
    every_packet_is_accounted_for(wire, Testbed::host_address_v6(700));
    losses_are_those_of_the_simulation(wire);
    an_emulator_that_has_ended_says_so(wire);
}

/// Datagrams from one side to an address of the other.
struct Datagrams {
    wire: Wire,
    from: AccessSide,
    to: IpAddr,
    count: usize,
    gap: Duration,
    release: Release,
}

/// Entry and departure time of one packet.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    entered: Time,
    left: Option<Time>,
}

/// Measures each packet at the emulator's sockets.
#[derive(Clone, Debug, Default)]
struct Meter {
    crossings: Vec<Crossing>,
    lost: Vec<u64>,
}

impl Observer for Meter {
    fn entered(&mut self, at: Time, _: &ObservedPacket<'_>) {
        self.crossings.push(Crossing { entered: at, left: None });
    }

    fn delivered(&mut self, _: Time, left: Time, packet: &ObservedPacket<'_>) {
        self.crossings[packet.number as usize].left = Some(left);
    }

    fn dropped(&mut self, number: u64, drop: &EmulatedDrop) {
        if drop.cause == DropCause::Loss {
            self.lost.push(number);
        }
    }
}

/// The measurements, and the number of datagrams received.
type Outcome = (EmulationResult<Meter>, u64);

/// Sends datagrams over a testbed of its own.
fn send(topology: &EmulatedTopology, datagrams: &Datagrams) -> Result<Outcome, Error> {
    let testbed = testbed(datagrams.wire)?;
    let emulator = testbed.emulator(topology.clone(), &RandomSource::new(SEED, 0))?;
    let emulator = emulator.releasing(datagrams.release).observed_by(Meter::default());
    let control = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let Datagrams { from, to, count, gap, .. } = *datagrams;
    let (bound, listening) = mpsc::channel();
    let receiver = testbed.namespace(from.peer()).spawn(move || {
        let socket = UdpSocket::bind((to, PORT)).expect("the address is local");
        socket.set_read_timeout(Some(SILENCE)).expect("a timeout can be set");
        bound.send(()).expect("the test listens");
        Ok(std::iter::from_fn(|| socket.recv(&mut [0; PAYLOAD_BYTES]).ok()).count() as u64)
    })?;
    listening.recv().expect("the receiver listens");
    testbed.namespace(from).run(move || {
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).expect("a socket can be opened");
        for _ in 0..count {
            socket.send_to(&[0; PAYLOAD_BYTES], (to, PORT)).expect("there is a route");
            pause(gap);
        }
        Ok(())
    })?;
    let received = receiver.join().map_err(|_| Error::Panicked("receiver"))??;
    control.stop();
    let account = emulation.join().map_err(|_| Error::Panicked("emulator"))??;
    Ok((account, received))
}

fn testbed(wire: Wire) -> Result<Testbed, Error> {
    Testbed::build(TestbedConfig { wire: Some(wire), ..TestbedConfig::default() })
}

#[expect(clippy::disallowed_methods, reason = "real time")]
fn pause(span: Duration) {
    if !span.is_zero() {
        std::thread::sleep(span);
    }
}

/// Repeats a measurement until `judge` agrees, or the emulator was on time and it does not. A late packet can only make a difference, never hide
/// one. `judge` gets the tolerance of times.
fn measure(
    topology: &EmulatedTopology,
    datagrams: &Datagrams,
    judge: impl Fn(&Outcome, Duration) -> Result<(), String>,
) {
    patience::agree(|| {
        let outcome = send(topology, datagrams).unwrap_or_else(|error| panic!("{error}"));
        let (validity, lateness) = (outcome.0.snapshot.check(), outcome.0.snapshot.punctuality.max);
        Attempt {
            strictly: judge(&outcome, Duration::ZERO),
            loosely: {
                let judge = &judge;
                move || judge(&outcome, lateness * 2)
            },
            validity,
        }
    });
}

/// 50 ms at 10 Mbit/s.
fn link() -> LinkConfig {
    LinkConfig::new(BitsPerSec::mbit(10), Duration::from_millis(50), QueueLimit::Unlimited)
}

fn rate_and_delay_are_those_configured(wire: Wire, to: IpAddr, from: AccessSide, release: Release) {
    let topology = EmulatedTopology::between(link(), link());
    let headers = if to.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
    let wire_bytes = PAYLOAD_BYTES as u64 + headers;

    let count = 300;
    let burst = Datagrams { wire, from, to, count, gap: Duration::ZERO, release };
    measure(&topology, &burst, |(account, received), slack| {
        let left: Vec<Time> = account.observer.crossings.iter().filter_map(|c| c.left).collect();
        if (left.len(), *received) != (count, count as u64) {
            return Err(format!("{} left, {received} received of {count}", left.len()));
        }
        let took = left[count - 1] - left[0];
        let expected = BitsPerSec::mbit(10).time_for(wire_bytes * (count as u64 - 1));
        let stated = account.snapshot.links[from as usize].stats.service_rate();
        assert_eq!(stated, Some(BitsPerSec::mbit(10)), "the link's own account");
        within_one_per_cent("rate", took, expected, slack)
    });

    let paced = Datagrams { wire, from, to, count: 21, gap: Duration::from_millis(10), release };
    measure(&topology, &paced, |(account, _), slack| {
        let crossings = account.observer.crossings.iter();
        let mut took: Vec<Duration> = crossings.filter_map(|c| Some(c.left? - c.entered)).collect();
        took.sort_unstable();
        let expected = Duration::from_millis(50) + BitsPerSec::mbit(10).time_for(wire_bytes);
        within_one_per_cent("delay", took[took.len() / 2], expected, slack)
    });
}

/// Within one per cent and `slack`.
fn within_one_per_cent(
    what: &str,
    is: Duration,
    should: Duration,
    slack: Duration,
) -> Result<(), String> {
    println!("{what}: {is:?} of {should:?}, {:.4}", is.div_duration_f64(should));
    let holds = is.abs_diff(should) < should / 100 + slack;
    holds.then_some(()).ok_or(format!("{what}: {is:?} instead of {should:?}"))
}

/// Round trips as seen by a program at one end. A machine that idles while packets are under way wakes both programs late, by up to 1 ms together.
/// The emulator has no part in this, and it only adds delay: so the quickest echo of an attempt is judged.
fn round_trips_are_those_configured(wire: Wire, to: IpAddr) {
    let delay = Duration::from_millis(50);
    patience::agree(|| {
        let (mut took, snapshot) =
            echoes(wire, to, delay).unwrap_or_else(|error| panic!("{error}"));
        took.sort_unstable();
        let (quickest, lateness) = (took[0], snapshot.punctuality.max);
        let judge = move |slack| within_one_per_cent("round trip", quickest, delay * 2, slack);
        Attempt {
            strictly: judge(Duration::ZERO),
            // The programs at both ends wake up as late as the emulator does.
            loosely: move || judge(lateness * 4),
            validity: snapshot.check(),
        }
    });
}

/// Round trips of datagrams to the server and back, over links that only delay.
#[expect(clippy::disallowed_methods, reason = "real time")]
fn echoes(wire: Wire, to: IpAddr, delay: Duration) -> Result<(Vec<Duration>, Snapshot), Error> {
    const COUNT: usize = 15;
    let testbed = testbed(wire)?;
    let topology = EmulatedTopology::between(LinkConfig::delay(delay), LinkConfig::delay(delay));
    let emulator = testbed.emulator(topology, &RandomSource::new(SEED, 0))?;
    let control = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let bound =
        testbed.namespace(AccessSide::Server).run(move || Ok(UdpSocket::bind((to, PORT))))?;
    let server = bound.expect("the address is local");
    let answering = std::thread::spawn(move || {
        for _ in 0..COUNT {
            let (len, from) = server.recv_from(&mut [0; 8]).expect("the client asks");
            server.send_to(&[0; 8][..len], from).expect("the client is there");
        }
    });
    let took = testbed.namespace(AccessSide::Client).run(move || {
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).expect("a socket can be opened");
        let echo = |_| {
            let sent = Instant::now();
            socket.send_to(&[0; 8], (to, PORT)).expect("there is a route");
            socket.recv(&mut [0; 8]).expect("the server answers");
            sent.elapsed()
        };
        Ok((0..COUNT).map(echo).collect())
    })?;
    answering.join().map_err(|_| Error::Panicked("server"))?;
    control.stop();
    let account = emulation.join().map_err(|_| Error::Panicked("emulator"))??;
    Ok((took, account.snapshot))
}

/// Two hops with random losses, the second also with a short queue.
fn every_packet_is_accounted_for(wire: Wire, to: IpAddr) {
    let lossy = |mbit, loss, queue| LinkConfig {
        loss: LossModel::Random(loss),
        ..LinkConfig::new(BitsPerSec::mbit(mbit), Duration::from_millis(5), queue)
    };
    let first = lossy(100, 0.03, QueueLimit::Unlimited);
    let second = lossy(50, 0.02, QueueLimit::Packets(20));
    let topology = EmulatedTopology::between(first.clone(), first).beyond(second.clone(), second);
    let datagrams = Datagrams {
        wire,
        from: AccessSide::Client,
        to,
        count: 3000,
        gap: Duration::ZERO,
        release: Release::Exact,
    };
    measure(&topology, &datagrams, |(account, received), _| {
        let EmulationResult { snapshot, drops, .. } = account;
        for (index, link) in snapshot.links.iter().enumerate() {
            let (stats, inside) = (link.stats, link.inside as u64);
            let logged = drops.iter().filter(|drop| drop.link == index);
            let bytes: u64 = logged.clone().map(|drop| u64::from(drop.wire_bytes)).sum();
            assert_eq!(logged.count() as u64, stats.dropped_packets(), "{}", link.name);
            assert_eq!(bytes, stats.dropped_bytes, "{}", link.name);
            let gone = stats.delivered_packets + stats.dropped_packets();
            assert_eq!(stats.offered_packets, gone + inside, "{}", link.name);
        }
        let [up, _, beyond, _] = &snapshot.links[..] else { panic!("there are four links") };
        assert_eq!(up.stats.delivered_packets, beyond.stats.offered_packets);
        if (up.stats.offered_packets, beyond.stats.delivered_packets) != (3000, *received) {
            return Err(format!("{received} received: {snapshot:?}"));
        }
        assert!(beyond.stats.queue_full_packets > 0, "the second hop is slower");
        binomial("up", up.stats.lost_packets, up.stats.offered_packets, 0.03)?;
        binomial("hop/1/up", beyond.stats.lost_packets, beyond.stats.offered_packets, 0.02)
    });
}

/// Checks that `lost` of `count` lies in the 99.9 % interval (the normal approximation).
fn binomial(name: &str, lost: u64, count: u64, probability: f64) -> Result<(), String> {
    let mean = count as f64 * probability;
    let deviation = (mean * (1.0 - probability)).sqrt();
    let holds = (lost as f64 - mean).abs() < 3.29 * deviation;
    println!("{name}: {lost} of {count} lost at {probability}");
    holds.then_some(()).ok_or(format!("{name}: {lost} of {count} lost at {probability}"))
}

fn losses_are_those_of_the_simulation(wire: Wire) {
    let config = LinkConfig { loss: LossModel::Random(0.1), ..link() };
    let topology = EmulatedTopology::between(config.clone(), config.clone());
    let to = Testbed::host_address(3);
    let datagrams = Datagrams {
        wire,
        from: AccessSide::Client,
        to,
        count: 200,
        gap: Duration::ZERO,
        release: Release::Exact,
    };
    let mut simulated = Link::new(config, &RandomSource::new(SEED, 0), "up");
    let lost: Vec<u64> = (0..200)
        .filter(|_| simulated.handle(Time::ZERO, Packet::new(1228), ()) != Admission::Queued)
        .collect();
    measure(&topology, &datagrams, |(account, _), _| {
        let same = account.observer.lost == lost;
        same.then_some(()).ok_or(format!("{:?} were lost, not {lost:?}", account.observer.lost))
    });
}

fn an_emulator_that_has_ended_says_so(wire: Wire) {
    let testbed = testbed(wire).unwrap_or_else(|error| panic!("{error}"));
    let topology = EmulatedTopology::between(link(), link());
    let emulator = testbed.emulator(topology, &RandomSource::new(SEED, 0));
    let emulator = emulator.unwrap_or_else(|error| panic!("{error}"));
    let control: ControlSocket = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let snapshot = control.snapshot().expect("it runs");
    let names: Vec<&str> = snapshot.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["up", "down"]);
    assert_eq!(snapshot.links[0].stats.offered_packets, 0, "nothing speaks by itself");
    assert!(control.drops(0).expect("it runs").is_empty());
    control.stop();
    emulation.join().expect("it does not panic").expect("it ends well");
    assert!(matches!(control.snapshot(), Err(Error::Ended)));
}
