//! Quantities of a load: named queries over the store's rows.

mod arrival;
mod between;
mod idle;
mod means;
mod over_time;
mod packets;
mod phases;
mod requests;
mod sent_again;
mod timers;
mod windows;

use record::{ConnectionRecord, Event, ObjectRecord, Series};

pub use self::arrival::spread;
pub use self::windows::stood;

use scenario::choice;
use store::VisitRow;

choice! {
    /// A numeric property of a load. Times are in seconds, sizes in bytes.
    pub enum Quantity, "quantity" {
        /// The page load time; a load that failed has none.
        Plt = "plt",
        /// The document's first byte.
        Ttfb = "ttfb",
        /// Load time over its physical floor.
        Excess = "over_floor",
        /// 100 if the load failed, else 0, so that a mean is a share in per cent.
        Failed = "failed",
        /// Requests that were sent.
        Requests = "requests",
        /// Connections that were opened.
        Connections = "connections",
        /// Bytes of bodies.
        BodyBytes = "body_bytes",
        /// Bytes on the wire towards the client, headers of every layer included.
        BytesDown = "bytes_down",
        /// Bytes on the wire towards the servers, likewise.
        BytesUp = "bytes_up",
        /// Retransmitted segments, both ways.
        Retransmits = "retransmits",
        /// Average throughput in kbit/s: bytes towards the client over the load time.
        Throughput = "throughput",
        /// Objects that arrived per second of the load.
        ObjectRate = "object_rate",
        /// From the first connection's SYN until it may carry a request, TLS included.
        SetUp = "set_up",
        /// Mean time of an object from its discovery to its last byte.
        ObjectTime = "object_time",
        /// Median time of an object before its request: blocked, name, connection, TLS.
        Init = "init",
        /// Median time of an object from its request to its first byte.
        Wait = "wait",
        /// Median time of an object from its first byte to its last.
        Receive = "receive",
        /// Median time of an object until its first byte: `init` and `wait` together.
        InitAndWait = "init_and_wait",
        /// The largest share of an object's time, in per cent, that handing over its request took.
        SendShare = "send_share",
        /// The 75th percentile of objects' time blocked.
        Blocked75 = "blocked_p75",
        /// The share of objects, in per cent, that were blocked for less than 50 ms.
        BlockedBriefly = "blocked_below_50ms",
        /// The maximum number of concurrent requests.
        Concurrency = "concurrency",
        /// Time at which nine tenths of the requests had been sent, from the end of the document.
        RequestedAfterDocument = "requested_after_document",
        /// Time at which half of the objects had arrived.
        HalfOfObjects = "half_of_objects",
        /// 100 if the page had loaded within 8 s, else 0.
        Within8s = "within_8s",
        /// 100 if the load failed or took more than a minute, else 0.
        Over60s = "over_60s",
        /// Servers that received requests.
        Hosts = "hosts",
        /// Objects of the page, without those requested after loading.
        Objects = "objects",
        /// Documents among them.
        TextObjects = "text_objects",
        /// Scripts and sheets among them.
        CodeObjects = "code_objects",
        /// All others among them.
        OtherObjects = "other_objects",
        /// Mean TCP handshake of the connections that were opened.
        Open = "open",
        /// Mean time from an object's discovery to its first byte.
        FirstByte = "first_byte",
        /// Mean time of an object before its request.
        MeanInit = "mean_init",
        /// Mean time of handing over the request.
        MeanSend = "mean_send",
        /// Mean time from the request to the first byte.
        MeanWait = "mean_wait",
        /// Mean time from the first byte to the last.
        MeanReceive = "mean_receive",
        /// Time before the request, in per cent of objects' time.
        InitShare = "init_share",
        /// Time of handing over the request, in per cent of objects' time.
        MeanSendShare = "mean_send_share",
        /// The share of objects, in per cent, that were blocked for longer than a round trip.
        BlockedOverRtt = "blocked_over_rtt",
        /// The share of objects, in per cent, whose first byte came no sooner than 0.98 round trips after the request.
        WaitFromRtt = "wait_from_rtt",
        /// The share of requests, in per cent, that fit a segment.
        RequestsInSegment = "requests_in_segment",
        /// Gaps of more than a round trip between one request and the next.
        RequestGaps = "request_gaps",
        /// The longest gap between two requests, in per cent of the span from the first to the last.
        LongestGap = "longest_gap",
        /// The peak rate of bodies in any second, in kbit/s.
        PeakThroughput = "peak_throughput",
        /// Connections that carried something.
        ConnectionsUsed = "connections_used",
        /// The mean of servers' congestion windows at the visit's end, in segments.
        Window = "window",
        /// The largest of them.
        LargestWindow = "largest_window",
        /// The share of servers' busy time, in per cent, in which flow control limited them.
        FlowLimited = "flow_limited",
        /// Segments that servers retransmitted.
        SentAgain = "sent_again",
        /// Needless retransmissions among them.
        Needless = "sent_again_needlessly",
        /// Needless retransmissions within 3 s of a radio promotion.
        AfterPromotion = "sent_again_after_promotion",
        /// All other needless retransmissions.
        RadioUp = "sent_again_radio_up",
        /// The median over bursts of the number of connections that retransmitted; bursts lie 1 s apart.
        ConnectionsHit = "connections_hit",
        /// The same, in per cent of the connections.
        ConnectionsHitShare = "connections_hit_share",
        /// Frequency with which requests went to a connection in recovery, among those that could have avoided
        /// it, over the frequency expected by chance.
        BoundToHit = "bound_to_hit",
        /// Objects that a PEP sent unasked.
        Promised = "promised",
        /// The median time at the proxy from a request to the end of the origin's answer, in per cent of the
        /// time until the last of it had left the proxy.
        OriginShare = "origin_share",
        /// The median time at the proxy from the origin's first byte to its last.
        OriginDownload = "origin_download",
        /// The median time from the origin's last byte at the proxy until the response's first byte left it: 0
        /// where that was sooner.
        ProxyQueue = "proxy_queue",
        /// The total of these times, in per cent of objects' time.
        ProxyQueueShare = "proxy_queue_share",
        /// The mean of the bytes in flight towards the client over the load, all connections together.
        InFlight = "in_flight",
        /// Time at which half of the maximum bytes in flight were in flight.
        HalfOfInFlight = "half_of_in_flight",
        /// The share of servers' busy time, in per cent, in which at least 0.8 windows were in flight.
        WindowFilled = "window_filled",
        /// The share in which more than the window was in flight.
        WindowOverfilled = "window_overfilled",
        /// Number of times that a slow start threshold fell by 30 % or more since the previous visit.
        ThresholdDrops = "threshold_drops",
        /// The mean window, in segments, at the first data after a connection had been idle for longer than its timeout.
        WindowAfterIdle = "window_after_idle",
        /// The share of such idle times, in per cent, after which the slow start threshold was unchanged.
        ThresholdKept = "threshold_kept",
        /// The mean window after those idle times that were shorter than 5 s.
        WindowAfterShortIdle = "window_after_short_idle",
        /// Needless retransmissions within 3 s after those idle times.
        SentAgainAfterShortIdle = "sent_again_after_short_idle",
        /// Needless retransmissions within 3 s of the beginning of a radio promotion, by connections whose
        /// timeout was longer than the promotion plus a round trip.
        SentAgainDespiteTimeout = "sent_again_despite_timeout",
        /// Connections with such a timeout at a promotion.
        LongTimeouts = "long_timeouts",
        /// Idle times longer than the timeout and shorter than 5 s.
        ShortIdles = "short_idles",
        /// Data rate to the client in the first second of the load, in kbit/s.
        Second1 = "second_1",
        /// Data rate to the client in the second second of the load, in kbit/s.
        Second2 = "second_2",
        /// Data rate to the client in the third second of the load, in kbit/s.
        Second3 = "second_3",
        /// Data rate to the client in the fourth second of the load, in kbit/s.
        Second4 = "second_4",
        /// Data rate to the client in the fifth second of the load, in kbit/s.
        Second5 = "second_5",
        /// Data rate to the client in the sixth second of the load, in kbit/s.
        Second6 = "second_6",
        /// Data rate to the client in the seventh second of the load, in kbit/s.
        Second7 = "second_7",
        /// Data rate to the client in the eighth second of the load, in kbit/s.
        Second8 = "second_8",
        /// Data rate to the client in the ninth second of the load, in kbit/s.
        Second9 = "second_9",
        /// Data rate to the client in the tenth second of the load, in kbit/s.
        Second10 = "second_10",
        /// The peak rate at the client over a tenth of a second, divided by the mean.
        PeakToMean = "peak_to_mean",
        /// Packets of less than 80 bytes, both ways.
        TinyPackets = "tiny_packets",
        /// Their share in per cent.
        TinyShare = "tiny_share",
        /// The share of packets of 1280 to 1500 bytes, in per cent.
        LargeShare = "large_share",
        /// The mean time of the radio from idle to connected.
        Promotion = "promotion",
        /// The mean time from the last packet until the radio left `CELL_DCH` for `CELL_FACH`.
        QuietBeforeFach = "quiet_before_fach",
        /// The mean quiet time in `CELL_FACH` until the radio was idle.
        QuietInFach = "quiet_in_fach",
        /// The mean time from the last packet until the radio was idle.
        QuietBeforeIdle = "quiet_before_idle",
    }
    not_yet {}
}

/// A load as stored.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The visit's own row.
    pub visit: &'a VisitRow,
    /// Its objects.
    pub objects: &'a [ObjectRecord],
    /// Its connections.
    pub connections: &'a [ConnectionRecord],
    /// Its events.
    pub events: &'a [Event],
    /// Its time series, if recorded.
    pub series: Option<&'a Series>,
}

impl Quantity {
    /// True if it needs more than the visit's own row.
    pub fn needs_objects(self) -> bool {
        use Quantity::*;
        !matches!(
            self,
            Plt | Ttfb
                | Excess
                | Failed
                | Requests
                | Connections
                | BodyBytes
                | BytesDown
                | BytesUp
                | Retransmits
                | Throughput
                | Within8s
                | Over60s
        )
    }

    /// True if it needs the visit's events.
    pub fn needs_events(self) -> bool {
        use Quantity::*;
        matches!(
            self,
            SentAgain
                | Needless
                | AfterPromotion
                | RadioUp
                | ConnectionsHit
                | ConnectionsHitShare
                | BoundToHit
                | Promised
                | OriginShare
                | OriginDownload
                | ProxyQueue
                | ProxyQueueShare
                | SentAgainAfterShortIdle
                | SentAgainDespiteTimeout
        )
    }

    /// True if it needs the time series.
    pub fn needs_series(self) -> bool {
        use Quantity::*;
        matches!(self, OriginShare | ProxyQueue | ProxyQueueShare) || over_time::ALL.contains(&self)
    }

    /// Its value for a load; `None` if the load has no such value.
    pub fn of(self, load: Load<'_>) -> Option<f64> {
        let Load { visit, objects, connections, events, .. } = load;
        let plt = visit.plt_ns.map(seconds);
        match self {
            Quantity::Plt => plt,
            Quantity::Ttfb => visit.ttfb_ns.map(seconds),
            Quantity::Excess => Some(plt? / seconds(visit.floors?.graph_ns)),
            Quantity::Failed => Some(hundred(plt.is_none())),
            Quantity::Requests => Some(visit.requests as f64),
            Quantity::Connections => Some(visit.connections as f64),
            Quantity::BodyBytes => Some(visit.body_bytes as f64),
            Quantity::BytesDown => Some(visit.wire_bytes_down as f64),
            Quantity::BytesUp => Some(visit.wire_bytes_up as f64),
            Quantity::Retransmits => Some(visit.retransmits? as f64),
            Quantity::Throughput => Some(visit.wire_bytes_down as f64 * 8.0 / 1e3 / plt?),
            Quantity::ObjectRate => Some(arrived(objects).count() as f64 / plt?),
            Quantity::SetUp => set_up(connections),
            Quantity::ObjectTime => mean(arrived(objects).map(|o| o.phases.total_ns())),
            Quantity::Init => phases::middle(objects, 0.5, before_request),
            Quantity::Wait => phases::middle(objects, 0.5, |o| o.phases.wait_ns),
            Quantity::Receive => phases::middle(objects, 0.5, |o| o.phases.receive_ns),
            Quantity::InitAndWait => {
                phases::middle(objects, 0.5, |o| before_request(o) + o.phases.wait_ns)
            }
            Quantity::SendShare => phases::send_share(objects),
            Quantity::Blocked75 => phases::middle(objects, 0.75, |o| o.phases.blocked_ns),
            Quantity::BlockedBriefly => phases::blocked_briefly(objects),
            Quantity::Concurrency => phases::concurrency(objects),
            Quantity::RequestedAfterDocument => phases::requested_after_document(objects),
            Quantity::HalfOfObjects => phases::half_of_objects(objects, visit.started_at_ns),
            Quantity::Within8s => Some(hundred(plt.is_some_and(|plt| plt < 8.0))),
            Quantity::Over60s => Some(hundred(plt.is_none_or(|plt| plt > 60.0))),
            Quantity::Hosts => Some(requests::hosts(objects)),
            Quantity::Objects => Some(requests::of_kinds(objects, |_| true)),
            Quantity::TextObjects => Some(requests::of_kinds(objects, |kind| kind == "Document")),
            Quantity::CodeObjects => Some(requests::of_kinds(objects, requests::is_code)),
            Quantity::OtherObjects => Some(requests::of_kinds(objects, |kind| {
                kind != "Document" && !requests::is_code(kind)
            })),
            Quantity::Open => means::open(connections),
            Quantity::FirstByte => means::first_byte(load),
            Quantity::MeanInit => means::mean(load, before_request),
            Quantity::MeanSend => means::mean(load, |object| object.phases.send_ns),
            Quantity::MeanWait => means::mean(load, |object| object.phases.wait_ns),
            Quantity::MeanReceive => means::mean(load, |object| object.phases.receive_ns),
            Quantity::InitShare => means::share(load, before_request),
            Quantity::MeanSendShare => means::share(load, |object| object.phases.send_ns),
            Quantity::BlockedOverRtt => requests::over_rtt(load, |phases| phases.blocked_ns, 1.0),
            Quantity::WaitFromRtt => requests::over_rtt(load, |phases| phases.wait_ns, 0.98),
            Quantity::RequestsInSegment => requests::in_segment(objects),
            Quantity::RequestGaps => requests::gaps(load),
            Quantity::LongestGap => requests::longest_gap(load),
            Quantity::PeakThroughput => arrival::peak(load),
            Quantity::ConnectionsUsed => Some(connections.len() as f64),
            Quantity::Window => means::window(connections),
            Quantity::LargestWindow => {
                connections.iter().map(|it| it.cwnd_down).max().map(f64::from)
            }
            Quantity::FlowLimited => means::flow_limited(connections),
            Quantity::SentAgain => Some(sent_again::all(events).len() as f64),
            Quantity::Needless => Some(sent_again::needless(events).len() as f64),
            Quantity::AfterPromotion => Some(sent_again::after_promotion(events) as f64),
            Quantity::RadioUp => Some(sent_again::radio_up(events) as f64),
            Quantity::ConnectionsHit => sent_again::connections_hit(events),
            Quantity::ConnectionsHitShare => sent_again::connections_hit(events)
                .map(|hit| 100.0 * hit / (connections.len() as f64).max(1.0)),
            Quantity::BoundToHit => sent_again::bound_to_hit(load),
            Quantity::Promised => between::promised(events),
            Quantity::OriginShare => between::origin_share(load),
            Quantity::OriginDownload => between::origin_download(events),
            Quantity::ProxyQueue => between::queue(load),
            Quantity::ProxyQueueShare => between::queue_share(load),
            of_time => over_time::of(of_time, load),
        }
    }
}

/// A condition as 100 or 0, whose mean is a share in per cent.
fn hundred(yes: bool) -> f64 {
    if yes { 100.0 } else { 0.0 }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn arrived(objects: &[ObjectRecord]) -> impl Iterator<Item = &ObjectRecord> {
    objects.iter().filter(|object| object.error.is_none() && object.protocol != "cache")
}

fn before_request(object: &ObjectRecord) -> u64 {
    let phases = object.phases;
    phases.blocked_ns + phases.dns_ns + phases.connect_ns + phases.tls_ns
}

/// The times at which the request left the client and its last byte arrived.
fn span(object: &ObjectRecord) -> (u64, u64) {
    let from = object.discovered_at_ns + before_request(object);
    (from, object.discovered_at_ns + object.phases.total_ns())
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let (mut sum, mut count) = (0, 0_u64);
    values.for_each(|ns| {
        sum += ns;
        count += 1;
    });
    (count > 0).then(|| seconds(sum) / count as f64)
}

fn set_up(connections: &[ConnectionRecord]) -> Option<f64> {
    let first = connections.iter().min_by_key(|connection| connection.opened_at_ns)?;
    let ready = first.secured_at_ns.or(first.connected_at_ns)?;
    Some(seconds(ready.saturating_sub(first.opened_at_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::toy;

    /// A load and an object of it.
    pub(super) fn any() -> (VisitRow, ObjectRecord) {
        let filled = toy::filled_store(&toy::plan(1));
        let visit = filled.store.visits(filled.run).unwrap().remove(0);
        let object = filled.store.objects(visit.key).unwrap().remove(0);
        (visit, object)
    }

    #[test]
    fn a_load_that_failed_has_no_time() {
        let (mut visit, _) = any();
        let of = |quantity: Quantity, visit: &VisitRow| {
            quantity.of(Load { visit, objects: &[], connections: &[], events: &[], series: None })
        };
        assert_eq!(of(Quantity::Failed, &visit), Some(0.0));
        assert_eq!(of(Quantity::SetUp, &visit), None);
        visit.plt_ns = None;
        assert_eq!(of(Quantity::Plt, &visit), None);
        assert_eq!(of(Quantity::Throughput, &visit), None);
        assert_eq!(of(Quantity::Failed, &visit), Some(100.0));
    }
}
