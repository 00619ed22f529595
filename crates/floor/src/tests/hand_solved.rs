//! Pages whose floor can be worked out on paper.

use std::collections::BTreeSet;
use std::time::Duration;

use net::Network;
use page::{After, HostId, ObjectId, Page};

use super::{after, ms, object, page};
use crate::{Floors, Origins, PageLoad, Path};

/// 10 Mbit/s and a round trip of 100 ms: 1448 bytes of payload take 1.2 ms.
fn floors_of(page: &Page, object_work: &[Duration]) -> Floors {
    floors(page, object_work, &BTreeSet::new(), Origins::Equal)
}

fn floors(
    page: &Page,
    object_work: &[Duration],
    from_cache: &BTreeSet<ObjectId>,
    origins: Origins,
) -> Floors {
    let network = Network::parse("rtt=100ms,down=10mbit,up=5mbit,loss=5%").expect("valid");
    let load = PageLoad { page, object_work, from_cache, at_proxy: &BTreeSet::new() };
    Floors::of(&load, &Path::over(&network, origins))
}

/// `packets` full packets.
fn bytes(packets: u64) -> u64 {
    1448 * packets
}

fn transfer(packets: u64) -> Duration {
    Duration::from_micros(1200) * packets as u32
}

#[track_caller]
fn assert_is(floor: Duration, expected: Duration) {
    let error = floor.abs_diff(expected).as_secs_f64() / expected.as_secs_f64();
    assert!(error < 0.001, "floor {floor:?}, by hand {expected:?}");
    assert!(floor <= expected, "floor {floor:?} above {expected:?}");
}

#[test]
fn one_object_is_a_round_trip_think_and_transfer() {
    let mut document = object(bytes(100), vec![]);
    document.think.value = ms(30);
    let floors = floors_of(&page(vec![document], &[ms(0)]), &[ms(7)]);
    assert_is(floors.graph, ms(100 + 30 + 120 + 7));
    assert_is(floors.graph_without_compute, ms(100 + 30 + 120));
    assert_eq!(floors.oracle, floors.graph);
}

#[test]
fn images_behind_the_whole_document_take_two_round_trips() {
    let mut objects = vec![object(bytes(10), vec![])];
    objects.extend((0..20).map(|_| object(bytes(50), vec![after(0, After::End, ms(5))])));
    let floors = floors_of(&page(objects, &[ms(0)]), &[]);
    assert_is(floors.graph, ms(200) + transfer(10 + 20 * 50) + ms(5));
    assert_is(floors.graph_without_compute, ms(200) + transfer(10 + 20 * 50));
    // If all are pushed, they only share the downlink.
    assert_is(floors.oracle_without_compute, ms(100) + transfer(10 + 20 * 50));
}

#[test]
fn a_chain_pays_each_link() {
    let objects = vec![
        object(bytes(10), vec![]),
        object(bytes(20), vec![after(0, After::End, ms(3))]),
        object(bytes(30), vec![after(1, After::End, ms(4))]),
    ];
    let floors = floors_of(&page(objects, &[ms(0)]), &[ms(0), ms(0), ms(9)]);
    assert_is(floors.graph, ms(300) + transfer(60) + ms(3 + 4 + 9));
    // All are known at the start, so the three are served back to back during the work on the first.
    assert_is(floors.oracle, ms(100) + transfer(60) + ms(9));
    assert_is(floors.oracle_without_compute, ms(100) + transfer(60));
}

#[test]
fn a_prefix_lets_the_rest_of_the_document_fill_the_wait() {
    // 10 packets reveal the image; the other 190 take 228 ms, longer than the round trip, so the downlink never idles.
    let long = vec![
        object(bytes(200), vec![]),
        object(bytes(50), vec![after(0, After::Bytes(bytes(10)), ms(0))]),
    ];
    assert_is(floors_of(&page(long, &[ms(0)]), &[]).graph, ms(100) + transfer(250));
    // Here the other 40 take 48 ms: the downlink idles until the image comes.
    let short = vec![
        object(bytes(50), vec![]),
        object(bytes(50), vec![after(0, After::Bytes(bytes(10)), ms(0))]),
    ];
    let floors = floors_of(&page(short, &[ms(0)]), &[]);
    assert_is(floors.graph, ms(272));
    assert_is(floors.oracle, ms(220));
}

/// A script in the document's first packets sets off 300 ms of work, which a long image would delay if served first.
#[test]
fn what_has_the_longest_tail_goes_first() {
    let objects = vec![
        object(0, vec![]),
        object(bytes(500), vec![after(0, After::Head, ms(0))]),
        object(bytes(50), vec![after(0, After::Head, ms(0))]),
    ];
    let floors = floors_of(&page(objects, &[ms(0)]), &[ms(0), ms(0), ms(800)]);
    // The script is done at 200 + 60 + 800 ms, the image at 200 + 660 ms.
    assert_is(floors.graph, ms(200) + transfer(50) + ms(800));
    assert_is(floors.graph_without_compute, ms(200) + transfer(550));
}

/// Two scripts share the downlink and each reveals a small object: that of the later script is late.
#[test]
fn what_follows_the_last_of_two_comes_on_top() {
    let objects = vec![
        object(0, vec![]),
        object(bytes(100), vec![after(0, After::Head, ms(0))]),
        object(bytes(100), vec![after(0, After::Head, ms(0))]),
        object(bytes(1), vec![after(1, After::End, ms(0))]),
        object(bytes(1), vec![after(2, After::End, ms(0))]),
    ];
    let floors = floors_of(&page(objects, &[ms(0)]), &[]);
    assert_is(floors.graph, ms(200) + transfer(200) + ms(100) + transfer(1));
}

/// Two frames whose first packets reveal a small object and whose ends set off long work: their beginnings are
/// as urgent as their ends.
#[test]
fn a_prefix_is_as_urgent_as_what_comes_after_it() {
    let objects = vec![
        object(0, vec![]),
        object(bytes(100), vec![after(0, After::Head, ms(0))]),
        object(bytes(100), vec![after(0, After::Head, ms(0))]),
        object(bytes(1), vec![after(1, After::Bytes(bytes(10)), ms(0))]),
        object(bytes(1), vec![after(2, After::Bytes(bytes(10)), ms(0))]),
    ];
    let floors = floors_of(&page(objects, &[ms(0)]), &[ms(0), ms(500), ms(500)]);
    assert_is(floors.graph, ms(200) + transfer(200) + ms(500));
}

#[test]
fn a_redirect_costs_a_round_trip_and_no_bytes() {
    let objects =
        vec![object(bytes(1), vec![]), object(bytes(10), vec![after(0, After::Head, ms(0))])];
    // The redirect's body fits into the wait.
    assert_is(floors_of(&page(objects, &[ms(0)]), &[]).graph, ms(200) + transfer(10));
}

#[test]
fn what_does_not_block_the_load_event_counts_as_far_as_it_reveals_what_does() {
    let mut beacon = object(bytes(1000), vec![after(0, After::End, ms(0))]);
    beacon.blocks_load = false;
    let mut loader = object(bytes(100), vec![after(0, After::End, ms(0))]);
    loader.blocks_load = false;
    let late = object(bytes(10), vec![after(2, After::Bytes(bytes(20)), ms(0))]);
    let objects = vec![object(bytes(10), vec![]), beacon, loader, late];
    let floors = floors_of(&page(objects, &[ms(0)]), &[]);
    assert_is(floors.graph, ms(300) + transfer(10 + 20 + 10));
    assert_is(floors.oracle, ms(100) + transfer(10 + 10));
}

#[test]
fn a_farther_host_is_farther_only_where_recorded_distances_count() {
    let mut image = object(bytes(10), vec![after(0, After::End, ms(0))]);
    image.host = HostId(1);
    let page = page(vec![object(bytes(10), vec![]), image], &[ms(0), ms(80)]);
    let none = BTreeSet::new();
    assert_is(floors(&page, &[], &none, Origins::Equal).graph, ms(200) + transfer(20));
    assert_is(floors(&page, &[], &none, Origins::Recorded).graph, ms(280) + transfer(20));
}

#[test]
fn a_cached_object_costs_its_work_alone() {
    let objects = vec![
        object(bytes(10), vec![]),
        object(bytes(100), vec![after(0, After::End, ms(0))]),
        object(bytes(10), vec![after(1, After::End, ms(15))]),
    ];
    let cached = BTreeSet::from([ObjectId(1)]);
    let page = page(objects, &[ms(0)]);
    let floors = floors(&page, &[], &cached, Origins::Equal);
    assert_is(floors.graph, ms(200) + transfer(20) + ms(15));
    // The last object is known at the start, so it arrives before the work that leads to it is done.
    assert_is(floors.oracle, ms(100) + transfer(10) + ms(15));
}
