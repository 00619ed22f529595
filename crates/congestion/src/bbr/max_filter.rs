//! Maximum of recent bandwidths, in constant space.
//!
//! Kathleen Nichols' algorithm as in Linux `lib/win_minmax.c`: the best value of the window and the best two
//! later ones are kept, spread over the window, so that when the best grows too old a good
//! successor is available. Time is counted in round trips.

use super::bandwidth::Bandwidth;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Best {
    round: u64,
    value: Bandwidth,
}

/// A running maximum over a window of rounds.
#[derive(Clone, Debug)]
pub(super) struct MaxFilter {
    window: u64,
    /// The best, the best later one, and the best after that.
    best: [Best; 3],
}

impl MaxFilter {
    pub(super) fn new(window: u64) -> MaxFilter {
        MaxFilter { window, best: [Best { round: 0, value: Bandwidth::ZERO }; 3] }
    }

    /// The largest value of the window.
    pub(super) fn get(&self) -> Bandwidth {
        self.best[0].value
    }

    /// Adds the value of `round`; rounds never go back.
    pub(super) fn update(&mut self, round: u64, value: Bandwidth) {
        let new = Best { round, value };
        if value >= self.best[0].value || round - self.best[2].round > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        self.age(new);
    }

    /// Drops expired values and, as time passes without a new maximum, takes successors from the second and the
    /// last part of the window.
    fn age(&mut self, new: Best) {
        let [first, second, third] = self.best;
        let age = new.round - first.round;
        if age > self.window {
            self.best = [second, third, new];
            if new.round - second.round > self.window {
                self.best = [third, new, new];
            }
        } else if second.round == first.round && age > self.window / 4 {
            self.best = [first, new, new];
        } else if third.round == second.round && age > self.window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bandwidth(n: u64) -> Bandwidth {
        Bandwidth::of(n, 1000)
    }

    #[test]
    fn a_maximum_is_kept_for_the_window_and_no_longer() {
        let mut filter = MaxFilter::new(10);
        filter.update(1, bandwidth(100));
        for round in 2..=11 {
            filter.update(round, bandwidth(50));
            assert_eq!(filter.get(), bandwidth(100), "round {round}");
        }
        filter.update(12, bandwidth(50));
        assert_eq!(filter.get(), bandwidth(50));
    }

    #[test]
    fn a_larger_value_takes_over_at_once() {
        let mut filter = MaxFilter::new(10);
        filter.update(1, bandwidth(100));
        filter.update(1, bandwidth(120));
        assert_eq!(filter.get(), bandwidth(120));
    }

    #[test]
    fn a_falling_series_leaves_its_recent_best() {
        let mut filter = MaxFilter::new(10);
        for round in 0..40 {
            filter.update(round, bandwidth(1000 - 10 * round));
            let exact = bandwidth(1000 - 10 * round.saturating_sub(10));
            assert!(filter.get() <= exact, "nothing older than the window");
            assert!(filter.get() >= bandwidth(1000 - 10 * round));
        }
    }
}
