//! Retransmission of queries.

use std::time::Duration;

/// A stub resolver's retransmission schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Chromium's own client: 1 s (`kDnsDefaultFallbackPeriod`, net/dns/dns_config.h), 2 s for the second attempt of
    /// two, and then the system's resolver, which is glibc's.
    #[default]
    Chrome,
    /// glibc: 5 s, two attempts (`RES_TIMEOUT`, `RES_DFLRETRY`; resolv.conf(5)).
    Glibc,
}

const CHROME: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(5),
];
const GLIBC: [Duration; 2] = [Duration::from_secs(5); 2];

impl Retry {
    /// Timeout of each attempt.
    pub fn waits(self) -> &'static [Duration] {
        match self {
            Retry::Chrome => &CHROME,
            Retry::Glibc => &GLIBC,
        }
    }
}
