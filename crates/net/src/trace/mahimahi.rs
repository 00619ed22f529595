//! Mahimahi's packet-delivery files: each line is the millisecond at which one packet may pass.
//!
//! Parsed as by `LinkQueue`'s constructor (`link_queue.cc`): whole numbers that never decrease, the last of them not
//! zero.

use super::TraceError;
use super::error::lines;
use super::read::{Recording, Samples};

pub(super) fn read(file: &str, text: &str) -> Result<Recording, TraceError> {
    const NANOS_PER_MS: u64 = 1_000_000;
    let mut at: Vec<u64> = Vec::new();
    for line in lines(file, text) {
        let nanos = line.text.parse::<u64>().ok().and_then(|ms| ms.checked_mul(NANOS_PER_MS));
        let nanos = nanos.ok_or_else(|| line.wrong("expected a whole number of milliseconds"))?;
        if at.last().is_some_and(|last| nanos < *last) {
            return Err(line.wrong("time goes backwards; lines must be in order"));
        }
        at.push(nanos);
    }
    match at.last() {
        None | Some(0) => {
            let found = "no line after 0 ms";
            Err(TraceError::Empty { file: file.to_owned(), found })
        }
        Some(_) => {
            let taken = format!("Mahimahi packet-delivery file, {} opportunities", at.len());
            Ok(Recording { samples: Samples::Opportunities(at), taken })
        }
    }
}
