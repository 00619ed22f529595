use proptest::prelude::*;

use super::*;

const OPTIONS: TraceOptions = TraceOptions { unit: None, once: false };

fn trace(text: &str) -> Trace {
    read(text, OPTIONS).expect("a trace")
}

fn read(text: &str, options: TraceOptions) -> Result<Trace, TraceError> {
    Trace::from_bytes("t.txt", text.as_bytes(), Direction::Down, options)
}

fn message(text: &str) -> String {
    read(text, OPTIONS).expect_err("refused").to_string()
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Serves packets that all wait since `since`; returns the end of each.
fn served(trace: &Trace, since: Time, sizes: &[u32]) -> Vec<Option<Time>> {
    let TraceShape::Opportunities(opportunities) = trace.shape() else {
        panic!("of opportunities")
    };
    let mut cursor = OpportunityCursor::default();
    sizes
        .iter()
        .map(|bytes| opportunities.serve(&mut cursor, since, *bytes).map(|(_, ends)| ends))
        .collect()
}

#[test]
fn each_opportunity_carries_a_full_packet_and_the_last_is_the_next_rounds_zero() {
    let trace = trace("1\n1\n4\n10\n");
    assert_eq!(trace.duration(), Duration::from_millis(10));
    // Four packets of 1500 bytes in 10 ms.
    assert_eq!(trace.mean(), BitsPerSec(4_800_000));
    let ends = served(&trace, Time::ZERO, &[1500; 9]);
    let expected = [1, 1, 4, 10, 11, 11, 14, 20, 21].map(|ms| Some(at(ms)));
    assert_eq!(ends, expected);
}

/// `link_queue.cc`: an opportunity is 1504 bytes with a TUN header of four in each packet.
#[test]
fn small_packets_share_an_opportunity_and_a_large_one_takes_two() {
    let trace = trace("1\n2\n3\n4\n");
    // 748 + 4 twice is 1504.
    assert_eq!(served(&trace, Time::ZERO, &[748, 748, 1]), [1, 1, 2].map(|ms| Some(at(ms))));
    // The rest of the second opportunity carries the next packet's beginning.
    assert_eq!(served(&trace, Time::ZERO, &[1501, 1500]), [2, 3].map(|ms| Some(at(ms))));
}

/// `read_packet` runs what is due before it queues the packet.
#[test]
fn an_opportunity_does_not_serve_who_comes_at_its_instant() {
    let trace = trace("1\n2\n3\n");
    assert_eq!(served(&trace, at(2), &[1500]), [Some(at(3))]);
    let TraceShape::Opportunities(opportunities) = trace.shape() else {
        panic!("of opportunities")
    };
    // The rest of an earlier packet's opportunity is wasted if no packet waited for it.
    let mut cursor = OpportunityCursor::default();
    assert_eq!(opportunities.serve(&mut cursor, Time::ZERO, 100), Some((at(1), at(1))));
    assert_eq!(opportunities.starts(cursor, Time::from_micros(999)), Some(at(1)));
    assert_eq!(opportunities.starts(cursor, at(1)), Some(at(2)));
    // A time on the seam of two rounds lies behind the last opportunity of the first.
    assert_eq!(opportunities.starts(cursor, at(3)), Some(at(4)));
}

#[test]
fn without_repetition_the_link_stands_still_at_the_end() {
    let once = TraceOptions { once: true, ..OPTIONS };
    let packets = read("1\n2\n", once).expect("a trace");
    let ends = served(&packets, Time::ZERO, &[1500, 1500, 1500, 1500]);
    assert_eq!(ends, [Some(at(1)), Some(at(2)), None, None]);
    assert_eq!(packets.capacity_bytes(at(60_000)), 3000);

    let rates = read("0 12\n1 12\n", once).expect("a trace");
    let TraceShape::Segments(segments) = rates.shape() else { panic!("of segments") };
    assert_eq!(segments.ends(at(1999), 1500), Some(at(2000)));
    assert_eq!(segments.ends(at(2000), 1), None);
    assert_eq!(rates.capacity_bytes(at(9000)), 3_000_000);
}

#[test]
fn a_packet_spans_rates_outages_and_rounds() {
    // A second of 12 Mbit/s, one of nothing, one of 6.
    let trace = trace("0 12\n1 0\n2 6\n");
    assert_eq!((trace.mean(), trace.peak()), (BitsPerSec::mbit(6), BitsPerSec::mbit(12)));
    let TraceShape::Segments(segments) = trace.shape() else { panic!("of segments") };
    assert_eq!(segments.ends(at(0), 1500), Some(at(1)));
    // Half at 12 Mbit/s, then the outage, then half at 6.
    assert_eq!(segments.ends(Time::from_micros(999_500), 1500), Some(at(2001)));
    // A packet that ends at the beginning of an outage does not need its end.
    assert_eq!(segments.ends(at(999), 1500), Some(at(1000)));
    assert_eq!(
        segments.ends(Time::from_micros(2_999_000), 1500),
        Some(Time::from_micros(3_000_500))
    );
    assert_eq!(trace.capacity_bytes(at(3000)), 2_250_000);
}

#[test]
fn a_trace_of_zeros_is_a_stalled_link() {
    let trace = trace("0 0\n1 0\n");
    let TraceShape::Segments(segments) = trace.shape() else { panic!("of segments") };
    assert_eq!(segments.ends(at(5), 40), None);
}

#[test]
fn the_forms_are_told_apart_by_their_content() {
    let json = r#"[{"duration_ms": 1000, "bandwidth_kbps": 800, "latency_ms": 5}]"#;
    assert_eq!(trace(json).mean(), BitsPerSec::kbit(800));
    assert_eq!(trace("1,1000\r\n2,3000\r\n").mean(), BitsPerSec(16_000));
    assert_eq!(trace("0.0\t1.5\n5.0\t0.5\n").mean(), BitsPerSec::mbit(1));
    let csv = "time,Throughput,speed\nx,10,0\ny,-,0\nz,20,0\n";
    assert_eq!(trace(csv).mean(), BitsPerSec::mbit(15));
    assert!(trace(csv).taken().ends_with("1 rows without a value left out"));
    let both = "t,DL_bitrate,UL_bitrate\n0,900,100\n";
    let read = |way| Trace::from_bytes("b", both.as_bytes(), way, OPTIONS).expect("a trace").mean();
    assert_eq!(
        (read(Direction::Down), read(Direction::Up)),
        (BitsPerSec::kbit(900), BitsPerSec::kbit(100))
    );
    let mbyte = TraceOptions { unit: Some(RateUnit::Mbyte), once: false };
    assert_eq!(
        super::Trace::from_bytes("m", b"0 1\n1 1\n", Direction::Up, mbyte).expect("a trace").mean(),
        BitsPerSec::mbit(8)
    );
}

#[test]
fn errors_name_the_line_and_what_belongs_there() {
    assert_eq!(message("5\n3\n"), "t.txt:2: `3`: time goes backwards; lines must be in order");
    assert_eq!(
        message("0 1\n2 1\n1 1\n"),
        "t.txt:3: `1 1`: time goes backwards; lines must be in order"
    );
    assert_eq!(message("0 1\n1 -1\n"), "t.txt:2: `1 -1`: a rate cannot be negative");
    assert_eq!(message("0 1\n1\n"), "t.txt:2: `1`: expected two numbers: seconds and a rate");
    assert_eq!(message("1\nx\n"), "t.txt:2: `x`: expected a whole number of milliseconds");
    assert_eq!(message("-1\n"), "t.txt:1: `-1`: expected a whole number of milliseconds");
    assert!(message("0\n0\n").contains("no line after 0 ms"));
    assert!(message("").contains("no lines"));
    assert!(message("hello\n").starts_with("t.txt:1: no known form of a trace: expected"));
    assert!(message("time,speed\n1,2\n").starts_with("t.txt:1: no known form"));
    assert!(message("time,throughput\n1,fast\n").contains("t.txt:2: `1,fast`: expected a number"));
    assert!(message("time,throughput\n1\n").contains("the row is too short"));
    assert!(
        message("[{\"duration_ms\": -1, \"bandwidth_kbps\": 1}]").contains("time goes backwards")
    );
    assert!(message("[{\"duration_ms\": 1}]").contains("bandwidth_kbps"));
    assert!(message("0 9e9\n").contains("is the unit right?"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\[|\\PC|[0-9]{1,19}|[.,\\t \\n-]|e|throughput|,){0,30}") {
        let _ = read(&text, OPTIONS);
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..60), zip in any::<bool>()) {
        if zip {
            bytes.splice(0..0, [0x1f, 0x8b, 8, 0]);
        }
        let _ = Trace::from_bytes("any", &bytes, Direction::Up, OPTIONS);
    }

    /// Back-to-back service carries exactly what the trace does, whatever the sizes of the packets.
    #[test]
    fn segments_conserve_bits(
        rates in prop::collection::vec((1..3000u64, 0..20_000u64), 1..8),
        sizes in prop::collection::vec(1..9000u32, 1..40),
        start in 0..20_000u64,
    ) {
        let samples: Vec<_> =
            rates.iter().map(|(ms, kbit)| (Duration::from_millis(*ms), BitsPerSec::kbit(*kbit))).collect();
        let segments = RateSegments::new(&samples, true);
        prop_assume!(segments.mean().0 > 0);
        let begin = at(start);
        let mut end = begin;
        for bytes in &sizes {
            let next = segments.ends(end, *bytes).expect("it repeats");
            prop_assert!(next >= end);
            end = next;
        }
        let total: u32 = sizes.iter().sum();
        let carried = segments.capacity_bytes(end) - segments.capacity_bytes(begin);
        // A nanosecond of rounding per packet, and a byte at each end.
        let slack = 2 + sizes.len() as u64 * segments.peak().0 / 8_000_000_000;
        prop_assert!(carried.abs_diff(u64::from(total)) <= slack, "{} for {}", carried, total);
    }
}
