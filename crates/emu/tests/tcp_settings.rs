//! The kernel takes a transport's settings: read back from it, and seen on the wire.
//!
//! Each case runs this test program again in its own namespaces, as root if the caller is root and as an ordinary user.

mod inside;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use farlink_emu::{
    AccessSide, EmulatedTopology, EmulationResult, Fate, Passage, Passages, Testbed,
};
use kernel::{KernelKnobs, TcpInfo, sockopt};
use net::{LinkConfig, QueueLimit};
use tcp::Config;
use units::BitsPerSec;

const PORT: u16 = 8080;
const REQUEST: usize = 100;
const RESPONSE: usize = 600_000;
/// Half of the round trip.
const DELAY: Duration = Duration::from_millis(20);
/// A machine that is busy for a moment spoils one attempt, not all.
const ATTEMPTS: u32 = 12;
/// Maximum lateness of any packet: later ones look lost.
const LATENESS: Duration = Duration::from_millis(20);
/// Payload of a segment.
const SEGMENT: u32 = 1448;

#[test]
fn as_root() {
    inside::as_root("as_root", check_all);
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", check_all);
}

/// Observations of a fetch under a transport.
struct Fetched {
    /// Lateness of the latest packet.
    lateness: Duration,
    passages: Vec<Passage>,
    /// The server's end after everything was acknowledged.
    server: TcpInfo,
    congestion_control: String,
    /// Output of `ip` on the server's interface.
    link: String,
    /// `SO_SNDBUF` of the server when it accepted.
    sndbuf: i32,
    /// `SO_RCVBUF` of the client before it connects.
    rcvbuf: i32,
}

/// `TCPI_OPT_*`
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALING: u8 = 4;
const ECN: u8 = 8;

fn check_all() {
    let fetched = fetch("linux-6", false);
    assert_eq!(fetched.initial_burst(), 10);
    assert_eq!(fetched.syn_window(), 64240);
    assert_eq!(fetched.congestion_control, "cubic");
    assert_eq!(fetched.options(), TIMESTAMPS | SACK | WINDOW_SCALING);
    assert_eq!(fetched.rcvbuf, 131_072);
    let acknowledgements = fetched.acknowledgements_per_packet();
    // Every second except for the first few, on a machine that is not busy.
    assert!(acknowledgements < 0.95, "{acknowledgements}");
    assert!(!fetched.link.contains("gso_max_segs 1 "), "bursts leave as one");
    assert!((200_000..1_000_000).contains(&fetched.variance_term()), "{:?}", fetched.server);

    let fetched = fetch("iw=4,cc=reno,timestamps=off,sack=off", false);
    assert_eq!(fetched.initial_burst(), 4);
    assert_eq!(fetched.congestion_control, "reno");
    assert_eq!(fetched.options(), WINDOW_SCALING);

    let fetched = fetch("iw=25,cc=bbr,min-rto=3s,rwnd=7,ecn=active", false);
    assert_eq!(fetched.syn_window(), 7 * 1460);
    assert_eq!(fetched.congestion_control, "bbr");
    assert!((3_000_000..4_000_000).contains(&fetched.variance_term()), "{:?}", fetched.server);
    assert_eq!(fetched.options(), TIMESTAMPS | SACK | WINDOW_SCALING | ECN);

    let fetched = fetch("iw=25,acks=every-segment,tso-segments=one", false);
    assert_eq!(fetched.initial_burst(), 25);
    assert!(fetched.acknowledgements_per_packet() > 0.95);
    assert!(fetched.link.contains("gso_max_segs 1 "), "each segment leaves by itself");

    let fetched =
        fetch("sndbuf=64KiB,sndbuf-max=64KiB,rcvbuf=32KiB,rcvbuf-max=32KiB,tlp=off", false);
    assert_eq!((fetched.sndbuf, fetched.rcvbuf), (65536, 65536));

    let others = "ecn=off,dsack=off,max-rto=60s,syn-retries=3,syn-linear-timeouts=0,syn-ack-retries=3,retries=8,slow-start-after-idle=off,\
                  frto=off,metrics=off,notsent-lowat=16KiB,acks=linux-3";
    fetch(others, false);

    let fetched = fetch("iw=4,cc=reno", true);
    assert_eq!(fetched.initial_burst(), 4, "by IPv6");
    assert_eq!(fetched.congestion_control, "reno");
}

/// Fetches with `transport` until the emulator was on time: a busy machine's delays show in round trips and bursts.
fn fetch(transport: &str, by_ipv6: bool) -> Fetched {
    let mut attempts = (0..ATTEMPTS).map(|number| {
        pause(number);
        fetch_once(transport, by_ipv6)
    });
    let punctual = attempts.find(|fetched| fetched.lateness < LATENESS);
    punctual.expect("no attempt was on time: the machine is too busy for this test")
}

/// Nothing before the first attempt, then longer each time: 16 s in total.
#[expect(clippy::disallowed_methods, reason = "the machine is given its own time to come to rest")]
fn pause(number: u32) {
    std::thread::sleep(Duration::from_millis(250) * number);
}

/// Fetches over a testbed configured by `transport`, and checks that its sysctls were taken.
fn fetch_once(transport: &str, by_ipv6: bool) -> Fetched {
    println!("{transport}");
    let settings = KernelKnobs::for_config(&Config::parse(transport).unwrap()).unwrap();
    let testbed = Testbed::with_tcp(1500, [settings.clone(), settings.clone()]).unwrap();
    for side in AccessSide::BOTH {
        let settings = settings.clone();
        let checked = testbed.namespace(side).run(move || {
            check_sysctls(&settings);
            Ok(())
        });
        checked.unwrap();
    }
    let link = LinkConfig::new(BitsPerSec::mbit(20), DELAY, QueueLimit::Unlimited);
    let topology = EmulatedTopology::between(link.clone(), link);
    let emulator = testbed.emulator(topology, &chance::RandomSource::new(0, 0));
    let emulator = emulator.unwrap().observed_by(Passages::default());
    let control = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let address = if by_ipv6 {
        AccessSide::Server.address_v6().into()
    } else {
        std::net::IpAddr::from(AccessSide::Server.address())
    };
    let server = testbed.namespace(AccessSide::Server);
    let listener = server.run(move || Ok(TcpListener::bind((address, PORT)).unwrap())).unwrap();
    let server = server.spawn(move || Ok(serve(&listener))).unwrap();
    let client = testbed.namespace(AccessSide::Client);
    let rcvbuf = client.run(move || Ok(read(address))).unwrap();
    let (server, congestion_control, sndbuf) = server.join().unwrap().unwrap();
    let link = testbed.namespace(AccessSide::Server).run(|| Ok(link_details())).unwrap();
    control.stop();
    let account: EmulationResult<Passages> = emulation.join().unwrap().unwrap();
    let passages = account.observer.0;
    let lateness = account.snapshot.punctuality.max;
    Fetched { lateness, passages, server, congestion_control, link, sndbuf, rcvbuf }
}

fn check_sysctls(settings: &KernelKnobs) {
    for sysctl in settings.sysctls() {
        match sysctl.read().unwrap() {
            Some(value) => assert_eq!(value, sysctl.value, "{}", sysctl.name),
            None => assert!(sysctl.dispensable, "the kernel has no {}", sysctl.name),
        }
    }
}

fn link_details() -> String {
    let output = Command::new("ip").args(["-details", "link", "show", "eth0"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn serve(listener: &TcpListener) -> (TcpInfo, String, i32) {
    let (mut stream, _) = listener.accept().unwrap();
    let sndbuf = sockopt::get(&stream, libc::SOL_SOCKET, libc::SO_SNDBUF).unwrap();
    let name: [u8; 16] = sockopt::get(&stream, libc::IPPROTO_TCP, libc::TCP_CONGESTION).unwrap();
    let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
    stream.set_nodelay(true).unwrap();
    stream.read_exact(&mut [0; REQUEST]).unwrap();
    stream.write_all(&[0; RESPONSE]).unwrap();
    // The client closes when it has everything.
    let _ = stream.read(&mut [0]);
    (TcpInfo::of(&stream).unwrap(), name, sndbuf)
}

/// Fetches; returns the size of the receive buffer that the socket started with.
fn read(server: std::net::IpAddr) -> i32 {
    let mut stream = TcpStream::connect((server, PORT)).unwrap();
    let rcvbuf = sockopt::get(&stream, libc::SOL_SOCKET, libc::SO_RCVBUF).unwrap();
    stream.write_all(&[0; REQUEST]).unwrap();
    stream.read_exact(&mut [0; RESPONSE]).unwrap();
    rcvbuf
}

impl Fetched {
    /// Number of data packets that the server sent before the first acknowledgement of them reached it.
    fn initial_burst(&self) -> usize {
        let of =
            |side: AccessSide| self.passages.iter().filter(move |passage| passage.from == side);
        let syn =
            of(AccessSide::Server).find_map(|passage| passage.tcp).expect("the server answers");
        let answer = of(AccessSide::Client).find_map(|passage| {
            let tcp =
                passage.tcp.filter(|tcp| tcp.ack.wrapping_sub(syn.seq) > 1 && tcp.is_ack())?;
            let Fate::Delivered { due, .. } = passage.fate else { return None };
            (!tcp.is_syn()).then_some(due)
        });
        let answered = answer.expect("data is acknowledged");
        let is_data = |passage: &&Passage| passage.tcp.is_some_and(|tcp| tcp.payload_bytes > 0);
        of(AccessSide::Server)
            .filter(is_data)
            .take_while(|packet| packet.arrived < answered)
            .count()
    }

    /// The window advertised in the client's SYN, which is not scaled.
    fn syn_window(&self) -> u32 {
        let mut syns =
            self.passages.iter().filter_map(|passage| passage.tcp).filter(|tcp| tcp.is_syn());
        syns.next().expect("a connection begins with a SYN").window.into()
    }

    /// The variance term of the server's timeout, microseconds; timers count in ticks.
    fn variance_term(&self) -> u32 {
        self.server.rto - self.server.rtt
    }

    fn options(&self) -> u8 {
        self.server.options & (TIMESTAMPS | SACK | WINDOW_SCALING | ECN)
    }

    /// Number of acknowledgements by the client per full segment.
    fn acknowledgements_per_packet(&self) -> f64 {
        let is_ack = |passage: &&Passage| {
            passage.from == AccessSide::Client
                && passage.tcp.is_some_and(|tcp| tcp.payload_bytes == 0 && !tcp.is_syn())
        };
        let count = self.passages.iter().filter(is_ack).count();
        count as f64 / (RESPONSE as f64 / f64::from(SEGMENT))
    }
}
