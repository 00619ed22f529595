//! Reports of the real world on its connections, over loopback.

use std::net::SocketAddr;
use std::time::Duration;

use chance::RandomSource;
use farlink_world as world;
use farlink_world::real::{self, Config, Recording, Sampling};
use farlink_world::report::Endpoint;
use farlink_world::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const REQUEST: usize = 100;
const RESPONSE: usize = 300_000;

fn config(recording: Recording) -> Config {
    Config { recording, ..Config::new(RandomSource::new(1, 0)) }
}

/// Answers each connection's request, then waits for the client to close.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        world::spawn(async move {
            stream.read_exact(&mut [0; REQUEST]).await.unwrap();
            stream.write_all(&[7; RESPONSE]).await.unwrap();
            let _ = stream.read(&mut [0]).await;
        });
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn fetch(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(&[1; REQUEST]).await.unwrap();
    stream.read_exact(&mut [0; RESPONSE]).await.unwrap();
    stream
}

/// A fetch, and the reports while the client's end is open (first) and when both are closed.
fn reports(recording: Recording) -> (Vec<Endpoint>, Vec<Endpoint>) {
    let endpoints = || real::report().unwrap().endpoints;
    real::run(config(recording), async move {
        let (listener, address) = listen();
        world::spawn(serve(listener));
        let stream = fetch(address).await;
        let during = endpoints();
        drop(stream);
        while endpoints().iter().any(|end| end.closed_at.is_none()) {
            world::sleep(Duration::from_millis(1)).await;
        }
        (during, endpoints())
    })
    .unwrap()
}

fn end(endpoints: &[Endpoint], active: bool) -> &Endpoint {
    endpoints.iter().find(|end| end.active == active).expect("both ends are reported")
}

#[test]
fn nothing_is_kept_unless_asked_for() {
    let report = real::run(config(Recording::Nothing), async {
        let (listener, address) = listen();
        world::spawn(serve(listener));
        let _stream = fetch(address).await;
        real::report()
    });
    assert!(report.unwrap().is_none());
    assert!(real::report().is_none(), "nor outside of any world");
}

#[test]
fn both_ends_are_reported_open_and_closed() {
    let (during, after) = reports(Recording::Endpoints);
    assert_eq!(end(&during, true).closed_at, None);
    for endpoints in [&during, &after] {
        let (client, server) = (end(endpoints, true), end(endpoints, false));
        assert_eq!((client.local, client.peer), (server.peer, server.local));
        assert!(client.series.is_empty());
    }
    let (client, server) = (end(&after, true), end(&after, false));
    assert!(client.opened_at <= client.closed_at.unwrap());
    assert!(client.closed_at <= server.closed_at, "the server waits for the client to close");
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernel_counted_what_was_exchanged() {
    let (during, after) = reports(Recording::Endpoints);
    for endpoints in [&during, &after] {
        let stats = |active| end(endpoints, active).stats.as_ref().unwrap();
        let (client, server) = (stats(true), stats(false));
        assert_eq!((client.bytes_sent, client.bytes_received), (REQUEST as u64, RESPONSE as u64));
        assert_eq!((server.bytes_sent, server.bytes_received), (RESPONSE as u64, REQUEST as u64));
        assert_eq!(client.delivered_segments, 1, "the request, and not the handshake");
        assert!(client.established_at.is_some());
        assert!(client.srtt.is_some() && server.srtt.is_some());
        assert!(server.cwnd >= 10);
        assert!(server.rto >= Duration::from_millis(200), "{:?}", server.rto);
        assert_eq!((client.unacknowledged_bytes, client.in_flight), (0, 0));
        assert_eq!((server.timeouts, server.retransmitted_segments), (0, 0));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn series_show_a_transfer_and_rest_when_it_rests() {
    let recording = Recording::Series(Sampling::default());
    let endpoints = real::run(config(recording), async move {
        let (listener, address) = listen();
        world::spawn(serve(listener));
        // Nothing is open: the sampler must not miss the next connection.
        world::sleep(Duration::from_millis(20)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The server's buffers fill: the transfer stalls, and changes nothing.
        stream.write_all(&[1; REQUEST]).await.unwrap();
        world::sleep(Duration::from_millis(200)).await;
        stream.read_exact(&mut [0; RESPONSE]).await.unwrap();
        drop(stream);
        while real::report().unwrap().endpoints.iter().any(|end| end.closed_at.is_none()) {
            world::sleep(Duration::from_millis(1)).await;
        }
        real::report().unwrap().endpoints
    });
    let endpoints = endpoints.unwrap();
    for active in [true, false] {
        let end = end(&endpoints, active);
        let series = &end.series;
        assert!((1..50).contains(&series.len()), "{} samples in 200 ms of rest", series.len());
        assert!(series.is_sorted_by_key(|sample| sample.at));
        assert!(series[0].at >= end.opened_at);
        let (last, stats) = (&series.last().unwrap().stats, end.stats.as_ref().unwrap());
        assert_eq!((last.bytes_sent, last.cwnd), (stats.bytes_sent, stats.cwnd));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn worlds_can_share_a_zero() {
    let shared = || {
        let began = kernel::monotonic() - Duration::from_secs(5);
        Config { began: Some(began), ..config(Recording::Nothing) }
    };
    let seconds = real::run(shared(), async { world::now().as_secs_f64() }).unwrap();
    assert!((5.0..6.0).contains(&seconds), "{seconds}");
    let ahead = Config {
        began: Some(kernel::monotonic() + Duration::from_secs(3600)),
        ..config(Recording::Nothing)
    };
    let early = real::run(ahead, async { world::now() }).unwrap();
    assert_eq!(early, units::Time::ZERO, "time has not begun");
}

#[test]
fn an_endpoint_crosses_process_borders_as_json() {
    let (_, endpoints) = reports(Recording::Series(Sampling::default()));
    let text = serde_json::to_string(&endpoints).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Endpoint>>(&text).unwrap(), endpoints);
}
