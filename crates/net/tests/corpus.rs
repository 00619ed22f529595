//! Checks every recording of a corpus of published link traces, if present: it is recognised by its content, and its
//! mean rate is what the corpus states.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use farlink_net::{Direction, RateUnit, Trace, TraceOptions};

/// Folder of the corpus, beside the workspace or one level farther up.
fn corpus() -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    ["../shared/data", "../../shared/data"]
        .iter()
        .map(|place| PathBuf::from(root).join(place))
        .find(|place| place.join("MANIFEST.tsv").exists())
}

/// Means in Mbit/s of the lines `seconds MByte/s` of a file: over lines, and weighted by the time until the next
/// line.
fn means(path: &std::path::Path) -> (f64, f64) {
    let bytes = fs::read(path).expect("a listed file is there");
    let mut text = String::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text),
        false => bytes.as_slice().read_to_string(&mut text),
    }
    .expect("such files are text");
    let pairs = text.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<f64>().ok());
        Some((numbers.next()??, numbers.next()?? * 8.0))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let by_line = pairs.iter().map(|(_, rate)| rate).sum::<f64>() / pairs.len() as f64;
    let held = pairs.windows(2).map(|two| (two[1].0 - two[0].0) * two[0].1).sum::<f64>();
    (by_line, held / (pairs[pairs.len() - 1].0 - pairs[0].0))
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
        // The unit, which no such file states.
        let unit = (row[units] == "s, MByte/s").then_some(RateUnit::Mbyte);
        let options = TraceOptions { unit, once: false };
        match Trace::read(&corpus.join(row[path]), way, options) {
            Err(error) => wrong.push(error.to_string()),
            Ok(trace) => {
                let stated: f64 = row[mean].parse().expect("a mean rate in Mbit/s");
                let found = trace.mean().0 as f64 / 1e6;
                let mut expected = stated;
                if unit.is_some() {
                    // Puffer's lines are irregular, one per video chunk. The manifest's mean is over lines, a link's
                    // is over time: both are computed here.
                    let (by_line, by_time) = means(&corpus.join(row[path]));
                    assert!((by_line - stated).abs() <= 0.01 * stated, "{}: {by_line}", row[path]);
                    expected = by_time;
                }
                // The manifest has three decimals.
                if (found - expected).abs() > (0.01 * expected).max(0.0006) {
                    wrong.push(format!("{}: mean {found}, expected {expected}", row[path]));
                }
            }
        }
    }
    assert!(files > 700, "only {files} recordings are listed");
    assert!(wrong.is_empty(), "{} of {files}:\n{}", wrong.len(), wrong.join("\n"));
}
