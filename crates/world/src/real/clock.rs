//! The machine's clock as the world's.

use std::cell::Cell;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use units::Time;

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
