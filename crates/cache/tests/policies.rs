//! The memory tier has higher hit ratios than LRU in the same space, by requests and by bytes, on each seeded trace.

#![allow(dead_code, reason = "shared with the example, which uses more of it")]

#[path = "../examples/policies/policies.rs"]
mod policies;
#[path = "../examples/policies/traces.rs"]
mod traces;

use std::path::Path;

use policies::{Contender, replay};
use traces::{Trace, page_mix};

fn beats_lru(trace: &Trace) {
    for percent in [1, 5, 10] {
        let (ours, lru) =
            (replay(Contender::Ours, trace, percent), replay(Contender::Lru, trace, percent));
        let name = &trace.name;
        assert!(
            ours.hits >= lru.hits,
            "{name} at {percent} %: hits {:.3}, LRU's {:.3}",
            ours.hits,
            lru.hits
        );
        assert!(
            ours.bytes >= lru.bytes,
            "{name} at {percent} %: bytes {:.3}, LRU's {:.3}",
            ours.bytes,
            lru.bytes
        );
    }
}

#[test]
fn on_zipf() {
    for alpha in [0.6, 0.8, 1.0, 1.2] {
        beats_lru(&Trace::zipf(alpha, 5_000, 40_000, 7));
    }
}

#[test]
fn on_drifting_popularity() {
    for seed in 1..=3 {
        beats_lru(&Trace::drifting(0.9, 5_000, 40_000, seed));
    }
}

#[test]
fn on_page_mixes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders =
        ["../../../shared/data/har", "../../../../shared/data/har"].map(|folder| root.join(folder));
    match folders.iter().find(|folder| folder.is_dir()) {
        Some(folder) => beats_lru(&page_mix(folder, 600, 7).expect("the corpus is readable")),
        None => println!("skipped: corpus absent"),
    }
}
