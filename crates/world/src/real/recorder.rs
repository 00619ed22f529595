//! Both ends of this thread's connections, as reported by the kernel, if it is Linux.
//!
//! A connection is inspected when it is closed, when a report is requested and, for series, periodically in between. Events
//! after its owner closed it - the rest of its data, its FIN - are not seen.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use units::Time;

use super::{Recording, Sampling, clock};
use crate::ambient;
use crate::report::{Endpoint, WorldReport};

/// Resolution of tokio's timers.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    static RECORDER: RefCell<Option<ConnectionRecorder>> = const { RefCell::new(None) };
}

/// The connections of one world.
struct ConnectionRecorder {
    recording: Recording,
    /// Open connections, by number.
    open: BTreeMap<u64, OpenConnection>,
    closed: Vec<Endpoint>,
    next: u64,
    /// Notified of each new connection.
    opened: Rc<Notify>,
}

/// A connection that is open.
struct OpenConnection {
    watch: SocketWatch,
    established_at: Time,
    endpoint: Endpoint,
}

/// Represents a connection that is recorded until this is dropped; drop it before the socket.
pub(super) struct RecordedConnection(u64);

impl Drop for RecordedConnection {
    fn drop(&mut self) {
        with_if_any(|recorder| recorder.close(self.0));
    }
}

/// The report of this thread's world so far: its connections, open and closed. `None` outside the real world, and if nothing is
/// [recorded](Recording).
pub fn report() -> Option<WorldReport> {
    let mut report = with_if_any(|recorder| {
        let mut endpoints = recorder.closed.clone();
        endpoints.extend(recorder.open.values().map(OpenConnection::account));
        WorldReport {
            digest: None,
            links: Vec::new(),
            radios: Vec::new(),
            drops: Vec::new(),
            endpoints,
        }
    });
    if let Some(report) = &mut report {
        report.endpoints.extend(ambient::added());
    }
    report
}

/// Records a connection that is now complete, if anything is recorded. The side that opened it passes the time of its request.
pub(super) fn connected(
    socket: &tokio::net::TcpStream,
    asked_at: Option<Time>,
) -> io::Result<Option<RecordedConnection>> {
    with_if_any(|recorder| recorder.add(socket, asked_at)).transpose()
}

pub(super) fn install(recording: Recording) {
    let recorder = ConnectionRecorder {
        recording,
        open: BTreeMap::new(),
        closed: Vec::new(),
        next: 0,
        opened: Rc::default(),
    };
    RECORDER.set((recording != Recording::Nothing).then_some(recorder));
}

pub(super) fn uninstall() {
    RECORDER.set(None);
}

/// Polls every open connection periodically, as long as there is one.
pub(super) async fn sample(sampling: Sampling) {
    let Some(opened) = with_if_any(|recorder| recorder.opened.clone()) else { return };
    let mut ticks = interval(sampling.every.max(LEAST_PAUSE));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let open = with_if_any(ConnectionRecorder::look);
        if open == Some(0) {
            opened.notified().await;
            ticks.reset_immediately();
        }
    }
}

fn with_if_any<T>(act: impl FnOnce(&mut ConnectionRecorder) -> T) -> Option<T> {
    RECORDER.with_borrow_mut(|recorder| recorder.as_mut().map(act))
}

impl ConnectionRecorder {
    fn add(
        &mut self,
        socket: &tokio::net::TcpStream,
        asked_at: Option<Time>,
    ) -> io::Result<RecordedConnection> {
        let now = clock::now();
        let watch = SocketWatch::of(socket)?;
        let endpoint = Endpoint {
            local: socket.local_addr()?,
            peer: socket.peer_addr()?,
            cookie: watch.cookie(),
            active: asked_at.is_some(),
            opened_at: asked_at.unwrap_or(now),
            closed_at: None,
            stats: None,
            retransmits: Vec::new(),
            losses: Vec::new(),
            series: Vec::new(),
            held: Vec::new(),
            qlog: String::new(),
        };
        let observed = OpenConnection { watch, established_at: now, endpoint };
        let number = self.next;
        self.next += 1;
        self.open.insert(number, observed);
        self.opened.notify_one();
        Ok(RecordedConnection(number))
    }

    fn close(&mut self, number: u64) {
        let Some(mut observed) = self.open.remove(&number) else { return };
        let now = clock::now();
        if let Recording::Series(_) = self.recording {
            observed.look(now);
        }
        self.closed.push(Endpoint { closed_at: Some(now), ..observed.account() });
    }

    /// Inspects all open connections; returns their number.
    fn look(&mut self) -> usize {
        for observed in self.open.values_mut() {
            observed.look(clock::now());
        }
        self.open.len()
    }
}

impl OpenConnection {
    fn look(&mut self, now: Time) {
        self.watch.note_change(now, &mut self.endpoint.series);
    }

    fn account(&self) -> Endpoint {
        let stats = self.watch.stats();
        let stats =
            stats.map(|stats| tcp::Stats { established_at: Some(self.established_at), ..stats });
        Endpoint { stats, ..self.endpoint.clone() }
    }
}

// Kernel state of a connection, if available: on Linux.

#[cfg(target_os = "linux")]
pub(super) use linux::{AsyncAlarm, SocketWatch, monotonic};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{AsyncAlarm, SocketWatch, monotonic};

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use kernel::ConnectionSnapshot;
    use tcp::{SenderSample, Stats};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use units::Time;

    pub(crate) fn monotonic() -> io::Result<Duration> {
        Ok(kernel::monotonic())
    }

    /// A kernel alarm in tokio's event loop.
    pub(crate) struct AsyncAlarm(AsyncFd<kernel::Alarm>);

    impl AsyncAlarm {
        pub(crate) fn after(span: Duration) -> io::Result<AsyncAlarm> {
            let alarm = kernel::Alarm::after(span).map_err(io::Error::other)?;
            // SAFETY: the alarm owns its descriptor, which stays the same and open until the alarm is dropped, and it is dropped by the
            // registration that owns it.
            #[expect(unsafe_code, reason = "tokio has no other way to wait for a descriptor")]
            let registered = unsafe { AsyncFd::register_with_interest(alarm, Interest::READABLE) };
            Ok(AsyncAlarm(registered?))
        }

        /// Ready once it has rung, or cannot ring any more.
        pub(crate) fn poll_rung(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            self.0.poll_read_ready(cx).map(|_| ())
        }
    }

    /// A second descriptor of a socket, to inspect it while its owner uses it. It must be closed before its owner closes the socket: while it
    /// is open, so is the connection.
    pub(crate) struct SocketWatch(OwnedFd);

    impl SocketWatch {
        pub(crate) fn of(socket: &tokio::net::TcpStream) -> io::Result<SocketWatch> {
            socket.as_fd().try_clone_to_owned().map(SocketWatch)
        }

        /// The socket's number.
        pub(crate) fn cookie(&self) -> Option<u64> {
            kernel::cookie(&self.0).ok()
        }

        /// Counters and estimates of the connection.
        pub(crate) fn stats(&self) -> Option<Stats> {
            ConnectionSnapshot::of(&self.0).ok().map(|snapshot| snapshot.stats())
        }

        /// Adds changes to the connection's series.
        pub(crate) fn note_change(&self, at: Time, series: &mut Vec<SenderSample>) {
            if let Ok(snapshot) = ConnectionSnapshot::of(&self.0) {
                kernel::note_change(series, at, &snapshot);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use tcp::{SenderSample, Stats};
    use units::Time;

    pub(crate) fn monotonic() -> io::Result<Duration> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "processes share a clock on Linux only"))
    }

    /// Not available: callers wait with tokio's timers instead.
    pub(crate) struct AsyncAlarm(std::convert::Infallible);

    impl AsyncAlarm {
        pub(crate) fn after(_span: Duration) -> io::Result<AsyncAlarm> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn poll_rung(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
            match self.0 {}
        }
    }

    /// Nothing to inspect: endpoints are reported without TCP's counters.
    pub(crate) struct SocketWatch;

    impl SocketWatch {
        pub(crate) fn of(_socket: &tokio::net::TcpStream) -> io::Result<SocketWatch> {
            Ok(SocketWatch)
        }

        pub(crate) fn cookie(&self) -> Option<u64> {
            None
        }

        pub(crate) fn stats(&self) -> Option<Stats> {
            None
        }

        pub(crate) fn note_change(&self, _at: Time, _series: &mut Vec<Sample>) {}
    }
}
