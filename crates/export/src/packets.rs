//! Columns of the table of packets, which are not stored: a journey is observed again to see them.

use crate::column::{RecordColumn, text, whole};

/// A packet from one host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each column below is described under the same name")]
pub struct PacketRow {
    pub visit: u32,
    pub packet: u64,
    pub from: String,
    pub to: String,
    pub protocol: &'static str,
    pub left_at_ns: u64,
    pub arrived_at_ns: Option<u64>,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub sequence: Option<u64>,
    pub acknowledgment: Option<u64>,
    pub flags: Option<String>,
    pub window_bytes: Option<u64>,
}

pub(crate) static PACKETS: &[RecordColumn<PacketRow>] = &[
    whole("visit", "Number of the visit in the journey", |it| it.visit.into()),
    whole("packet", "Number of the packet in the journey", |it| it.packet.into()),
    text("from", "Address and port of the sender", |it| (&it.from).into()),
    text("to", "Address and port of the receiver", |it| (&it.to).into()),
    text("protocol", "`tcp` or `udp`", |it| it.protocol.into()),
    whole("left_at_ns", "Instant at which it left the sender", |it| it.left_at_ns.into()),
    whole("arrived_at_ns", "Instant at which it arrived; none: it was dropped or lost", |it| {
        it.arrived_at_ns.into()
    }),
    whole("wire_bytes", "Size, IP header included", |it| it.wire_bytes.into()),
    whole("payload_bytes", "Payload of TCP or UDP", |it| it.payload_bytes.into()),
    whole("sequence", "First sequence number of TCP, relative to the connection's", |it| {
        it.sequence.into()
    }),
    whole("acknowledgment", "Acknowledgment number of TCP, likewise", |it| {
        it.acknowledgment.into()
    }),
    text("flags", "Flags of TCP, as `SYN ACK`", |it| it.flags.as_ref().into()),
    whole("window_bytes", "Receive window of TCP", |it| it.window_bytes.into()),
];
