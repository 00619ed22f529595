//! Head-of-line blocking: one slow object in front of others, and one lost packet.

use crate::common;

use std::path::Path;
use std::time::Duration;

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use record::{ObjectRecord, VisitRecord, waited_behind};
use scenario::{Protocol, Scenario, Tls};

fn load(scenario: Scenario) -> VisitRecord {
    let record = visit(&Simulator::default(), scenario, 1).record;
    assert!(record.plt_ns().is_some(), "{:?}", record.outcome);
    record
}

fn ended_ms(object: &ObjectRecord) -> f64 {
    (object.discovered_at_ns + object.phases.total_ns()) as f64 / 1e6
}

/// A document and eight images; the server takes two seconds for the first image.
fn slow_object_in_front(folder: &Path) -> String {
    let mut page = page::open("synthetic:8x5KB").unwrap();
    page.objects[1].think.value = Duration::from_secs(2);
    let path = folder.join("slow.json");
    page::file::save(&page, &path).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_slow_object_holds_up_a_pipeline_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let page = slow_object_in_front(folder.path());
    let images = |protocol| {
        let mut scenario = bare(&page, "rtt=100ms,down=10mbit,up=5mbit", protocol, Tls::None);
        scenario.stack.connections_per_host = Some(1);
        scenario.stack.pipeline_depth = Some(8);
        let record = load(scenario);
        let behind = waited_behind(&record.objects);
        let images = record.objects.iter().zip(behind).skip(1);
        let images = images.map(|(image, behind)| (ended_ms(image), behind as f64 / 1e6));
        let images: Vec<(f64, f64)> = images.collect();
        println!("{protocol}: (whole, waited behind others) in ms: {images:.0?}");
        images
    };
    let pipelined = images(Protocol::H1Pipelined);
    assert!(pipelined.iter().all(|(ended, _)| *ended > 2200.0), "{pipelined:?}");
    assert_eq!(pipelined[0].1, 0.0);
    // The images behind it were requested at the same time and waited for it: the two seconds, the round trip,
    // and one more round trip beyond the first window.
    assert!(
        pipelined[1..].iter().all(|(_, behind)| (2100.0..2250.0).contains(behind)),
        "{pipelined:?}"
    );
    for protocol in [Protocol::Spdy, Protocol::H2] {
        let multiplexed = images(protocol);
        assert!(multiplexed[0].0 > 2200.0);
        assert!(
            multiplexed[1..].iter().all(|(ended, _)| *ended < 450.0),
            "{protocol} {multiplexed:?}"
        );
        assert!(multiplexed.iter().all(|(_, behind)| *behind == 0.0));
    }
}

/// Number of images, out of 20, delayed by more than a tenth of a second if this one packet to the client is
/// lost. All are in flight at once: the initial window holds them.
fn delayed_by_the_loss_of(packet: u32, protocol: Protocol, folder: &Path) -> usize {
    let list = folder.join(format!("{protocol}-{packet}"));
    std::fs::write(&list, format!("{packet}\n")).unwrap();
    let network = "rtt=300ms,down=20mbit,up=5mbit,queue=1000pkt";
    let ends = |network: &str| {
        let mut scenario = bare("synthetic:20x5KB", network, protocol, Tls::Tls13);
        scenario.transport.set("iw", "200").unwrap();
        load(scenario).objects.iter().skip(1).map(ended_ms).collect::<Vec<f64>>()
    };
    let clean = ends(network);
    let lossy = ends(&format!("{network},down.loss_file={}", list.display()));
    clean.iter().zip(&lossy).filter(|(clean, lossy)| *lossy - *clean > 100.0).count()
}

#[test]
fn a_lost_packet_holds_up_one_connection_of_tcp_and_one_stream_of_quic() {
    let folder = tempfile::tempdir().unwrap();
    let delayed = |protocol| {
        let packets = [30, 40, 50].into_iter();
        packets
            .map(|packet| delayed_by_the_loss_of(packet, protocol, folder.path()))
            .collect::<Vec<_>>()
    };
    let (h2, h3) = (delayed(Protocol::H2), delayed(Protocol::H3Matched));
    println!("of 20 images late by one lost packet of three: h2 {h2:?}, h3-matched {h3:?}");
    assert!(h2.iter().all(|images| *images >= 6), "{h2:?} {h3:?}");
    assert!(h3.iter().all(|images| *images <= 2), "{h2:?} {h3:?}");
}
