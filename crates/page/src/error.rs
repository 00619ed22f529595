//! Why a page could not be had.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a page could not be opened, read or written.
///
/// Messages complete "failed to open the page: ..." and say what to do where there is something.
#[derive(Debug, Error)]
pub enum Error {
    /// The name is neither a generator, nor a study's page, nor a file.
    #[error(
        "`{spec}` is neither a page's name nor a file{}; `farlink pages list` shows the names",
        did_you_mean(.suggestion)
    )]
    UnknownPage {
        /// What was asked for.
        spec: String,
        /// The nearest name, if one is near.
        suggestion: Option<String>,
    },
    /// An address, where a recording is meant.
    #[error(
        "`{spec}` is an address, and farlink loads recordings: save the page's requests as HAR in your browser \
         (docs/save-a-har.md) and give the file"
    )]
    Address {
        /// What was asked for.
        spec: String,
    },
    /// The name of a generator is right, its parameters are not.
    #[error("`{spec}`: {problem}; write {example}")]
    BadSpec {
        /// What was asked for.
        spec: String,
        /// What is wrong with it.
        problem: String,
        /// A spec that would have been accepted.
        example: &'static str,
    },
    /// The file system refused.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The compressed file ends early or is damaged.
    #[error("{name}: not a whole gzip file ({detail}); fetch or compress it again")]
    Gzip {
        /// The file.
        name: String,
        /// What the decompressor said.
        detail: String,
    },
    /// The file inflates to more than is reasonable.
    #[error("{name}: inflates to more than {limit_bytes} bytes, which no HAR of one page does")]
    TooLarge {
        /// The file.
        name: String,
        /// The most that is read.
        limit_bytes: u64,
    },
    /// The file is something else than a HAR.
    #[error("{name}: this is {what}")]
    OtherFormat {
        /// The file.
        name: String,
        /// What it is, and what to do.
        what: &'static str,
    },
    /// The file is not JSON.
    #[error("{name}: not JSON at line {line}, column {column}: {detail}")]
    NotJson {
        /// The file.
        name: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What the parser said.
        detail: String,
    },
    /// JSON, but not a HAR.
    #[error(
        "{name}: JSON, but not a HAR: {missing}; a HAR is an object with `log.entries`, as \
         browsers export it"
    )]
    NotHar {
        /// The file.
        name: String,
        /// What a HAR has and this has not.
        missing: String,
    },
    /// A HAR without a single entry.
    #[error("{name}: the HAR has no entries; record it again with the network panel open")]
    NoEntries {
        /// The file.
        name: String,
    },
    /// Every entry of the HAR was skipped.
    #[error("{name}: none of the {entries} entries is a request of the page ({reasons})")]
    NothingLeft {
        /// The file.
        name: String,
        /// How many there were.
        entries: usize,
        /// How many were skipped for which reason.
        reasons: String,
    },
    /// The page that was asked for is not in the HAR.
    #[error("{name}: there is no page `{wanted}` in it; it has {known}")]
    NoSuchPage {
        /// The file.
        name: String,
        /// The page's id.
        wanted: String,
        /// The ids there are.
        known: String,
    },
    /// One field of one entry is wrong.
    #[error("{name}: entry {entry} (counted from 0), {field}: {problem}")]
    Entry {
        /// The file.
        name: String,
        /// Index in `log.entries`.
        entry: usize,
        /// The field's path within the entry.
        field: String,
        /// What is wrong with it and what was expected.
        problem: String,
    },
    /// A page file of ours is not as the format says.
    #[error("{name}: {problem}")]
    PageFile {
        /// The file.
        name: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A list of pages is not as the format says.
    #[error("{name}: {problem}")]
    PageList {
        /// The file.
        name: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A list of pages stands where one page is meant.
    #[error("{name}: a list of pages, where one page is meant; name one of them")]
    NotOnePage {
        /// The file.
        name: String,
    },
    /// A file of priors, or its table, is not as the format says.
    #[error("{name}: {problem}")]
    Priors {
        /// The file.
        name: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// The directory to write to is in use.
    #[error("{} is not empty; choose another directory or ask to replace it", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The page cannot be written as files.
    #[error("the page `{page}` cannot be written as files: {problem}")]
    NotWritable {
        /// The page's name.
        page: String,
        /// Why not.
        problem: String,
    },
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// The candidate nearest to what was typed, if it is near enough to be meant.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const NEAR_ENOUGH: f64 = 0.8;
    candidates
        .into_iter()
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(similarity, _)| *similarity >= NEAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
