//! Recorded loads: requests and responses with their bodies, and the files that keep them.
//!
//! A recorder (Chromium's DevTools) fills a [`RecordedLoad`]; [`har::text`] writes it as a HAR with content, which the
//! page importer reads. Credentials are redacted unless the user keeps them ([`redact`]).

mod load;

pub mod har;
pub mod redact;

pub use self::load::{
    Exchange, ExchangePhases, Fields, RecordedLoad, RecordedRequest, RecordedResponse,
};
