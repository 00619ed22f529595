//! The kernel's TCP behind a 3G radio: after a pause it mistakes a promotion for a loss, as its own counters show. Pings through an LTE radio take
//! the configured time.
//!
//! Each case runs this test program again in its own namespaces, as root if the caller is root and as an ordinary user.

mod inside;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use farlink_emu::{AccessSide, EmulatedRadioReport, EmulatedTopology, Testbed};
use kernel::KernelKnobs;
use net::{Network, RadioState};
use tcp::Config;

const REQUEST: usize = 200;
const RESPONSE: usize = 60_000;
const NETWORK: &str = "rtt=100ms,down=3600kbit,up=384kbit,queue=200pkt,radio=umts";
/// Long enough for the shared channel, too short for idleness.
const PAUSE: Duration = Duration::from_secs(7);

#[test]
fn as_root() {
    inside::as_root("as_root", check_all);
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", check_all);
}

fn check_all() {
    check_pings();
    let usual = pause_behind("linux-6");
    let Counters { timeouts, undone, doubled } = usual.counters;
    assert!(timeouts > 0 && undone + doubled > 0, "the kernel itself found out: {usual:?}");
    let patient = pause_behind("linux-6,min-rto=3s");
    let Counters { timeouts, undone, doubled } = patient.counters;
    assert_eq!((timeouts, undone, doubled), (0, 0, 0), "{patient:?}");
    for (name, seen) in [("min-rto=200ms", usual), ("min-rto=3s", patient)] {
        println!("{name}: {:?}", seen.counters);
        let promoted = seen.radio.transitions.iter().filter(|t| t.to == RadioState::FachToDch);
        assert_eq!(promoted.count(), 1, "{name}: {:?}", seen.radio.transitions);
    }
}

/// The cell of kallio2016, whose pings take 22.9 ms on average in `farlink link test`: 8.1 ms of links, 13 ms for the
/// resource request, 1.8 ms of repetitions.
fn check_pings() {
    let testbed = Testbed::new().unwrap();
    let topology = EmulatedTopology::of(&Network::parse("kallio2016-cell-25prb").unwrap());
    let emulator = testbed.emulator(topology, &chance::RandomSource::new(1, 0)).unwrap();
    let control = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let address = SocketAddr::from((AccessSide::Server.address(), 7));
    let server = testbed.namespace(AccessSide::Server);
    let socket = server.run(move || Ok(UdpSocket::bind(address).unwrap())).unwrap();
    let echo = server
        .spawn(move || {
            echo(&socket);
            Ok(())
        })
        .unwrap();
    let trips = testbed.namespace(AccessSide::Client).run(move || ping(address)).unwrap();
    echo.join().unwrap().unwrap();
    control.stop();
    emulation.join().unwrap().unwrap();
    let (first, awake) = (trips[0], &trips[1..]);
    let mean = awake.iter().sum::<Duration>() / awake.len() as u32;
    println!("pings through an LTE radio: {first:?} from rest, {mean:?} awake");
    assert!((265..330).contains(&first.as_millis()), "{first:?}: a promotion takes 260 ms");
    assert!((21_000..26_000).contains(&mean.as_micros()), "{mean:?}");
}

const PINGS: usize = 60;

fn echo(socket: &UdpSocket) {
    let mut buf = [0; 56];
    for _ in 0..PINGS {
        let (length, from) = socket.recv_from(&mut buf).unwrap();
        socket.send_to(&buf[..length], from).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "round trips are the machine's time")]
fn ping(address: SocketAddr) -> Result<Vec<Duration>, farlink_emu::Error> {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let trips = (0..PINGS).map(|_| {
        let sent = std::time::Instant::now();
        socket.send_to(&[0; 56], address).unwrap();
        socket.recv_from(&mut [0; 56]).unwrap();
        let trip = sent.elapsed();
        std::thread::sleep(Duration::from_millis(150));
        trip
    });
    Ok(trips.collect())
}

/// Traces of a pause.
#[derive(Debug)]
struct SocketState {
    counters: Counters,
    radio: EmulatedRadioReport,
}

/// Counters of the server's namespace, in the pause's second half: `/proc/net/netstat`.
#[derive(Clone, Copy, Debug)]
struct Counters {
    /// `TCPTimeouts`
    timeouts: u64,
    /// Timeouts that the kernel found to be spurious: by F-RTO (`TCPSpuriousRTOs`) or by timestamps (`TCPLossUndo`).
    undone: u64,
    /// Duplicate segments reported by the client (`TCPDSACKRecv`).
    doubled: u64,
}

impl Counters {
    /// Counters of the calling thread's namespace.
    fn now() -> Counters {
        let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let of = |wanted: &str| {
            let mut pairs = names.split(' ').zip(values.split(' '));
            let (_, value) = pairs.find(|(name, _)| *name == wanted).expect("the kernel counts it");
            value.parse().unwrap()
        };
        Counters {
            timeouts: of("TCPTimeouts"),
            undone: of("TCPSpuriousRTOs") + of("TCPLossUndo"),
            doubled: of("TCPDSACKRecv"),
        }
    }

    fn since(self, before: Counters) -> Counters {
        Counters {
            timeouts: self.timeouts - before.timeouts,
            undone: self.undone - before.undone,
            doubled: self.doubled - before.doubled,
        }
    }
}

/// A request, a pause, a request, over one connection.
fn pause_behind(transport: &str) -> SocketState {
    let settings = KernelKnobs::for_config(&Config::parse(transport).unwrap()).unwrap();
    let testbed = Testbed::with_tcp(1500, [settings.clone(), settings]).unwrap();
    let topology = EmulatedTopology::of(&Network::parse(NETWORK).unwrap());
    let emulator = testbed.emulator(topology, &chance::RandomSource::new(1, 0));
    let emulator = emulator.unwrap();
    let control = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let address = SocketAddr::from((AccessSide::Server.address(), 8080));
    let server = testbed.namespace(AccessSide::Server);
    let listener = server.run(move || Ok(TcpListener::bind(address).unwrap())).unwrap();
    let server = server.spawn(move || Ok(serve(&listener))).unwrap();
    let client = testbed.namespace(AccessSide::Client);
    client.run(move || ask(address)).unwrap();
    let counters = server.join().unwrap().unwrap();
    let mut radios = control.snapshot().unwrap().radios;
    let radio = radios.pop().expect("the network has one");
    control.stop();
    emulation.join().unwrap().unwrap();
    SocketState { counters, radio }
}

/// The counters of the second response.
fn serve(listener: &TcpListener) -> Counters {
    let (mut stream, _) = listener.accept().unwrap();
    let mut before = Counters::now();
    for _ in 0..2 {
        stream.read_exact(&mut [0; REQUEST]).unwrap();
        before = Counters::now();
        stream.write_all(&[0; RESPONSE]).unwrap();
    }
    // The client closes when it has everything.
    let _ = stream.read(&mut [0]);
    Counters::now().since(before)
}

#[expect(clippy::disallowed_methods, reason = "the pause is the machine's time")]
fn ask(address: SocketAddr) -> Result<(), farlink_emu::Error> {
    let mut stream = TcpStream::connect(address).unwrap();
    for pause in [Duration::ZERO, PAUSE] {
        std::thread::sleep(pause);
        stream.write_all(&[0; REQUEST]).unwrap();
        stream.read_exact(&mut vec![0; RESPONSE]).unwrap();
    }
    Ok(())
}
