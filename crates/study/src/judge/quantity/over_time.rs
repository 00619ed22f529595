//! Quantities of the recorded time series, by name.

use super::Quantity::{self, *};
use super::{Load, idle, packets, timers, windows};

/// All of them.
pub(super) const ALL: [Quantity; 30] = [
    Quantity::InFlight,
    Quantity::HalfOfInFlight,
    Quantity::WindowFilled,
    Quantity::WindowOverfilled,
    Quantity::ThresholdDrops,
    Quantity::WindowAfterIdle,
    Quantity::ThresholdKept,
    Quantity::WindowAfterShortIdle,
    Quantity::SentAgainAfterShortIdle,
    Quantity::SentAgainDespiteTimeout,
    Quantity::LongTimeouts,
    Quantity::ShortIdles,
    Quantity::Second1,
    Quantity::Second2,
    Quantity::Second3,
    Quantity::Second4,
    Quantity::Second5,
    Quantity::Second6,
    Quantity::Second7,
    Quantity::Second8,
    Quantity::Second9,
    Quantity::Second10,
    Quantity::PeakToMean,
    Quantity::TinyPackets,
    Quantity::TinyShare,
    Quantity::LargeShare,
    Quantity::Promotion,
    Quantity::QuietBeforeFach,
    Quantity::QuietInFach,
    Quantity::QuietBeforeIdle,
];

/// The value of one of them; `None` without a recording.
pub(super) fn of(quantity: Quantity, load: Load<'_>) -> Option<f64> {
    match quantity {
        InFlight => windows::in_flight(load),
        HalfOfInFlight => windows::half_of_in_flight(load),
        WindowFilled => windows::filled_mostly(load),
        WindowOverfilled => windows::overfilled(load),
        ThresholdDrops => windows::threshold_drops(load),
        WindowAfterIdle => idle::window_after(load),
        ThresholdKept => idle::threshold_kept(load),
        WindowAfterShortIdle => idle::window_after_short(load),
        SentAgainAfterShortIdle => idle::sent_again_after_short(load),
        SentAgainDespiteTimeout => idle::sent_again_despite_timeout(load),
        LongTimeouts => idle::long_timeouts(load),
        ShortIdles => idle::short_idles(load),
        Second1 => packets::second(load, 1),
        Second2 => packets::second(load, 2),
        Second3 => packets::second(load, 3),
        Second4 => packets::second(load, 4),
        Second5 => packets::second(load, 5),
        Second6 => packets::second(load, 6),
        Second7 => packets::second(load, 7),
        Second8 => packets::second(load, 8),
        Second9 => packets::second(load, 9),
        Second10 => packets::second(load, 10),
        PeakToMean => packets::peak_to_mean(load),
        TinyPackets => packets::tiny(load),
        TinyShare => packets::tiny_share(load),
        LargeShare => packets::large_share(load),
        Promotion => timers::promotion(load),
        QuietBeforeFach => timers::quiet_before_fach(load),
        QuietInFach => timers::quiet_in_fach(load),
        QuietBeforeIdle => timers::quiet_before_idle(load),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use record::{
        Event, EventKind, Interval, PacketSize, RadioStep, SentAgain, Series, WindowSample,
    };

    use super::*;
    use store::toy;

    const MS: u64 = 1_000_000;

    fn window(connection: u32, at_ms: u64, in_flight: u32, cwnd: u32) -> WindowSample {
        WindowSample {
            connection,
            at_ns: at_ms * MS,
            cwnd,
            ssthresh: Some(40),
            in_flight,
            in_flight_bytes: u64::from(in_flight) * 1000,
            srtt_ns: 100 * MS,
            rto_ns: 300 * MS,
            ..WindowSample::default()
        }
    }

    fn step(at_ms: u64, from: &str, to: &str, by_packet: bool, quiet_ms: Option<u64>) -> RadioStep {
        let (from, to) = (from.to_owned(), to.to_owned());
        RadioStep { at_ns: at_ms * MS, from, to, by_packet, quiet_ns: quiet_ms.map(|ms| ms * MS) }
    }

    /// A load from 10 s to 14 s after the journey began; the radio's promotion takes its first 2 s.
    fn series() -> Series {
        let fallen = |sample| WindowSample { ssthresh: Some(20), ..sample };
        let slow = |sample| WindowSample { rto_ns: 3000 * MS, ..sample };
        Series {
            since_ns: 5000 * MS,
            windows: vec![
                // Kept from before, with a timeout longer than the promotion: idle for 11 s, which is longer
                // than the timeout.
                slow(window(0, 1000, 0, 40)),
                slow(window(0, 12_000, 8, 10)),
                fallen(window(0, 12_500, 4, 10)),
                fallen(window(0, 13_000, 0, 10)),
                // The load's own connection: new, then idle for 1 s.
                window(1, 12_000, 0, 10),
                window(1, 12_100, 12, 10),
                window(1, 12_500, 0, 12),
                window(1, 13_500, 10, 10),
            ],
            throughput: [
                vec![Interval::default(); 20],
                vec![of_bytes(2000), of_bytes(0), of_bytes(1000)],
            ]
            .concat(),
            packets: vec![size(52, 2, 5), size(79, 0, 1), size(80, 1, 0), size(1452, 10, 1)],
            radio: vec![
                step(6000, "CELL_DCH", "CELL_FACH", false, Some(4950)),
                step(8000, "CELL_FACH", "IDLE", false, Some(6950)),
                step(10_000, "IDLE", "IDLE to DCH", true, Some(8950)),
                step(12_000, "IDLE to DCH", "CELL_DCH", false, Some(10_950)),
            ],
            departures: Vec::new(),
        }
    }

    fn of_bytes(bytes_down: u64) -> Interval {
        Interval { bytes_down, bytes_up: 9 }
    }

    fn size(wire_bytes: u32, down: u64, up: u64) -> PacketSize {
        PacketSize { wire_bytes, down, up }
    }

    fn event(at_ms: u64, kind: EventKind, connection: u32, detail: String) -> Event {
        Event { at_ns: at_ms * MS, kind, object: None, connection: Some(connection), detail }
    }

    #[test]
    fn over_time_by_hand() {
        let filled = toy::filled_store(&toy::plan(1));
        let mut visit = filled.store.visits(filled.run).unwrap().remove(0);
        (visit.started_at_ns, visit.plt_ns) = (10_000 * MS, Some(4000 * MS));
        let again = SentAgain { sender: "server", cause: "timeout", needless: true }.to_string();
        let events = [
            event(
                10_000,
                EventKind::Radio,
                0,
                "IDLE to DCH, by a packet of 52 bytes up".to_owned(),
            ),
            event(12_000, EventKind::Radio, 0, "CELL_DCH, by a timer".to_owned()),
            event(12_900, EventKind::Retransmit, 0, again.clone()),
            event(13_900, EventKind::Retransmit, 1, again),
        ];
        let series = series();
        let (objects, connections) = (&[], &[]);
        let load =
            Load { visit: &visit, objects, connections, events: &events, series: Some(&series) };
        let near = |quantity: Quantity, expected: f64| {
            assert!(quantity.needs_series());
            let value = quantity.of(load).unwrap_or_else(|| panic!("{quantity} is there"));
            assert!((value - expected).abs() < 1e-9, "{quantity}: {value}, not {expected}");
        };
        // 8 KB and 4 KB for half a second each; 12 KB for 0.4 s and 10 KB for 0.5 s: in 4 s.
        near(InFlight, (4.0 + 2.0 + 4.8 + 5.0) * 1000.0 / 4.0);
        // At most 20 KB, 8 + 12; half of it is reached with those.
        near(HalfOfInFlight, 2.1);
        near(WindowFilled, 100.0 * 1.4 / 1.9);
        near(WindowOverfilled, 100.0 * 0.4 / 1.9);
        near(ThresholdDrops, 1.0);
        near(WindowAfterIdle, 10.0);
        near(ThresholdKept, 100.0);
        near(WindowAfterShortIdle, 10.0);
        near(SentAgainAfterShortIdle, 1.0);
        near(SentAgainDespiteTimeout, 1.0);
        near(LongTimeouts, 1.0);
        near(ShortIdles, 1.0);
        near(Second1, 0.0);
        near(Second3, 24.0);
        near(Second10, 0.0);
        near(PeakToMean, 2.0);
        near(TinyPackets, 8.0);
        near(TinyShare, 40.0);
        near(LargeShare, 55.0);
        near(Promotion, 2.0);
        near(QuietBeforeFach, 4.95);
        near(QuietInFach, 2.0);
        near(QuietBeforeIdle, 6.95);
    }

    #[test]
    fn without_a_recording_there_is_none() {
        let filled = toy::filled_store(&toy::plan(1));
        let visit = filled.store.visits(filled.run).unwrap().remove(0);
        let load =
            Load { visit: &visit, objects: &[], connections: &[], events: &[], series: None };
        assert!(ALL.into_iter().all(|quantity| quantity.of(load).is_none()));
        // Each has a value where one exists: none is missing in `of`.
        let known = Quantity::ALL.iter().filter(|quantity| quantity.needs_series()).count();
        assert_eq!(known, ALL.len() + 3);
    }
}
