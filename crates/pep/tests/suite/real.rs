//! Both ends in the real world, over loopback.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use farlink_pep::leg::{Fec, LegQuic, LegTransport};
use farlink_pep::{
    ForwardTarget, LegAcceptor, LegConnector, Local, PrivateKey, Remote, local, remote,
};
use quic::Transport;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::{TcpListener, TcpStream};

fn key(seed: u8) -> PrivateKey {
    PrivateKey::from_seed([seed; 32])
}

fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn in_world(test: impl Future<Output = ()>) {
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, world::timeout(Duration::from_secs(30), test)).unwrap().unwrap();
}

/// A server that echoes its input after the input's end.
fn echo() -> SocketAddr {
    let (listener, address) = bind();
    drop(world::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            drop(world::spawn(async move {
                let mut all = Vec::new();
                tcp.read_to_end(&mut all).await.unwrap();
                tcp.write_all(&all).await.unwrap();
                tcp.shutdown().await.unwrap();
            }));
        }
    }));
    address
}

/// Transports of the leg: TCP, QUIC, and QUIC with parity.
fn legs() -> [LegTransport; 3] {
    let quic = |fec| {
        let transport = Transport::matching(&tcp::Config::default());
        LegTransport::Quic(LegQuic { transport, fec })
    };
    let fec = Fec { every: 10, counts: Arc::default() };
    [LegTransport::Tcp, quic(None), quic(Some(fec))]
}

/// A far end that accepts the key of seed 1, and connects to loopback if `reaches_loopback`.
fn far_end(leg: &LegTransport, reaches_loopback: bool) -> (Rc<Remote>, SocketAddr) {
    let mut settings = remote::FarSettings::default();
    settings.leg.over = leg.clone();
    if reaches_loopback {
        settings.reach.also.push("127.0.0.0/8".parse().unwrap());
    }
    let remote = Remote::new(settings, LegAcceptor::new(&key(2), key(1).public()));
    let port = remote.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = port.local_addr().unwrap();
    drop(world::spawn(Rc::clone(&remote).serve(port)));
    (remote, address)
}

/// A near end that carries to `target`.
fn near_end(
    leg: &LegTransport,
    far: SocketAddr,
    connector: &LegConnector,
    target: SocketAddr,
) -> (Rc<Local>, SocketAddr) {
    let mut settings = local::NearSettings::new(far);
    settings.leg.over = leg.clone();
    let local = Local::start(settings, connector);
    let (listener, address) = bind();
    drop(world::spawn(Rc::clone(&local).serve(listener, ForwardTarget::Fixed(target))));
    (local, address)
}

async fn round_trip(to: SocketAddr, bytes: usize) -> std::io::Result<bool> {
    let sent: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut tcp = TcpStream::connect(to).await?;
    tcp.write_all(&sent).await?;
    tcp.shutdown().await?;
    let mut received = Vec::new();
    tcp.read_to_end(&mut received).await?;
    Ok(received == sent)
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        world::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn megabytes_pass() {
    for leg in legs() {
        in_world(async move {
            let (_, far) = far_end(&leg, true);
            let connector = LegConnector::new(&key(1), key(2).public());
            let (local, near) = near_end(&leg, far, &connector, echo());
            until(|| local.is_up()).await;
            assert!(round_trip(near, 5_000_000).await.unwrap());
            assert_eq!(local.counters().split.get(), 1);
            assert_eq!(local.counters().failed_open.get(), 0);
        });
    }
}

#[test]
fn nobody_gets_in_without_the_key_and_nobody_is_let_down() {
    for leg in legs() {
        in_world(async move {
            let (remote, far) = far_end(&leg, true);
            for (own, peer) in [(3, 2), (1, 3)] {
                let connector = LegConnector::new(&key(own), key(peer).public());
                let (local, near) = near_end(&leg, far, &connector, echo());
                let refused = remote.counters().refused.get();
                until(|| remote.counters().refused.get() > refused).await;
                assert!(!local.is_up());
                assert!(round_trip(near, 1_000).await.unwrap(), "fails open");
                assert_eq!(local.counters().failed_open.get(), 1);
            }
        });
    }
}

#[test]
fn the_far_end_connects_to_itself_for_nobody() {
    for leg in legs() {
        in_world(async move {
            let (remote, far) = far_end(&leg, false);
            let connector = LegConnector::new(&key(1), key(2).public());
            let (local, near) = near_end(&leg, far, &connector, echo());
            until(|| local.is_up()).await;
            let kind = round_trip(near, 10).await.map_err(|error| error.kind());
            assert_eq!(kind, Err(std::io::ErrorKind::ConnectionReset));
            assert_eq!(remote.counters().refused.get(), 1);
        });
    }
}
