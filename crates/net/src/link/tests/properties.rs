//! Properties of any link with any packets.

use proptest::prelude::*;

use super::*;

/// A packet, and its distance from the one before.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) gap_ns: u64,
    pub(super) bytes: u32,
    flow: u32,
    ect: bool,
    pub(super) user: u32,
}

pub(super) fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let offer = (0..3_000_000u64, 40..=1600u32, any::<u32>(), any::<bool>(), 0..3u32)
        .prop_map(|(gap_ns, bytes, flow, ect, user)| Offer { gap_ns, bytes, flow, ect, user });
    prop::collection::vec(offer, 1..200)
}

fn scheduler() -> impl Strategy<Value = LaneScheduling> {
    prop_oneof![
        2 => Just(LaneScheduling::Fifo),
        1 => Just(LaneScheduling::RoundRobin),
        1 => Just(LaneScheduling::ProportionalFair(ProportionalFair::default())),
    ]
}

fn channels() -> impl Strategy<Value = Channels> {
    prop_oneof![2 => Just(vec![]), 1 => Just(vec![1.0, 0.3])].prop_map(Channels::new)
}

fn handover() -> impl Strategy<Value = Option<Handover>> {
    let some = any::<bool>().prop_map(|lossless| {
        let ms = Duration::from_millis;
        Some(Handover { every: ms(40), least: ms(3), most: ms(9), lossless })
    });
    prop_oneof![2 => Just(None), 1 => some]
}

fn any_link() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![
        (100..100_000u64).prop_map(|kbit| Rate::from(BitsPerSec::kbit(kbit))),
        Just(Rate::UNLIMITED),
        Just(traced("1\n1\n2\n30\n", false)),
        Just(traced("0 12\n0.05 0\n0.1 1\n", false)),
    ];
    let queue = prop_oneof![
        (1..20u32).prop_map(QueueLimit::Packets),
        (0..30_000u64).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited),
    ];
    let codel = Codel { ecn: true, target: Duration::from_millis(1), ..Codel::default() };
    let management = prop_oneof![
        4 => Just(Management::DropTail),
        1 => Just(Management::DropHead),
        1 => Just(Management::Codel(codel)),
        1 => Just(Management::FqCodel(codel)),
        1 => Just(Management::Pie(Pie { ecn: true, ..Pie::default() })),
    ];
    let emulator = prop_oneof![
        4 => Just(EmulatorModel::Farlink),
        1 => Just(EmulatorModel::Netem),
        1 => Just(EmulatorModel::Dummynet { tick: Duration::from_millis(1), timer: Duration::from_millis(4) }),
    ];
    let spread = prop_oneof![Just(0), 0..15_000u64].prop_map(Duration::from_micros);
    let jitter = spread.prop_map(|spread| Jitter { spread, shape: JitterShape::Uniform });
    let reorder = prop_oneof![2 => Just(Reorder::Never), 1 => Just(Reorder::ByJitter), 1 => Just(Reorder::Jump(0.2))];
    let chances = (prop_oneof![Just(0.0), 0.0..0.5f64], prop_oneof![Just(0.0), 0.0..0.5f64]);
    let (variation, shared) = ((jitter, reorder), (scheduler(), channels(), handover()));
    (rate, queue, management, emulator, variation, chances, shared).prop_map(
        |(rate, queue, management, emulator, (jitter, reorder), (loss, duplicate), shared)| {
            LinkConfig {
                scheduler: shared.0,
                channels: shared.1,
                handover: shared.2,
                harq: (duplicate > 0.1).then(crate::Harq::default),
                queue,
                management,
                emulator,
                jitter,
                reorder,
                loss: LossModel::Random(loss),
                duplicate,
                processing_jitter: ProcessingJitter::UpToOneSerialisation,
                ..LinkConfig::new(rate, Duration::from_millis(10), queue)
            }
        },
    )
}

proptest! {
    /// At any time: offered + duplicated = delivered + dropped + in flight; at the end nothing is left. Order is kept
    /// unless reordering is configured.
    #[test]
    fn every_packet_is_accounted_for(
        offers in offers(),
        config in any_link(),
        seed in any::<u64>(),
    ) {
        let keeps_order = config.reorder == Reorder::Never
            && config.emulator != EmulatorModel::Netem
            && config.scheduler == LaneScheduling::Fifo
            && !matches!(config.management, Management::FqCodel(_));
        let mut link = Link::new(config, &RandomSource::new(seed, 0), "test");
        let (mut now, mut bodies, mut dropped) = (Time::ZERO, Vec::new(), 0);
        for (body, offer) in offers.iter().enumerate() {
            now += Duration::from_nanos(offer.gap_ns);
            while let Some(packet) = link.poll(now) {
                bodies.push(packet.body);
            }
            let Offer { bytes, flow, ect, user, .. } = *offer;
            let _ = link.handle(now, Packet { wire_bytes: bytes, flow, ect, user }, body);
            while let Some(packet) = link.poll_dropped() {
                prop_assert!(packet.at <= now);
                dropped += 1;
            }
            let stats = link.stats();
            prop_assert_eq!(
                stats.offered_packets + stats.duplicated_packets,
                stats.delivered_packets + stats.dropped_packets() + link.in_flight() as u64
            );
        }
        while let Some(due) = link.deadline() {
            prop_assert!(due >= now || link.in_flight() > 0);
            now = now.max(due);
            while let Some(packet) = link.poll(now) {
                bodies.push(packet.body);
            }
            while link.poll_dropped().is_some() {
                dropped += 1;
            }
        }
        let stats = *link.stats();
        prop_assert_eq!(link.in_flight(), 0);
        prop_assert_eq!(stats.served_packets, stats.delivered_packets);
        prop_assert_eq!(
            stats.offered_bytes + stats.duplicated_bytes,
            stats.delivered_bytes + stats.dropped_bytes
        );
        prop_assert!(stats.managed_packets + stats.queue_full_packets + stats.lost_packets >= dropped);
        if keeps_order {
            prop_assert!(bodies.is_sorted(), "{:?}", bodies);
            prop_assert_eq!(stats.reordered_packets, 0);
        }
    }

    /// No stretch of the output is faster than the rate (by more than the packet that jitter may bring closer, and
    /// rounding), and without losses the service rate is the configured one.
    #[test]
    fn the_rate_is_never_exceeded(
        offers in offers(),
        kbit in 100..100_000u64,
        is_jittery in any::<bool>(),
    ) {
        let jitter = [ProcessingJitter::None, ProcessingJitter::UpToOneSerialisation];
        let processing_jitter = jitter[usize::from(is_jittery)];
        let rate = BitsPerSec::kbit(kbit);
        let queue = QueueLimit::Unlimited;
        let config = LinkConfig { rate: rate.into(), queue, processing_jitter, ..config() };
        let mut link = Link::new(config, &RandomSource::new(7, 0), "test");
        let mut now = Time::ZERO;
        for offer in &offers {
            now += Duration::from_nanos(offer.gap_ns);
            let _ = link.handle(now, Packet::new(offer.bytes), 0u32);
        }
        let arrivals = drain(&mut link);
        let first = arrivals.first().map_or(Time::ZERO, |a| a.0);
        let slack = if is_jittery { rate.time_for(1500) } else { Duration::ZERO };
        let mut bytes_since = 0u64;
        for (n, (when, bytes, _)) in arrivals.iter().enumerate().skip(1) {
            bytes_since += u64::from(*bytes);
            let rounding = Duration::from_nanos(n as u64);
            prop_assert!(*when - first + slack + rounding >= rate.time_for(bytes_since));
        }
        if let Some(served) = link.stats().service_rate() {
            prop_assert!(served.0.abs_diff(rate.0) <= 1 + rate.0 / 10_000, "{}", served);
        }
    }
}
