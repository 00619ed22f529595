//! Columns of recordings over time.

use record::{Departure, Interval, PacketSize, RadioStep, Series, WindowSample};

use crate::column::{RecordColumn, flag, text, whole};

pub(crate) static WINDOWS: &[RecordColumn<WindowSample>] = &[
    whole("connection", "Connection, at its server's end", |it| it.connection.into()),
    whole("at_ns", "Instant", |it| it.at_ns.into()),
    whole("cwnd", "Congestion window in segments", |it| it.cwnd.into()),
    whole("ssthresh", "Slow start threshold in segments; none: infinite", |it| it.ssthresh.into()),
    whole("in_flight", "Segments in the network by the sender's estimate", |it| {
        it.in_flight.into()
    }),
    whole("in_flight_bytes", "Payload sent and unacknowledged", |it| it.in_flight_bytes.into()),
    whole("unsent_bytes", "Payload written and not sent", |it| it.unsent_bytes.into()),
    whole("peer_window_bytes", "The client's receive window", |it| it.peer_window_bytes.into()),
    whole("srtt_ns", "Smoothed round-trip time; 0 before the first", |it| it.srtt_ns.into()),
    whole("rto_ns", "Retransmission timeout, back-off included", |it| it.rto_ns.into()),
    whole("retransmits", "Segments retransmitted so far", |it| it.retransmits.into()),
];

/// A tenth of a second of a visit.
pub(crate) struct Tenth {
    at_ns: u64,
    interval: Interval,
}

pub(crate) static THROUGHPUT: &[RecordColumn<Tenth>] = &[
    whole("at_ns", "Start of a tenth of a second", |it| it.at_ns.into()),
    whole("bytes_down", "Bytes on the wire that arrived in it, to the client", |it| {
        it.interval.bytes_down.into()
    }),
    whole("bytes_up", "Bytes on the wire that arrived in it, from the client", |it| {
        it.interval.bytes_up.into()
    }),
];

pub(crate) static PACKET_SIZES: &[RecordColumn<PacketSize>] = &[
    whole("wire_bytes", "A size, IP header included", |it| it.wire_bytes.into()),
    whole("down", "Packets of it that arrived at the client", |it| it.down.into()),
    whole("up", "Packets of it that arrived from the client", |it| it.up.into()),
];

pub(crate) static RADIO_STEPS: &[RecordColumn<RadioStep>] = &[
    whole("at_ns", "Instant of a change of the radio's state", |it| it.at_ns.into()),
    text("from_state", "The state before", |it| (&it.from).into()),
    text("to_state", "The state after", |it| (&it.to).into()),
    flag("by_packet", "Caused by a packet rather than a timer", |it| it.by_packet.into()),
    whole("quiet_ns", "Time since the client's last packet arrived", |it| it.quiet_ns.into()),
];

pub(crate) static DEPARTURES: &[RecordColumn<Departure>] = &[
    whole("object", "The object", |it| it.object.into()),
    whole("first_at_ns", "Instant at which its response's first byte left the server", |it| {
        it.first_at_ns.into()
    }),
    whole("last_at_ns", "Instant at which its last byte first left the server", |it| {
        it.last_at_ns.into()
    }),
];

/// The throughput of a visit that began at `started_at_ns`.
pub(crate) fn tenths(series: Series, started_at_ns: u64) -> Vec<Tenth> {
    const TENTH_NS: u64 = 100_000_000;
    let at = |number: u64| started_at_ns + number * TENTH_NS;
    (0..)
        .zip(series.throughput)
        .map(|(number, interval)| Tenth { at_ns: at(number), interval })
        .collect()
}
