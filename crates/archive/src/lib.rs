//! Recorded loads: requests and responses with their bodies, and the files that keep them.
//!
//! A recorder (Chromium's DevTools) fills a [`RecordedLoad`]; [`har`] writes it as a HAR with content, which the page
//! importer reads; [`wacz`] keeps it as WARC records in a WACZ file, and reads that back, or the [`warc`] files of others.
//! A recording proxy's exchanges go straight to the disk ([`recorder`]). [`foreign`] reads other replayers' recordings. For a
//! replay [`matching`] finds the response to a request, and [`coding`] codes its body as it was. Credentials are redacted
//! unless the user keeps them ([`redact`]).

mod load;
mod message;
mod open;

pub mod coding;
pub mod foreign;
pub mod har;
pub mod matching;
pub mod recorder;
pub mod records;
pub mod redact;
pub mod wacz;
pub mod warc;

pub use self::load::{
    Archive, Exchange, ExchangePhases, Fields, RecordedCertificate, RecordedLoad, RecordedRequest,
    RecordedResponse,
};
pub use self::open::{ArchiveError, is_archive, open, parse, read};
