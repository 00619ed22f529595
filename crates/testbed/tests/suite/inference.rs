//! Recordings without initiators: effect on page load times and the ratio of protocols.

use crate::common;

use std::path::{Path, PathBuf};

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use page::har::{self, ImportOptions};
use page::{Page, file};
use scenario::{Protocol, Tls};
use serde_json::Value;

const NETWORKS: [&str; 2] =
    ["rtt=47ms,down=3mbit,up=700kbit,queue=30pkt", "rtt=230ms,down=9mbit,up=2mbit,queue=100pkt"];

/// The recordings beside the checkout that state most initiators.
fn recordings() -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["../shared/data/har", "../../shared/data/har"].map(|f| root.join(f));
    let folder = folders.iter().find(|folder| folder.is_dir());
    let entries = folder.into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let parsed = files.into_iter().filter_map(|file| Some((parsed(&file)?, file)));
    parsed.map(|(har, file)| (file, har)).filter(|(_, har)| states_initiators(har)).collect()
}

fn parsed(file: &Path) -> Option<Value> {
    let bytes = std::fs::read(file).unwrap();
    let mut text = Vec::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => {
            let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
            std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
        }
        false => text = bytes,
    }
    serde_json::from_slice(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text)).ok()
}

fn entries(har: &mut Value) -> &mut Vec<Value> {
    har["log"]["entries"].as_array_mut().unwrap()
}

fn states_initiators(har: &Value) -> bool {
    let entries = har["log"]["entries"].as_array().unwrap();
    let states =
        |entry: &&Value| entry.get("_initiator").is_some_and(|of| !of.is_null() && of != "");
    let stating = entries.iter().filter(states).count();
    stating * 10 >= entries.len() * 6 && entries.len() <= 700
}

fn read(har: &Value) -> Page {
    har::parse("a.har", har.to_string().as_bytes(), &ImportOptions::default()).unwrap()
}

/// Page load times of a page, by network, over HTTP/1.1 and HTTP/2.
fn loads(simulator: &Simulator, page: &Page, at: &Path) -> Vec<[f64; 2]> {
    file::save(page, at).unwrap();
    let spec = at.to_str().unwrap();
    let plt = |network: &str, protocol| {
        let visit = visit(simulator, bare(spec, network, protocol, Tls::Tls12), 1);
        visit.record.plt_ns().unwrap() as f64
    };
    NETWORKS.map(|network| [plt(network, Protocol::H1), plt(network, Protocol::H2)]).to_vec()
}

/// The median and the 95th percentile of shifts, in per cent.
fn spread(mut shifts: Vec<f64>) -> (f64, f64) {
    shifts.sort_by(f64::total_cmp);
    let at = |share: f64| 100.0 * shifts[((shifts.len() - 1) as f64 * share).round() as usize];
    (at(0.5), at(0.95))
}

#[test]
#[ignore = "loads 27 recordings eight times each and prints a table: run it by name, with --nocapture"]
fn what_a_recording_without_initiators_changes() {
    let recordings = recordings();
    if recordings.is_empty() {
        println!("skipped: corpus absent");
        return;
    }
    let simulator = Simulator::default();
    let folder = tempfile::tempdir().unwrap();
    let (mut plts, mut ratios) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (number, (path, har)) in recordings.iter().enumerate() {
        let mut stripped = har.clone();
        for entry in entries(&mut stripped) {
            entry.as_object_mut().unwrap().retain(|name, _| !name.contains("nitiator"));
        }
        let [known, guessed] = [har, &stripped].map(read);
        let at = |what: &str| folder.path().join(format!("{number}-{what}.json"));
        let known = loads(&simulator, &known, &at("known"));
        let guessed = loads(&simulator, &guessed, &at("guessed"));
        print!("{:<40}", path.file_name().unwrap().to_string_lossy());
        for (network, (known, guessed)) in known.iter().zip(&guessed).enumerate() {
            let shift = [0, 1].map(|arm| guessed[arm] / known[arm]);
            plts.extend(shift.map(|shift| shift.ln().abs()));
            ratios[network].push((shift[0] / shift[1]).ln().abs());
            print!("  h1 {:.3}  h2 {:.3}  ratio {:.3}", shift[0], shift[1], shift[0] / shift[1]);
        }
        println!();
    }
    let (median, high) = spread(plts);
    println!("PLT moves by {median:.1} % at the median, {high:.1} % at p95");
    for (network, ratio) in NETWORKS.iter().zip(ratios) {
        let (median, high) = spread(ratio);
        println!("{network}: h1/h2 moves by {median:.1} % at the median, {high:.1} % at p95");
    }
}
