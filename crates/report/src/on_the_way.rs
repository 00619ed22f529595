//! Packets between client and servers: the bytes in queues and on links over time, and the packets that do not arrive.

use std::collections::BTreeMap;
use std::net::IpAddr;

use testbed::tour::ObservedVisit;
use units::Time;
use world::sim::{CaptureContent, CapturedPacket, InterfaceDirection};

/// IP and UDP headers of a datagram.
const UDP_HEADERS: u64 = 28;

/// A visit's packets in one direction.
#[derive(Debug, Default)]
pub struct OnTheWay {
    /// Bytes that have left a sender and will reach the receiver, from each instant on.
    pub held: Vec<(Time, u64)>,
    /// Packets that do not arrive: when they left, and their bytes.
    pub lost: Vec<(Time, u64)>,
}

impl OnTheWay {
    /// Packets of a simulated visit towards the client, or from it.
    pub fn of(visit: &ObservedVisit<'_>, packets: &[CapturedPacket], is_down: bool) -> OnTheWay {
        let arrivals: BTreeMap<u64, Time> = packets
            .iter()
            .filter(|it| it.crossing == InterfaceDirection::Reached)
            .map(|it| (it.serial, it.at))
            .collect();
        let of_visit = packets.iter().filter(|it| {
            it.crossing == InterfaceDirection::Left
                && visit.includes(it.at)
                && is_between(it, visit.client(), is_down)
        });
        let mut way = OnTheWay::default();
        let mut changes: Vec<(Time, i64)> = Vec::new();
        for packet in of_visit {
            let bytes = bytes(packet);
            match arrivals.get(&packet.serial) {
                Some(arrival) => {
                    changes.extend([(packet.at, bytes as i64), (*arrival, -(bytes as i64))]);
                }
                None => way.lost.push((packet.at, bytes)),
            }
        }
        changes.sort_by_key(|(at, _)| *at);
        let mut held = 0;
        for at_once in changes.chunk_by(|one, next| one.0 == next.0) {
            held += at_once.iter().map(|(_, bytes)| bytes).sum::<i64>();
            way.held.push((at_once[0].0, held as u64));
        }
        way
    }
}

fn is_between(packet: &CapturedPacket, client: IpAddr, is_down: bool) -> bool {
    match is_down {
        true => packet.to.ip() == client,
        false => packet.from.ip() == client,
    }
}

fn bytes(packet: &CapturedPacket) -> u64 {
    match &packet.content {
        CaptureContent::Tcp(segment) => segment.wire_bytes().into(),
        CaptureContent::Udp(datagram) => datagram.len() as u64 + UDP_HEADERS,
    }
}
