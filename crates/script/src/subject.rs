//! Interface of a component under test.

use std::fmt::Display;
use std::ops::Range;

use units::Time;

use crate::when::When;

/// A sans-IO component together with the words that scripts use for it.
pub(crate) trait Subject {
    /// An action of a script on it.
    type Input: Display;
    /// An output that a script expects.
    type Output: Display;
    /// A check of its state in a script.
    type Check: Display;
    /// An actual output.
    type Left: Display;

    /// Performs an input. An error tells why that is impossible.
    fn apply(&mut self, now: Time, input: &Self::Input) -> Result<(), String>;
    /// Time of its next wake-up.
    fn deadline(&self) -> Option<Time>;
    /// Wakes it.
    fn handle_timeout(&mut self, now: Time);
    /// Returns the next output.
    fn poll(&mut self, now: Time) -> Option<Self::Left>;
    /// State that must not be left inside at the end of a script.
    fn unfinished(&self) -> Option<String>;
    /// Compares an output. An error tells the difference.
    fn compare(&mut self, expected: &Self::Output, left: &Self::Left) -> Result<(), String>;
    /// Checks its state. An error tells the difference.
    fn check(&self, check: &Self::Check) -> Result<(), String>;
}

/// One event of a script.
pub(crate) struct Step<S: Subject + ?Sized> {
    pub(crate) when: When,
    pub(crate) event: Event<S>,
    /// Its position in the text.
    pub(crate) span: Range<usize>,
}

/// Kind of an event.
pub(crate) enum Event<S: Subject + ?Sized> {
    /// An input to the subject.
    Input(S::Input),
    /// An output of the subject.
    Output(S::Output),
    /// A check of its state.
    Check(S::Check),
    /// Time passes and nothing leaves.
    Quiet,
}
