//! Link rates, in bits per second.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A rate in bits per second (decimal: 1 Mbit/s is 1,000,000 bit/s).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BitsPerSec(pub u64);

impl BitsPerSec {
    /// An unlimited rate: serialisation takes no time.
    pub const UNLIMITED: BitsPerSec = BitsPerSec(u64::MAX);

    /// A rate in kbit/s.
    pub const fn kbit(n: u64) -> BitsPerSec {
        BitsPerSec(n * 1_000)
    }

    /// A rate in Mbit/s.
    pub const fn mbit(n: u64) -> BitsPerSec {
        BitsPerSec(n * 1_000_000)
    }

    /// Transmission time of `bytes` at this rate, rounded to the nearest nanosecond; [`Duration::MAX`] at a rate of
    /// zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self == BitsPerSec::UNLIMITED {
            return Duration::ZERO;
        }
        if self.0 == 0 {
            return Duration::MAX;
        }
        let rate = u128::from(self.0);
        let nanos = (u128::from(bytes) * 8_000_000_000 + rate / 2) / rate;
        u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("unlimited"),
            n if n >= 1_000_000 => write!(f, "{} Mbit/s", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} kbit/s", n as f64 / 1e3),
            n => write!(f, "{n} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_1_2_ms_at_10_mbit() {
        assert_eq!(BitsPerSec::mbit(10).time_for(1500), Duration::from_micros(1200));
        assert_eq!(BitsPerSec::UNLIMITED.time_for(1500), Duration::ZERO);
        assert_eq!(BitsPerSec(0).time_for(1), Duration::MAX);
    }

    #[test]
    fn display_uses_the_largest_whole_unit() {
        assert_eq!(BitsPerSec::kbit(1600).to_string(), "1.6 Mbit/s");
        assert_eq!(BitsPerSec::kbit(400).to_string(), "400 kbit/s");
    }
}
