//! Drives a subject through a script's events in virtual time.
//!
//! The clock goes from event to event and stops at each of the subject's deadlines on the way. It cannot pass
//! an output of the subject that was not expected. If a timer and an input have the same time, the timer comes first.

use std::collections::VecDeque;
use std::fmt::Display;
use std::ops::Range;

use units::Time;

use crate::problem::ScriptProblem;
use crate::when::{When, seconds};

/// A subject whose deadline does not move for this many wake-ups is stuck.
const MOST_WAKEUPS: u32 = 100_000;
/// Number of past events that are shown with an error.
const HISTORY: usize = 12;

/// A subject, its clock, and its outputs not yet accounted for.
pub(crate) struct Stage<S: Subject> {
    subject: S,
    now: Time,
    left: VecDeque<(Time, S::EndpointLeftoverLeftovereLeftover)>,
    /// Number of wake-ups of the subject at the current time.
    wakeups: u32,
    history: VecDeque<String>,
}

impl<S: Subject> Stage<S> {
    pub(crate) fn new(subject: S) -> Stage<S> {
        Stage {
            subject,
            now: Time::ZERO,
            left: VecDeque::new(),
            wakeups: 0,
            history: VecDeque::new(),
        }
    }

    /// Performs all events; fails at the first that is not met.
    pub(crate) fn run(mut self, steps: &[StageStep<S>]) -> Result<(), ScriptProblem> {
        for step in steps {
            self.perform(step).map_err(|wrong| self.problem(step, wrong))?;
        }
        let Some(last) = steps.last() else { return Ok(()) };
        match (self.left.front(), self.subject.unfinished()) {
            (Some((at, left)), _) => Err(self.problem(last, Wrong::extra(*at, left))),
            (None, Some(what)) => {
                Err(self.problem(last, Wrong::new("the script ends early", what)))
            }
            (None, None) => Ok(()),
        }
    }

    fn problem(&self, step: &StageStep<S>, wrong: Wrong) -> ScriptProblem {
        let mut events: Vec<String> = self.history.iter().cloned().collect();
        let unseen = self.left.iter().take(HISTORY);
        events.extend(unseen.map(|(at, left)| format!("{} {left}   (not expected)", seconds(*at))));
        ScriptProblem::new(step.span.clone(), wrong.message).label(wrong.detail).before(&events)
    }

    fn perform(&mut self, step: &StageStep<S>) -> Result<(), Wrong> {
        match &step.event {
            StageEvent::Input(input) => {
                self.advance(step.when)?;
                self.remember(format!("{} {input}", seconds(self.now)));
                let done = self.subject.apply(self.now, input);
                self.drain();
                done.map_err(|why| Wrong::new("the call failed", why))
            }
            StageEvent::Output(expected) => self.expect(step.when, expected),
            StageEvent::Check(check) => {
                self.advance(step.when)?;
                self.subject.check(check).map_err(|why| Wrong::new("the state differs", why))
            }
            StageEvent::Quiet => self.advance(step.when),
        }
    }

    /// Advances to the end of `when`.
    fn advance(&mut self, when: When) -> Result<(), Wrong> {
        let until = *when.from(self.now).end();
        if until < self.now {
            return Err(Wrong::new("time goes back", format!("it is {} s", seconds(self.now))));
        }
        self.drain();
        while self.left.is_empty() && self.wake(until)? {}
        match self.left.front() {
            Some((at, left)) if *at < until => Err(Wrong::extra(*at, left)),
            _ => {
                // Outputs at this very time may be expected by the lines that follow.
                while self.wake(until)? {}
                self.now = until;
                Ok(())
            }
        }
    }

    fn expect(&mut self, when: When, expected: &S::Output) -> Result<(), Wrong> {
        let range = when.from(self.now);
        self.drain();
        while self.left.is_empty() && self.wake(*range.end())? {}
        let Some((at, left)) = self.left.front() else {
            let by = seconds(self.now.max(*range.end()));
            return Err(Wrong::new(
                format!("nothing left by {by} s"),
                format!("expected {expected}"),
            ));
        };
        if let Err(difference) = self.subject.compare(expected, left) {
            return Err(Wrong::new("another output left", difference));
        }
        if !range.contains(at) {
            let side = if at < range.start() { "early" } else { "late" };
            let message = format!("this left too {side}");
            return Err(Wrong::new(message, format!("at {} s", seconds(*at))));
        }
        self.now = self.now.max(*at);
        let line = format!("{} {left}", seconds(*at));
        self.left.pop_front();
        self.remember(line);
        Ok(())
    }

    /// Wakes the subject at its next deadline if it is no later than `until`.
    fn wake(&mut self, until: Time) -> Result<bool, Wrong> {
        let Some(due) = self.subject.deadline().filter(|due| *due <= until) else {
            return Ok(false);
        };
        self.wakeups = if due > self.now { 0 } else { self.wakeups + 1 };
        self.now = self.now.max(due);
        if self.wakeups > MOST_WAKEUPS {
            let detail = format!("it stays at {} s after every wake-up", seconds(self.now));
            return Err(Wrong::new("the deadline does not move", detail));
        }
        self.subject.handle_timeout(self.now);
        self.drain();
        Ok(true)
    }

    fn drain(&mut self) {
        while let Some(left) = self.subject.poll(self.now) {
            self.left.push_back((self.now, left));
        }
    }

    fn remember(&mut self, line: String) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(line);
    }
}

/// A mismatch with the script.
struct Wrong {
    message: String,
    detail: String,
}

impl Wrong {
    fn new(message: impl Into<String>, detail: impl Into<String>) -> Wrong {
        Wrong { message: message.into(), detail: detail.into() }
    }

    fn extra(at: Time, left: &impl Display) -> Wrong {
        Wrong::new(format!("no line expects what left at {} s", seconds(at)), format!("{left}"))
    }
}

/// A sans-IO component together with the words that scripts use for it.
pub(crate) trait Subject {
    /// An action of a script on it.
    type Input: Display;
    /// An output that a script expects.
    type Output: Display;
    /// A check of its state in a script.
    type EndpointCheckheckCheck: Display;
    /// An actual output.
    type EndpointLeftoverLeftovereLeftover: Display;

    /// Performs an input. An error tells why that is impossible.
    fn apply(&mut self, now: Time, input: &Self::Input) -> Result<(), String>;
    /// Time of its next wake-up.
    fn deadline(&self) -> Option<Time>;
    /// Wakes it.
    fn handle_timeout(&mut self, now: Time);
    /// Returns the next output.
    fn poll(&mut self, now: Time) -> Option<Self::EndpointLeftoverLeftovereLeftover>;
    /// State that must not be left inside at the end of a script.
    fn unfinished(&self) -> Option<String>;
    /// Compares an output. An error tells the difference.
    fn compare(
        &mut self,
        expected: &Self::Output,
        left: &Self::EndpointLeftoverLeftovereLeftover,
    ) -> Result<(), String>;
    /// Checks its state. An error tells the difference.
    fn check(&self, check: &Self::EndpointCheckheckCheck) -> Result<(), String>;
}

/// One event of a script.
pub(crate) struct StageStep<S: Subject + ?Sized> {
    pub(crate) when: When,
    pub(crate) event: StageEvent<S>,
    /// Its position in the text.
    pub(crate) span: Range<usize>,
}

/// Kind of an event.
pub(crate) enum StageEvent<S: Subject + ?Sized> {
    /// An input to the subject.
    Input(S::Input),
    /// An output of the subject.
    Output(S::Output),
    /// A check of its state.
    Check(S::EndpointCheckheckCheck),
    /// Time passes and nothing leaves.
    Quiet,
}
