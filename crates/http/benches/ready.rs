//! Cost of a ready answer on an HTTP/1.1 server: requests from memory, answers discarded.
//!
//! One connection, one thread, no kernel: only our own work remains. Time is the thread's CPU time; `perf stat -e
//! instructions:u` around it counts instructions, which a busy machine does not change.
//!
//! ```text
//! ready [REQUESTS [AT_ONCE]]     by default 200000 requests, one a read
//! ```

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use farlink_http::h1::server::{Core, Settings, serve};
use farlink_http::timer_wheel::Wheel;
use farlink_http::{Answer, Handler, Reply, RequestHead, Transport};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use world::sim::HeldNotes;

const REQUEST: &str = "GET /images/picture-1.png HTTP/1.1\r\nHost: www.page.test\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.22\r\nAccept: image/webp,*/*;q=0.8\r\n\
    Accept-Encoding: gzip, deflate\r\nCookie: session=0123456789abcdef0123456789abcdef\r\n\r\n";

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let requests = numbers.first().copied().unwrap_or(200_000);
    let at_once = numbers.get(1).copied().unwrap_or(1).max(1);
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    let before = cpu_time();
    world::real::run(config, answer(requests.div_ceil(at_once), at_once)).expect("a runtime");
    let spent = cpu_time() - before;
    let each = spent.as_secs_f64() * 1e9 / requests as f64;
    println!("{requests} requests, {at_once} a read: {each:.0} ns of CPU time each");
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

async fn answer(reads: usize, at_once: usize) {
    let mut fields = HeaderMap::new();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/png"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    let reply = Reply::new(StatusCode::OK, fields, Bytes::from_static(&[b'x'; 1024]));
    let core = Core::new(Settings::default(), Wheel::new());
    let stream = Asking { text: REQUEST.repeat(at_once), reads };
    serve(stream, Rc::new(Fixed(reply)), &core).await;
}

struct Fixed(Reply);

impl Handler for Fixed {
    fn handle(&self, _request: RequestHead<'_>) -> Answer {
        Answer::Ready(self.0.clone())
    }
}

/// A client that sends this many requests and discards the answers.
struct Asking {
    text: String,
    reads: usize,
}

impl Transport for Asking {
    fn held(&self) -> Option<HeldNotes> {
        None
    }
}

impl AsyncRead for Asking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.reads > 0 {
            self.reads -= 1;
            buf.put_slice(self.text.as_bytes());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Asking {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(data.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
