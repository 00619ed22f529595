//! Errors of opening, reading and writing pages.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reasons why a page could not be opened, read or written.
///
/// Messages complete "failed to open the page: ..." and say what to do, if anything.
#[derive(Debug, Error)]
pub enum Error {
    /// The name is neither a generator, nor a study's page, nor a file.
    #[error(
        "no page or file `{spec}`{}; `farlink pages list` lists the named pages",
        did_you_mean(.suggestion)
    )]
    UnknownPage {
        /// The input.
        spec: String,
        /// Most similar name, if one is similar enough.
        suggestion: Option<String>,
    },
    /// An address instead of a recording.
    #[error(
        "`{spec}` is a URL, and only `farlink load` records pages by itself: record it with \
         `farlink record {spec}` (docs/save-a-har.md) and name the file"
    )]
    Address {
        /// The input.
        spec: String,
    },
    /// A web archive without a page, or damaged from its beginning.
    #[error("{name}: {problem}")]
    Archive {
        /// The file.
        name: String,
        /// The error.
        problem: String,
    },
    /// A generator's name with invalid parameters.
    #[error("`{spec}`: {problem}; write {example}")]
    BadSpec {
        /// The input.
        spec: String,
        /// The error.
        problem: String,
        /// A valid spec.
        example: &'static str,
    },
    /// The file system refused.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The compressed file is truncated or damaged.
    #[error("{name}: truncated or damaged gzip file ({detail}); fetch or compress it again")]
    Gzip {
        /// The file.
        name: String,
        /// The decompressor's message.
        detail: String,
    },
    /// The file inflates to an unreasonable size.
    #[error("{name}: inflates to more than {limit_bytes} bytes, too large for the HAR of a page")]
    TooLarge {
        /// The file.
        name: String,
        /// Maximum size that is read.
        limit_bytes: u64,
    },
    /// The file has another format than HAR.
    #[error("{name}: this is {what}")]
    OtherFormat {
        /// The file.
        name: String,
        /// The format, and what to do.
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
        /// The parser's message.
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
        /// The missing part.
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
        /// Number of entries.
        entries: usize,
        /// Number of skipped entries for each reason.
        reasons: String,
    },
    /// The requested page is not in the HAR.
    #[error("{name}: no page `{wanted}`; it contains {known}")]
    NoSuchPage {
        /// The file.
        name: String,
        /// The page's id.
        wanted: String,
        /// The known ids.
        known: String,
    },
    /// A field of an entry is invalid.
    #[error("{name}: entry {entry} (counted from 0), {field}: {problem}")]
    Entry {
        /// The file.
        name: String,
        /// Index in `log.entries`.
        entry: usize,
        /// The field's path within the entry.
        field: String,
        /// The error, and the expected form.
        problem: String,
    },
    /// A farlink page file is invalid.
    #[error("{name}: {problem}")]
    PageFile {
        /// The file.
        name: String,
        /// The error, and the expected form.
        problem: String,
    },
    /// A list of pages is invalid.
    #[error("{name}: {problem}")]
    PageList {
        /// The file.
        name: String,
        /// The error, and the expected form.
        problem: String,
    },
    /// A list of pages instead of one page.
    #[error("{name}: a list of pages, but a single page is required; name one of them")]
    NotOnePage {
        /// The file.
        name: String,
    },
    /// A file of priors, or its table, is invalid.
    #[error("{name}: {problem}")]
    Priors {
        /// The file.
        name: String,
        /// The error, and the expected form.
        problem: String,
    },
    /// The target directory is not empty.
    #[error("{} is not empty; choose another directory", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The page cannot be written as files.
    #[error("the page `{page}` cannot be written as files: {problem}")]
    NotWritable {
        /// The page's name.
        page: String,
        /// The reason.
        problem: String,
    },
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// The candidate most similar to the input, if similar enough to have been meant.
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
