//! The machine's clock as the world's, and sleeping on it.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use units::Time;

use super::clock;
use super::recorder::AsyncAlarm;

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Starts the world's clock, at `began` on `CLOCK_MONOTONIC` or now.
pub(super) fn start(began: Option<Duration>) -> io::Result<()> {
    let now = instant();
    let zero = match began {
        None => Some(now),
        Some(began) => {
            let reading = super::recorder::monotonic()?;
            match reading.checked_sub(began) {
                Some(age) => now.checked_sub(age),
                None => now.checked_add(began - reading),
            }
        }
    };
    let zero = zero.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "the machine's clock does not reach back to the zero of the world's",
        )
    })?;
    BEGAN.set(Some(zero));
    Ok(())
}

pub(super) fn stop() {
    BEGAN.set(None);
}

#[expect(clippy::disallowed_methods, reason = "the real world is where the clock is read")]
fn instant() -> Instant {
    Instant::now()
}

/// The zero of this thread's real world; outside of one, an instant that stays the same for the life of the process, so that
/// spans can be counted.
pub(crate) fn epoch() -> Instant {
    static ANY: OnceLock<Instant> = OnceLock::new();
    BEGAN.get().unwrap_or_else(|| *ANY.get_or_init(instant))
}

fn began() -> Instant {
    BEGAN.get().expect("the real world's clock starts in `run`")
}

pub(crate) fn now() -> Time {
    let nanos = instant().saturating_duration_since(began()).as_nanos();
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

// Sleeping in the real world.
//
// tokio's timers count in milliseconds and round up. A device profile often charges a tenth of that for a piece of work, hundreds of
// times per page, so the last stretch of a sleep is a kernel alarm, if available.

/// The last stretch: longer than the error of tokio's timers.
const STRETCH: Duration = Duration::from_millis(4);

/// Completes at a deadline.
pub(crate) struct Sleep {
    deadline: Time,
    stage: SleepStage,
}

enum SleepStage {
    /// Not polled yet, or between two stages.
    Between,
    Coarse(Pin<Box<tokio::time::Sleep>>),
    Fine(AsyncAlarm),
}

pub(crate) fn sleep_until(deadline: Time) -> Sleep {
    Sleep { deadline, stage: SleepStage::Between }
}

impl Sleep {
    /// The stage for the remaining time.
    fn stage(&self, left: Duration) -> SleepStage {
        let coarse = |span: Duration| SleepStage::Coarse(Box::pin(tokio::time::sleep(span)));
        if left > STRETCH {
            return coarse(left - STRETCH);
        }
        // Without an alarm the last stretch takes as long as tokio's timers make it.
        AsyncAlarm::after(left).map_or_else(|_| coarse(left), SleepStage::Fine)
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                SleepStage::Between => {
                    let left = self.deadline.since(clock::now());
                    if left.is_zero() {
                        return Poll::Ready(());
                    }
                    self.stage = self.stage(left);
                }
                SleepStage::Coarse(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    self.stage = SleepStage::Between;
                }
                SleepStage::Fine(alarm) => {
                    ready!(alarm.poll_rung(cx));
                    self.stage = SleepStage::Between;
                }
            }
        }
    }
}
