//! Two clients behind one hop, each in its own namespace: the kernel's TCP under a scheduler.
//!
//! Each case runs this test program again in its own namespaces, as root if the caller is root and as an ordinary user.

mod inside;
mod wires;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use farlink_emu::{AccessSide, EmulatedTopology, Snapshot, Testbed, TestbedConfig, Wire};
use kernel::KernelKnobs;
use net::Network;
use tcp::Config;

/// At 4 Mbit/s the larger one takes 2 s alone.
const SIZES: [usize; 2] = [1_000_000, 100_000];
const CELL: &str = "rtt=40ms,down=4mbit,up=4mbit,queue=500pkt,radio=umts,radio.idle_to_dch=100ms";

#[test]
fn as_root() {
    inside::as_root("as_root", || check_all(Wire::Veth));
}

#[test]
fn over_tap_as_root() {
    if wires::has_tap() {
        inside::as_root("over_tap_as_root", || check_all(Wire::Tap));
    }
}

#[test]
fn as_an_ordinary_user() {
    inside::as_an_ordinary_user("as_an_ordinary_user", || check_all(Wire::Veth));
}

fn check_all(wire: Wire) {
    let (fifo, turns) = (share(wire, "fifo"), share(wire, "round-robin"));
    println!("fifo {:?}, round robin {:?}", fifo.took, turns.took);
    for shared in [&fifo, &turns] {
        assert_eq!(
            shared.peers,
            ["10.0.0.1", "10.0.0.3"].map(|peer| peer.parse::<IpAddr>().unwrap())
        );
        let down = &shared.snapshot.links[1];
        assert_eq!(down.delivered_bytes.iter().sum::<u64>(), down.stats.delivered_bytes);
        for (delivered, size) in down.delivered_bytes.iter().zip(SIZES) {
            assert!(*delivered > size as u64 && *delivered < size as u64 * 11 / 10, "{down:?}");
        }
        assert_eq!(shared.snapshot.radios.len(), 2);
        assert!(shared.snapshot.radios.iter().all(|radio| radio.energy.joules() > 0.0));
    }
    // A client that wants little has half of the rate until it is done.
    assert!(turns.took[1] < Duration::from_millis(1200), "{:?}", turns.took);
    assert!(turns.took[0] > turns.took[1], "{:?}", turns.took);
}

struct Shared {
    /// The clients' addresses as seen by the server.
    peers: [IpAddr; 2],
    took: [Duration; 2],
    snapshot: Snapshot,
}

/// Both clients send requests at once.
fn share(wire: Wire, scheduler: &str) -> Shared {
    let settings = KernelKnobs::for_config(&Config::default()).unwrap();
    let tcp = Some([settings.clone(), settings]);
    let setup = TestbedConfig { clients: 2, tcp, wire: Some(wire), ..TestbedConfig::default() };
    let testbed = Testbed::build(setup).unwrap();
    let network = Network::parse(&format!("{CELL},scheduler={scheduler}")).unwrap();
    let topology = EmulatedTopology::of(&network).shared_by(2);
    let emulator = testbed.emulator(topology, &chance::RandomSource::new(1, 0)).unwrap();
    let control = emulator.control();
    let emulation = std::thread::spawn(move || emulator.run());
    let served = SIZES.map(|size| {
        let address = SocketAddr::from((AccessSide::Server.address(), 8080 + (size % 7) as u16));
        let server = testbed.namespace(AccessSide::Server);
        let listener = server.run(move || Ok(TcpListener::bind(address).unwrap())).unwrap();
        let serve = move || {
            let (mut stream, peer) = listener.accept().unwrap();
            stream.write_all(&vec![0; size]).unwrap();
            Ok(peer.ip())
        };
        (address, server.spawn(serve).unwrap())
    });
    let clients = [0, 1].map(|number: u32| {
        let (address, size) = (served[number as usize].0, SIZES[number as usize]);
        testbed.client(number).spawn(move || Ok(fetch(address, size))).unwrap()
    });
    let took = clients.map(|client| client.join().unwrap().unwrap());
    let peers = served.map(|(_, server)| server.join().unwrap().unwrap());
    let snapshot = control.snapshot().unwrap();
    control.stop();
    emulation.join().unwrap().unwrap();
    Shared { peers, took, snapshot }
}

#[expect(clippy::disallowed_methods, reason = "the transfer takes the machine's time")]
fn fetch(address: SocketAddr, size: usize) -> Duration {
    let began = std::time::Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.read_exact(&mut vec![0; size]).unwrap();
    began.elapsed()
}
