//! Sharing of a link among users: scheduler and channel quality.
//!
//! A user is a device, not a connection: a laptop in a cell, a household behind a satellite.
//! [`Packet::user`](crate::Packet::user) identifies the user of each packet. With one user every scheduler behaves as
//! the plain queue.

use std::time::Duration;

/// Scheduler among users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// The oldest: one queue for all users.
    #[default]
    Fifo,
    /// Users take turns, with a queue each: deficit round robin with a quantum of one full packet (Shreedhar and
    /// Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995). Backlogged users get equal bytes.
    RoundRobin,
    /// The user with the best channel relative to its recent throughput is next; a queue each. As in base stations of
    /// HSPA and LTE.
    ProportionalFair(ProportionalFair),
}

/// Parameters of proportional fairness (Jalali, Padovani, Pankaj, "Data Throughput of CDMA-HDR", 2000): each slot
/// goes to the user with the largest ratio of rate to mean throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProportionalFair {
    /// Length of a turn: 1 ms in LTE (a subframe, 3GPP TS 36.211 section 4), 2 ms in HSDPA (TS 25.308 section 5).
    pub slot: Duration,
    /// Time constant of the mean.
    pub window: Duration,
}

impl Default for ProportionalFair {
    /// Slots of LTE and a window of a hundred of them, as in ns-3's `PfFfMacScheduler` (`m_timeWindow`).
    fn default() -> ProportionalFair {
        ProportionalFair { slot: Duration::from_millis(1), window: Duration::from_millis(100) }
    }
}

/// Channel quality of each user: the share of the link's rate that it gets when served. Its packets take
/// correspondingly longer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels(Vec<f64>);

impl Channels {
    /// One share per user, each above 0 and at most 1; with more users than shares the list is repeated. Empty: every
    /// user has the link's rate.
    ///
    /// # Panics
    /// If a share is out of range.
    pub fn new(shares: Vec<f64>) -> Channels {
        let is_share = |share: &f64| *share > 0.0 && *share <= 1.0;
        assert!(shares.iter().all(is_share), "a channel has a share of the rate: {shares:?}");
        Channels(shares)
    }

    /// The share of `user`.
    pub fn of(&self, user: u32) -> f64 {
        match self.0.len() {
            0 => 1.0,
            users => self.0[user as usize % users],
        }
    }

    /// The shares as stated.
    pub fn shares(&self) -> &[f64] {
        &self.0
    }

    /// Returns true if every user has the link's rate.
    pub fn are_perfect(&self) -> bool {
        self.0.iter().all(|share| *share == 1.0)
    }
}
