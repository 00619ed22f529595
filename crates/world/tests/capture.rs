//! Content of captures.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use chance::RandomSource;
use farlink_world as world;
use farlink_world::report::WorldReport;
use farlink_world::sim::{CaptureContent, CapturedPacket, InterfaceDirection, SimPlan};
use farlink_world::{TcpListener, TcpStream, UdpSocket};
use net::Network;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A client fetches 100 KB over a lossy network and sends a datagram.
fn fetch(captured: bool) -> (WorldReport, Vec<CapturedPacket>) {
    let network = Network::parse("rtt=40ms,down=10mbit,up=10mbit,loss=3%").unwrap();
    let mut plan = SimPlan::new(RandomSource::new(7, 0));
    let tcp = Arc::new(tcp::Config::default());
    let client = plan.node("10.0.0.1".parse().unwrap(), Arc::clone(&tcp));
    let server = plan.node("10.0.0.2".parse().unwrap(), tcp);
    let (up, down) = (plan.link("up", network.up), plan.link("down", network.down));
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    if captured {
        plan.capture();
    }
    let address: SocketAddr = "10.0.0.2:80".parse().unwrap();
    plan.spawn(server, async move {
        let listener = TcpListener::bind(address).unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&[7; 100_000]).await.unwrap();
    });
    let visit = async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes.len(), 100_000);
        let socket = UdpSocket::bind("0.0.0.0:0".parse().unwrap()).unwrap();
        socket.send_to(b"datagram", address).await.unwrap();
        (world::sim::report().unwrap(), world::sim::take_sightings())
    };
    plan.run(client, visit).unwrap()
}

#[test]
fn every_packet_is_seen_where_it_leaves_and_where_it_arrives() {
    let (report, sightings) = fetch(true);
    assert!(sightings.is_sorted_by_key(|seen| seen.at));
    let mut left: BTreeMap<u64, &CapturedPacket> = BTreeMap::new();
    let mut reached = 0;
    for seen in &sightings {
        match seen.crossing {
            InterfaceDirection::Left => {
                assert!(left.insert(seen.serial, seen).is_none(), "{seen:?}")
            }
            InterfaceDirection::Reached => {
                reached += 1;
                let sent = left[&seen.serial];
                assert!(sent.at < seen.at);
                assert_eq!(
                    (sent.from, sent.to, &sent.content),
                    (seen.from, seen.to, &seen.content)
                );
            }
        }
    }
    let (offered, delivered) = report.links.iter().fold((0, 0), |(offered, delivered), link| {
        (offered + link.stats.offered_packets, delivered + link.stats.delivered_packets)
    });
    assert_eq!((left.len() as u64, reached), (offered, delivered));
    assert!(report.drops.len() > 1, "the network is a lossy one");
    let last = sightings.last().unwrap();
    assert!(matches!(&last.content, CaptureContent::Udp(data) if data == "datagram"), "{last:?}");
}

#[test]
fn a_capture_changes_nothing_and_costs_nothing_where_nobody_asks() {
    let (with, sightings) = fetch(true);
    let (without, none) = fetch(false);
    assert_eq!(with.digest, without.digest);
    assert!(!sightings.is_empty() && none.is_empty());
}
