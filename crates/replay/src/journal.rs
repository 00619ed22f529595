//! Journal of a replay: its requests, and how they were answered.

use std::collections::BTreeMap;
use std::fmt;

use archive::matching::RequestDifference;
use serde::Serialize;

/// Different requests that are listed by their URLs; more are counted.
const MOST_LISTED: usize = 1_000;

/// Requests answered so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayJournal {
    /// Requests that were recorded.
    pub exact: u64,
    /// Requests answered with the response to a similar one.
    pub inexact: u64,
    /// Requests that got a 404 for want of a similar one.
    pub missing: u64,
    /// Lookups of names that the recording does not have.
    pub unknown_names: u64,
    /// Requests that were not exact, and names, by what happened; each with its number of times.
    pub listed: Vec<JournalEntry>,
    /// Number of those left out of the list.
    pub unlisted: u64,
    #[serde(skip)]
    places: BTreeMap<(RequestOutcome, String), usize>,
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JournalEntry {
    /// Its kind.
    pub outcome: RequestOutcome,
    /// Method and URL, or the name.
    pub request: String,
    /// Number of times.
    pub count: u64,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOutcome {
    /// It was recorded.
    Exact,
    /// It was recorded over TLS and now came in the clear, or the other way round.
    OtherScheme,
    /// A similar one was recorded, with another body.
    OtherBody,
    /// A similar one was recorded, with another range.
    OtherRange,
    /// A similar one was recorded, with another query.
    OtherQuery,
    /// A similar one was recorded, with another number or hash in its path.
    OtherPathToken,
    /// No similar one was recorded.
    Missing,
    /// A name that no recorded request has.
    UnknownName,
}

impl RequestOutcome {
    /// That of an inexact match.
    pub(crate) fn differs(difference: RequestDifference) -> RequestOutcome {
        match difference {
            RequestDifference::Scheme => RequestOutcome::OtherScheme,
            RequestDifference::Body => RequestOutcome::OtherBody,
            RequestDifference::Range => RequestOutcome::OtherRange,
            RequestDifference::Query => RequestOutcome::OtherQuery,
            RequestDifference::PathToken => RequestOutcome::OtherPathToken,
        }
    }
}

impl fmt::Display for RequestOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RequestOutcome::Exact => "exact",
            RequestOutcome::OtherScheme => "other scheme",
            RequestOutcome::OtherBody => "other body",
            RequestOutcome::OtherRange => "other range",
            RequestOutcome::OtherQuery => "other query",
            RequestOutcome::OtherPathToken => "other number in path",
            RequestOutcome::Missing => "missing",
            RequestOutcome::UnknownName => "unknown name",
        })
    }
}

impl ReplayJournal {
    /// Notes a request, or the lookup of an unknown name.
    pub fn note(&mut self, outcome: RequestOutcome, request: impl FnOnce() -> String) {
        *match outcome {
            RequestOutcome::Exact => &mut self.exact,
            RequestOutcome::Missing => &mut self.missing,
            RequestOutcome::UnknownName => &mut self.unknown_names,
            _ => &mut self.inexact,
        } += 1;
        if outcome == RequestOutcome::Exact {
            return;
        }
        let request = request();
        if let Some(at) = self.places.get(&(outcome, request.clone())) {
            self.listed[*at].count += 1;
        } else if self.listed.len() < MOST_LISTED {
            self.places.insert((outcome, request.clone()), self.listed.len());
            self.listed.push(JournalEntry { outcome, request, count: 1 });
        } else {
            self.unlisted += 1;
        }
    }

    /// Number of all requests.
    pub fn requests(&self) -> u64 {
        self.exact + self.inexact + self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_counts_and_the_list_is_bounded() {
        let mut journal = ReplayJournal::default();
        journal.note(RequestOutcome::Exact, || panic!("exact ones are not listed"));
        for number in 0..2 * MOST_LISTED {
            journal.note(RequestOutcome::Missing, || format!("GET http://a.test/{number}"));
        }
        journal.note(RequestOutcome::OtherQuery, || "GET http://a.test/?1".to_owned());
        journal.note(RequestOutcome::Missing, || "GET http://a.test/0".to_owned());
        assert_eq!((journal.exact, journal.inexact, journal.missing), (1, 1, 2_001));
        assert_eq!((journal.listed.len(), journal.unlisted), (MOST_LISTED, 1_001));
        assert_eq!(journal.listed[0].count, 2);
    }
}
