//! Measures again what was measured late.
//!
//! An emulated load during which the machine was too slow says nothing of the network. It is thrown away
//! and measured again, a few times; what is thrown away is counted, and a load that was late every time has failed.

use crate::journey::{Execute, JourneyPlan, JourneyResult};

/// Runs journeys in another executor until they are valid.
pub struct Repeat<'a> {
    execute: &'a dyn Execute,
    is_late: fn(&JourneyResult) -> bool,
    attempts: u32,
}

impl<'a> Repeat<'a> {
    /// Gives `execute` so many `attempts` at each journey; `is_late` says which results do not count.
    pub fn new(
        execute: &'a dyn Execute,
        is_late: fn(&JourneyResult) -> bool,
        attempts: u32,
    ) -> Repeat<'a> {
        Repeat { execute, is_late, attempts }
    }
}

impl Execute for Repeat<'_> {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        let mut thrown_away = 0;
        loop {
            let mut result = self.execute.execute(journey);
            let late = (self.is_late)(&result);
            if late && thrown_away + 1 < self.attempts {
                thrown_away += 1;
                continue;
            }
            let all = thrown_away + u32::from(late);
            if all > 0 {
                result.notes.push(note(all));
            }
            if late && result.failure.is_none() {
                result.failure = Some(format!("late at each of {} attempts", self.attempts));
            }
            return result;
        }
    }
}

const NOTE: &str = "attempts thrown away because the emulator was late: ";

fn note(attempts: u32) -> String {
    format!("{NOTE}{attempts}")
}

/// How many attempts the notes of a journey say were thrown away.
pub fn thrown_away(notes: &[String]) -> u64 {
    notes.iter().filter_map(|note| note.strip_prefix(NOTE)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::toy::{self, Toy};

    /// The toy's result of a journey whose first `late` attempts come too late, and how often it was run.
    fn after(late: u32, attempts: u32) -> (JourneyResult, u32) {
        let runs = AtomicU32::new(0);
        let execute = |journey: &JourneyPlan| {
            let mut result = Toy.execute(journey);
            if runs.fetch_add(1, Ordering::Relaxed) < late {
                result.notes.push("late".to_owned());
            }
            result
        };
        let is_late = |result: &JourneyResult| result.notes.iter().any(|note| note == "late");
        let result = Repeat::new(&execute, is_late, attempts).execute(&toy::plan(1).journey(0));
        (result, runs.into_inner())
    }

    #[test]
    fn what_is_in_time_is_taken_as_it_is() {
        let (result, runs) = after(0, 3);
        assert_eq!((runs, thrown_away(&result.notes), result.failure), (1, 0, None));
    }

    #[test]
    fn what_is_late_is_measured_again_and_counted() {
        let (result, runs) = after(2, 3);
        assert_eq!((runs, thrown_away(&result.notes), result.failure), (3, 2, None));
    }

    #[test]
    fn what_is_late_every_time_has_failed() {
        let (result, runs) = after(9, 3);
        assert_eq!((runs, thrown_away(&result.notes)), (3, 3));
        assert_eq!(result.failure.as_deref(), Some("late at each of 3 attempts"));
    }
}
