//! Split TCP from end to end, simulated.

use crate::common;

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use common::{LEGS, RTT, Sky, at, near, pattern, server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::{TcpListener, TcpStream};

/// Echoes the input of each connection after the input's end.
async fn echo() {
    let listener = TcpListener::bind(server()).unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        drop(world::spawn(async move {
            let mut all = Vec::new();
            if stream.read_to_end(&mut all).await.is_ok() {
                drop(stream.write_all(&all).await);
                drop(stream.shutdown().await);
            }
        }));
    }
}

async fn round_trip(to: SocketAddr, bytes: usize) -> io::Result<bool> {
    let sent = pattern(bytes);
    let mut stream = TcpStream::connect(to).await?;
    stream.write_all(&sent).await?;
    // This half of the connection ends here; the answer is still to come.
    stream.shutdown().await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    Ok(sent == received)
}

#[test]
fn bytes_and_half_closes_pass_with_and_without_loss() {
    for leg in LEGS {
        for (seed, satellite) in [(1, ""), (2, ",loss=1%")] {
            let sky = Sky::over(leg, seed, satellite).with_pep().with_server(echo());
            let same = sky.run(async {
                let mut same = true;
                for bytes in [0, 1, 100_000] {
                    same &= round_trip(near(), bytes).await.unwrap();
                }
                same
            });
            assert!(same);
        }
    }
}

#[test]
fn many_connections_pass_at_once() {
    for leg in LEGS {
        let sky = Sky::over(leg, 1, "").with_pep().with_server(echo());
        let same = sky.run(async {
            let tasks: Vec<_> =
                (0..40).map(|i| world::spawn(round_trip(near(), 100 * i))).collect();
            let mut same = true;
            for task in tasks {
                same &= task.await.unwrap();
            }
            same
        });
        assert!(same);
    }
}

/// Connecting costs a round trip in the client's network, and none over the satellite.
#[test]
fn the_near_end_accepts_and_an_echo_takes_one_round_trip() {
    for leg in LEGS {
        let times = |to: SocketAddr| {
            let sky = Sky::over(leg, 1, "").with_pep().with_server(echo());
            sky.run(async move {
                let began = world::now();
                let stream = TcpStream::connect(to).await.unwrap();
                let connected = world::now().since(began);
                drop(stream);
                let began = world::now();
                assert!(round_trip(to, 10).await.unwrap());
                (connected, world::now().since(began))
            })
        };
        let (connected, echoed) = times(server());
        assert!(connected >= RTT && echoed >= 2 * RTT, "{connected:?} {echoed:?}");
        let (connected, echoed) = times(near());
        assert!(connected < Duration::from_millis(3), "{connected:?}");
        assert!(echoed < RTT + Duration::from_millis(60), "{echoed:?}");
    }
}

#[test]
fn a_refusal_at_the_far_end_becomes_a_reset() {
    for leg in LEGS {
        let sky = Sky::over(leg, 1, "").with_pep();
        let kind = sky.run(async {
            let mut stream = TcpStream::connect(near()).await.unwrap();
            stream.write_all(b"is anybody there?").await.unwrap();
            stream.read(&mut [0; 1]).await.map_err(|error| error.kind())
        });
        assert_eq!(kind, Err(io::ErrorKind::ConnectionReset));
    }
}

/// A server's output before a reset is not a whole answer, and must not look like one.
#[test]
fn resets_pass_in_both_directions() {
    for leg in LEGS {
        let seen = Rc::new(Cell::new(None));
        let note = Rc::clone(&seen);
        let sky = Sky::over(leg, 1, "").with_pep().with_server(async move {
            let listener = TcpListener::bind(server()).unwrap();
            let (mut first, _) = listener.accept().await.unwrap();
            drop(first.read(&mut [0; 10]).await);
            first.abort();
            let (mut second, _) = listener.accept().await.unwrap();
            let mut rest = Vec::new();
            note.set(second.read_to_end(&mut rest).await.err().map(|error| error.kind()));
            std::future::pending().await
        });
        let kind = sky.run(async {
            let mut stream = TcpStream::connect(near()).await.unwrap();
            stream.write_all(b"break off").await.unwrap();
            let kind = stream.read(&mut [0; 1]).await.map_err(|error| error.kind());
            let mut stream = TcpStream::connect(near()).await.unwrap();
            stream.write_all(b"and now I").await.unwrap();
            world::sleep(2 * RTT).await;
            stream.abort();
            world::sleep(2 * RTT).await;
            kind
        });
        assert_eq!(kind, Err(io::ErrorKind::ConnectionReset));
        assert_eq!(seen.get(), Some(io::ErrorKind::ConnectionReset));
    }
}

/// A client that reads nothing stops its own server, after a stream's window and the buffers on the way, and no other
/// connection.
#[test]
fn a_slow_reader_stops_its_writer_and_nobody_else() {
    for leg in LEGS {
        let written = Rc::new(Cell::new(0u64));
        let count = Rc::clone(&written);
        let sky = Sky::over(leg, 1, "")
            .with_near_end(|settings| settings.leg.stream_window_bytes = 65_535);
        let sky =
            sky.with_far_end(|remote, listener| remote.serve(listener)).with_server(async move {
                drop(world::spawn(echo()));
                let listener = TcpListener::bind(at(common::SERVER, 80)).unwrap();
                let (mut stream, _) = listener.accept().await.unwrap();
                while stream.write_all(&[0; 10_000]).await.is_ok() {
                    count.set(count.get() + 10_000);
                }
            });
        let same = sky.run(async {
            let slow = TcpStream::connect(at("10.0.0.2", 80)).await.unwrap();
            world::sleep(Duration::from_secs(120)).await;
            let same = round_trip(near(), 20_000).await.unwrap();
            drop(slow);
            same
        });
        assert!(same);
        // The window, two TCP send buffers (4 MiB at most each, by the simulated kernel) and two receive buffers (6 MiB at most).
        // Without a bound, 120 s of 1 Mbit/s alone would be 15 MB.
        assert!(written.get() < 12 << 20, "{} bytes were written", written.get());
    }
}

#[test]
fn a_far_end_that_dies_breaks_what_it_carried_and_the_rest_goes_directly() {
    for leg in LEGS {
        let sky = Sky::over(leg, 1, "").with_near_end(|_| {}).with_server(echo());
        let sky = sky.with_far_end(|remote, listener| async move {
            let ending = remote.ending().clone();
            drop(world::spawn(async move {
                // In the middle of the first transfer.
                world::sleep(Duration::from_secs(12)).await;
                ending.end();
            }));
            remote.serve(listener).await;
        });
        let (broken, direct, took) = sky.run(async {
            let broken = round_trip(near(), 200_000).await.map_err(|error| error.kind());
            world::sleep(RTT).await;
            let began = world::now();
            let direct = round_trip(near(), 1_000).await.unwrap();
            (broken, direct, world::now().since(began))
        });
        assert_eq!(broken, Err(io::ErrorKind::ConnectionReset));
        assert!(direct, "fails open");
        // A handshake and an exchange.
        assert!(took >= 2 * RTT - Duration::from_millis(30), "{took:?}");
    }
}

#[test]
fn a_far_end_that_drains_lets_what_it_carries_end() {
    for leg in LEGS {
        let sky = Sky::over(leg, 1, "").with_near_end(|_| {}).with_server(echo());
        let ended_at = Rc::new(Cell::new(None));
        let note = Rc::clone(&ended_at);
        let sky = sky.with_far_end(|remote, listener| async move {
            let ending = remote.ending().clone();
            drop(world::spawn(async move {
                world::sleep(Duration::from_secs(12)).await;
                ending.drain();
            }));
            remote.serve(listener).await;
            note.set(Some(world::now()));
            std::future::pending().await
        });
        let (same, answered_at, ended_at) = sky.run(async move {
            let same = round_trip(near(), 200_000).await.unwrap();
            let answered_at = world::now();
            world::sleep(Duration::from_secs(5)).await;
            (same, answered_at, ended_at.get())
        });
        assert!(same);
        let ended_at = ended_at.expect("it ends when it is empty");
        // Not before the answer was on its way: a second of it may be in the satellite's queue.
        assert!(ended_at >= answered_at - 3 * RTT, "{ended_at:?}, answered {answered_at:?}");
    }
}

#[test]
fn what_is_bypassed_goes_directly() {
    let sky = Sky::new(1, "").with_server(echo());
    let sky = sky.with_far_end(|remote, listener| remote.serve(listener));
    let sky = sky.with_near_end(|settings| settings.bypass = vec!["10.2.0.0/16".parse().unwrap()]);
    let took = sky.run(async {
        let began = world::now();
        assert!(round_trip(near(), 10).await.unwrap());
        world::now().since(began)
    });
    assert!(took >= 2 * RTT - Duration::from_millis(10), "{took:?}");
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for leg in LEGS {
        let digest = || {
            let sky = Sky::over(leg, 7, ",loss=1%").with_pep().with_server(echo());
            sky.run(async {
                assert!(round_trip(near(), 50_000).await.unwrap());
                world::sim::report().unwrap().digest
            })
        };
        assert_eq!(digest(), digest());
    }
}
