//! The same code in both worlds.

use std::future::poll_fn;
use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use chance::RandomSource;
use farlink_world as world;
use farlink_world::report::WorldReport;
use farlink_world::sim::{NodeId, SimPlan};
use farlink_world::{
    BatchSocket, EcnCodepoint, RecvMeta, TcpListener, TcpStream, Transmit, UdpSocket,
};
use net::Network;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;

/// Echoes the data of each connection, then closes it.
async fn echo(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        world::spawn(async move {
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            stream.write_all(&all).await.unwrap();
            stream.shutdown().await.unwrap();
        });
    }
}

/// Sends `bytes` of a pattern to an echo server; returns true if the same comes back.
async fn round_trip(server: SocketAddr, bytes: usize) -> bool {
    let sent: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 255) as u8).collect();
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(&sent).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    sent == received
}

/// A client, a server and a network between them.
fn pair(network: &str, seed: u64) -> (SimPlan, NodeId, NodeId) {
    let network = Network::parse(network).unwrap();
    let mut plan = SimPlan::new(RandomSource::new(seed, 0));
    let tcp = Arc::new(tcp::Config::default());
    let client = plan.node("10.0.0.1".parse().unwrap(), Arc::clone(&tcp));
    let server = plan.node("10.0.0.2".parse().unwrap(), tcp);
    let up = plan.link("up", network.up);
    let down = plan.link("down", network.down);
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    plan.host("server", "10.0.0.2".parse().unwrap());
    (plan, client, server)
}

fn simulated_echo(network: &str, seed: u64, bytes: usize) -> (bool, WorldReport) {
    let (mut plan, client, server) = pair(network, seed);
    let address: SocketAddr = "10.0.0.2:7".parse().unwrap();
    plan.spawn(server, async move { echo(TcpListener::bind(address).unwrap()).await });
    let visit = async move {
        let same = round_trip(address, bytes).await;
        (same, world::sim::report().unwrap())
    };
    plan.run(client, visit).unwrap()
}

#[test]
fn bytes_come_back_in_the_simulated_world() {
    let (same, report) =
        simulated_echo("rtt=100ms,down=10mbit,up=5mbit,loss=2%,queue=50pkt", 3, 300_000);
    assert!(same);
    assert!(report.drops.len() > 5, "2 % of some 450 packets: {}", report.drops.len());
}

#[test]
fn bytes_come_back_in_the_real_world() {
    let config = world::real::Config::new(RandomSource::new(1, 0));
    let same = world::real::run(config, async {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        world::spawn(echo(listener));
        round_trip(address, 300_000).await
    });
    assert!(same.unwrap());
}

#[test]
fn equal_plans_give_equal_traces_and_another_seed_another() {
    let network = "rtt=40ms,down=20mbit,up=20mbit,loss=1%,queue=64pkt";
    let digest = |seed| simulated_echo(network, seed, 200_000).1.digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

/// A connect, and a reply to it: the server's process is woken once and the client's twice.
#[test]
fn waking_up_takes_a_drawn_time_and_then_all_is_seen_at_once() {
    let took = |latency: Option<std::ops::Range<Duration>>, seed| {
        let (mut plan, client, server) = pair("rtt=100ms,down=1gbit,up=1gbit", seed);
        if let Some(latency) = latency {
            plan.wake_latency(latency);
        }
        let address: SocketAddr = "10.0.0.2:7".parse().unwrap();
        plan.spawn(server, async move { echo(TcpListener::bind(address).unwrap()).await });
        let exchange = async move {
            assert!(round_trip(address, 10).await);
            world::now().since(units::Time::ZERO)
        };
        plan.run(client, exchange).unwrap()
    };
    let latency = || Some(Duration::from_millis(10)..Duration::from_millis(20));
    let (none, once, again) = (took(None, 1), took(latency(), 1), took(latency(), 1));
    assert_eq!(once, again);
    assert_ne!(once, took(latency(), 2));
    let waited = once - none;
    let bounds = Duration::from_millis(30)..=Duration::from_millis(60);
    assert!(bounds.contains(&waited), "{waited:?}");
}

#[test]
fn virtual_time_is_the_links_and_nothing_else() {
    let (plan, client, _) = pair("rtt=100ms,down=10mbit,up=10mbit", 1);
    let times = plan.run(client, async {
        world::sleep(Duration::from_millis(250)).await;
        let slept = world::now();
        let result = TcpStream::connect("10.0.0.2:9".parse().unwrap()).await;
        let kind = result.err().map(|error| error.kind());
        (slept, world::now(), kind)
    });
    let (slept, refused, kind) = times.unwrap();
    assert_eq!(slept.as_nanos(), 250_000_000);
    assert_eq!(kind, Some(std::io::ErrorKind::ConnectionRefused));
    // A SYN of 60 bytes up and a reset of 40 down at 10 Mbit/s.
    assert_eq!((refused - slept).as_nanos(), 100_000_000 + 48_000 + 32_000);
}

#[test]
fn datagrams_arrive_or_are_dropped_by_the_mtu() {
    let (mut plan, client, server) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
    let there: SocketAddr = "10.0.0.2:53".parse().unwrap();
    plan.spawn(server, async move {
        let socket = UdpSocket::bind(there).unwrap();
        let mut buffer = [0; 2048];
        loop {
            let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
            socket.send_to(&buffer[..len], from).await.unwrap();
        }
    });
    let answered = plan.run(client, async move {
        let socket = UdpSocket::bind("0.0.0.0:0".parse().unwrap()).unwrap();
        socket.send_to(&[1; 2000], there).await.unwrap();
        socket.send_to(&[2; 1000], there).await.unwrap();
        let mut buffer = [0; 2048];
        let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
        (len, from, buffer[0], world::resolve("server").unwrap())
    });
    assert_eq!(answered.unwrap(), (1000, there, 2, there.ip()));
}

/// Sends three datagrams in one piece, the last shorter; returns those that arrive.
async fn batch(to: SocketAddr, receiver: BatchSocket) -> Vec<(usize, Option<EcnCodepoint>)> {
    let sender = BatchSocket::connect(to).unwrap();
    let here = sender.local_addr().unwrap();
    assert_ne!(here.port(), 0);
    let contents = &[7; 2 * 1200 + 100][..];
    let ecn = Some(EcnCodepoint::Ect0);
    let segment_size = Some(1200);
    let transmit = Transmit { destination: to, ecn, contents, segment_size, src_ip: None };
    if sender.max_transmit_segments() < 3 {
        println!("this kernel sends no datagrams in a piece");
        return vec![(1200, ecn), (1200, ecn), (100, ecn)];
    }
    // As quinn does: tokio learns only in time that a new socket may be written to.
    if let Some(writable) = sender.writable() {
        writable.await.unwrap();
    }
    sender.try_send(&transmit).unwrap();
    let mut arrived = Vec::new();
    while arrived.len() < 3 {
        let mut space = [[0; 65_536]; 2];
        let [one, two] = &mut space;
        let mut bufs = [IoSliceMut::new(one), IoSliceMut::new(two)];
        let mut metas = [RecvMeta::default(); 2];
        let filled = std::future::poll_fn(|cx| receiver.poll_receive(cx, &mut bufs, &mut metas));
        let filled = filled.await.unwrap();
        for meta in &metas[..filled] {
            assert_eq!(meta.addr, here);
            // The kernel may merge datagrams that were sent in one piece.
            let ends = (0..meta.len).step_by(meta.stride);
            arrived.extend(ends.map(|at| (meta.stride.min(meta.len - at), meta.ecn)));
        }
    }
    arrived
}

#[test]
fn batches_of_datagrams_arrive_one_by_one_with_their_marks() {
    let expected = [1200, 1200, 100].map(|len| (len, Some(EcnCodepoint::Ect0)));
    let (mut plan, client, server) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
    let there: SocketAddr = "10.0.0.2:443".parse().unwrap();
    let (tell, told) = oneshot::channel();
    plan.spawn(server, async move {
        let _ = tell.send(BatchSocket::bind(there).unwrap());
        std::future::pending().await
    });
    let simulated = plan.run(client, async move { batch(there, told.await.unwrap()).await });
    assert_eq!(simulated.unwrap(), expected);
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    let real = world::real::run(config, async {
        let receiver = BatchSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        batch(receiver.local_addr().unwrap(), receiver).await
    });
    assert_eq!(real.unwrap(), expected);
}

#[test]
fn a_port_is_shared_by_those_who_want_to() {
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    let shared = world::real::run(config, async {
        let any = "127.0.0.1:0".parse().unwrap();
        let first = BatchSocket::bind_shared(any).unwrap();
        let address = first.local_addr().unwrap();
        let second = BatchSocket::bind_shared(address).unwrap();
        assert_eq!(second.local_addr().unwrap(), address);
        let alone = BatchSocket::bind(any).unwrap().local_addr().unwrap();
        let held = BatchSocket::bind(alone).unwrap();
        (BatchSocket::bind(address).is_err(), BatchSocket::bind_shared(alone).is_err(), held)
    });
    let (by_one, by_many, _held) = shared.unwrap();
    assert!(by_one && by_many, "who has a port for himself has it alone");
}

#[test]
fn a_task_that_waits_for_ever_is_told_apart_from_a_slow_one() {
    let (plan, client, _) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
    let stalled = plan.run(client, std::future::pending::<()>());
    assert!(matches!(stalled, Err(world::sim::RunError::Stalled { .. })), "{stalled:?}");

    let (mut plan, client, _) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
    plan.limit(Duration::from_secs(5));
    let slow: Result<(), _> = plan.run(client, async {
        loop {
            world::sleep(Duration::from_secs(1)).await;
        }
    });
    assert!(matches!(slow, Err(world::sim::RunError::TimeLimit { .. })), "{slow:?}");
}

#[test]
fn a_panicking_task_leaves_the_thread_fit_for_another_world() {
    let result = std::panic::catch_unwind(|| {
        let (plan, client, _) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
        plan.run(client, async { panic!("as planned") })
    });
    assert!(result.is_err());
    let network = "rtt=40ms,down=20mbit,up=20mbit,loss=1%,queue=64pkt";
    assert!(simulated_echo(network, 1, 10_000).0);
}

#[test]
fn timeouts_end_what_takes_too_long() {
    let (plan, client, _) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
    let ended = plan.run(client, async {
        let short =
            world::timeout(Duration::from_millis(5), world::sleep(Duration::from_secs(1))).await;
        let task = world::spawn(async { 42 });
        (short.is_err(), world::now().as_nanos(), task.await)
    });
    assert_eq!(ended.unwrap(), (true, 5_000_000, 42));
}

/// tokio's own timers would take a millisecond each.
#[cfg(target_os = "linux")]
/// Writes 16 KB at a time until the socket takes no more; returns the number of bytes taken.
async fn fill(stream: &mut TcpStream) -> usize {
    let (piece, mut taken) = ([0; 16 * 1024], 0);
    poll_fn(|cx| {
        while let Poll::Ready(written) = Pin::new(&mut *stream).poll_write(cx, &piece) {
            taken += written.unwrap();
        }
        Poll::Ready(())
    })
    .await;
    taken
}

#[test]
fn a_write_that_was_cut_short_is_followed_by_a_wait_for_the_socket() {
    let (mut plan, client, server) = pair("rtt=20ms,down=1mbit,up=1mbit", 1);
    let address: SocketAddr = "10.0.0.2:7".parse().unwrap();
    plan.spawn(client, async move {
        let mut all = Vec::new();
        TcpStream::connect(address).await.unwrap().read_to_end(&mut all).await.unwrap();
    });
    let taken = async move {
        let (mut stream, _) = TcpListener::bind(address).unwrap().accept().await.unwrap();
        let mut taken = Vec::new();
        for millis in [0, 40, 40, 2_000] {
            world::sleep(Duration::from_millis(millis)).await;
            taken.push(fill(&mut stream).await);
        }
        taken
    };
    let taken = plan.run(server, taken).unwrap();
    assert!(taken[0] > 0 && taken[3] > 0, "{taken:?}");
    assert_eq!(taken[1..3], [0, 0], "some packets have left, but not a third of the buffer");
}

/// Sets three timers for each of several deadlines, the last deadline first; returns the order in which they fire.
async fn firing_order() -> Vec<(u64, u32)> {
    let began = world::now();
    let (fired, mut order) = tokio::sync::mpsc::unbounded_channel();
    for millis in [30, 9, 9, 3, 0] {
        for number in 0..3 {
            let fired = fired.clone();
            world::spawn(async move {
                world::sleep_until(began + Duration::from_millis(millis)).await;
                fired.send((millis, number)).unwrap();
            });
        }
    }
    drop(fired);
    let mut all = Vec::new();
    while let Some(one) = order.recv().await {
        all.push(one);
    }
    all
}

#[test]
fn timers_fire_by_deadline_and_equal_ones_in_the_order_of_setting() {
    let expected: Vec<(u64, u32)> = [0, 3, 9, 9, 30]
        .into_iter()
        .flat_map(|millis| (0..3).map(move |number| (millis, number)))
        .collect();
    let (plan, client, _) = pair("loopback", 1);
    assert_eq!(plan.run(client, firing_order()).unwrap(), expected);
    let config = world::real::Config::new(RandomSource::new(1, 0));
    assert_eq!(world::real::run(config, firing_order()).unwrap(), expected);
}

#[test]
fn the_real_world_sleeps_for_less_than_a_millisecond() {
    let config = world::real::Config::new(RandomSource::new(1, 0));
    let spans = world::real::run(config, async {
        let mut spans = Vec::new();
        for _ in 0..40 {
            let began = world::now();
            world::sleep(Duration::from_micros(100)).await;
            spans.push(world::now() - began);
        }
        spans
    });
    let mut spans = spans.unwrap();
    spans.sort_unstable();
    assert!(spans[0] >= Duration::from_micros(100), "{spans:?}");
    // The least disturbed ones: the machine may be busy.
    assert!(spans[4] < Duration::from_micros(900), "{spans:?}");
}

/// A port that begins to close when `begun` fires, and then signals `ending`.
async fn leave(listener: TcpListener, begun: oneshot::Receiver<()>, ending: oneshot::Sender<()>) {
    begun.await.unwrap();
    listener.refuse_handshakes().unwrap();
    ending.send(()).unwrap();
    // Less than a client waits before it retransmits its SYN.
    world::sleep(Duration::from_millis(300)).await;
    let (mut accepted, _) = listener.accept_waiting().unwrap().expect("the first waits");
    assert!(listener.accept_waiting().unwrap().is_none(), "the second does not");
    drop(listener);
    accepted.write_all(b"hello").await.unwrap();
    accepted.shutdown().await.unwrap();
}

/// Two clients of such a port, one before it closes and one after. Returns the first one's data and whether the second was accepted.
async fn knock(
    address: SocketAddr,
    begun: oneshot::Sender<()>,
    ending: oneshot::Receiver<()>,
) -> (Vec<u8>, bool) {
    let mut first = TcpStream::connect(address).await.unwrap();
    begun.send(()).unwrap();
    ending.await.unwrap();
    let second = world::spawn(TcpStream::connect(address));
    let mut received = Vec::new();
    first.read_to_end(&mut received).await.unwrap();
    (received, second.await.is_ok())
}

#[test]
fn a_port_that_ends_lets_in_who_has_knocked() {
    let expected = (b"hello".to_vec(), false);
    let (begin, begun) = oneshot::channel();
    let (end, ending) = oneshot::channel();
    let config = world::real::Config::new(RandomSource::new(1, 0));
    let real = world::real::run(config, async {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        drop(world::spawn(leave(listener, begun, end)));
        knock(address, begin, ending).await
    });
    assert_eq!(real.unwrap(), expected);

    let (begin, begun) = oneshot::channel();
    let (end, ending) = oneshot::channel();
    let (mut plan, client, server) = pair("rtt=20ms,down=10mbit,up=10mbit", 1);
    let address: SocketAddr = "10.0.0.2:80".parse().unwrap();
    plan.spawn(server, async move {
        leave(TcpListener::bind(address).unwrap(), begun, end).await;
    });
    assert_eq!(plan.run(client, knock(address, begin, ending)).unwrap(), expected);
}
