//! Packets survive a round trip through bytes, and no input to the parser can do harm.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use chance::RandomSource;
use farlink_wire::{
    Addresses, ConnectionDirection, DecodedPacket, Ip, IpEcn, NumberReference, Numbering,
    PacketEncoder, PacketIdentity, TcpOptions, TcpPacket, TransportPacket, UdpPacket,
};
use proptest::prelude::*;
use tcp::{Flags, SackBlocks, Segment, SynOptions, Timestamps};
use units::Time;

fn addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        any::<(std::net::Ipv4Addr, std::net::Ipv4Addr)>()
            .prop_map(|(source, destination)| Addresses::V4 { source, destination }),
        any::<(std::net::Ipv6Addr, std::net::Ipv6Addr)>()
            .prop_map(|(source, destination)| Addresses::V6 { source, destination }),
    ]
}

fn ip() -> impl Strategy<Value = Ip> {
    let ecn = prop_oneof![
        Just(IpEcn::NotEct),
        Just(IpEcn::Ect0),
        Just(IpEcn::Ect1),
        Just(IpEcn::CongestionExperienced)
    ];
    (addresses(), any::<u16>(), any::<u8>(), ecn).prop_map(
        |(addresses, identification, hop_limit, ecn)| {
            let numbered = matches!(addresses, Addresses::V4 { .. });
            let identification = if numbered { identification } else { 0 };
            Ip { addresses, identification, hop_limit, ecn }
        },
    )
}

/// Options that fit into 40 bytes.
fn options() -> impl Strategy<Value = TcpOptions> {
    let blocks = |most| prop::collection::vec(any::<u32>().prop_map(|n| n..n ^ 5), 0..=most);
    let timestamps = any::<Option<(u32, u32)>>();
    let syn = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), timestamps.clone());
    prop_oneof![
        syn.prop_map(|(maximum_segment_size, window_scale, sack_permitted, timestamps)| {
            let sack = Vec::new();
            TcpOptions { maximum_segment_size, window_scale, sack_permitted, timestamps, sack }
        }),
        (timestamps, blocks(3)).prop_map(|(timestamps, sack)| TcpOptions {
            timestamps,
            sack,
            ..TcpOptions::default()
        }),
        blocks(4).prop_map(|sack| TcpOptions { sack, ..TcpOptions::default() }),
    ]
}

fn data() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..1500).prop_map(Bytes::from)
}

prop_compose! {
    fn tcp_packet()(
        ports in any::<(u16, u16)>(),
        (seq, ack) in any::<(u32, u32)>(),
        flags in any::<u8>(),
        window in any::<u16>(),
        options in options(),
        payload in data(),
    ) -> TcpPacket {
        let (source_port, destination_port) = ports;
        let (flags, payload) = (Flags::from_bits(flags), payload.into());
        TcpPacket { source_port, destination_port, seq, ack, flags, window, options, payload }
    }
}

fn packet() -> impl Strategy<Value = DecodedPacket> {
    let udp =
        (any::<(u16, u16)>(), data()).prop_map(|((source_port, destination_port), payload)| {
            TransportPacket::Udp(UdpPacket { source_port, destination_port, payload })
        });
    let body = prop_oneof![tcp_packet().prop_map(TransportPacket::Tcp), udp];
    (ip(), body).prop_map(|(ip, body)| DecodedPacket { ip, body })
}

/// A segment as an endpoint might send it, in the middle of a long connection.
fn segment() -> impl Strategy<Value = Segment> {
    let number = || 0..1_u64 << 40;
    let stamps = prop::option::of((0..1_u64 << 50, 0..1_u64 << 50));
    let syn = prop::option::of((500..9000_u32, 0..15_u8, any::<bool>()));
    (number(), number(), 0..(1_u64 << 30), stamps, 0..4_usize, syn, data()).prop_map(
        |(seq, ack, window, stamps, blocks, syn, payload)| {
            let mut sack = SackBlocks::NONE;
            for block in 0..blocks as u64 * u64::from(syn.is_none()) {
                assert!(sack.push(ack + 1448 * (block + 1)..ack + 1448 * (block + 1) + 1448));
            }
            // Timestamps count whole ticks, windows whole units of 2^7 bytes that fit.
            let instant = |nanos: u64| Time::from_nanos(nanos / 1_000_000 * 1_000_000);
            let unit = if syn.is_some() { 0 } else { 7 };
            Segment {
                seq,
                ack,
                flags: if syn.is_some() { Flags::SYN.with(Flags::ACK) } else { Flags::ACK },
                window_bytes: (window >> unit).min(65_535) << unit,
                payload: if syn.is_some() { Bytes::new().into() } else { payload.into() },
                sack,
                timestamps: stamps.map(|(value, echo)| Timestamps {
                    value: instant(value),
                    echo: instant(value.saturating_sub(echo % 1_000_000_000)),
                }),
                syn: syn.map(|(mss, window_scale, sack)| SynOptions { mss, window_scale, sack }),
                ecn: tcp::Ecn::NotEct,
            }
        },
    )
}

fn numbering() -> impl Strategy<Value = Numbering> {
    any::<(u32, u32)>().prop_map(|(isn, timestamp_offset)| Numbering {
        isn,
        timestamp_offset,
        window_scale: Some(7),
    })
}

proptest! {
    #[test]
    fn packets_come_back_as_they_were(packet in packet()) {
        let bytes = packet.encode().unwrap();
        prop_assert_eq!(DecodedPacket::parse(&bytes), Ok(packet));
    }

    #[test]
    fn segments_come_back_from_anywhere_near(
        segment in segment(),
        sender in numbering(),
        receiver in numbering(),
        astray in -1_000_000_000_i64..1_000_000_000,
    ) {
        let direction = ConnectionDirection { sender, receiver };
        let written = direction.write(443, 32_768, &segment);
        let off = |number: u64| number.saturating_add_signed(astray);
        let now = segment.timestamps.map_or(Time::ZERO, |stamps| stamps.value);
        let near = NumberReference { seq: off(segment.seq), ack: off(segment.ack), now };
        prop_assert_eq!(direction.read(&written, &near), segment);
    }

    #[test]
    fn segments_measure_what_links_charge_for_them(segment in segment()) {
        let mut encoder = PacketEncoder::new(RandomSource::new(1, 0));
        let seen = PacketIdentity {
            serial: 0,
            from: "10.0.0.1:32768".parse().unwrap(),
            to: "10.1.0.1:443".parse().unwrap(),
        };
        prop_assert_eq!(encoder.tcp(seen, &segment).len(), segment.wire_bytes() as usize);
    }

    #[test]
    fn any_bytes_are_a_packet_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = DecodedPacket::parse(&bytes);
        let _ = DecodedPacket::parse_unsummed(&bytes);
    }

    #[test]
    fn what_is_nearly_a_packet_is_one_or_an_error(
        packet in packet(),
        changes in prop::collection::vec((0..80_usize, any::<u8>()), 1..8),
        cut in 0..80_usize,
    ) {
        let mut bytes = packet.encode().unwrap();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - (cut / 20).min(bytes.len()));
        let Ok(read) = DecodedPacket::parse_unsummed(&bytes) else { return Ok(()) };
        // Its options may have been packed more tightly than ours.
        let Ok(written) = read.encode() else { return Ok(()) };
        prop_assert_eq!(DecodedPacket::parse(&written), Ok(read));
    }

    #[test]
    fn damage_is_noticed(
        packet in tcp_packet(),
        source in any::<std::net::Ipv4Addr>(),
        destination in any::<std::net::Ipv4Addr>(),
        place in any::<prop::sample::Index>(),
    ) {
        let addresses = Addresses::V4 { source, destination };
        let ip = Ip { addresses, identification: 7, hop_limit: 64, ecn: IpEcn::Ect0 };
        let mut bytes = DecodedPacket { ip, body: TransportPacket::Tcp(packet) }.encode().unwrap();
        let bit = place.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(DecodedPacket::parse(&bytes).is_err());
    }
}

/// Packets of a Linux 6.18 kernel (from its loopback device, so without TCP's checksum): the corpus of the fuzz
/// target.
fn kernel_packets() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/packet");
    let mut packets: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect();
    packets.sort();
    packets
}

#[test]
fn a_kernel_s_packets_are_written_as_the_kernel_writes_them() {
    let packets = kernel_packets();
    assert!(packets.len() >= 8);
    for (name, mut bytes) in packets {
        let packet =
            DecodedPacket::parse_unsummed(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut written = packet.encode().unwrap();
        assert_eq!(DecodedPacket::parse(&written).unwrap(), packet, "{name}");
        let (header, at) = match (packet.ip.addresses, &packet.body) {
            (Addresses::V4 { .. }, TransportPacket::Tcp(_)) => (20, 16),
            (Addresses::V6 { .. }, TransportPacket::Tcp(_)) => (40, 16),
            (Addresses::V4 { .. }, TransportPacket::Udp(_)) => (20, 6),
            (Addresses::V6 { .. }, TransportPacket::Udp(_)) => (40, 6),
        };
        for bytes in [&mut bytes, &mut written] {
            bytes[header + at..][..2].fill(0);
            if header == 40 {
                // The flow label, which is left out.
                bytes[1..4].fill(0);
            }
        }
        assert_eq!(written, bytes, "{name}");
    }
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    let addresses = |a: &str, b: &str| Addresses::new(a.parse().unwrap(), b.parse().unwrap());
    assert_eq!(addresses("10.0.0.1", "::1"), None);
    let ip = Ip {
        addresses: addresses("10.0.0.1", "10.0.0.2").unwrap(),
        identification: 0,
        hop_limit: 64,
        ecn: IpEcn::NotEct,
    };
    let udp = |len| {
        let payload = Bytes::from(vec![0; len]);
        let body = TransportPacket::Udp(UdpPacket { source_port: 1, destination_port: 2, payload });
        DecodedPacket { ip: ip.clone(), body }
    };
    assert_eq!(udp(65_507).encode().unwrap().len(), 65_535);
    for len in [65_508, 65_527, 65_528, 70_000] {
        let error = udp(len).encode().unwrap_err().to_string();
        assert!(error.contains("at most 65535"), "{error}");
    }
    let options = TcpOptions {
        timestamps: Some((1, 2)),
        sack: vec![1..2, 3..4, 5..6, 7..8],
        ..TcpOptions::default()
    };
    let tcp = TcpPacket {
        source_port: 1,
        destination_port: 2,
        seq: 0,
        ack: 0,
        flags: Flags::ACK,
        window: 0,
        options,
        payload: Bytes::new().into(),
    };
    let error =
        DecodedPacket { ip, body: TransportPacket::Tcp(tcp) }.encode().unwrap_err().to_string();
    assert_eq!(error, "the TCP options are too long: 48 bytes of at most 40");
}

#[test]
fn a_packet_seen_twice_is_the_same_packet() {
    let mut encoder = PacketEncoder::new(RandomSource::new(1, 0));
    let ends: [SocketAddr; 2] =
        ["10.0.0.1:32768".parse().unwrap(), "10.1.0.1:443".parse().unwrap()];
    let seen = |serial| PacketIdentity { serial, from: ends[0], to: ends[1] };
    let datagram = Bytes::from_static(b"datagram");
    let (first, second) = (encoder.udp(seen(0), &datagram), encoder.udp(seen(1), &datagram));
    assert_eq!(encoder.udp(seen(0), &datagram), first);
    let identification = |bytes: &[u8]| DecodedPacket::parse(bytes).unwrap().ip.identification;
    assert_eq!(identification(&second), identification(&first).wrapping_add(1));
    let from = DecodedPacket::parse(&first).unwrap().ip.addresses.source();
    assert_eq!(from, "10.0.0.1".parse::<IpAddr>().unwrap());
    // The same world gives the same bytes.
    assert_eq!(PacketEncoder::new(RandomSource::new(1, 0)).udp(seen(0), &datagram), first);
    assert_ne!(PacketEncoder::new(RandomSource::new(2, 0)).udp(seen(0), &datagram), first);
}
