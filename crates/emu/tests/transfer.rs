//! Data arrives as programs sent it, however the kernel cuts it and the links treat it; and the emulator survives whatever programs do.

mod inside;
mod wires;

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::JoinHandle;
use std::time::Duration;

use chance::RandomSource;
use farlink_emu::{
    AccessSide, ControlSocket, EmulatedTopology, EmulationResult, Emulator, Error, ObservedPacket,
    Observer, Release, Testbed, TestbedConfig, TimingError, Wire,
};
use net::{LinkConfig, LossModel, QueueLimit};
use units::{BitsPerSec, Time};

const PORT: u16 = 7000;
const BODY_BYTES: usize = 1_000_000;
const WHOLE: Release = Release::Coalesced { quantum: Duration::ZERO };

#[test]
fn as_root() {
    inside::as_root("as_root", || transfer(Wire::Veth));
}

#[test]
fn over_tap_as_root() {
    if wires::has_tap() {
        inside::as_root("over_tap_as_root", || transfer(Wire::Tap));
    }
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", || transfer(Wire::Veth));
}

#[test]
fn over_tap_as_an_ordinary_user() {
    if wires::has_tap() {
        let test = "over_tap_as_an_ordinary_user";
        inside::as_an_ordinary_user(test, || transfer(Wire::Tap));
    }
}

fn transfer(wire: Wire) {
    for release in [Release::Exact, WHOLE] {
        tcp_delivers_all_of_it(wire, Testbed::host_address(0), release);
        tcp_delivers_all_of_it(wire, Testbed::host_address_v6(0), release);
        datagrams_of_one_call_arrive_one_by_one(wire, Testbed::host_address(0), release);
        datagrams_of_one_call_arrive_one_by_one(wire, Testbed::host_address_v6(0), release);
    }
    an_interface_that_goes_down_is_survived(wire);
    what_was_sent_before_is_not_carried(wire);
    frames_that_nobody_takes_are_counted(wire);
}

/// An emulator at work between two namespaces.
struct Emulation {
    testbed: Testbed,
    control: ControlSocket,
    thread: JoinHandle<Result<EmulationResult<Inspector>, Error>>,
}

impl Emulation {
    fn start(wire: Wire, link: LinkConfig, release: Release) -> Emulation {
        Emulation::between_ends_of(testbed(wire), link, release)
    }

    fn between_ends_of(testbed: Testbed, link: LinkConfig, release: Release) -> Emulation {
        let emulator = emulator(&testbed, link).releasing(release);
        Emulation::of(testbed, emulator)
    }

    fn of(testbed: Testbed, emulator: Emulator) -> Emulation {
        let emulator = emulator.observed_by(Inspector::default());
        let control = emulator.control();
        Emulation { testbed, control, thread: std::thread::spawn(move || emulator.run()) }
    }

    /// Runs `job` at one side.
    fn at<T: Send + 'static>(
        &self,
        side: AccessSide,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        self.testbed.namespace(side).run(|| Ok(job())).unwrap_or_else(|error| panic!("{error}"))
    }

    fn end(self) -> EmulationResult<Inspector> {
        self.control.stop();
        let ended = self.thread.join().expect("the emulator does not panic");
        ended.unwrap_or_else(|error| panic!("{error}"))
    }
}

fn testbed(wire: Wire) -> Testbed {
    let setup = TestbedConfig { wire: Some(wire), ..TestbedConfig::default() };
    let testbed = Testbed::build(setup).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(testbed.wire(), wire);
    testbed
}

fn emulator(testbed: &Testbed, link: LinkConfig) -> Emulator {
    let topology = EmulatedTopology::between(link.clone(), link);
    testbed.emulator(topology, &RandomSource::new(3, 0)).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks that packets are such as a wire could carry.
#[derive(Clone, Debug, Default)]
struct Inspector {
    entered: u64,
    largest: usize,
    broken: u64,
}

impl Observer for Inspector {
    fn entered(&mut self, _: Time, packet: &ObservedPacket<'_>) {
        let bytes = packet.ip_packet();
        self.entered += 1;
        self.largest = self.largest.max(bytes.len());
        self.broken += u64::from(!checks(&bytes));
    }
}

/// Returns true if the transport checksum is right (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn checks(packet: &[u8]) -> bool {
    let (addresses, segment, protocol) = match packet[0] >> 4 {
        4 => (&packet[12..20], &packet[20..], packet[9]),
        _ => (&packet[8..40], &packet[40..], packet[6]),
    };
    let words = addresses.chunks(2).chain(segment.chunks(2));
    let word = |pair: &[u8]| u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum = words.map(word).sum::<u32>() + u32::from(protocol) + segment.len() as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

/// A body in which no two stretches are alike.
fn body() -> Vec<u8> {
    let mut bytes = vec![0; BODY_BYTES];
    RandomSource::new(1, 0).stream("body").fill(&mut bytes);
    bytes
}

fn tcp_delivers_all_of_it(wire: Wire, server: IpAddr, release: Release) {
    let delay = Duration::from_millis(2);
    let lossy = LinkConfig {
        loss: LossModel::Random(0.01),
        ..LinkConfig::new(BitsPerSec::mbit(200), delay, QueueLimit::Packets(500))
    };
    let emulation = Emulation::start(wire, lossy, release);
    let listener = emulation.at(AccessSide::Server, move || TcpListener::bind((server, PORT)));
    let listener = listener.expect("the server has the address");
    let sender = std::thread::spawn(move || {
        let (mut stream, peer) = listener.accept().expect("the client comes");
        stream.write_all(&body()).expect("the client reads");
        peer.ip()
    });
    let received = emulation.at(AccessSide::Client, move || {
        let mut stream = TcpStream::connect((server, PORT)).expect("the server answers");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("the server sends");
        received
    });
    let client = sender.join().expect("the sender does not panic");
    assert!(
        client == IpAddr::V4(AccessSide::Client.address())
            || client == AccessSide::Client.address_v6()
    );
    assert!(received == body(), "{} bytes of {BODY_BYTES} arrived", received.len());
    let EmulationResult { snapshot, observer, .. } = emulation.end();
    assert_eq!((observer.broken, observer.largest), (0, 1500), "{release:?}");
    assert!(snapshot.dropped > 0 && snapshot.refused == 0, "{snapshot:?}");
}

fn datagrams_of_one_call_arrive_one_by_one(wire: Wire, server: IpAddr, release: Release) {
    let emulation = Emulation::start(wire, LinkConfig::delay(Duration::from_millis(2)), release);
    let socket = emulation.at(AccessSide::Server, move || UdpSocket::bind((server, PORT)));
    let socket = socket.expect("the server has the address");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
    emulation.at(AccessSide::Client, move || {
        let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).expect("a socket can be opened");
        segment_by(&socket, 1000);
        socket.send_to(&body()[..4500], (server, PORT)).expect("there is a route");
    });
    let mut buffer = [0; 2000];
    for part in body()[..4500].chunks(1000) {
        let len = socket.recv(&mut buffer).expect("it arrives");
        assert_eq!(&buffer[..len], part);
    }
    let EmulationResult { snapshot, observer, .. } = emulation.end();
    assert_eq!((observer.entered, observer.broken), (5, 0), "{release:?}");
    assert_eq!(snapshot.links[0].stats.delivered_packets, 5);
}

/// Makes the kernel segment datagrams (`UDP_SEGMENT` in udp(7)).
fn segment_by(socket: &UdpSocket, bytes: u16) {
    use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};
    setsockopt(socket, UdpGsoSegment, &i32::from(bytes)).expect("Linux can since 4.18");
}

fn an_interface_that_goes_down_is_survived(wire: Wire) {
    let emulation = Emulation::start(wire, LinkConfig::delay(Duration::ZERO), Release::Exact);
    let ip = |words: &'static str| {
        move || {
            let mut command = std::process::Command::new("ip");
            let status = command.args(words.split(' ')).status().expect("there is `ip`");
            assert!(status.success());
        }
    };
    emulation.at(AccessSide::Server, ip("link set eth0 down"));
    emulation.at(AccessSide::Client, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket can be opened");
        socket.send_to(&[0; 100], (AccessSide::Server.address(), PORT)).expect("there is a route");
    });
    let refused = || emulation.control.snapshot().expect("the emulator goes on").refused;
    while refused() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(emulation.end().snapshot.check(), Err(TimingError::Refused(1)));
}

/// Nothing carries packets sent before there is an emulator, nor those left by an earlier one.
fn what_was_sent_before_is_not_carried(wire: Wire) {
    let testbed = testbed(wire);
    let say = || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket can be opened");
        socket.send_to(&[0; 100], (AccessSide::Server.address(), PORT)).expect("there is a route");
        Ok(())
    };
    testbed.namespace(AccessSide::Client).run(say).unwrap_or_else(|error| panic!("{error}"));
    let emulation =
        Emulation::between_ends_of(testbed, LinkConfig::delay(Duration::ZERO), Release::Exact);
    emulation.at(AccessSide::Client, say).expect("it is sent");
    let entered = || {
        let snapshot = emulation.control.snapshot().expect("the emulator runs");
        snapshot.links[0].stats.offered_packets
    };
    while entered() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(emulation.end().snapshot.links[0].stats.offered_packets, 1);
}

/// More frames than may wait for an emulator that is not running yet.
fn frames_that_nobody_takes_are_counted(wire: Wire) {
    const SENT: u64 = 20_000;
    let testbed = testbed(wire);
    let emulator = emulator(&testbed, LinkConfig::delay(Duration::ZERO));
    let flood = || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket can be opened");
        for _ in 0..SENT {
            socket
                .send_to(&[0; 100], (AccessSide::Server.address(), PORT))
                .expect("there is a route");
        }
        Ok(())
    };
    testbed.namespace(AccessSide::Client).run(flood).unwrap_or_else(|error| panic!("{error}"));
    let emulation = Emulation::of(testbed, emulator);
    let seen = || {
        let snapshot = emulation.control.snapshot().expect("the emulator runs");
        (snapshot.links[0].stats.offered_packets, snapshot.overruns)
    };
    while seen().0 + seen().1 < SENT {
        std::thread::yield_now();
    }
    let (offered, overruns) = seen();
    // The lost frames may include those that the ends send by themselves, to all neighbours.
    assert!((SENT..SENT + 10).contains(&(offered + overruns)), "{offered} + {overruns}");
    assert!(wire != Wire::Tap || overruns > 0, "all of {offered} fit in the device's queue");
    emulation.end();
}
