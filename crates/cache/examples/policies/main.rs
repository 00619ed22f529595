//! Compares eviction policies by replaying traces: `cargo run --release -p farlink-cache --example policies -- [HARS] [TRACE...]`.
//!
//! `HARS` is a folder of HAR files, from which many users' page loads are made; a `TRACE` has lines `time object size`. Generated traces are always
//! replayed. It prints a table in Markdown: hit ratio and byte hit ratio in percent, at 1, 5 and 10 % of the footprint.

mod policies;
mod traces;

use std::path::PathBuf;

use policies::{Contender, Ours, replay};
use traces::{Trace, page_mix};

fn main() -> std::io::Result<()> {
    let mut traces: Vec<Trace> =
        [0.7, 0.9, 1.1].map(|alpha| Trace::zipf(alpha, 50_000, 400_000, 1)).into();
    traces.push(Trace::drifting(0.9, 50_000, 400_000, 1));
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        match path.is_dir() {
            true => traces.push(page_mix(&path, 5_000, 1)?),
            false => traces.push(Trace::read(&path)?),
        }
    }
    traces.iter().for_each(show);
    Ok(())
}

fn show(trace: &Trace) {
    let (objects, bytes) = trace.footprint(Ours::overhead());
    let (requests, mib) = (trace.requests.len(), bytes >> 20);
    println!("\n{}: {requests} requests, {objects} objects, {mib} MiB\n", trace.name);
    println!(
        "| | hits at 1 % | 5 % | 10 % | bytes at 1 % | 5 % | 10 % |\n|---|---|---|---|---|---|---|"
    );
    for contender in Contender::ALL {
        let ratios = [1, 5, 10].map(|percent| replay(contender, trace, percent));
        let hits = ratios.map(|ratios| format!("{:.1}", 100.0 * ratios.hits)).join(" | ");
        let bytes = ratios.map(|ratios| format!("{:.1}", 100.0 * ratios.bytes)).join(" | ");
        println!("| {} | {hits} | {bytes} |", contender.name());
    }
}
