//! Radios and satellites in `farlink load`: closed forms of their studies, from the command line.

use std::collections::BTreeMap;

use crate::common::Desk;
use serde_json::Value;

/// One load of a page without compute, nothing varied.
fn visit(desk: &Desk, arguments: &str) -> Value {
    let load = format!("load {arguments} --device zero --no-noise -n 1 --json");
    serde_json::from_str(&desk.farlink(&load).ok()).expect("one visit, one line")
}

fn ms(visit: &Value, field: &str) -> f64 {
    visit[field].as_f64().unwrap_or_else(|| panic!("{field}: {visit}"))
}

/// TCP's handshake, TLS's, the request: each costs a round trip over a geostationary satellite, TLS 1.2's handshake two.
#[test]
fn a_page_over_a_geostationary_satellite_begins_after_so_many_round_trips() {
    let desk = Desk::new();
    for (tls, round_trips) in [("none", 2.0), ("tls13", 3.0), ("tls12", 4.0)] {
        let page = "synthetic:1x1KB --network rtt=620ms,down=100mbit,up=100mbit,queue=100pkt";
        let ttfb = ms(&visit(&desk, &format!("{page} --protocol h1 --tls {tls}")), "ttfb_ms");
        let least = round_trips * 620.0;
        assert!((least..least + 5.0).contains(&ttfb), "{tls}: {ttfb} ms, {round_trips} RTT");
        // The same over the measured link, whose packets also take their time to be sent.
        let page = "synthetic:1x1KB --network cardaci2015-geo";
        let ttfb = ms(&visit(&desk, &format!("{page} --protocol h1 --tls {tls}")), "ttfb_ms");
        assert!((least..least + 200.0).contains(&ttfb), "{tls}: {ttfb} ms, {round_trips} RTT");
    }
}

/// A request over the satellite and a plan back: 660 ms for the first packet, none for the next ones while capacity
/// is kept.
#[test]
fn capacity_on_demand_delays_the_first_packet_alone() {
    let desk = Desk::new();
    let load = |radio: &str| {
        let network = format!("rtt=560ms,down=10mbit,up=10mbit,queue=100pkt{radio}");
        visit(&desk, &format!("synthetic:1x1KB --protocol h1 --tls none --network {network}"))
    };
    let bare = load("");
    let later = |visit: &Value| ms(visit, "ttfb_ms") - ms(&bare, "ttfb_ms");
    let kept = load(",radio=dama,radio.frame=1ms");
    assert!((660.0..663.0).contains(&later(&kept)), "{} ms", later(&kept));
    assert_eq!(kept["radio"]["promotions"], 1);
    // A terminal that gives its capacity back before the handshake's answer comes must ask again. It has done so
    // already when the SYN was retransmitted after 1 s: the request leaves 660 ms after that, where it would have
    // left at 560 ms.
    let lost = load(",radio=dama,radio.frame=1ms,radio.hold=100ms");
    assert!((1100.0 - 1.0..1100.0 + 5.0).contains(&later(&lost)), "{} ms", later(&lost));
    assert_eq!(lost["radio"]["promotions"], 3, "the third for the acknowledgement of the response");
    // Frames: a packet waits for the next of them.
    let framed = load(",radio=dama");
    assert!((660.0..663.0 + 2.0 * 45.0).contains(&later(&framed)), "{} ms", later(&framed));
}

/// The one-way delays of ping answers, by departure time from the server: nanoseconds.
fn delays_of_answers(desk: &Desk) -> BTreeMap<u64, u64> {
    let arrived = answers(&std::fs::read(desk.path("leo.pcapng")).unwrap());
    let left = answers(&std::fs::read(desk.path("leo.servers.pcapng")).unwrap());
    let delay = |(number, left): (u64, u64)| Some((left, arrived.get(&number)? - left));
    left.into_iter().filter_map(delay).collect()
}

/// Times at which the UDP datagrams from port 7 crossed the interface of a capture, by the number that each carries.
fn answers(mut file: &[u8]) -> BTreeMap<u64, u64> {
    const ENHANCED_PACKET: u32 = 6;
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut answers = BTreeMap::new();
    while file.len() >= 12 {
        let (block, rest) = file.split_at(word(file, 4) as usize);
        file = rest;
        // Type, length, interface, time (two words), lengths; then the IP packet.
        let is_answer = word(block, 0) == ENHANCED_PACKET
            && block[28 + 9] == 17
            && block[28 + 20..28 + 22] == [0, 7];
        if is_answer {
            let at = u64::from(word(block, 12)) << 32 | u64::from(word(block, 16));
            let number = u64::from_be_bytes(block[28 + 28..28 + 36].try_into().unwrap());
            answers.insert(number, at);
        }
    }
    answers
}

/// Pings through a minute: within a slot all take the same time, and another in the next slot.
#[test]
fn a_low_orbits_delay_changes_at_the_borders_of_slots() {
    const SLOT_NS: u64 = 15_000_000_000;
    /// The longest outage, and a ping that began in it.
    const SETTLED_NS: u64 = 200_000_000;
    let desk = Desk::new();
    let network = "rtt=22ms,down=100mbit,up=15mbit,queue=100pkt,radio=leo";
    let page = "synthetic:1x1KB --protocol h1 --tls none --service-time 35s";
    let traffic = "--traffic ping:every=100ms --pcap leo.pcapng";
    let visit = visit(&desk, &format!("{page} --network {network} {traffic}"));
    assert!(ms(&visit, "plt_ms") > 70_000.0, "{visit}");
    let delays = delays_of_answers(&desk);
    assert!(delays.len() > 650, "{} pings", delays.len());
    let mut by_slot: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (left, delay) in delays {
        // The world's clock began at the start of a day.
        if left % SLOT_NS > SETTLED_NS {
            by_slot.entry(left / SLOT_NS).or_default().push(delay);
        }
    }
    assert!(by_slot.len() >= 5, "{}", by_slot.len());
    let paths: Vec<u64> = by_slot
        .values()
        .map(|delays| {
            assert!(delays.iter().all(|delay| *delay == delays[0]), "{delays:?}");
            // Half of the link's round trip, and up to half of 38 ms.
            assert!((11_000_000..=30_100_000).contains(&delays[0]), "{}", delays[0]);
            delays[0]
        })
        .collect();
    assert!(paths.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 3, "{paths:?}");
}

/// An idle 3G radio: two seconds before the handshake, followed by the handshake's round trips.
#[test]
fn an_idle_3g_radio_costs_two_seconds_before_the_first_byte() {
    let desk = Desk::new();
    let page = "synthetic:1x1KB --protocol h1 --tls none";
    let network = "rtt=100ms,down=3600kbit,up=384kbit,queue=200pkt,radio=umts";
    let visit = visit(&desk, &format!("{page} --network {network}"));
    let ttfb = ms(&visit, "ttfb_ms");
    assert!((2200.0..2230.0).contains(&ttfb), "two seconds and two round trips: {ttfb} ms");
    // A server that has the page ready after three quarters of a minute finds the radio idle again, and pages it.
    let late = self::visit(&desk, &format!("{page} --network {network} --service-time 45s"));
    let beyond = ms(&late, "ttfb_ms") - ttfb - 45_000.0;
    assert!((2000.0..=2640.0 + 1.0).contains(&beyond), "{beyond} ms");
}

/// About ten seconds at 5 Mbit/s and the tail, by Huang et al.'s powers: the worked example with the load's actual time.
#[test]
fn an_lte_downloads_energy_is_that_of_the_worked_example() {
    let desk = Desk::new();
    let network = "rtt=40ms,down=5mbit,up=5mbit,queue=1000pkt,radio=lte,radio.harq_failure=0%";
    let page = "synthetic:1x6MB --protocol h1 --tls none";
    let visit = visit(&desk, &format!("{page} --network {network}"));
    let radio = &visit["radio"];
    let joules = |field: &str| ms(radio, field) / 1e6;
    let seconds = ms(&visit, "plt_ms") / 1e3 - 0.26;
    assert!((9.9..11.0).contains(&seconds), "{seconds}");
    let megabits = |field: &str| ms(&visit, field) * 8.0 / 1e6;
    let transfer = megabits("bytes_down") * 0.05197 + megabits("bytes_up") * 0.43839;
    // Promotion, transfer, 0.1 s of continuous reception, and the tail with 1 ms of listening in each cycle of 40 ms.
    let listening = 1.060 + (1.680 - 1.060) / 40.0;
    let expected =
        0.26 * 1.2107 + seconds * 1.28804 + transfer + 0.1 * 1.28804 + 11.476 * listening;
    let got = joules("energy_uj") + joules("tail_uj");
    assert!((got / expected - 1.0).abs() < 0.02, "{got} J, expected {expected} J");
}
