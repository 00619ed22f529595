//! Journeys of several visits: state kept between visits, start of the next visit, and an unchanged result for
//! a single page.

use crate::common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{bare, check_floor, journey};
use farlink_testbed::simulate::Simulator;
use farlink_testbed::tour::page_ref;
use record::{ConnectionRecord, VisitOutcome};
use scenario::{Execute, MeasuredVisit, Order, Plan};
use scenario::{NetworkSpec, Protocol, Scenario, Tls};
use store::runner::{self, Progress, RunOutcome};
use store::{RunFacts, Store};

const FAST: &str = "rtt=100ms,down=100mbit,up=100mbit,queue=1000pkt";

/// The visits of a journey; each is checked against its floor.
fn visits(scenario: Scenario) -> Vec<MeasuredVisit> {
    assert_eq!(scenario.contradiction(), None);
    let planned = scenario.visits_each() * scenario.clients.count;
    let result = Simulator::default().execute(&journey(scenario, 1));
    assert_eq!(result.failure, None);
    assert_eq!(result.visits.len(), planned as usize);
    result.visits.iter().for_each(check_floor);
    result.visits
}

/// A scenario that visits its page several times.
fn again(mut scenario: Scenario, times: u32, keeps: &str) -> Scenario {
    scenario.journey.times = times;
    scenario.journey.keeps = keeps.parse().unwrap();
    scenario
}

/// A scenario that visits a list of these pages, written to `folder`.
fn through(folder: &Path, pages: &[&str], mut scenario: Scenario) -> Scenario {
    let path = folder.join("sites.pages.toml");
    let pages = pages.iter().map(|page| format!("\"{page}\"")).collect::<Vec<_>>().join(", ");
    let text = format!("format = \"farlink-page-list\"\nversion = 1\npages = [{pages}]\n");
    std::fs::write(&path, text).unwrap();
    scenario.page = page_ref(path.to_str().unwrap());
    scenario
}

fn plt(visit: &MeasuredVisit) -> u64 {
    visit.record.plt_ns().expect("the page loads")
}

fn ttfb_round_trips(visit: &MeasuredVisit) -> f64 {
    let ttfb = visit.record.ttfb_ns.expect("a first byte") as f64;
    (ttfb / 100e6).round()
}

fn pages(visits: &[MeasuredVisit]) -> Vec<&str> {
    visits.iter().map(|visit| visit.record.page.as_deref().unwrap_or("")).collect()
}

#[test]
fn a_list_of_one_page_is_that_page() {
    let folder = tempfile::tempdir().unwrap();
    let lossy = "rtt=80ms,down=8mbit,up=2mbit,loss=1%,queue=50pkt";
    for protocol in [Protocol::H1, Protocol::H2, Protocol::Spdy, Protocol::H3Deployed] {
        let alone = bare("synthetic:40x12KB@3hosts", lossy, protocol, Tls::Tls13);
        let mut listed = through(folder.path(), &["synthetic:40x12KB@3hosts"], alone.clone());
        listed.journey.pace = "every=60s".parse().unwrap();
        let [alone, listed] = [alone, listed].map(|scenario| visits(scenario).remove(0));
        assert_eq!(alone.record.trace_digest, listed.record.trace_digest, "{protocol}");
        assert_eq!((alone.record.page, listed.record.page.is_some()), (None, true));
    }
}

#[test]
fn tcp_remembers_the_queue_that_it_has_filled() {
    // Slow start overflows this queue; the saved metrics keep the next connection from doing so.
    let short = "rtt=100ms,down=5mbit,up=5mbit,queue=20pkt";
    let with = |keeps: &str| {
        let mut scenario = bare("synthetic:1x600KB", short, Protocol::H1, Tls::None);
        scenario.transport.server = "linux-3.2,hz=exact".parse().unwrap();
        scenario.transport.client = scenario.transport.server.clone();
        // TCP's clocks have ticks: each visit begins on one.
        scenario.journey.pace = "every=60s".parse().unwrap();
        visits(again(scenario, 3, keeps))
    };
    let forgotten = with("nothing");
    assert!(forgotten[0].record.queue_drops > 0);
    assert_eq!(forgotten.iter().map(plt).collect::<Vec<_>>(), [plt(&forgotten[0]); 3]);
    let kept = with("metrics");
    assert_eq!(plt(&kept[0]), plt(&forgotten[0]));
    assert!(kept[1].record.queue_drops < kept[0].record.queue_drops);
    assert_ne!(plt(&kept[1]), plt(&kept[0]));
}

#[test]
fn kept_connections_save_their_handshakes() {
    let second = |keeps: &str| {
        let scenario = bare("synthetic:20x1KB", FAST, Protocol::H2, Tls::Tls12);
        visits(again(scenario, 2, keeps)).remove(1)
    };
    // TCP, two of TLS 1.2, the request; one of TLS if the session is resumed; only the request.
    let trips =
        ["nothing", "sessions", "connections"].map(|keeps| ttfb_round_trips(&second(keeps)));
    assert_eq!(trips, [4.0, 3.0, 1.0]);
}

#[test]
fn a_kept_connection_is_accounted_for_by_visit() {
    let scenario = bare("synthetic:30x10KB", FAST, Protocol::H2, Tls::Tls13);
    let visits = visits(again(scenario, 3, "connections"));
    let of = |visit: &MeasuredVisit| -> ConnectionRecord {
        let [one] = &visit.record.connections[..] else { panic!("one connection carries all") };
        one.clone()
    };
    let [first, second, third] = [0, 1, 2].map(|index| of(&visits[index]));
    assert_eq!([first.requests, second.requests, third.requests], [31; 3]);
    assert_eq!(first.opened_at_ns, second.opened_at_ns);
    assert!(second.opened_at_ns < visits[1].record.started_at_ns);
    // The handshake's bytes count for the first visit; header compression saves some later on.
    assert!(second.bytes_down < first.bytes_down && second.bytes_down > 300_000, "{second:?}");
    assert!(third.bytes_up <= second.bytes_up && third.busy_ns < 2 * second.busy_ns, "{third:?}");
    assert!(visits[2].record.objects.iter().all(|object| object.reused));
}

#[test]
fn what_is_kept_is_what_was_asked_for() {
    let mut scenario = bare("synthetic:10x1KB@2hosts", FAST, Protocol::H1, Tls::None);
    scenario.resolution = "on".parse().unwrap();
    let asked = |keeps: &str| {
        let visit = visits(again(scenario.clone(), 2, keeps)).remove(1);
        let dns = visit.record.objects.iter().any(|object| object.phases.dns_ns > 0);
        let requests = visit.record.objects.iter().filter(|o| o.protocol != "cache").count();
        (dns, requests < 11, visit.record.view)
    };
    assert_eq!(asked("nothing"), (true, false, "cold".to_owned()));
    assert_eq!(asked("names"), (false, false, "cold".to_owned()));
    // Objects from the cache need no address.
    assert_eq!(asked("cache"), (false, true, "warm".to_owned()));
}

#[test]
fn the_radio_goes_on_between_visits() {
    let promotions = |pace: &str| {
        let umts = "rtt=100ms,down=6mbit,up=1mbit,queue=500pkt,radio=umts";
        let mut scenario = bare("synthetic:20x16KB", umts, Protocol::H2, Tls::None);
        scenario.journey.pace = pace.parse().unwrap();
        let visits = visits(again(scenario, 2, "connections,metrics"));
        let radio = |index: usize| visits[index].record.radio.clone().expect("a radio");
        assert!(radio(0).promotions > 0);
        (radio(1).promotions, visits[1].record.ttfb_ns.unwrap())
    };
    let [awake, dozing, asleep] = ["think=1s", "think=10s", "think=60s"].map(promotions);
    assert_eq!(awake.0, 0, "DCH is kept for 5 s");
    assert!(dozing.0 > 0 && asleep.0 > 0);
    assert!(awake.1 < dozing.1 && dozing.1 < asleep.1, "{awake:?} {dozing:?} {asleep:?}");
}

#[test]
fn a_pace_says_when_visits_begin() {
    let starts = |pace: &str| {
        let mut scenario = bare("synthetic:20x16KB", FAST, Protocol::H2, Tls::Tls13);
        scenario.journey.pace = pace.parse().unwrap();
        let visits = visits(again(scenario, 3, "nothing"));
        let starts: Vec<u64> = visits.iter().map(|visit| visit.record.started_at_ns).collect();
        (starts, visits.iter().map(plt).collect::<Vec<_>>())
    };
    let (every, _) = starts("every=60s");
    assert_eq!(every, [0, 60_000_000_000, 120_000_000_000]);
    let (think, plt) = starts("think=10s");
    assert_eq!(think[1], plt[0] + 10_000_000_000);
    let (hurried, plt) = starts("every=1ms");
    assert_eq!(hurried[1], plt[0], "at once, not before");
}

#[test]
fn pages_share_the_hosts_that_they_have_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let list = ["synthetic:4x1KB", "synthetic:6x2KB@2hosts", "bth2013", "synthetic:4x1KB"];
    let scenario = bare("", FAST, Protocol::H2, Tls::Tls13);
    let scenario = through(folder.path(), &list, again(scenario, 1, "connections"));
    let visits = visits(scenario);
    assert_eq!(pages(&visits), list);
    let opened = |visit: &MeasuredVisit| {
        let began = visit.record.started_at_ns;
        visit.record.connections.iter().filter(|c| c.opened_at_ns >= began).count()
    };
    assert_eq!(opened(&visits[0]), 1);
    assert_eq!(opened(&visits[3]), 0, "its host is known from the first");
    for visit in &visits {
        let record = &visit.record;
        assert!(record.objects.iter().all(|o| o.error.is_none() && o.status != 404), "{record:?}");
        let name = record.page.as_deref().unwrap();
        let bytes: u64 = record.objects.iter().map(|object| object.body_bytes).sum();
        assert_eq!(bytes, page::open(name).unwrap().body_bytes(), "{name}");
    }
}

#[test]
fn a_visit_that_fails_does_not_end_the_journey() {
    let folder = tempfile::tempdir().unwrap();
    let mut stuck = page::open("synthetic:3x1KB").unwrap();
    stuck.objects[2].think.value = Duration::from_secs(700);
    page::file::save(&stuck, &folder.path().join("stuck.json")).unwrap();
    let list = ["synthetic:4x1KB", "stuck.json", "bth2013", "synthetic:4x1KB"];
    let mut scenario = bare("", FAST, Protocol::H1, Tls::None);
    let bth2013 = page::open("bth2013").unwrap();
    scenario.client.blocked_hosts = vec![bth2013.host_of(bth2013.root()).name.clone()];
    let visits = visits(through(folder.path(), &list, again(scenario, 1, "connections")));
    let reason = |index: usize| match &visits[index].record.outcome {
        VisitOutcome::Failed { reason } => reason.clone(),
        VisitOutcome::Loaded { .. } => String::new(),
    };
    assert!(reason(1).contains("had not loaded after 600 s"), "{}", reason(1));
    assert!(reason(2).contains("blocked"), "{}", reason(2));
    assert_eq!((reason(0), reason(3)), (String::new(), String::new()));
    // The browser that was closed because of the second page has none of its connections.
    let began = visits[3].record.started_at_ns;
    assert!(visits[3].record.connections.iter().all(|one| one.opened_at_ns >= began));
}

/// Journeys through four pages by two arms, several times.
fn plan(folder: &Path, order: &str) -> Plan {
    let list = ["synthetic:4x1KB", "synthetic:6x2KB@2hosts", "synthetic:9x3KB", "synthetic:2x9KB"];
    let cells = [Protocol::H1, Protocol::H2].map(|protocol| {
        let network = NetworkSpec::parse("rtt=80ms,down=8mbit,up=2mbit,loss=1%").unwrap();
        let mut scenario = through(folder, &list, Scenario::new("", network));
        scenario.stack.protocol = protocol;
        scenario.journey.order = order.parse().unwrap();
        again(scenario, 1, "connections,metrics")
    });
    Plan::new("journeys", 3, 4, Order::Random, cells.to_vec())
}

#[test]
fn arms_have_the_same_order_of_pages() {
    let folder = tempfile::tempdir().unwrap();
    let orders = |order: &str| -> Vec<Vec<String>> {
        let plan = plan(folder.path(), order);
        let of = |position| {
            let visits = Simulator::default().execute(&plan.journey(position)).visits;
            pages(&visits).into_iter().map(str::to_owned).collect()
        };
        (0..plan.journey_count()).map(of).collect()
    };
    let drawn = orders("drawn");
    assert!(drawn.iter().all(|order| *order == drawn[0]));
    let anew = orders("drawn-anew");
    assert_eq!(anew[..4], anew[4..], "the second arm's are the first's");
    assert!(anew[1..4].iter().any(|order| *order != anew[0]), "{anew:?}");
}

fn facts() -> RunFacts {
    RunFacts {
        experiment: None,
        command: "a test".to_owned(),
        machine: "test".to_owned(),
        workers: 2,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
    }
}

#[test]
fn a_run_that_was_stopped_goes_on_with_whole_journeys() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), "drawn-anew");
    let simulator = Simulator::default();
    let digest = |name: &str, stop_after: u64| {
        let mut store = Store::create(&folder.path().join(name)).unwrap();
        let run = store.begin_run(&plan, &facts()).unwrap();
        loop {
            let cancel = AtomicBool::new(false);
            let mut begun = None;
            let mut stop = |progress: Progress| {
                let first = *begun.get_or_insert(progress.done);
                cancel.store(progress.done >= first + stop_after, Ordering::Relaxed);
            };
            let ended =
                runner::run(&mut store, run, &plan, &simulator, 2, &cancel, &mut stop).unwrap();
            let mut by_journey = std::collections::BTreeMap::new();
            for visit in store.visits(run).unwrap() {
                *by_journey.entry(visit.key.journey).or_insert(0) += 1;
            }
            assert!(by_journey.values().all(|visits| *visits == 4), "{by_journey:?}");
            if ended == RunOutcome::Complete {
                return store.digest(run).unwrap();
            }
        }
    };
    assert_eq!(digest("stopped", 1), digest("whole", 100));
}

#[test]
fn every_client_makes_the_whole_journey() {
    let mut scenario = bare("synthetic:10x4KB", FAST, Protocol::H2, Tls::Tls13);
    scenario.clients.count = 3;
    let scenario = again(scenario, 2, "nothing");
    let who: Vec<(u32, u32)> = (0..6).map(|visit| scenario.who(visit)).collect();
    assert_eq!(who, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    let visits = visits(scenario);
    let indices: Vec<u32> = visits.iter().map(|visit| visit.record.index).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4, 5]);
    let starts: Vec<u64> = visits.iter().map(|visit| visit.record.started_at_ns).collect();
    assert_eq!((starts[0], starts[2], starts[4]), (0, 0, 0));
    assert!(starts[1] > 10_000_000_000);
}

#[test]
fn a_list_that_was_edited_since_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = bare("", FAST, Protocol::H2, Tls::Tls13);
    let planned = through(folder.path(), &["bth2013", "synthetic:1x1KB"], scenario.clone());
    let edited = through(folder.path(), &["synthetic:1x1KB", "bth2013"], scenario);
    assert_ne!(planned.page.digest, edited.page.digest);
    let result = Simulator::default().execute(&journey(planned, 1));
    assert!(result.failure.as_deref().is_some_and(|why| why.contains("other pages")), "{result:?}");
}
