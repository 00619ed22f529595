//! How the users of a link share it: whose packet is next, and how well each is heard.
//!
//! A user is a device, not a connection: a laptop in a cell, a household behind a satellite. What tells users apart travels beside each packet
//! ([`Packet::user`](crate::Packet::user)). With one user every scheduler is the plain queue.

use std::time::Duration;

/// Whose packet is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// The oldest: one queue for all users.
    #[default]
    Fifo,
    /// Users take turns, a queue each: deficit round robin with a quantum of one full packet (Shreedhar and Varghese, "Efficient
    /// Fair Queuing using Deficit Round Robin", 1995). Equal bytes for all who always have some.
    RoundRobin,
    /// Who would now be served fastest, compared with what he had of late; a queue each. What a base station of HSPA or LTE does.
    ProportionalFair(ProportionalFair),
}

/// The parameters of proportional fairness (Jalali, Padovani, Pankaj, "Data Throughput of CDMA-HDR", 2000): in each slot the user with the
/// largest ratio of rate to mean throughput is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProportionalFair {
    /// How long a turn is: 1 ms in LTE (a subframe, 3GPP TS 36.211 section 4), 2 ms in HSDPA (TS 25.308 section 5).
    pub slot: Duration,
    /// The time constant of the mean.
    pub window: Duration,
}

impl Default for ProportionalFair {
    /// Slots of LTE and a window of a hundred of them, as ns-3's `PfFfMacScheduler` has (`m_timeWindow`).
    fn default() -> ProportionalFair {
        ProportionalFair { slot: Duration::from_millis(1), window: Duration::from_millis(100) }
    }
}

/// How good each user's channel is: the share of the link's rate that he has when he is served. What he sends takes so much longer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels(Vec<f64>);

impl Channels {
    /// One share a user, each above 0 and at most 1; with more users than shares they begin anew. None: everybody has the link's rate.
    ///
    /// # Panics
    /// If a share lies outside.
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

    /// As stated.
    pub fn shares(&self) -> &[f64] {
        &self.0
    }

    /// Whether everybody has the link's rate.
    pub fn are_perfect(&self) -> bool {
        self.0.iter().all(|share| *share == 1.0)
    }
}
