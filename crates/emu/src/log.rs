//! What the emulator did to each packet, and whether it did so on time.

use std::fmt;
use std::time::Duration;

use net::DropCause;
use units::Time;

use crate::headers::TcpNumbers;
use crate::testbed::Side;

/// One packet's way through the emulator.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Whence it came.
    pub from: Side,
    /// When it entered the link.
    pub arrived: Time,
    /// Length of the IP packet.
    pub wire_bytes: u32,
    /// Its numbers, if it carries TCP over IPv4.
    pub tcp: Option<TcpNumbers>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was still on its way when the emulation ended.
    Underway,
    /// The link dropped it.
    Dropped(DropCause),
    /// It left the link.
    Delivered {
        /// When the link's model says.
        due: Time,
        /// When it really was handed to the far end.
        left: Time,
    },
}

impl Passage {
    /// How much later than due it was delivered.
    pub fn lateness(&self) -> Option<Duration> {
        match self.fate {
            Fate::Delivered { due, left } => Some(left - due),
            _ => None,
        }
    }
}

/// The account of one emulation.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// All packets, in the order in which they entered.
    pub passages: Vec<Passage>,
    /// Packets that the kernel dropped in front of the emulator because it was too slow.
    pub overruns: u32,
    /// Whether the emulator's thread had precedence over ordinary threads.
    pub realtime: bool,
}

impl Log {
    /// How late packets were delivered.
    pub fn punctuality(&self) -> Punctuality {
        let mut late: Vec<Duration> = self.passages.iter().filter_map(Passage::lateness).collect();
        late.sort_unstable();
        let quantile = |per_mille: usize| {
            let index = (late.len() * per_mille / 1000).min(late.len().saturating_sub(1));
            late.get(index).copied().unwrap_or_default()
        };
        Punctuality { p50: quantile(500), p99: quantile(990), max: quantile(1000) }
    }

    /// Whether the emulated times are true: no packet lost outside of the link, and at most one in a hundred late by more than
    /// [`Punctuality::LIMIT`].
    pub fn check(&self) -> Result<(), Invalid> {
        let punctuality = self.punctuality();
        if self.overruns > 0 {
            return Err(Invalid::Overrun(self.overruns));
        }
        if punctuality.p99 > Punctuality::LIMIT {
            return Err(Invalid::Late(punctuality));
        }
        Ok(())
    }
}

/// Why the times of an emulation are not those of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Packets were lost before the emulator saw them.
    #[error("the emulator was too slow for {0} packets")]
    Overrun(u32),
    /// Packets were delivered late.
    #[error("packets were delivered late ({0})")]
    Late(Punctuality),
}

/// How late packets were delivered: quantiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// Half were no later.
    pub p50: Duration,
    /// 99 of 100 were no later.
    pub p99: Duration,
    /// The worst.
    pub max: Duration,
}

impl Punctuality {
    /// The largest `p99` of a valid emulation.
    pub const LIMIT: Duration = Duration::from_millis(1);
}

impl fmt::Display for Punctuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |d: Duration| d.as_micros();
        write!(
            f,
            "late by {} us at the median, {} us at p99, {} us at worst",
            micros(self.p50),
            micros(self.p99),
            micros(self.max)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lateness: impl Iterator<Item = u64>) -> Log {
        let passage = |late| Passage {
            from: Side::Client,
            arrived: Time::ZERO,
            wire_bytes: 1500,
            tcp: None,
            fate: Fate::Delivered { due: Time::ZERO, left: Time::from_micros(late) },
        };
        Log { passages: lateness.map(passage).collect(), ..Log::default() }
    }

    #[test]
    fn quantiles_and_their_limit() {
        assert_eq!(log(1..=1000).check(), Ok(()), "p99 is 991 us");
        let punctuality = log(1..=1000).punctuality();
        assert_eq!(punctuality.p50, Duration::from_micros(501));
        assert_eq!(punctuality.p99, Duration::from_micros(991));
        assert_eq!(punctuality.max, Duration::from_micros(1000));
        assert!(matches!(log(20..=1020).check(), Err(Invalid::Late(_))));
        assert_eq!(log(std::iter::empty()).punctuality(), Punctuality::default());
    }

    #[test]
    fn an_overrun_spoils_everything() {
        assert_eq!(Log { overruns: 1, ..log(1..2) }.check(), Err(Invalid::Overrun(1)));
    }
}
