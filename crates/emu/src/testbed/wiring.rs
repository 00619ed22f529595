//! Set-up of the wires of a testbed.

use super::{ip, write_sysctl};
use crate::end::End;
use crate::packet_socket::{self, PacketSocket};
use crate::tap::TapDevice;
use crate::wire::WireEnd;
use crate::{Error, NetNamespace, Wire};

/// The interface at either end.
const INTERFACE: &str = "eth0";

/// All wires.
#[derive(Debug)]
pub(super) enum Wiring {
    Veth,
    /// Indexed by [`End`].
    Tap(Vec<TapDevice>),
}

impl Wiring {
    /// Sets up the wires asked for; by default those that the machine supports, veth if possible.
    pub(super) fn lay(
        asked: Option<Wire>,
        middle: &NetNamespace,
        ends: &[NetNamespace],
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

    /// Kind of the wires.
    pub(super) fn wire(&self) -> Wire {
        match self {
            Wiring::Veth => Wire::Veth,
            Wiring::Tap(_) => Wire::Tap,
        }
    }

    /// Options of the ends' interfaces, for `ip link set`.
    pub(super) fn link_options(&self) -> String {
        match self {
            Wiring::Veth => String::new(),
            Wiring::Tap(_) => format!("txqueuelen {}", TapDevice::QUEUE),
        }
    }

    /// The emulator's ends of the wires to `hosts` hosts, by [`End`].
    pub(super) fn emulator_ends(
        &self,
        middle: &NetNamespace,
        hosts: usize,
    ) -> Result<Vec<WireEnd>, Error> {
        match self {
            Wiring::Veth => middle.run(move || {
                let open = |end: End| PacketSocket::open(&end.interface()).map(WireEnd::Veth);
                End::all(hosts as u32 - 1).map(open).collect()
            }),
            Wiring::Tap(devices) => {
                devices.iter().map(|device| device.attach().map(WireEnd::Tap)).collect()
            }
        }
    }
}

/// A pair of interfaces for each end, once the emulator is known to be able to use them.
fn veth(middle: &NetNamespace, ends: &[NetNamespace]) -> Result<Wiring, Error> {
    let pair = |end: End| {
        let (wire, path) = (end.interface(), ends[end.number()].path()?);
        Ok(format!(
            "link add {wire} type veth peer name {INTERFACE} netns {}\n\
             link set {wire} arp off up\n",
            path.display()
        ))
    };
    let ends = End::all(ends.len() as u32 - 1);
    let commands: String = ends.map(pair).collect::<Result<_, Error>>()?;
    middle.run(move || {
        packet_socket::attempt().map_err(Error::system(packet_socket::REFUSED))?;
        write_sysctl("ipv6/conf/default/disable_ipv6", "1")?;
        ip(&commands)
    })?;
    Ok(Wiring::Veth)
}

/// A device at each end.
fn tap(ends: &[NetNamespace]) -> Result<Wiring, Error> {
    let devices = ends.iter().map(|end| end.run(|| TapDevice::create(INTERFACE)));
    Ok(Wiring::Tap(devices.collect::<Result<_, Error>>()?))
}
