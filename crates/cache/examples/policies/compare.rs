//! Replay of one trace under each policy, at a given part of the trace's footprint.

use crate::gdsf::Gdsf;
use crate::lru::{Fifo, Lru};
use crate::ours::Ours;
use crate::policy::Policy;
use crate::s3_fifo::S3Fifo;
use crate::trace::Trace;
use crate::w_tiny_lfu::WTinyLfu;

/// Policies under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Fifo,
    Lru,
    S3Fifo,
    WTinyLfu,
    Gdsf,
    Ours,
}

impl Contender {
    pub const ALL: [Contender; 6] = [
        Contender::Fifo,
        Contender::Lru,
        Contender::S3Fifo,
        Contender::WTinyLfu,
        Contender::Gdsf,
        Contender::Ours,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Contender::Fifo => "FIFO",
            Contender::Lru => "LRU",
            Contender::S3Fifo => "S3-FIFO",
            Contender::WTinyLfu => "W-TinyLFU",
            Contender::Gdsf => "GDSF",
            Contender::Ours => "ours",
        }
    }

    fn make(self, limit: u64) -> Box<dyn Policy> {
        match self {
            Contender::Fifo => Box::new(Fifo::new(limit)),
            Contender::Lru => Box::new(Lru::new(limit)),
            Contender::S3Fifo => Box::new(S3Fifo::new(limit)),
            Contender::WTinyLfu => Box::new(WTinyLfu::new(limit)),
            Contender::Gdsf => Box::new(Gdsf::new(limit)),
            Contender::Ours => Box::new(Ours::new(limit)),
        }
    }
}

/// Hit ratio by requests and by bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ratios {
    pub hits: f64,
    pub bytes: f64,
}

/// Replays a trace against a cache of `percent` of its footprint. Each object weighs what it does in the memory tier.
pub fn replay(contender: Contender, trace: &Trace, percent: u64) -> Ratios {
    let overhead = Ours::overhead();
    let mut cache = contender.make(trace.footprint(overhead).1 * percent / 100);
    let (mut hits, mut held, mut asked) = (0u64, 0u64, 0u64);
    for object in &trace.requests {
        let size = trace.sizes[*object as usize];
        // The tier adds its overhead itself.
        let weight = if contender == Contender::Ours { size } else { size + overhead };
        asked += size;
        if cache.request(*object, weight) {
            hits += 1;
            held += size;
        }
    }
    Ratios { hits: hits as f64 / trace.requests.len() as f64, bytes: held as f64 / asked as f64 }
}
