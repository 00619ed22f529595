//! Losses from a file, listed by packet number or by time.
//!
//! Entries are separated by blanks, commas or line ends; `#` begins a comment that ends with its line.
//!
//! - `17`: the seventeenth packet that is offered to the link, counted from 1; `100-110`: these eleven;
//! - `2.5s-2.6s`: every packet that enters from 2.5 s on and before 2.6 s of the link's time.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use units::{Time, parse};

/// List of lost packets.
#[derive(Clone, Debug, PartialEq)]
pub struct DropList {
    origin: String,
    /// First and last number of each range, in order, not overlapping.
    numbers: Vec<(u64, u64)>,
    /// Beginning (included) and end (excluded) of each span, in order, not overlapping.
    spans: Vec<(Time, Time)>,
}

/// Reasons why a file is not a list of losses.
#[derive(Debug, Error)]
pub enum DropListError {
    /// The file cannot be read.
    #[error("failed to read the list of losses {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// An invalid entry.
    #[error("{file}:{line}: `{text}`: {expected}")]
    Entry {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The entry.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
}

impl DropList {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<DropList, DropListError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| DropListError::Unreadable { path: path.to_owned(), source })?;
        DropList::from_text(&path.display().to_string(), &text)
    }

    /// Parses a list; `origin` appears in messages.
    pub fn from_text(origin: &str, text: &str) -> Result<DropList, DropListError> {
        let (mut numbers, mut spans) = (Vec::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let entries = line.split('#').next().unwrap_or_default();
            for entry in entries.split([' ', '\t', ',']).filter(|entry| !entry.is_empty()) {
                let read = if entry.ends_with(|c: char| c.is_ascii_digit()) {
                    number(entry).map(|entry| numbers.push(entry))
                } else {
                    span(entry).map(|entry| spans.push(entry))
                };
                read.map_err(|expected| DropListError::Entry {
                    file: origin.to_owned(),
                    line: index + 1,
                    text: entry.to_owned(),
                    expected,
                })?;
            }
        }
        Ok(DropList { origin: origin.to_owned(), numbers: merged(numbers), spans: merged(spans) })
    }

    /// The file it was read from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns true if the packet with this number, counted from 1, which enters at `now`, is lost.
    pub(crate) fn contains(&self, number: u64, now: Time) -> bool {
        let index = self.numbers.partition_point(|(_, last)| *last < number);
        if self.numbers.get(index).is_some_and(|(first, _)| *first <= number) {
            return true;
        }
        let index = self.spans.partition_point(|(_, to)| *to <= now);
        self.spans.get(index).is_some_and(|(from, _)| *from <= now)
    }
}

fn number(entry: &str) -> Result<(u64, u64), &'static str> {
    const EXPECTED: &str =
        "expected a packet's number from 1 on, or a range of them, such as 100-110";
    let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first > 0 && first <= last => Ok((first, last)),
        (Ok(0), Ok(_)) => Err("packets are counted from 1"),
        (Ok(_), Ok(_)) => Err("the range ends before it begins"),
        _ => Err(EXPECTED),
    }
}

fn span(entry: &str) -> Result<(Time, Time), &'static str> {
    const EXPECTED: &str = "expected a stretch of time, such as 2.5s-2.6s";
    let (from, to) = entry.split_once('-').ok_or(EXPECTED)?;
    let read = |text| parse::duration(text).map(|span| Time::ZERO + span).map_err(|_| EXPECTED);
    let (from, to) = (read(from)?, read(to)?);
    if from < to { Ok((from, to)) } else { Err("the stretch ends before it begins") }
}

/// Sorts the ranges and merges those that overlap.
fn merged<T: Ord + Copy>(mut ranges: Vec<(T, T)>) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut merged: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (from, to) in ranges {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_ranges_and_stretches_of_time() {
        let text = "# made by hand\n3, 5-7 6-9\n1s-1.5s 1.2s-2s # together 1s-2s\n";
        let list = DropList::from_text("list", text).expect("valid");
        let numbers: Vec<u64> = (1..12).filter(|n| list.contains(*n, Time::ZERO)).collect();
        assert_eq!(numbers, [3, 5, 6, 7, 8, 9]);
        let lost = |ms| list.contains(100, Time::from_millis(ms));
        assert_eq!([999, 1000, 1999, 2000].map(lost), [false, true, true, false]);
    }

    #[test]
    fn errors_name_the_line_and_what_belongs_there() {
        let message = |text| DropList::from_text("l.txt", text).expect_err("refused").to_string();
        assert_eq!(
            message("1\n2 x7"),
            "l.txt:2: `x7`: expected a packet's number from 1 on, or a range of them, such as 100-110"
        );
        assert_eq!(message("0"), "l.txt:1: `0`: packets are counted from 1");
        assert_eq!(message("9-3"), "l.txt:1: `9-3`: the range ends before it begins");
        assert_eq!(message("2s-1s"), "l.txt:1: `2s-1s`: the stretch ends before it begins");
        assert!(message("2s").contains("such as 2.5s-2.6s"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([0-9]{1,20}|[-,.#s\\n ]|\\PC){0,12}") {
            let _ = DropList::from_text("any", &text);
        }

        #[test]
        fn it_contains_what_its_entries_contain(entries in prop::collection::vec((1..50u64, 0..9u64), 0..8)) {
            let text: Vec<String> = entries.iter().map(|(from, more)| format!("{from}-{}", from + more)).collect();
            let list = DropList::from_text("list", &text.join(" ")).expect("valid");
            for n in 1..70 {
                let expected = entries.iter().any(|(from, more)| (*from..=from + more).contains(&n));
                prop_assert_eq!(list.contains(n, Time::ZERO), expected);
            }
        }
    }
}
