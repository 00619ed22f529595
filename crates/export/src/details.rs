//! Columns of the tables whose rows are records of a visit: requests, connections, links, events and the like.

use record::{
    ConnectionRecord, EmulationRecord, LinkRecord, ObjectRecord, Paint, PathStep, RadioRecord,
    RadioStateRecord, TcpEvent,
};

use crate::column::{RecordColumn, flag, text, whole};

pub(crate) static OBJECTS: &[RecordColumn<ObjectRecord>] = &[
    whole("object", "Number of the object in the page", |it| it.object.into()),
    text("url", "Its URL", |it| (&it.url).into()),
    text("method", "Method of the request", |it| (&it.method).into()),
    text("kind", "Kind of resource, as `Document`, `Script`, `Image`", |it| (&it.kind).into()),
    whole("status", "Status code of the response", |it| it.status.into()),
    text("protocol", "Protocol that carried it", |it| (&it.protocol).into()),
    whole("connection", "Connection that carried it, as in table `connections`", |it| {
        it.connection.into()
    }),
    flag("reused", "The connection had carried a request before", |it| it.reused.into()),
    whole("discovered_at_ns", "Instant at which the client learned of it", |it| {
        it.discovered_at_ns.into()
    }),
    whole("blocked_ns", "Wait for a connection. The seven durations follow each other", |it| {
        it.phases.blocked_ns.into()
    }),
    whole("dns_ns", "Name lookup", |it| it.phases.dns_ns.into()),
    whole("connect_ns", "TCP handshake", |it| it.phases.connect_ns.into()),
    whole("tls_ns", "TLS or QUIC handshake", |it| it.phases.tls_ns.into()),
    whole("send_ns", "Sending of the request", |it| it.phases.send_ns.into()),
    whole("wait_ns", "From the request's end to the response's first byte", |it| {
        it.phases.wait_ns.into()
    }),
    whole("receive_ns", "From the response's first byte to its last", |it| {
        it.phases.receive_ns.into()
    }),
    whole("done_at_ns", "Instant at which the client had processed it", |it| it.done_at_ns.into()),
    whole("request_header_bytes", "Request header as sent", |it| it.request_header_bytes.into()),
    whole("request_body_bytes", "Request body", |it| it.request_body_bytes.into()),
    whole("response_header_bytes", "Response header as sent", |it| it.response_header_bytes.into()),
    whole("body_bytes", "Response body as sent", |it| it.body_bytes.into()),
    text("priority", "Priority class of the browser", |it| (&it.priority).into()),
    flag("blocks_render", "The first paint waits for it", |it| it.blocks_render.into()),
    text("error", "Reason for its failure", |it| it.error.as_ref().into()),
];

pub(crate) static CONNECTIONS: &[RecordColumn<ConnectionRecord>] = &[
    text("host", "The peer", |it| (&it.host).into()),
    text("protocol", "Protocol of requests", |it| (&it.protocol).into()),
    text("tls", "Version of TLS; a modelled one says so (`modelled tls10`)", |it| (&it.tls).into()),
    whole("opened_at_ns", "Instant of the first packet", |it| it.opened_at_ns.into()),
    whole("connected_at_ns", "Instant at which TCP was established", |it| {
        it.connected_at_ns.into()
    }),
    whole("secured_at_ns", "Instant at which TLS was established", |it| it.secured_at_ns.into()),
    whole("closed_at_ns", "Instant of its end", |it| it.closed_at_ns.into()),
    whole("requests", "Requests carried", |it| it.requests.into()),
    whole("bytes_up", "Payload from the client, TLS included", |it| it.bytes_up.into()),
    whole("bytes_down", "Payload to the client, TLS included", |it| it.bytes_down.into()),
    whole("retransmits_down", "Segments retransmitted by the server", |it| {
        it.retransmits_down.into()
    }),
    whole("retransmits_up", "Segments retransmitted by the client", |it| it.retransmits_up.into()),
    whole("timeouts_down", "Retransmission timeouts of the server", |it| it.timeouts_down.into()),
    whole("srtt_down_ns", "The server's smoothed round-trip time at the end", |it| {
        it.srtt_down_ns.into()
    }),
    whole("cwnd_down", "The server's congestion window at the end, in segments", |it| {
        it.cwnd_down.into()
    }),
    whole("busy_ns", "Time in which the server had data to send or in flight", |it| {
        it.busy_ns.into()
    }),
    whole("flow_limited_ns", "The part of it limited by flow control", |it| {
        it.flow_limited_ns.into()
    }),
];

pub(crate) static LINKS: &[RecordColumn<LinkRecord>] = &[
    text("name", "`down`, `up`; `hop/1/down` and so on beyond the access", |it| (&it.name).into()),
    whole(
        "configured_bit_per_s",
        "Configured rate, or the mean of a trace; none: no limit",
        |it| it.configured_bit_per_s.into(),
    ),
    whole("configured_delay_ns", "Configured one-way propagation delay", |it| {
        it.configured_delay_ns.into()
    }),
    whole("configured_loss_ppb", "Configured long-run loss in packets of 10^9", |it| {
        it.configured_loss_ppb.into()
    }),
    whole("offered_packets", "Packets offered", |it| it.offered_packets.into()),
    whole("offered_bytes", "Bytes offered", |it| it.offered_bytes.into()),
    whole("duplicated_packets", "Copies made", |it| it.duplicated_packets.into()),
    whole("delivered_packets", "Packets delivered", |it| it.delivered_packets.into()),
    whole("delivered_bytes", "Bytes delivered", |it| it.delivered_bytes.into()),
    whole("lost_packets", "Packets lost at random or by a list", |it| it.lost_packets.into()),
    whole("queue_full_packets", "Packets dropped by a full queue", |it| {
        it.queue_full_packets.into()
    }),
    whole("managed_packets", "Packets dropped by queue management", |it| it.managed_packets.into()),
    whole("too_big_packets", "Packets dropped because they exceed the MTU", |it| {
        it.too_big_packets.into()
    }),
    whole("marked_packets", "Packets marked with ECN", |it| it.marked_packets.into()),
    whole("reordered_packets", "Packets overtaken", |it| it.reordered_packets.into()),
    whole("delivered_bit_per_s", "Rate while busy", |it| it.delivered_bit_per_s.into()),
    whole("busy_ns", "Time in which it served packets", |it| it.busy_ns.into()),
    whole("waited_ns", "Total time of packets in the queue", |it| it.waited_ns.into()),
    whole("least_unqueued_ns", "Least time from end to end without queueing", |it| {
        it.least_unqueued_ns.into()
    }),
    whole("mean_unqueued_ns", "Mean time from end to end without queueing", |it| {
        it.mean_unqueued_ns.into()
    }),
    whole("most_one_way_ns", "Longest time from end to end, queueing included", |it| {
        it.most_one_way_ns.into()
    }),
    whole("max_queue_packets", "Longest queue in packets", |it| it.max_queue_packets.into()),
    whole("max_queue_bytes", "Longest queue in bytes", |it| it.max_queue_bytes.into()),
];

pub(crate) static EVENTS: &[RecordColumn<TcpEvent>] = &[
    whole("at_ns", "Instant", |it| it.at_ns.into()),
    text("kind", "Kind of event, as `retransmit`, `queue-drop`, `radio`, `proxied`", |it| {
        it.kind.name().into()
    }),
    whole("object", "Object that it concerns", |it| it.object.into()),
    whole("connection", "Connection that it concerns", |it| it.connection.into()),
    text("detail", "Particulars, by kind", |it| (&it.detail).into()),
];

pub(crate) static CRITICAL_STEPS: &[RecordColumn<PathStep>] = &[
    whole("object", "Object that was waited for", |it| it.object.into()),
    text("cause", "Cause of the wait, as `handshake`, `window`, `queue`", |it| {
        it.cause.name().into()
    }),
    whole("from_ns", "Beginning since navigation start", |it| it.from_ns.into()),
    whole("until_ns", "End since navigation start", |it| it.until_ns.into()),
    whole("excess_ns", "The part that no physical limit requires", |it| it.excess_ns.into()),
];

pub(crate) static EMULATION: &[RecordColumn<EmulationRecord>] = &[
    whole("delivered_packets", "Packets delivered since the journey's beginning", |it| {
        it.delivered_packets.into()
    }),
    whole("late_p50_ns", "Median lateness of the emulator", |it| it.late_p50_ns.into()),
    whole("late_p99_ns", "99th percentile of its lateness", |it| it.late_p99_ns.into()),
    whole("late_max_ns", "Maximum of its lateness", |it| it.late_max_ns.into()),
    flag("realtime", "Its thread had real-time priority", |it| it.realtime.into()),
    whole("attempts", "Emulations of the journey until it was on time", |it| it.attempts.into()),
    text("kernel", "Kernel whose TCP was used", |it| (&it.kernel).into()),
];

pub(crate) static PAINTS: &[RecordColumn<Paint>] = &[
    whole("dom_content_loaded_ns", "The document was parsed, since navigation start", |it| {
        it.dom_content_loaded_ns.into()
    }),
    whole("first_paint_ns", "First pixel", |it| it.first_paint_ns.into()),
    whole("first_contentful_paint_ns", "First text or image", |it| {
        it.first_contentful_paint_ns.into()
    }),
    whole("largest_contentful_paint_ns", "Largest text or image", |it| {
        it.largest_contentful_paint_ns.into()
    }),
    whole("speed_index_ns", "Mean time at which the viewport looked as in the end", |it| {
        it.speed_index_ns.into()
    }),
];

pub(crate) static RADIO: &[RecordColumn<RadioRecord>] = &[
    text("radio", "The radio, as in a network's settings", |it| (&it.radio).into()),
    whole("promotions", "Transitions to a better-connected state with packets waiting", |it| {
        it.promotions.into()
    }),
    whole("energy_uj", "Energy from navigation start to the visit's end, in microjoules", |it| {
        it.energy_uj.into()
    }),
    whole("up_uj", "The part for sending", |it| it.up_uj.into()),
    whole("down_uj", "The part for receiving", |it| it.down_uj.into()),
    whole("tail_uj", "Energy after the visit until the radio is idle", |it| it.tail_uj.into()),
];

pub(crate) static RADIO_STATES: &[RecordColumn<RadioStateRecord>] = &[
    text("state", "The state", |it| (&it.state).into()),
    whole("span_ns", "Time in it", |it| it.span_ns.into()),
    whole("energy_uj", "Energy in it, in microjoules", |it| it.energy_uj.into()),
];
