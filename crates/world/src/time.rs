//! The world's clock.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use thiserror::Error;
use units::Time;

use crate::ambient::{self, WorldKind};
use crate::{real, sim};

/// The world's current time.
pub fn now() -> Time {
    match ambient::kind() {
        WorldKind::Sim => sim::clock::now(),
        _ => real::now(),
    }
}

/// True if time is virtual: then nothing may come from outside the world, neither time nor chance.
pub fn is_virtual() -> bool {
    ambient::kind() == WorldKind::Sim
}

/// A time of the world as the standard library's `Instant`, for crates that use it. Only differences of such instants
/// are meaningful.
pub fn to_instant(at: Time) -> Instant {
    real::epoch() + at.since(Time::ZERO)
}

/// The inverse of [`to_instant`].
pub fn from_instant(at: Instant) -> Time {
    Time::ZERO + at.saturating_duration_since(real::epoch())
}

/// Completes after `span`.
pub fn sleep(span: Duration) -> Sleep {
    sleep_until(now() + span)
}

/// Completes at `deadline`; at once if it has passed.
pub fn sleep_until(deadline: Time) -> Sleep {
    match ambient::kind() {
        WorldKind::Sim => Sleep(SleepBackend::Sim(sim::clock::SimTimer::new(deadline))),
        _ => Sleep(SleepBackend::Real(real::sleep_until(deadline))),
    }
}

/// The future of [`sleep`].
pub struct Sleep(SleepBackend);

enum SleepBackend {
    Sim(sim::clock::SimTimer),
    Real(real::Sleep),
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            SleepBackend::Sim(timer) => timer.poll(cx),
            SleepBackend::Real(sleep) => Pin::new(sleep).poll(cx),
        }
    }
}

/// Error: the time given to [`timeout`] was up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("timed out after {0:?}")]
pub struct Elapsed(pub Duration);

/// Runs `future` for at most `span`.
///
/// # Errors
/// [`Elapsed`] if it was not done by then; the future is dropped.
pub async fn timeout<F: Future>(span: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let mut sleep = sleep(span);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut sleep).poll(cx).map(|()| Err(Elapsed(span)))
    })
    .await
}
