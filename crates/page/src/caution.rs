//! Reasons to distrust a page's source, each with advice. A recording that cannot answer a question says so before
//! the answer.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Fault of a page's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Caution {
    /// The source holds several pages.
    SeveralPages {
        /// The page that was read.
        read: String,
        /// The others.
        others: Vec<String>,
    },
    /// The document was answered with an error.
    DocumentStatus {
        /// The status code.
        status: u16,
    },
    /// Most responses have no size.
    NoSizes {
        /// Number of these.
        without: usize,
        /// Number of all responses.
        of: usize,
    },
    /// The page was recorded with a warm cache.
    WarmCache {
        /// Responses that came from the browser's cache.
        cached: usize,
        /// Responses that confirmed the browser's cached copy (304).
        revalidated: usize,
        /// Number of all responses.
        of: usize,
    },
    /// Implausible time spans were left out.
    OddSpans {
        /// Number of these.
        count: usize,
        /// The first: entry, field, value.
        first: String,
    },
    /// The archive is damaged: only the records before are the page.
    DamagedArchive {
        /// The damage.
        problem: String,
    },
}

/// Guide to recording.
const GUIDE: &str = "docs/save-a-har.md";

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caution::SeveralPages { read, others } => write!(
                f,
                "the file contains {} pages; loading `{read}`. Choose another with --page: {}",
                others.len() + 1,
                others.join(", ")
            ),
            Caution::DocumentStatus { status } => write!(
                f,
                "the document is an error page (status {status}). Record it again ({GUIDE})"
            ),
            Caution::NoSizes { without, of } => write!(
                f,
                "{without} of {of} responses have no recorded size, so load times are too short and comparisons \
                 unreliable. Record it again with a tool that writes sizes ({GUIDE})"
            ),
            Caution::WarmCache { cached, revalidated, of } => write!(
                f,
                "recorded with a warm cache: of {of} responses {cached} came from the browser's cache and {revalidated} were \
                 revalidated, so sizes and server times are guesses. Record it again with \"Disable cache\" ticked ({GUIDE})"
            ),
            Caution::DamagedArchive { problem } => {
                write!(f, "only a part of the archive could be read: {problem}")
            }
            Caution::OddSpans { count: 1, first } => {
                write!(f, "an invalid time is treated as unknown: {first}")
            }
            Caution::OddSpans { count, first } => {
                write!(f, "{count} invalid times are treated as unknown, the first is {first}")
            }
        }
    }
}
