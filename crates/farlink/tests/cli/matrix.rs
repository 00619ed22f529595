//! Recorded pages over every protocol and security, emulated: the same bytes arrive over the kernel's TCP and UDP
//! as in simulation.
//!
//! (All pages of the corpus over everything in simulation: the crate `testbed`'s test `corpus`.)

#![expect(
    clippy::disallowed_methods,
    reason = "the tests ask whether they run in continuous integration"
)]

use std::path::{Path, PathBuf};

use crate::common::Desk;

/// Pages of all kinds and decades, none of them large: each is loaded over twenty times, in real time.
const PAGES: [&str; 10] = [
    "wikipedia-portal-2010-ie.har",
    "wikipedia-portal-2026-chrome.har",
    "wikipedia-spdy-2016-chrome.har",
    "github-2015-wpt.har",
    "sitespeed-2018-chrome.har",
    "nghttp2-2017-chrome.har",
    "http2-github-io-2018-chrome.har",
    "reactstarterkit-2024-chrome.har",
    "amazon-2026-chrome-h3.har",
    "squoosh-2024-chrome.har",
];

const OVER_TCP: &str = "h1.0,h1,h1-pipelined,h2,spdy,spdy/3,spdy/2";
const OVER_ALL: &str = "h1.0,h1,h1-pipelined,h2,spdy,spdy/3,spdy/2,h3-deployed,h3-matched";

/// Fast and near: the network is not under test. No client compute, which would only take time.
const REST: &str = "--network rtt=10ms,down=100mbit,up=100mbit --device zero --no-noise -n 1";

/// The corpus lies beside the checkout; it is third-party data and not part of it.
fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared/data/har", "../../shared/data/har"].into_iter();
    places.map(|place| root.join(place)).find(|place| place.is_dir())
}

/// Loads a page over everything; returns the tables of the arrived bodies, by arm. It is loaded as recorded: without a
/// directory to keep it in, each process of an emulated load would fit it to its recording anew.
fn arrived(page: &Path, world: &str) -> Vec<(String, String)> {
    let desk = Desk::new();
    let page = format!("{}~as-recorded", page.display());
    for (tls, protocols) in [("none", OVER_TCP), ("tls12", OVER_TCP), ("tls13", OVER_ALL)] {
        let mut arguments = vec!["load", page.as_str()];
        let rest = format!(
            "{REST} --world {world} --protocol {protocols} --tls {tls} --json --trace bodies={tls}.csv"
        );
        arguments.extend(rest.split(' '));
        desk.run(&arguments).ok();
    }
    desk.names().into_iter().map(|name| (name.clone(), desk.read(&name))).collect()
}

/// Lines without the object's number: requests for one address are answered in turn, in order of arrival.
fn contents(table: &str) -> Vec<&str> {
    let mut lines: Vec<&str> =
        table.lines().skip(1).filter_map(|line| Some(line.split_once(',')?.1)).collect();
    lines.sort_unstable();
    lines
}

fn compare(page: &Path, worlds: &[&str]) {
    let mut all = Vec::new();
    for world in worlds {
        let tables = arrived(page, world);
        assert_eq!(tables.len(), 23, "{} in {world}: {tables:?}", page.display());
        all.extend(tables.into_iter().map(|(arm, table)| (format!("{world} {arm}"), table)));
    }
    let (first, others) = all.split_first().unwrap();
    assert!(!contents(&first.1).is_empty(), "{}", page.display());
    for (arm, table) in others {
        let (one, other) = (contents(&first.1), contents(table));
        assert_eq!(one, other, "{}: {} and {arm}", page.display(), first.0);
    }
    println!("{}: {} loads, {} bodies each", page.display(), all.len(), contents(&first.1).len());
}

#[test]
fn a_recorded_page_arrives_the_same_over_everything() {
    match corpus() {
        None => println!("skipped: corpus absent"),
        Some(corpus) => compare(&corpus.join(PAGES[1]), &["sim"]),
    }
}

/// Real-time tests, which need an idle machine.
mod real_time {
    use super::*;

    fn compare_in_both_worlds(pages: &[&str]) {
        let Some(corpus) = corpus() else {
            println!("skipped: corpus absent");
            return;
        };
        if !emu::diagnosis::missing(None).is_empty() {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "no namespaces in CI");
            println!("skipped: no network namespaces can be made here (farlink doctor says why)");
            return;
        }
        for page in pages {
            compare(&corpus.join(page), &["sim", "emu"]);
        }
    }

    #[test]
    fn a_recorded_page_arrives_the_same_in_both_worlds() {
        compare_in_both_worlds(&PAGES[1..2]);
    }

    #[test]
    #[ignore = "takes minutes: 230 loads in real time"]
    fn ten_recorded_pages_arrive_the_same_in_both_worlds() {
        compare_in_both_worlds(&PAGES);
    }
}
