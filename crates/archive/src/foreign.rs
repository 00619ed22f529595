//! Recordings of other replayers: Mahimahi's folders, and Web Page Replay's archives.
//!
//! Neither states times or an order. So all exchanges begin at once, and the document comes first: of the HTML responses the one
//! whose request refers to no other page.

pub mod mahimahi;
pub mod web_page_replay;

use std::io;

use thiserror::Error;

use crate::load::first;
use crate::{Exchange, RecordedLoad};

/// A recording that cannot be read.
#[derive(Debug, Error)]
pub enum ForeignError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file of a Mahimahi folder is none.
    #[error("{file}: not one of Mahimahi's records (HTTP messages in protocol buffers): {problem}")]
    Mahimahi {
        /// Its name.
        file: String,
        /// The problem.
        problem: String,
    },
    /// A file is no archive of Web Page Replay.
    #[error("not an archive of Web Page Replay (.wprgo, compressed JSON): {0}")]
    WebPageReplay(#[from] serde_json::Error),
    /// It has no response.
    #[error("no HTTP response in it")]
    Empty,
}

/// The load of these exchanges, with the document first.
fn load(mut exchanges: Vec<Exchange>) -> Result<RecordedLoad, ForeignError> {
    let is_html = |exchange: &&Exchange| {
        let response = exchange.response.as_ref();
        response.is_some_and(|it| it.status == 200 && it.media_type.contains("html"))
    };
    let refers = |exchange: &Exchange| first(&exchange.request.fields, "referer").is_some();
    let size = |exchange: &Exchange| {
        let body = exchange.response.as_ref().and_then(|response| response.body.as_ref());
        body.map_or(0, Vec::len)
    };
    let document = exchanges.iter().enumerate().filter(|(_, exchange)| is_html(exchange));
    let document = document.max_by_key(|(_, exchange)| (!refers(exchange), size(exchange)));
    let document = document.map(|(at, _)| at);
    if exchanges.iter().all(|exchange| exchange.response.is_none()) {
        return Err(ForeignError::Empty);
    }
    exchanges[..=document.unwrap_or(0)].rotate_right(1);
    let url = exchanges[0].request.url.clone();
    Ok(RecordedLoad { url, exchanges, ..RecordedLoad::default() })
}
