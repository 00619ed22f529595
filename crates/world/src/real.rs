//! The machine's own clock and sockets: tokio on one thread, no work stealing.
//!
//! The only place, beside the real-time emulator and the command line, where a clock is read.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use chance::Source;
use units::Time;

use crate::ambient::{self, Common, Kind};

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What a real world is told before it begins.
pub struct Config {
    /// Where random streams come from.
    pub source: Source,
    /// Names and addresses.
    pub hosts: BTreeMap<String, IpAddr>,
}

/// Runs `future` on this thread, with the machine's clock and the kernel's sockets. Tasks that it
/// spawned and that are not done when it is are dropped.
///
/// # Errors
/// If the runtime cannot be built (out of descriptors).
///
/// # Panics
/// If the thread is in a world already.
pub fn run<F: Future>(config: Config, future: F) -> io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _entered =
        ambient::enter(Kind::Real, Common { source: config.source, hosts: config.hosts });
    BEGAN.set(Some(clock()));
    let tasks = tokio::task::LocalSet::new();
    Ok(tasks.block_on(&runtime, future))
}

#[expect(clippy::disallowed_methods, reason = "the real world is where the clock is read")]
fn clock() -> Instant {
    Instant::now()
}

fn began() -> Instant {
    BEGAN.get().expect("the real world's clock starts in `run`")
}

pub(crate) fn now() -> Time {
    let nanos = clock().duration_since(began()).as_nanos();
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

pub(crate) fn sleep_until(deadline: Time) -> tokio::time::Sleep {
    let instant = began() + deadline.since(Time::ZERO);
    tokio::time::sleep_until(instant.into())
}

pub(crate) async fn connect(address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// As many connections as may wait to be accepted (nginx's default on Linux).
const BACKLOG: u32 = 511;

pub(crate) fn listen(address: SocketAddr) -> io::Result<tokio::net::TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    #[cfg(target_os = "linux")]
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

pub(crate) fn bind_udp(address: SocketAddr) -> io::Result<tokio::net::UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    tokio::net::UdpSocket::from_std(socket)
}

/// `TCP_NOTSENT_LOWAT`, where the kernel has it.
pub(crate) fn set_notsent_lowat(stream: &tokio::net::TcpStream, bytes: u32) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        socket2::SockRef::from(stream).set_tcp_notsent_lowat(bytes)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (stream, bytes);
        Err(io::Error::new(io::ErrorKind::Unsupported, "TCP_NOTSENT_LOWAT is set on Linux only"))
    }
}
