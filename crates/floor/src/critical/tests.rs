//! Visits whose critical path can be worked out on paper.

use std::collections::BTreeSet;
use std::time::Duration;

use net::Network;
use page::{After, Page};
use record::{
    ConnectionRecord, CriticalPath, NetworkActivity, ObjectRecord, PathCause, Period, Phases,
    VisitOutcome, VisitRecord,
};

use super::{FloorOfVisit, critical_path, render_path};
use crate::tests::{after, ms, object, page};
use crate::{Floors, Origins, PageLoad, Path};

const MS: u64 = 1_000_000;

/// 100 packets of document, then as many of an image, over a link with a round trip of 100 ms that carries a packet in 1.2 ms.
fn two_objects() -> Page {
    let document = object(1448 * 100, vec![]);
    let image = object(1448 * 100, vec![after(0, After::End, ms(5))]);
    page(vec![document, image], &[ms(0)])
}

fn record(index: u32, discovered_ms: u64, phases: [u64; 5], done_ms: u64) -> ObjectRecord {
    let [blocked, connect, send, wait, receive] = phases.map(|ms| ms * MS);
    ObjectRecord {
        object: index,
        url: String::new(),
        method: "GET".to_owned(),
        kind: "Image".to_owned(),
        status: 200,
        protocol: "h2".to_owned(),
        connection: Some(0),
        reused: index > 0,
        discovered_at_ns: discovered_ms * MS,
        revealed_by: None,
        revealed_at_ns: None,
        phases: Phases {
            blocked_ns: blocked,
            connect_ns: connect,
            send_ns: send,
            wait_ns: wait,
            receive_ns: receive,
            ..Phases::default()
        },
        done_at_ns: done_ms * MS,
        request_header_bytes: 0,
        request_body_bytes: 0,
        response_header_bytes: 0,
        body_bytes: 1448 * 100,
        priority: "Low".to_owned(),
        blocks_render: false,
        error: None,
    }
}

fn visit(objects: Vec<ObjectRecord>, plt_ms: u64, activity: NetworkActivity) -> VisitRecord {
    VisitRecord {
        index: 0,
        view: "cold".to_owned(),
        page: None,
        started_at_ns: 0,
        outcome: VisitOutcome::Loaded { plt_ns: plt_ms * MS },
        ttfb_ns: None,
        objects,
        connections: vec![ConnectionRecord::default()],
        links: Vec::new(),
        events: Vec::new(),
        wire_bytes_down: 0,
        wire_bytes_up: 0,
        queue_drops: 0,
        losses: 0,
        trace_digest: None,
        emulation: None,
        paint: None,
        radio: None,
        series: None,
        activity,
    }
}

fn period(from_ms: u64, until_ms: u64) -> Period {
    Period { from_ns: from_ms * MS, until_ns: until_ms * MS }
}

fn path_of(page: &Page, visit: &VisitRecord) -> (CriticalPath, Duration) {
    let network = Network::parse("rtt=100ms,down=10mbit,up=5mbit").expect("valid");
    let (no_work, none) = (vec![ms(0); page.objects.len()], BTreeSet::new());
    let load = PageLoad { page, object_work: &no_work, from_cache: &none, at_proxy: &none };
    let path = Path::over(&network, Origins::Equal);
    let floor = Floors::of(&load, &path).graph;
    let of_visit = FloorOfVisit { floor, radio_wait: Duration::ZERO };
    (critical_path(&load, &path, visit, of_visit).expect("it loaded"), floor)
}

fn excess_ms(path: &CriticalPath, cause: PathCause) -> i64 {
    (path.excess_ns(cause) + MS as i64 / 2) / MS as i64
}

/// The document: a handshake of 100 ms, a round trip, and 220 ms of response, in 100 of which the link was idle as the
/// window was too small. 5 ms of compute lead to the image, which waits 30 ms for a stream, and loses a packet: 90 ms.
#[test]
fn each_wait_has_its_cause() {
    let page = two_objects();
    let objects =
        vec![record(0, 0, [0, 100, 0, 100, 220], 420), record(1, 425, [30, 0, 0, 100, 210], 765)];
    let activity = NetworkActivity {
        // At the bottleneck, 50 ms before arrival.
        busy: vec![period(150, 180), period(280, 370), period(505, 535), period(625, 715)],
        losses: vec![(Some(0), period(535, 625)), (Some(1), period(280, 370))],
        radio: Vec::new(),
    };
    let (path, floor) = path_of(&page, &visit(objects, 765, activity));
    assert_eq!(path.total_excess_ns(), 765 * MS as i64 - floor.as_nanos() as i64);
    assert_eq!(excess_ms(&path, PathCause::Handshake), 100);
    assert_eq!(excess_ms(&path, PathCause::Window), 100);
    assert_eq!(excess_ms(&path, PathCause::Connection), 30);
    assert_eq!(excess_ms(&path, PathCause::Loss), 90);
    assert_eq!(excess_ms(&path, PathCause::Compute), 0);
    assert_eq!(excess_ms(&path, PathCause::Queue), 0);
    let ends: Vec<u64> = path.steps.iter().map(|step| step.until_ns).collect();
    let begins: Vec<u64> = path.steps.iter().map(|step| step.from_ns).collect();
    assert_eq!((begins[0], ends[ends.len() - 1]), (0, 765 * MS));
    assert_eq!(begins[1..], ends[..ends.len() - 1], "without gaps");
}

/// An image that waits for others at the link: what the floor needs as well is not charged.
#[test]
fn bytes_of_the_page_that_the_floor_needs_are_no_excess() {
    let document = object(1448, vec![]);
    let image = || object(1448 * 100, vec![after(0, After::End, ms(0))]);
    let page = page(vec![document, image(), image()], &[ms(0)]);
    let objects = vec![
        record(0, 0, [0, 0, 0, 100, 2], 102),
        record(1, 102, [0, 0, 0, 100, 125], 327),
        record(2, 102, [0, 0, 0, 220, 140], 462),
    ];
    // 241 ms of transmission, of which the floor has all, and 19 of something else.
    let activity = NetworkActivity { busy: vec![period(152, 412)], ..NetworkActivity::default() };
    let (path, floor) = path_of(&page, &visit(objects, 462, activity));
    let excess = 462 * MS as i64 - floor.as_nanos() as i64;
    assert_eq!(path.total_excess_ns(), excess);
    // The document came 0.8 ms later than at the full rate.
    assert_eq!(path.excess_ns(PathCause::Queue), excess - 800_000);
}

#[test]
fn a_visit_that_beat_its_floor_says_so() {
    let page = two_objects();
    let objects =
        vec![record(0, 0, [0, 0, 0, 50, 100], 150), record(1, 155, [0, 0, 0, 50, 95], 300)];
    let (path, floor) = path_of(&page, &visit(objects, 300, NetworkActivity::default()));
    assert_eq!(path.total_excess_ns(), 300 * MS as i64 - floor.as_nanos() as i64);
    assert!(path.excess_ns(PathCause::Other) < 0);
}

#[test]
fn a_first_render_waits_for_what_blocks_it() {
    let page = two_objects();
    let document = record(0, 0, [0, 200, 0, 100, 120], 440);
    let mut image = record(1, 440, [0, 0, 0, 100, 120], 660);
    image.blocks_render = true;
    let mut first = document.clone();
    first.kind = "Document".to_owned();
    let visit = visit(vec![first, image], 700, NetworkActivity::default());
    let network = Network::parse("rtt=100ms,down=10mbit,up=5mbit").expect("valid");
    let (no_work, none) = (vec![ms(0); 2], BTreeSet::new());
    let load = PageLoad { page: &page, object_work: &no_work, from_cache: &none, at_proxy: &none };
    let path = Path::over(&network, Origins::Equal);
    let steps = render_path(&load, &path, &visit, Duration::ZERO).expect("it rendered").steps;
    let last = steps.last().expect("it has steps");
    assert_eq!((last.until_ns, last.object), (660 * MS, 1), "the image, not the load event");
    // Without anything that blocks it, the document's first byte is enough.
    let mut alone = visit.clone();
    alone.objects.truncate(1);
    let steps = render_path(&load, &path, &alone, Duration::ZERO).expect("it rendered").steps;
    let last = steps.last().expect("it has steps");
    assert_eq!((last.until_ns, last.object), (300 * MS, 0));
}
