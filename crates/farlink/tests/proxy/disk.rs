//! The disk tier, seen from outside: the objects that survive each kind of end.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::Desk;
use crate::origin::{LARGE_BYTES, Origin, object};
use crate::running::{ARGUMENTS, Running, TEST_RULES, until};

/// A small memory before a larger disk.
const CACHE: &str = "[cache]\nmemory = \"2MiB\"\nobject = \"64KiB\"\ndisk = { path = \"store\", size = \"16MiB\" }\n\
                     [admin]\naddress = \"127.0.0.1:0\"\n";
const LISTEN: &str = "[[listen]]\naddress = \"127.0.0.1:0\"\n";

fn start() -> (Running, Origin) {
    (Running::start(&format!("{CACHE}{TEST_RULES}")), Origin::start())
}

/// Returns true if the answer came from the cache; checks its contents.
#[track_caller]
fn is_hit(proxy: &Running, origin: &Origin, number: u64) -> bool {
    let answer = proxy.get(&origin.url(&format!("/object/{number}")));
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{number}: {answer}"));
    assert!(head.starts_with("HTTP/1.1 200"), "{number}: {head}");
    assert!(body.as_bytes() == object(number), "{number}: {head}");
    head.contains("cache-status: farlink; hit")
}

#[test]
fn what_is_stored_survives_a_restart() {
    let (proxy, origin) = start();
    let (cached, validated) = (origin.url("/cached"), origin.url("/validated"));
    assert!(proxy.get(&cached).ends_with("\r\n\r\n1"));
    assert!(proxy.get(&validated).ends_with("once"));
    assert!(!is_hit(&proxy, &origin, 1));
    let proxy = proxy.again_after("TERM");
    let first = proxy.raw(&format!(
        "GET {cached} HTTP/1.1\r\nHost: x\r\nCache-Control: only-if-cached\r\nConnection: close\r\n\r\n"
    ));
    assert!(
        first.contains("cache-status: farlink; hit; ttl=") && first.ends_with("\r\n\r\n1"),
        "{first}"
    );
    assert!(first.contains("\r\nage: "), "{first}");
    assert!(is_hit(&proxy, &origin, 1));
    assert_eq!(origin.requests(), 3);
    let again = proxy.get(&validated);
    assert!(again.contains("fwd=stale; fwd-status=304") && again.ends_with("once"), "{again}");
    assert_eq!(proxy.metric("farlink_cache_disk_found_total"), 3);
    assert_eq!(proxy.metric("farlink_cache_disk_entries"), 3);
    // From memory now.
    assert!(is_hit(&proxy, &origin, 1));
    assert_eq!(proxy.metric("farlink_cache_disk_found_total"), 3);
    let nothing = proxy.raw(&format!(
        "GET {} HTTP/1.1\r\nHost: x\r\nCache-Control: only-if-cached\r\nConnection: close\r\n\r\n",
        origin.url("/other")
    ));
    assert!(nothing.starts_with("HTTP/1.1 504"), "{nothing}");
}

/// A response larger than all that may wait for the disk together is written, too.
#[test]
fn a_large_object_survives_a_restart() {
    let cache = "[cache]\nmemory = \"2GiB\"\nobject = \"20MiB\"\ndisk = { path = \"store\", size = \"512MiB\" }\n\
                 [admin]\naddress = \"127.0.0.1:0\"\n";
    let (proxy, origin) = (Running::start(&format!("{cache}{TEST_RULES}")), Origin::start());
    let large = origin.url("/large-cached");
    assert!(proxy.get(&large).len() > LARGE_BYTES);
    let proxy = proxy.again_after("TERM");
    assert_eq!(proxy.metric("farlink_cache_disk_entries"), 1);
    let again = proxy.get(&large);
    assert!(again.len() > LARGE_BYTES && again.contains("cache-status: farlink; hit"));
    assert_eq!(origin.requests(), 1);
}

#[test]
fn what_was_removed_stays_away() {
    let (proxy, origin) = start();
    let cached = origin.url("/cached");
    for number in 1..=3 {
        is_hit(&proxy, &origin, number);
    }
    proxy.get(&cached);
    until("all is written", || proxy.metric("farlink_cache_disk_written_total") == 4);
    // Invalidated by an unsafe request, before its answer arrives; by the operator.
    let posted = proxy.raw(&format!(
        "POST {cached} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
    assert!(posted.starts_with("HTTP/1.1 200"), "{posted}");
    let purge = |what: String| proxy.ask_admin("POST", &format!("/purge?{what}"));
    let purged = purge(format!("url={}", origin.url("/object/1")));
    assert!(purged.ends_with("1 in memory, 1 on disk\n"), "{purged}");
    let purged = purge(format!("prefix={}", origin.url("/object/2")));
    assert!(purged.ends_with("1 in memory, 1 on disk\n"), "{purged}");
    let proxy = proxy.again_after("KILL");
    assert!(!proxy.get(&cached).contains("farlink; hit"));
    assert!(
        !is_hit(&proxy, &origin, 1) && !is_hit(&proxy, &origin, 2) && is_hit(&proxy, &origin, 3)
    );
}

#[test]
fn what_leaves_memory_is_found_on_disk() {
    let (proxy, origin) = start();
    // Three times the memory's capacity.
    const OBJECTS: u64 = 500;
    for number in 0..OBJECTS {
        assert!(!is_hit(&proxy, &origin, number));
    }
    assert!(proxy.metric("farlink_cache_evicted_total") > 100);
    // On a busy machine the disk's thread may be later than requests wait for it.
    let late = || proxy.metric("farlink_cache_disk_late_total");
    let before = late();
    let missed = (0..OBJECTS).filter(|number| !is_hit(&proxy, &origin, *number)).count() as u64;
    let late = late() - before;
    assert_eq!(missed, late);
    assert!(late < OBJECTS / 10, "{late}");
    assert_eq!(origin.requests() as u64, OBJECTS + late);
}

#[test]
fn a_full_disk_stops_no_request() {
    let desk = Desk::new();
    desk.put("proxy.toml", format!("workers = 2\n{CACHE}{TEST_RULES}{LISTEN}"));
    // Files of at most 60 blocks, less than a segment: 30 KiB, or 60 if the shell counts in KiB.
    let proper = desk.command(ARGUMENTS);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -f 60 && exec \"$0\" \"$@\""]).arg(proper.get_program());
    command.args(proper.get_args()).current_dir(desk.path(""));
    let (proxy, origin) = (Running::begin(desk, command), Origin::start());
    for number in 0..100 {
        assert!(!is_hit(&proxy, &origin, number));
    }
    for number in 0..100 {
        assert!(is_hit(&proxy, &origin, number), "memory goes on");
    }
    assert_eq!(proxy.metric("farlink_cache_disk_failed_total"), 1);
    until("it is said", || proxy.said().contains("warning: failed to write to the disk cache"));
    let written = proxy.metric("farlink_cache_disk_written_total");
    assert_eq!(proxy.metric("farlink_cache_disk_skipped_total"), 100 - written);
    let proxy = proxy.again_after("TERM");
    let back = (0..100).filter(|number| is_hit(&proxy, &origin, *number)).count() as u64;
    assert_eq!(back, written, "what was written is whole");
}

/// Only one process may use a directory.
#[test]
fn a_directory_that_another_holds_is_refused() {
    let (proxy, _) = start();
    let second = proxy.desk.farlink("proxy --config proxy.toml");
    assert_eq!((second.code, second.out.as_str()), (3, ""), "{}", second.err);
    assert!(
        second.err.contains("store") && second.err.contains("another process"),
        "{}",
        second.err
    );
}

#[test]
fn a_kill_at_any_moment_costs_no_stored_object_its_integrity() {
    /// Another seed draws other moments.
    const SEED: u64 = 20_261_122;
    const OBJECTS: u64 = 300;
    let (mut proxy, origin) = start();
    let mut state = SEED;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut hits = 0;
    for round in 0..8 {
        let (address, first, pause) = (proxy.address, draw(OBJECTS), 20 + draw(150));
        let storm: Vec<_> = (0..3)
            .map(|client| {
                let origin = origin.clone();
                thread::spawn(move || {
                    // Until the proxy is gone.
                    for number in (first + client * 100..).map(|number| number % OBJECTS) {
                        let url = origin.url(&format!("/object/{number}"));
                        let request = format!(
                            "GET {url} HTTP/1.1\r\nHost: x\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n"
                        );
                        if crate::running::try_raw(address, &request).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(pause));
        proxy = proxy.again_after("KILL");
        storm.into_iter().for_each(|client| client.join().unwrap());
        // `is_hit` checks each byte.
        let found = (0..OBJECTS).filter(|number| is_hit(&proxy, &origin, *number)).count();
        println!("round {round}: {found} of {OBJECTS} from disk after a kill at {pause} ms");
        hits += found;
    }
    assert!(hits > 0, "nothing survived at all");
}
