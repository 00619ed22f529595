//! Kernel state of a connection, if available: on Linux.

#[cfg(target_os = "linux")]
pub(super) use linux::{Alarm, Watch, monotonic};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{Alarm, Watch, monotonic};

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use kernel::Snapshot;
    use tcp::{Sample, Stats};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use units::Time;

    pub(in crate::real) fn monotonic() -> io::Result<Duration> {
        Ok(kernel::monotonic())
    }

    /// A kernel alarm in tokio's event loop.
    pub(in crate::real) struct Alarm(AsyncFd<kernel::Alarm>);

    impl Alarm {
        pub(in crate::real) fn after(span: Duration) -> io::Result<Alarm> {
            let alarm = kernel::Alarm::after(span).map_err(io::Error::other)?;
            // SAFETY: the alarm owns its descriptor, which stays the same and open until the alarm is dropped, and it is dropped by the
            // registration that owns it.
            #[expect(unsafe_code, reason = "tokio has no other way to wait for a descriptor")]
            let registered = unsafe { AsyncFd::register_with_interest(alarm, Interest::READABLE) };
            Ok(Alarm(registered?))
        }

        /// Ready once it has rung, or cannot ring any more.
        pub(in crate::real) fn poll_rung(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            self.0.poll_read_ready(cx).map(|_| ())
        }
    }

    /// A second descriptor of a socket, to inspect it while its owner uses it. It must be closed before its owner closes the socket: while it
    /// is open, so is the connection.
    pub(in crate::real) struct Watch(OwnedFd);

    impl Watch {
        pub(in crate::real) fn of(socket: &tokio::net::TcpStream) -> io::Result<Watch> {
            socket.as_fd().try_clone_to_owned().map(Watch)
        }

        /// The socket's number.
        pub(in crate::real) fn cookie(&self) -> Option<u64> {
            kernel::cookie(&self.0).ok()
        }

        /// Counters and estimates of the connection.
        pub(in crate::real) fn stats(&self) -> Option<Stats> {
            Snapshot::of(&self.0).ok().map(|snapshot| snapshot.stats())
        }

        /// Adds changes to the connection's series.
        pub(in crate::real) fn note_change(&self, at: Time, series: &mut Vec<Sample>) {
            if let Ok(snapshot) = Snapshot::of(&self.0) {
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

    use tcp::{Sample, Stats};
    use units::Time;

    pub(in crate::real) fn monotonic() -> io::Result<Duration> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "processes share a clock on Linux only"))
    }

    /// Not available: callers wait with tokio's timers instead.
    pub(in crate::real) struct Alarm(std::convert::Infallible);

    impl Alarm {
        pub(in crate::real) fn after(_span: Duration) -> io::Result<Alarm> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::real) fn poll_rung(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
            match self.0 {}
        }
    }

    /// Nothing to inspect: endpoints are reported without TCP's counters.
    pub(in crate::real) struct Watch;

    impl Watch {
        pub(in crate::real) fn of(_socket: &tokio::net::TcpStream) -> io::Result<Watch> {
            Ok(Watch)
        }

        pub(in crate::real) fn cookie(&self) -> Option<u64> {
            None
        }

        pub(in crate::real) fn stats(&self) -> Option<Stats> {
            None
        }

        pub(in crate::real) fn note_change(&self, _at: Time, _series: &mut Vec<Sample>) {}
    }
}
