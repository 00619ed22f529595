//! Every recorded page of the corpus loads over every protocol, with the same bytes.

mod common;

use std::path::{Path, PathBuf};

use common::{bare, check_floor};
use farlink_lab::Execute;
use farlink_lab::scenario::{Protocol, Tls};
use farlink_lab::simulate::Simulator;

/// The corpus lies beside the checkout; it is other people's data and not in it.
fn corpus() -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = ["../shared/data/har", "../../shared/data/har"]
        .into_iter()
        .map(|folder| root.join(folder))
        .find(|folder| folder.is_dir())?;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    Some(files)
}

#[test]
fn every_recorded_page_loads() {
    let Some(files) = corpus() else {
        println!("skipped: corpus absent");
        return;
    };
    let simulator = Simulator::default();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy();
        let page = page::open(file.to_str().unwrap()).unwrap();
        for protocol in
            [Protocol::H10, Protocol::H1, Protocol::H2, Protocol::Spdy, Protocol::H3Deployed]
        {
            let scenario = bare(file.to_str().unwrap(), "4g", protocol, Tls::Tls13);
            let result = simulator.execute(&common::journey(scenario, 1));
            assert_eq!(result.failure, None, "{name}");
            let visit = &result.visits[0];
            let plt = visit
                .record
                .plt_ns()
                .unwrap_or_else(|| panic!("{name}: {:?}", visit.record.outcome));
            check_floor(visit);
            let failed: Vec<_> =
                visit.record.objects.iter().filter(|o| o.error.is_some()).collect();
            assert!(failed.is_empty(), "{name}: {failed:?}");
            assert_eq!(visit.record.objects.len(), page.objects.len(), "{name}");
            // Requests for one URL are answered in turn: which of them came first is the arm's affair.
            let mut got: Vec<_> =
                visit.record.objects.iter().map(|o| (o.url.as_str(), o.body_bytes)).collect();
            let mut recorded: Vec<_> =
                page.objects.iter().map(|o| (o.url.as_str(), o.body_bytes)).collect();
            got.sort_unstable();
            recorded.sort_unstable();
            assert_eq!(got, recorded, "{name}");
            let floor = visit.floors.unwrap().graph_ns;
            println!(
                "{name:45} {protocol:11}  {:4} requests  PLT {:6.2} s  floor {:6.2} s",
                page.objects.len(),
                plt as f64 / 1e9,
                floor as f64 / 1e9
            );
        }
    }
}
