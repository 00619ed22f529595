//! Lays the wires of a testbed.

use super::{ip, write_sysctl};
use crate::packet_socket::{self, PacketSocket};
use crate::tap::TapDevice;
use crate::wire::WireEnd;
use crate::{Error, NetNamespace, Side, Wire};

/// The interface at either end.
const INTERFACE: &str = "eth0";

/// Both wires.
#[derive(Debug)]
pub(super) enum Wiring {
    Veth,
    /// By [`Side`].
    Tap([TapDevice; 2]),
}

impl Wiring {
    /// Lays what is asked for; without a wish what the machine has, veth if it can.
    pub(super) fn lay(
        asked: Option<Wire>,
        middle: &NetNamespace,
        ends: [&NetNamespace; 2],
    ) -> Result<Wiring, Error> {
        match asked {
            Some(Wire::Veth) => veth(middle, ends),
            Some(Wire::Tap) => tap(ends),
            None => veth(middle, ends).or_else(|veth| {
                let both = |tap| Error::NoWire { veth: Box::new(veth), tap: Box::new(tap) };
                tap(ends).map_err(both)
            }),
        }
    }

    /// What they are made of.
    pub(super) fn wire(&self) -> Wire {
        match self {
            Wiring::Veth => Wire::Veth,
            Wiring::Tap(_) => Wire::Tap,
        }
    }

    /// What the interfaces of the ends need, for `ip link set`.
    pub(super) fn link_options(&self) -> String {
        match self {
            Wiring::Veth => String::new(),
            Wiring::Tap(_) => format!("txqueuelen {}", TapDevice::QUEUE),
        }
    }

    /// The emulator's ends, by [`Side`].
    pub(super) fn emulator_ends(&self, middle: &NetNamespace) -> Result<[WireEnd; 2], Error> {
        match self {
            Wiring::Veth => middle.run(|| {
                let [client, server] = Side::BOTH.map(|side| PacketSocket::open(side.interface()));
                Ok([WireEnd::Veth(client?), WireEnd::Veth(server?)])
            }),
            Wiring::Tap(devices) => {
                let [client, server] = devices.each_ref().map(TapDevice::attach);
                Ok([WireEnd::Tap(client?), WireEnd::Tap(server?)])
            }
        }
    }
}

/// A pair of interfaces for each end, once it is known that the emulator may use them.
fn veth(middle: &NetNamespace, ends: [&NetNamespace; 2]) -> Result<Wiring, Error> {
    let pair = |side: Side| {
        let (wire, end) = (side.interface(), ends[side as usize].path()?);
        Ok(format!(
            "link add {wire} type veth peer name {INTERFACE} netns {}\n\
             link set {wire} arp off up\n",
            end.display()
        ))
    };
    let commands: String = Side::BOTH.into_iter().map(pair).collect::<Result<_, Error>>()?;
    middle.run(move || {
        packet_socket::attempt().map_err(Error::system(packet_socket::REFUSED))?;
        write_sysctl("ipv6/conf/default/disable_ipv6", "1")?;
        ip(&commands)
    })?;
    Ok(Wiring::Veth)
}

/// A device at each end.
fn tap(ends: [&NetNamespace; 2]) -> Result<Wiring, Error> {
    let [client, server] = ends.map(|end| end.run(|| TapDevice::create(INTERFACE)));
    Ok(Wiring::Tap([client?, server?]))
}
