//! Two traces of one flow side by side.

use std::time::Duration;

use super::Trace;

/// First difference of two series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the first element that differs.
    pub index: usize,
    /// The kernel's value, if its series is long enough.
    pub kernel: Option<u64>,
    /// The simulation's value, likewise.
    pub simulated: Option<u64>,
}

/// The kernel's trace of a flow and the simulation's.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Trace of the running kernel.
    pub kernel: &'a Trace,
    /// Trace of the simulated TCP.
    pub simulated: &'a Trace,
    /// Bytes that the flow carried.
    pub total_bytes: u64,
}

impl Comparison<'_> {
    /// Both completion times, if both completed.
    pub fn completion(&self) -> Option<(Duration, Duration)> {
        let total = self.total_bytes;
        Some((self.kernel.completion(total)?, self.simulated.completion(total)?))
    }

    /// Ratio of the simulation's completion time to the kernel's.
    pub fn ratio(&self) -> Option<f64> {
        let (kernel, simulated) = self.completion()?;
        Some(simulated.as_secs_f64() / kernel.as_secs_f64())
    }

    /// First difference in the order of data packets.
    pub fn packets(&self) -> Option<Divergence> {
        let order = |trace: &Trace| trace.data.iter().map(|packet| packet.seq).collect::<Vec<_>>();
        first_difference(&order(self.kernel), &order(self.simulated))
    }

    /// First difference in the retransmissions.
    pub fn retransmissions(&self) -> Option<Divergence> {
        first_difference(&self.kernel.retransmissions(), &self.simulated.retransmissions())
    }

    /// First difference in the windows at the ends of rounds.
    pub fn rounds(&self) -> Option<Divergence> {
        let rounds = |trace: &Trace| trace.rounds().into_iter().map(u64::from).collect::<Vec<_>>();
        first_difference(&rounds(self.kernel), &rounds(self.simulated))
    }
}

fn first_difference(kernel: &[u64], simulated: &[u64]) -> Option<Divergence> {
    (0..kernel.len().max(simulated.len()))
        .map(|index| Divergence {
            index,
            kernel: kernel.get(index).copied(),
            simulated: simulated.get(index).copied(),
        })
        .find(|at| at.kernel != at.simulated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_may_be_a_missing_value() {
        assert_eq!(first_difference(&[1, 2], &[1, 2]), None);
        let at = first_difference(&[1, 2], &[1]);
        assert_eq!(at, Some(Divergence { index: 1, kernel: Some(2), simulated: None }));
        assert_eq!(first_difference(&[1, 2, 3], &[1, 4, 3]).map(|at| at.index), Some(1));
    }
}
