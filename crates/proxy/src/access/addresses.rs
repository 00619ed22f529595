//! Special-purpose addresses, which belong to no ordinary internet host.
//!
//! Source: IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its updates). An IPv6 address that
//! carries an IPv4 address is judged by that, so that `::ffff:127.0.0.1` is loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Purpose that an address is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecialPurpose {
    /// This machine.
    Loopback,
    /// A private network (RFC 1918, RFC 4193).
    Private,
    /// This link only; includes the metadata service of cloud machines, which hands out credentials (169.254.169.254).
    LinkLocal,
    /// Shared among a provider's customers (RFC 6598).
    Shared,
    /// Any number of hosts.
    Multicast,
    /// Documentation, benchmarks, protocol assignments, the unspecified address, unassigned addresses.
    Reserved,
}

impl SpecialPurpose {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            SpecialPurpose::Loopback => "loopback",
            SpecialPurpose::Private => "private",
            SpecialPurpose::LinkLocal => "link-local",
            SpecialPurpose::Shared => "shared",
            SpecialPurpose::Multicast => "multicast",
            SpecialPurpose::Reserved => "reserved",
        }
    }
}

/// Purpose that `address` is reserved for; `None` if it may be any host of the internet.
pub fn special_purpose(address: IpAddr) -> Option<SpecialPurpose> {
    match address {
        IpAddr::V4(address) => special_purpose_v4(address),
        IpAddr::V6(address) => special_purpose_v6(address),
    }
}

fn special_purpose_v4(address: Ipv4Addr) -> Option<SpecialPurpose> {
    use SpecialPurpose::{LinkLocal, Loopback, Multicast, Private, Reserved, Shared};
    const BLOCKS: [([u8; 4], u32, SpecialPurpose); 16] = [
        ([0, 0, 0, 0], 8, Reserved),
        ([10, 0, 0, 0], 8, Private),
        ([100, 64, 0, 0], 10, Shared),
        ([127, 0, 0, 0], 8, Loopback),
        ([169, 254, 0, 0], 16, LinkLocal),
        ([172, 16, 0, 0], 12, Private),
        ([192, 0, 0, 0], 24, Reserved),
        ([192, 0, 2, 0], 24, Reserved),
        ([192, 31, 196, 0], 24, Reserved),
        ([192, 88, 99, 0], 24, Reserved),
        ([192, 168, 0, 0], 16, Private),
        ([198, 18, 0, 0], 15, Reserved),
        ([198, 51, 100, 0], 24, Reserved),
        ([203, 0, 113, 0], 24, Reserved),
        ([224, 0, 0, 0], 4, Multicast),
        ([240, 0, 0, 0], 4, Reserved),
    ];
    let bits = address.to_bits();
    let lies_in =
        |block: [u8; 4], prefix: u32| (bits ^ u32::from_be_bytes(block)) >> (32 - prefix) == 0;
    BLOCKS
        .iter()
        .find(|(block, prefix, _)| lies_in(*block, *prefix))
        .map(|(_, _, purpose)| *purpose)
}

fn special_purpose_v6(address: Ipv6Addr) -> Option<SpecialPurpose> {
    use SpecialPurpose::{LinkLocal, Loopback, Multicast, Private, Reserved};
    if address == Ipv6Addr::LOCALHOST {
        return Some(Loopback);
    }
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        special_purpose_v4(Ipv4Addr::from_bits(bits))
    };
    match segments {
        // IPv4-mapped, and the earlier IPv4-compatible addresses (RFC 4291 section 2.5.5).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] if high != 0 => embedded(high, low),
        // NAT64 (RFC 6052): the well-known prefix; the meaning of the local-use prefix (RFC 8215) depends on the network.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfc00..=0xfdff, ..] => Some(Private),
        [0xfe80..=0xfebf, ..] => Some(LinkLocal),
        // Site-local, deprecated (RFC 3879).
        [0xfec0..=0xfeff, ..] => Some(Private),
        [0xff00..=0xffff, ..] => Some(Multicast),
        // Teredo, benchmarks, ORCHID and others (2001::/23), documentation (2001:db8::/32, 3fff::/20).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some(Reserved),
        // Global unicast is 2000::/3 (RFC 4291 section 2.4); the rest is unassigned.
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known_by_their_blocks() {
        use SpecialPurpose::{LinkLocal, Loopback, Multicast, Private, Reserved, Shared};
        for (text, purpose) in [
            ("8.8.8.8", None),
            ("193.0.0.1", None),
            ("2a00:1450:4001:82b::200e", None),
            ("2001:4860:4860::8888", None),
            ("::ffff:8.8.8.8", None),
            ("64:ff9b::808:808", None),
            ("127.0.0.1", Some(Loopback)),
            ("127.255.255.255", Some(Loopback)),
            ("::1", Some(Loopback)),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::127.0.0.1", Some(Loopback)),
            ("64:ff9b::7f00:1", Some(Loopback)),
            ("2002:7f00:1::", Some(Loopback)),
            ("0.0.0.0", Some(Reserved)),
            ("::", Some(Reserved)),
            ("10.1.2.3", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("172.32.0.0", None),
            ("192.168.0.1", Some(Private)),
            ("fd00::1", Some(Private)),
            ("::ffff:192.168.0.1", Some(Private)),
            ("169.254.169.254", Some(LinkLocal)),
            ("fe80::1", Some(LinkLocal)),
            ("100.64.0.1", Some(Shared)),
            ("100.128.0.1", None),
            ("224.0.0.1", Some(Multicast)),
            ("ff02::1", Some(Multicast)),
            ("255.255.255.255", Some(Reserved)),
            ("2001:db8::1", Some(Reserved)),
            ("2001:0:53aa:64c::1", Some(Reserved)),
            ("64:ff9b:1::1", Some(Reserved)),
        ] {
            assert_eq!(special_purpose(text.parse().unwrap()), purpose, "{text}");
        }
    }
}
