//! The date inside a world: the plan's start plus the world's time.

use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use units::Time;

/// The date at which a world's clock starts unless its plan says otherwise: 2026-01-01 00:00:00 UTC, since 1970. It
/// affects only the age of TLS tickets and lies within the test certificates' validity.
pub const PLAN_START: Duration = Duration::from_secs(1_767_225_600);

/// Tells rustls the date.
#[derive(Debug)]
pub(super) struct WorldClock {
    pub(super) start: Duration,
}

impl TimeProvider for WorldClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.start + world::now().since(Time::ZERO)))
    }
}
