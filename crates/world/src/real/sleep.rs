//! Sleeping in the real world.
//!
//! tokio's timers count in milliseconds and round up. A device profile often charges a tenth of that for a piece of work, hundreds of
//! times per page, so the last stretch of a sleep is a kernel alarm, if available.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use units::Time;

use super::clock;
use super::kernel_view::Alarm;

/// The last stretch: longer than the error of tokio's timers.
const STRETCH: Duration = Duration::from_millis(4);

/// Completes at a deadline.
pub(crate) struct Sleep {
    deadline: Time,
    stage: Stage,
}

enum Stage {
    /// Not polled yet, or between two stages.
    Between,
    Coarse(Pin<Box<tokio::time::Sleep>>),
    Fine(Alarm),
}

pub(crate) fn sleep_until(deadline: Time) -> Sleep {
    Sleep { deadline, stage: Stage::Between }
}

impl Sleep {
    /// The stage for the remaining time.
    fn stage(&self, left: Duration) -> Stage {
        let coarse = |span: Duration| Stage::Coarse(Box::pin(tokio::time::sleep(span)));
        if left > STRETCH {
            return coarse(left - STRETCH);
        }
        // Without an alarm the last stretch takes as long as tokio's timers make it.
        Alarm::after(left).map_or_else(|_| coarse(left), Stage::Fine)
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                Stage::Between => {
                    let left = self.deadline.since(clock::now());
                    if left.is_zero() {
                        return Poll::Ready(());
                    }
                    self.stage = self.stage(left);
                }
                Stage::Coarse(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    self.stage = Stage::Between;
                }
                Stage::Fine(alarm) => {
                    ready!(alarm.poll_rung(cx));
                    self.stage = Stage::Between;
                }
            }
        }
    }
}
