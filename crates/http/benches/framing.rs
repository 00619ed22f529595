//! CPU cost of SPDY's framing, compression and flow control against HTTP/2's: the same exchange over a pipe in memory,
//! both ends on one thread, ours on the `spdy` crate and ours on the `h2` crate.
//!
//! A connection carries 100 concurrent requests with a page's usual heads, answered with 10,000 bytes each. Time is the
//! thread's CPU time; the arms alternate, the best of the rounds counts. TLS and TCP are left out.
//!
//! ```text
//! framing [ROUNDS CONNECTIONS]     by default 20 rounds of 20 connections
//! ```

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, io::IoSlice};

use bytes::Bytes;
use farlink_http::h2::{self, FlowMeter};
use farlink_http::spdy::{self, Compression, Config, Version};
use farlink_http::{Answer, Handler, Priority, Progress, Reply, RequestHead, Transport};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use world::sim::HeldNotes;

const REQUESTS: usize = 100;
const BODY: usize = 10_000;

fn main() {
    let numbers: Vec<u32> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let (rounds, connections) = match numbers[..] {
        [rounds, connections] => (rounds, connections),
        _ => (20, 20),
    };
    let stored = Config { compression: Compression::Stored, ..Config::CLIENT };
    let mut best = [Duration::MAX; 3];
    for _ in 0..rounds {
        best[0] = best[0].min(timed(connections, || exchange(h2_ends)));
        best[1] =
            best[1].min(timed(connections, || exchange(|a, b| spdy_ends(a, b, Config::CLIENT))));
        best[2] = best[2].min(timed(connections, || exchange(|a, b| spdy_ends(a, b, stored))));
    }
    println!(
        "{REQUESTS} requests of {BODY} bytes a connection; best of {rounds} rounds of {connections}"
    );
    for (name, time) in ["h2", "spdy/3.1", "spdy/3.1, stored"].into_iter().zip(best) {
        let ratio = time.as_secs_f64() / best[0].as_secs_f64();
        println!("{name:<18} {:>8.1} us/connection {ratio:>6.2}", time.as_secs_f64() * 1e6);
    }
}

/// CPU time of `work`, averaged over `times` runs.
fn timed(times: u32, work: impl Fn()) -> Duration {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let before = now();
    (0..times).for_each(|_| work());
    (now() - before) / times
}

/// One end of a pipe in memory.
struct Pipe(DuplexStream);

impl Transport for Pipe {
    fn held(&self) -> Option<HeldNotes> {
        None
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

struct Site(Reply);

impl Handler for Site {
    fn handle(&self, _: RequestHead<'_>) -> Answer {
        Answer::Ready(self.0.clone())
    }
}

fn site() -> Rc<Site> {
    let mut fields = HeaderMap::new();
    for (name, value) in [
        ("server", "Apache/2.2.22 (Ubuntu)"),
        ("cache-control", "max-age=31536000, public"),
        ("content-type", "image/png"),
        ("last-modified", "Sat, 02 Mar 2013 12:00:00 GMT"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    Rc::new(Site(Reply::new(StatusCode::OK, fields, Bytes::from(vec![7; BODY]))))
}

fn request(index: usize) -> Request<Bytes> {
    Request::get(format!("https://www.page.test/images/picture-{index}.png"))
        .header(
            "user-agent",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.22 (KHTML, like Gecko)",
        )
        .header("accept", "image/webp,*/*;q=0.8")
        .header("accept-encoding", "gzip, deflate")
        .header("cookie", "session=0123456789abcdef0123456789abcdef; theme=dark")
        .body(Bytes::new())
        .expect("a request")
}

#[derive(Default)]
struct Count(usize);

impl Progress for Count {
    fn sent(&mut self, _: u64, _: u64) {}
    fn head(&mut self, _: u16, _: u64) {}
    fn data(&mut self, piece: &[u8]) {
        self.0 += piece.len();
    }
}

/// A client of either protocol.
trait Client: Clone + 'static {
    fn fetch(self, request: Request<Bytes>) -> impl Future<Output = usize>;
}

impl Client for h2::Handle {
    async fn fetch(self, request: Request<Bytes>) -> usize {
        let mut count = Count::default();
        h2::Handle::fetch(&self, &request, Priority::Low, &mut count).await.expect("a response");
        count.0
    }
}

impl Client for spdy::Handle {
    async fn fetch(self, request: Request<Bytes>) -> usize {
        let mut count = Count::default();
        spdy::Handle::fetch(&self, &request, Priority::Low, &mut count).await.expect("a response");
        count.0
    }
}

async fn h2_ends(client: Pipe, server: Pipe) -> h2::Handle {
    drop(world::spawn(async move {
        let settings = h2::settings::Server::default();
        let _ = h2::serve(server, site(), &settings, &FlowMeter::default()).await;
    }));
    let settings = h2::settings::Client::CHROME;
    let (handle, driver) = h2::connect(client, &settings).await.expect("a connection");
    drop(world::spawn(driver));
    handle
}

async fn spdy_ends(client: Pipe, server: Pipe, config: Config) -> spdy::Handle {
    drop(world::spawn(async move {
        let server_config = Config { compression: config.compression, ..Config::SERVER };
        let meter = FlowMeter::default();
        let _ = spdy::serve(server, site(), Version::V31, server_config, &meter).await;
    }));
    let (handle, driver) = spdy::connect(client, Version::V31, config);
    drop(world::spawn(driver));
    handle
}

/// Runs one connection to its end.
fn exchange<C: Client, F: Future<Output = C>>(ends: impl FnOnce(Pipe, Pipe) -> F) {
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    let (client, server) = tokio::io::duplex(64 << 10);
    let run = async move {
        let handle = ends(Pipe(client), Pipe(server)).await;
        let tasks: Vec<_> =
            (0..REQUESTS).map(|index| world::spawn(handle.clone().fetch(request(index)))).collect();
        for task in tasks {
            assert_eq!(task.await, BODY);
        }
    };
    world::real::run(config, run).expect("a runtime");
}
