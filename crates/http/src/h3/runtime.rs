//! The world's clock and tasks, for quinn.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime};
use units::Time;
use world::Sleep;

/// The world of the current thread.
#[derive(Debug)]
pub(super) struct WorldRuntime;

impl Runtime for WorldRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer::new(world::from_instant(at)))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(world::spawn(future));
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a world's sockets are made by the world"))
    }

    fn now(&self) -> Instant {
        world::to_instant(world::now())
    }
}

/// A timer that is moved with every packet, almost always to a later time: it sleeps until the earliest deadline set
/// and then checks whether that still holds.
struct Timer {
    deadline: Time,
    /// End of the current `sleep`.
    wakes: Time,
    sleep: Sleep,
}

impl Timer {
    fn new(at: Time) -> Timer {
        Timer { deadline: at, wakes: at, sleep: world::sleep_until(at) }
    }
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        let at = world::from_instant(at);
        if at < self.wakes {
            *self = Timer::new(at);
        } else {
            self.deadline = at;
        }
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(Pin::new(&mut self.sleep).poll(cx));
            if self.wakes == self.deadline {
                return Poll::Ready(());
            }
            *self = Timer::new(self.deadline);
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
