//! Every recorded page of the corpus loads over every valid combination of protocol and security, and the same
//! bytes arrive.

use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{bare, check_floor, check_render};
use farlink_testbed::simulate::Simulator;
use farlink_testbed::tour::Library;
use page::Page;
use scenario::{Protocol, Scenario, Tls};

/// The corpus lies beside the checkout; it is third-party data and not part of it.
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

/// All arms that can carry a page, except the recorded one.
fn arms(page: &str) -> Vec<Scenario> {
    let protocols = Protocol::ALL.iter().filter(|protocol| **protocol != Protocol::Recorded);
    let arms = protocols.flat_map(|protocol| Tls::ALL.iter().map(|tls| (*protocol, *tls)));
    let scenarios = arms.map(|(protocol, tls)| bare(page, "4g", protocol, tls));
    scenarios.filter(|scenario| scenario.contradiction().is_none()).collect()
}

/// Arrived objects: URL, size and digest of the body.
type Arrived = Vec<(String, u64, String)>;

/// Loads the page once and checks that nothing failed and no floor was beaten.
fn load(simulator: &Simulator, scenario: &Scenario, page: &Page) -> Arrived {
    let what = format!("{} over {} and {}", page.name, scenario.stack.protocol, scenario.stack.tls);
    let observed =
        simulator.observe_bodies(scenario, 1).unwrap_or_else(|why| panic!("{what}: {why}"));
    let measured = &observed.result.visits[0];
    assert!(measured.record.plt_ns().is_some(), "{what}: {:?}", measured.record.outcome);
    check_floor(measured);
    check_render(measured);
    let objects = &measured.record.objects;
    let failed: Vec<_> = objects.iter().filter(|object| object.error.is_some()).collect();
    assert!(failed.is_empty(), "{what}: {failed:?}");
    assert_eq!(objects.len(), page.objects.len(), "{what}");
    let visit = observed.visits().next().expect("a journey has a visit");
    let bodies = visit.bodies().into_iter();
    let arrived = bodies.map(|body| {
        let url = page.objects[body.object as usize].url.clone();
        (url, body.bytes, body.digest.clone())
    });
    let mut arrived: Arrived = arrived.collect();
    // Requests for one URL are answered in turn: their order depends on the arm.
    arrived.sort_unstable();
    let got = arrived.iter().map(|(url, bytes, _)| (url.as_str(), *bytes));
    let mut recorded: Vec<_> =
        page.objects.iter().map(|object| (object.url.as_str(), object.body_bytes)).collect();
    recorded.sort_unstable();
    assert!(got.eq(recorded), "{what}: other bodies than those recorded");
    arrived
}

/// A recorded page as it was read, and a simulator that knows it: fits to the recording take minutes, and are tested elsewhere.
fn unfitted(spec: &str) -> (Page, Simulator) {
    let page = page::open(spec).unwrap();
    let library = Library::of_page(spec, page.clone()).unwrap();
    (page, Simulator::new(Arc::new(library)))
}

/// Loads a page over every arm; returns the number of arms.
fn compare(file: &Path) -> usize {
    let spec = file.to_str().expect("the corpus has plain names");
    let (page, simulator) = unfitted(spec);
    let arms = arms(spec);
    let mut arrived = arms.iter().map(|arm| load(&simulator, arm, &page));
    let first = arrived.next().expect("there are arms");
    for (arm, other) in arms[1..].iter().zip(arrived) {
        let (protocol, tls) = (arm.stack.protocol, arm.stack.tls);
        assert_eq!(first, other, "{}: {protocol} and {tls} carried something else", page.name);
    }
    arms.len()
}

#[test]
fn every_recorded_page_arrives_the_same_over_everything() {
    let Some(files) = corpus() else {
        println!("skipped: corpus absent");
        return;
    };
    // One worker per processor, the largest pages first: otherwise one of them delays the end.
    let mut files = files;
    files.sort_by_key(|file| {
        std::cmp::Reverse(page::open(file.to_str().unwrap()).unwrap().body_bytes())
    });
    let next = AtomicUsize::new(0);
    let work = || {
        let claim = || files.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(claim).map(|file| compare(file)).sum::<usize>()
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let loads: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a page arrives the same")).sum()
    });
    assert!(!files.is_empty() && loads >= 23 * files.len(), "{loads} loads of {}", files.len());
    println!("{loads} loads of {} pages", files.len());
}

/// Networks on which first renders used to come after the load event.
const NETWORKS: [&str; 3] = [
    "rtt=20ms,down=50mbit,up=10mbit,queue=1bdp",
    "rtt=150ms,down=1600kbit,up=768kbit,queue=30pkt",
    "rtt=620ms,down=20mbit,up=2mbit,queue=1bdp",
];

#[test]
fn nothing_is_rendered_after_the_load_event() {
    let Some(files) = corpus() else {
        println!("skipped: corpus absent");
        return;
    };
    let next = AtomicUsize::new(0);
    let arms =
        [(Protocol::H1, Tls::None), (Protocol::H2, Tls::Tls13), (Protocol::H3Deployed, Tls::Tls13)];
    let work = || {
        let claim = || files.get(next.fetch_add(1, Ordering::Relaxed));
        let mut blocked = 0;
        for file in std::iter::from_fn(claim) {
            let spec = file.to_str().expect("the corpus has plain names");
            let (page, simulator) = unfitted(spec);
            blocked += usize::from(page.objects.iter().any(|object| object.blocks_render));
            for (network, (protocol, tls)) in
                NETWORKS.into_iter().flat_map(|n| arms.map(|arm| (n, arm)))
            {
                check_render(&common::visit(&simulator, bare(spec, network, protocol, tls), 1));
            }
        }
        blocked
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let blocked: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("the law holds")).sum()
    });
    assert!(blocked >= 25, "of {} pages only {blocked} have something that blocks", files.len());
}
