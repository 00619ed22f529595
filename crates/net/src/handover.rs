//! Handovers: a device that moves from one cell to the next is disconnected for a moment.
//!
//! Handovers are evenly spaced from a random first one, each with a length of its own, the same for both directions.
//! During a handover the user is not served. Its queued packets are forwarded to the next cell - over X2 in LTE, by
//! lossless relocation in UMTS - or lost with the old one. Cells are alike; other users in the next cell, and a radio
//! in front of the link that would rest meanwhile, are not modelled. If several users share one queue they are handed
//! over together, as in a train.
//!
//! Typical interruptions are 30 to 50 ms in LTE, up to 300 ms and more in UMTS and between radio technologies.

use std::time::Duration;

use chance::RandomSource;
use units::Time;

/// Interval and cost of a device's handovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Interval between the beginnings of two handovers.
    pub every: Duration,
    /// The shortest interruption,
    pub least: Duration,
    /// and the longest: less than `every`.
    pub most: Duration,
    /// True if queued packets are forwarded, false if they are lost.
    pub lossless: bool,
}

/// The handovers of one user.
#[derive(Clone, Debug, PartialEq)]
pub struct Handovers {
    config: Handover,
    source: RandomSource,
    user: u32,
    /// Beginning of the first handover.
    phase: Duration,
}

/// One handover: nothing is served from `begins` until `ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Its beginning.
    pub begins: Time,
    /// Its end.
    pub ends: Time,
}

impl Handovers {
    /// Handovers of `user`, each from its own random stream, so that it depends on nothing but its number.
    pub fn of(config: Handover, source: RandomSource, user: u32) -> Handovers {
        let phase = source.stream(&format!("handover/{user}/phase")).span(config.every);
        Handovers { config, source, user, phase }
    }

    /// Parameters of the handovers.
    pub fn config(&self) -> Handover {
        self.config
    }

    /// The handover in progress at `at`.
    pub fn at(&self, at: Time) -> Option<Interruption> {
        let last = self.interruption(self.begun_by(at).checked_sub(1)?);
        (last.ends > at).then_some(last)
    }

    /// Beginning of the next handover after `at`.
    pub(crate) fn next_after(&self, at: Time) -> Time {
        self.interruption(self.begun_by(at)).begins
    }

    /// Handovers that begin in `since..until`.
    pub fn between(&self, since: Time, until: Time) -> impl Iterator<Item = Interruption> {
        let first = self.begun_by(since).saturating_sub(1);
        let from_first = (first..).map(|number| self.interruption(number));
        from_first
            .skip_while(move |one| one.begins < since)
            .take_while(move |one| one.begins < until)
    }

    /// Number of handovers begun by `at`.
    fn begun_by(&self, at: Time) -> u64 {
        let first = Time::ZERO + self.phase;
        let every = u64::try_from(self.config.every.as_nanos()).unwrap_or(u64::MAX).max(1);
        if at < first { 0 } else { (at - first).as_nanos() as u64 / every + 1 }
    }

    fn interruption(&self, number: u64) -> Interruption {
        let Handover { every, least, most, .. } = self.config;
        let nanos = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).saturating_mul(number);
        let begins = Time::ZERO + self.phase + Duration::from_nanos(nanos);
        let mut stream = self.source.stream(&format!("handover/{}/{number}", self.user));
        Interruption { begins, ends: begins + least + stream.span(most.saturating_sub(least)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn config() -> Handover {
        let ms = Duration::from_millis;
        Handover { every: ms(60_000), least: ms(50), most: ms(150), lossless: true }
    }

    #[test]
    fn they_are_evenly_spaced_and_differ_by_user_and_number() {
        let of = |user| Handovers::of(config(), RandomSource::new(1, 0), user);
        let until = Time::from_millis(600_000);
        let all: Vec<_> = of(0).between(Time::ZERO, until).collect();
        assert_eq!(all.len(), 10);
        assert!(all.windows(2).all(|pair| pair[1].begins - pair[0].begins == config().every));
        let lengths: Vec<_> = all.iter().map(|one| one.ends - one.begins).collect();
        assert!(lengths.iter().all(|length| (config().least..config().most).contains(length)));
        assert!(lengths.windows(2).all(|pair| pair[0] != pair[1]));
        assert_ne!(of(1).between(Time::ZERO, until).next(), Some(all[0]));
        assert_eq!(of(0).between(Time::ZERO, until).collect::<Vec<_>>(), all);
    }

    proptest! {
        #[test]
        fn an_instant_is_within_one_or_before_the_next(seed in any::<u64>(), at in 0..10_000_000_000_000u64) {
            let handovers = Handovers::of(config(), RandomSource::new(seed, 0), 3);
            let at = Time::from_nanos(at);
            prop_assert!(handovers.next_after(at) > at);
            if let Some(one) = handovers.at(at) {
                prop_assert!(one.begins <= at && at < one.ends);
                prop_assert_eq!(handovers.at(one.ends), None);
                prop_assert_eq!(handovers.between(one.begins, one.ends).collect::<Vec<_>>(), vec![one]);
            }
        }
    }
}
