//! What a part under test can do, whatever it is.

use std::fmt::Display;
use std::ops::Range;

use units::Time;

use crate::when::When;

/// A sans-IO part together with the words that scripts use for it.
pub(crate) trait Subject {
    /// What a script does to it.
    type Input: Display;
    /// What a script expects to leave it.
    type Output: Display;
    /// What a script asks of its state.
    type Check: Display;
    /// What leaves it.
    type Left: Display;

    /// Does it. An error says why that is impossible.
    fn apply(&mut self, now: Time, input: &Self::Input) -> Result<(), String>;
    /// When it wants to be woken.
    fn deadline(&self) -> Option<Time>;
    /// Wakes it.
    fn handle_timeout(&mut self, now: Time);
    /// What leaves next.
    fn poll(&mut self, now: Time) -> Option<Self::Left>;
    /// What must not be left inside at the end of a script.
    fn unfinished(&self) -> Option<String>;
    /// Compares. An error says what differs.
    fn compare(&mut self, expected: &Self::Output, left: &Self::Left) -> Result<(), String>;
    /// Compares its state. An error says what differs.
    fn check(&self, check: &Self::Check) -> Result<(), String>;
}

/// One event of a script.
pub(crate) struct Step<S: Subject + ?Sized> {
    pub(crate) when: When,
    pub(crate) event: Event<S>,
    /// Where it stands in the text.
    pub(crate) span: Range<usize>,
}

/// What an event is.
pub(crate) enum Event<S: Subject + ?Sized> {
    /// Something is done to the subject.
    Input(S::Input),
    /// Something leaves it.
    Output(S::Output),
    /// Its state is looked at.
    Check(S::Check),
    /// Time passes and nothing leaves.
    Quiet,
}
