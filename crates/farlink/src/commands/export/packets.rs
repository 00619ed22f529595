//! Packets of a stored journey, which is simulated again to see them.

use std::collections::BTreeMap;

use export::PacketRow;
use store::{JourneyRow, VisitRow};
use tcp::Flags;
use testbed::tour::{ObservedVisit, Packets};
use testbed::worlds::Worlds;
use world::sim::{CaptureContent, CapturedPacket, InterfaceDirection};

/// Names of TCP's flags, in the order of their bits.
const FLAGS: [(Flags, &str); 8] = [
    (Flags::FIN, "FIN"),
    (Flags::SYN, "SYN"),
    (Flags::RST, "RST"),
    (Flags::PSH, "PSH"),
    (Flags::ACK, "ACK"),
    (Flags::URG, "URG"),
    (Flags::ECE, "ECE"),
    (Flags::CWR, "CWR"),
];

/// Headers of a UDP datagram over IPv4.
const UDP_HEADERS: u64 = 20 + 8;

/// The packets of a journey.
///
/// # Errors
/// If it cannot be simulated again, or is another one by now.
pub fn of(
    worlds: &Worlds,
    journey: &JourneyRow,
    visits: &[VisitRow],
) -> Result<Vec<PacketRow>, String> {
    let observed = worlds.observe(&journey.scenario, journey.seed)?;
    let again: Vec<ObservedVisit<'_>> = observed.visits().collect();
    let traces = |visit: &ObservedVisit<'_>| visit.record.trace_digest;
    if !again.iter().map(traces).eq(visits.iter().map(|visit| visit.trace_digest)) {
        return Err(format!(
            "it was measured by farlink {}, and this version, or the page as it is now, gives a different result",
            journey.farlink_version
        ));
    }
    match again.first().map(ObservedVisit::packets) {
        None => Ok(Vec::new()),
        Some(Packets::Simulated(seen)) => Ok(rows(&again, seen)),
        Some(Packets::Emulated(_)) => {
            Err("an emulated journey is not exactly repeatable".to_owned())
        }
    }
}

fn rows(visits: &[ObservedVisit<'_>], seen: &[CapturedPacket]) -> Vec<PacketRow> {
    let mut places = BTreeMap::new();
    let mut rows: Vec<PacketRow> = Vec::new();
    for packet in seen {
        match packet.crossing {
            InterfaceDirection::Left => {
                let of = visits.iter().find(|visit| visit.includes(packet.at));
                if let Some(visit) = of {
                    places.insert(packet.serial, rows.len());
                    rows.push(departed(packet, visit.record.index));
                }
            }
            InterfaceDirection::Reached => {
                let row = places.get(&packet.serial).and_then(|place| rows.get_mut(*place));
                // A duplicate arrives twice.
                if let Some(row) = row.filter(|row| row.arrived_at_ns.is_none()) {
                    row.arrived_at_ns = Some(packet.at.as_nanos());
                }
            }
        }
    }
    rows
}

/// A packet that left, with nothing known of its arrival.
fn departed(packet: &CapturedPacket, visit: u32) -> PacketRow {
    let row = PacketRow {
        visit,
        packet: packet.serial,
        from: packet.from.to_string(),
        to: packet.to.to_string(),
        protocol: "udp",
        left_at_ns: packet.at.as_nanos(),
        arrived_at_ns: None,
        wire_bytes: 0,
        payload_bytes: 0,
        sequence: None,
        acknowledgment: None,
        flags: None,
        window_bytes: None,
    };
    match &packet.content {
        CaptureContent::Udp(data) => PacketRow {
            wire_bytes: UDP_HEADERS + data.len() as u64,
            payload_bytes: data.len() as u64,
            ..row
        },
        CaptureContent::Tcp(segment) => PacketRow {
            protocol: "tcp",
            wire_bytes: segment.wire_bytes().into(),
            payload_bytes: segment.payload.len() as u64,
            sequence: Some(segment.seq),
            acknowledgment: segment.is(Flags::ACK).then_some(segment.ack),
            flags: Some(flags(segment.flags)),
            window_bytes: Some(segment.window_bytes),
            ..row
        },
    }
}

fn flags(set: Flags) -> String {
    let names = FLAGS.iter().filter(|(flag, _)| set.contains(*flag)).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(" ")
}
