//! Every recording of a corpus of published link traces, if it is there: each is read, by its content, and its mean
//! rate is what the corpus says.

use std::fs;
use std::path::PathBuf;

use farlink_net::{Direction, RateUnit, Trace, TraceOptions};

/// Beside the workspace, or one folder farther up.
fn corpus() -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    ["../shared/data", "../../shared/data"]
        .iter()
        .map(|place| PathBuf::from(root).join(place))
        .find(|place| place.join("MANIFEST.tsv").exists())
}

#[test]
fn all_recordings_are_read_and_have_their_mean_rate() {
    let Some(corpus) = corpus() else {
        println!("skipped: corpus absent");
        return;
    };
    let manifest = fs::read_to_string(corpus.join("MANIFEST.tsv")).expect("the manifest is text");
    let mut lines = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name| header.iter().position(|known| *known == name).expect("a known column");
    let [path, kind, direction, units, mean] =
        ["path", "kind", "direction", "units", "mean_mbps"].map(column);
    let (mut files, mut wrong) = (0, Vec::new());
    for row in lines.filter(|row| row[kind] == "trace") {
        files += 1;
        let way =
            if row[direction].starts_with("uplink") { Direction::Up } else { Direction::Down };
        // What no such file says of itself.
        let unit = (row[units] == "s, MByte/s").then_some(RateUnit::Mbyte);
        let options = TraceOptions { unit, once: false };
        match Trace::read(&corpus.join(row[path]), way, options) {
            Err(error) => wrong.push(error.to_string()),
            Ok(trace) => {
                let expected: f64 = row[mean].parse().expect("a mean rate in Mbit/s");
                let found = trace.mean().0 as f64 / 1e6;
                // The manifest has three decimals. Its mean is over lines; where these lie irregularly
                // (Puffer's, one a video chunk) that is not the mean over time.
                let tolerance = if unit.is_some() { 0.1 } else { 0.01 };
                if (found - expected).abs() > (tolerance * expected).max(0.0006) {
                    wrong.push(format!("{}: mean {found}, expected {expected}", row[path]));
                }
            }
        }
    }
    assert!(files > 700, "only {files} recordings are listed");
    assert!(wrong.is_empty(), "{} of {files}:\n{}", wrong.len(), wrong.join("\n"));
}
