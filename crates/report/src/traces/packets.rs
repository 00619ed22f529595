//! A visit's packets as a pcapng file, as captured by a sniffer beside the client or beside the servers.
//!
//! The two files differ: the sender's side has packets that are lost later, the receiver's does not, and in a
//! file with both copies of each packet a reader would take every second one for a retransmission.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use chance::RandomSource;
use tls::PLAN_START;
use units::Time;
use wire::pcapng::{Interface, PacketDirection, Writer};
use wire::{PacketEncoder, PacketIdentity as Seen};
use world::sim::{CaptureContent, CapturedPacket, InterfaceDirection};

use scenario::VERSION;
use scenario::World;
use testbed::emulate::Frame;
use testbed::tour::{ObservedVisit, Packets};

/// Capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At the client's interface.
    Client,
    /// At the servers' interfaces.
    Servers,
}

impl Side {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Servers => "servers",
        }
    }
}

/// The file of one side's packets. The same visit gives the same bytes.
pub fn pcapng(visit: &ObservedVisit<'_>, side: Side) -> Vec<u8> {
    write(visit, side).expect("memory takes what is written")
}

fn write(visit: &ObservedVisit<'_>, side: Side) -> io::Result<Vec<u8>> {
    let application = format!("farlink {VERSION}");
    let mut writer = Writer::new(Vec::new(), &application, &comment(visit, side))?;
    let interfaces = interfaces(visit, side, &mut writer)?;
    match visit.packets() {
        Packets::Simulated(sightings) => {
            write_simulated(visit, sightings, &interfaces, &mut writer)?
        }
        Packets::Emulated(frames) => write_emulated(visit, side, frames, &interfaces, &mut writer)?,
    }
    writer.finish()
}

fn write_simulated(
    visit: &ObservedVisit<'_>,
    sightings: &[CapturedPacket],
    interfaces: &BTreeMap<IpAddr, Interface>,
    writer: &mut Writer<Vec<u8>>,
) -> io::Result<()> {
    let mut encoder = PacketEncoder::new(RandomSource::new(visit.seed(), 0));
    for seen in sightings.iter().take_while(|seen| seen.at < visit.ends()) {
        // Packets that are not written are encoded, too: they advance the numbering of connections.
        let bytes = encode(&mut encoder, seen);
        let (here, way) = match seen.crossing {
            InterfaceDirection::Left => (seen.from.ip(), PacketDirection::Out),
            InterfaceDirection::Reached => (seen.to.ip(), PacketDirection::In),
        };
        if let Some(interface) = interfaces.get(&here)
            && visit.includes(seen.at)
        {
            writer.packet(*interface, date(seen.at), way, &bytes)?;
        }
    }
    Ok(())
}

fn write_emulated(
    visit: &ObservedVisit<'_>,
    side: Side,
    frames: &[Frame],
    interfaces: &BTreeMap<IpAddr, Interface>,
    writer: &mut Writer<Vec<u8>>,
) -> io::Result<()> {
    let here = interfaces.values().next().expect("each side has an interface");
    let of_side = |frame: &&Frame| match side {
        Side::Client => frame.client && frame.user == visit.client_number(),
        Side::Servers => !frame.client,
    };
    for frame in frames.iter().filter(of_side) {
        let at = Time::from_nanos(frame.at_ns);
        if visit.includes(at) {
            let way = if frame.out { PacketDirection::Out } else { PacketDirection::In };
            writer.packet(*here, date(at), way, &frame.bytes)?;
        }
    }
    Ok(())
}

/// An instant of a journey as a date: the journey's clock starts with the simulation's.
fn date(at: Time) -> Duration {
    PLAN_START + at.since(Time::ZERO)
}

fn encode(encoder: &mut PacketEncoder, seen: &CapturedPacket) -> Vec<u8> {
    let which = Seen { serial: seen.serial, from: seen.from, to: seen.to };
    match &seen.content {
        CaptureContent::Tcp(segment) => encoder.tcp(which, segment),
        CaptureContent::Udp(data) => encoder.udp(which, data),
    }
}

/// The interfaces of one side, by address. Packets that crossed any other interface do not belong to this side.
fn interfaces(
    visit: &ObservedVisit<'_>,
    side: Side,
    writer: &mut Writer<Vec<u8>>,
) -> io::Result<BTreeMap<IpAddr, Interface>> {
    let mut interfaces = BTreeMap::new();
    let mut add = |address: IpAddr, name: &str| {
        let interface = writer.interface(name, &address.to_string())?;
        interfaces.insert(address, interface);
        io::Result::Ok(())
    };
    match side {
        Side::Client => add(visit.client(), "client")?,
        // In emulation, they are one host with many addresses.
        Side::Servers if visit.scenario().world == World::Emu => {
            add(Ipv4Addr::UNSPECIFIED.into(), "servers")?;
        }
        Side::Servers => {
            for (address, name) in visit.hosts() {
                add(*address, name)?;
            }
        }
    }
    Ok(interfaces)
}

/// The file's comment, for its reader.
fn comment(visit: &ObservedVisit<'_>, side: Side) -> String {
    let scenario = visit.scenario();
    let whole = serde_json::to_string(scenario).expect("a scenario is plain data");
    format!(
        "{} over {}: {} {}, {} visit, seed {}, seen at the {}; {}, so the date is no real one. Scenario: {whole}",
        scenario.page.spec,
        scenario.network,
        scenario.stack.protocol,
        scenario.stack.tls,
        visit.record.view,
        visit.seed(),
        side.name(),
        scenario.world.title(),
    )
}
