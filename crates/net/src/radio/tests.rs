//! Packets through radios: departure times and states, computed by hand.

use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn radio(technology: Technology) -> Radio<u32> {
    let config = RadioConfig { technology, ..RadioConfig::named("umts").unwrap() };
    Radio::new(&config, &RandomSource::new(1, 0), "test")
}

fn umts() -> Radio<u32> {
    radio(Technology::Umts(Umts::default()))
}

/// LTE without random delays.
fn lte() -> Radio<u32> {
    let request = SchedulingRequest { period: Duration::ZERO, grant: Duration::from_millis(8) };
    radio(Technology::Lte(Lte { request, ..Lte::default() }))
}

/// Hands over packets (time, direction, size), numbered from 0. Returns departures, in whole milliseconds.
fn through(radio: &mut Radio<u32>, packets: &[(u64, RadioDirection, u32)]) -> Vec<(u32, u64)> {
    let mut left = Vec::new();
    for (number, (at, way, bytes)) in packets.iter().enumerate() {
        take(radio, ms(*at), &mut left);
        radio.handle(ms(*at), *way, Packet::new(*bytes), number as u32);
    }
    take(radio, ms(1_000_000), &mut left);
    left
}

fn take(radio: &mut Radio<u32>, until: Time, left: &mut Vec<(u32, u64)>) {
    while let Some(at) = radio.deadline().filter(|at| *at <= until) {
        while let Some(passed) = radio.poll(at) {
            assert!(passed.at <= at, "nobody leaves before he may");
            left.push((passed.body, passed.at.as_nanos() / 1_000_000));
        }
    }
}

fn states(radio: &Radio<u32>) -> Vec<(u64, RadioState)> {
    radio.transitions().iter().map(|t| (t.at.as_nanos() / 1_000_000, t.to)).collect()
}

#[test]
fn umts_promotes_demotes_and_falls_idle() {
    let mut radio = umts();
    // 12 KB at once: a promotion of two seconds, then everything at once.
    let burst: Vec<_> = (0..8).map(|_| (100, RadioDirection::Up, 1500)).collect();
    assert_eq!(through(&mut radio, &burst), (0..8).map(|n| (n, 2100)).collect::<Vec<_>>());
    use RadioState::{Dch, Fach, Idle, IdleToDch};
    assert_eq!(
        states(&radio),
        [(100, IdleToDch), (2100, Dch), (7100, Fach), (19_100, Idle)],
        "5 s and 12 s"
    );
    let cause = radio.transitions()[0].cause;
    assert_eq!(cause, Some(TransitionCause { way: RadioDirection::Up, wire_bytes: 1500 }));
    assert_eq!(radio.transitions()[2].cause, None);
}

#[test]
fn a_dedicated_channel_is_kept_by_traffic_that_counts() {
    let mut radio = umts();
    // After the promotion 40 bytes every second never reach 320 bytes in 0.3 s.
    let mut packets = vec![(0, RadioDirection::Up, 1500)];
    packets.extend((3..8).map(|second| (second * 1000, RadioDirection::Up, 40)));
    through(&mut radio, &packets);
    assert_eq!(states(&radio)[2], (7000, RadioState::Fach), "5 s after 2 s");

    let mut radio = umts();
    through(
        &mut radio,
        &[
            (0, RadioDirection::Up, 1500),
            (6000, RadioDirection::Down, 160),
            (6200, RadioDirection::Down, 160),
        ],
    );
    assert_eq!(states(&radio)[2], (11_200, RadioState::Fach), "two of 160 bytes within 0.3 s");
}

#[test]
fn little_passes_the_shared_channel_and_much_asks_for_a_dedicated_one() {
    let mut radio = umts();
    // On FACH from 7 s. 100 bytes up: 0.0014 * 100^2 + 160 + 20 = 194 ms.
    // 1500 bytes down are more than 475: 1.5 s, and packets that arrive meanwhile wait, too.
    let packets = [
        (0, RadioDirection::Up, 1500),
        (8000, RadioDirection::Up, 100),
        (9000, RadioDirection::Down, 1500),
        (9001, RadioDirection::Down, 1500),
        (9500, RadioDirection::Up, 52),
    ];
    let left = through(&mut radio, &packets);
    assert_eq!(left, [(0, 2000), (1, 8194), (4, 10_500), (2, 10_500), (3, 10_500)]);
    use RadioState::{Dch, Fach, FachToDch, Idle, IdleToDch};
    let states = states(&radio);
    assert_eq!(
        states[..5].iter().map(|(_, s)| *s).collect::<Vec<_>>(),
        [IdleToDch, Dch, Fach, FachToDch, Dch]
    );
    assert_eq!(states[3], (9000, FachToDch));
    assert_eq!(states.last().unwrap().1, Idle);
    assert_eq!(radio.transitions()[3].cause.unwrap().way, RadioDirection::Down);
}

#[test]
fn a_shared_channels_queue_drains_one_after_the_other() {
    let mut radio = umts();
    // 100 bytes down: 20 ms each; three of them are 300 bytes, below the threshold.
    let packets = [
        (0, RadioDirection::Up, 1500),
        (8000, RadioDirection::Down, 100),
        (8000, RadioDirection::Down, 100),
        (8000, RadioDirection::Down, 100),
    ];
    let left = through(&mut radio, &packets);
    assert_eq!(left[1..], [(1, 8020), (2, 8040), (3, 8060)]);
    // Five are 500: above it.
    let mut radio = umts();
    let mut packets = vec![(0, RadioDirection::Up, 1500)];
    packets.extend([(8000, RadioDirection::Down, 100); 5]);
    let left = through(&mut radio, &packets);
    assert_eq!(left[1..], [1, 2, 3, 4, 5].map(|n| (n, 9500)), "promotion takes all that waits");
}

#[test]
fn a_packet_to_an_idle_device_is_paged_for() {
    let mut radio = umts();
    let [(0, left)] = through(&mut radio, &[(0, RadioDirection::Down, 100)])[..] else {
        panic!("one packet")
    };
    assert!((2000..=2640).contains(&left), "{left}");
}

#[test]
fn lte_connects_sleeps_and_falls_idle() {
    let mut radio = lte();
    let left =
        through(&mut radio, &[(0, RadioDirection::Up, 100), (300, RadioDirection::Down, 1500)]);
    // Connected at 260 ms; the second finds continuous reception.
    assert_eq!(left, [(0, 260), (1, 300)]);
    use RadioState::{Continuous, Idle, IdleToConnected, LongDrx, ShortDrx};
    assert_eq!(
        states(&radio),
        [(0, IdleToConnected), (260, Continuous), (400, ShortDrx), (420, LongDrx), (11_876, Idle)]
    );
}

#[test]
fn a_sleeping_receiver_is_reached_when_it_is_on_and_a_sender_asks_first() {
    let mut radio = lte();
    // Long DRX begins at 380 ms with 1 ms of every 40; at 985 ms the cycle that began at 980 is 5 ms old.
    let packets = [
        (0, RadioDirection::Up, 100),
        (985, RadioDirection::Down, 100),
        (986, RadioDirection::Down, 100),
    ];
    assert_eq!(through(&mut radio, &packets)[1..], [(1, 1020), (2, 1020)]);
    let mut radio = lte();
    let packets = [
        (0, RadioDirection::Up, 100),
        (985, RadioDirection::Up, 100),
        (986, RadioDirection::Up, 100),
    ];
    assert_eq!(through(&mut radio, &packets)[1..], [(1, 993), (2, 993)], "one request for both");
}

#[test]
fn the_first_packet_waits_for_what_it_is_said_to_wait_at_the_least() {
    for (name, preset) in radios() {
        let mut radio = Radio::new(&preset.config, &RandomSource::new(1, 0), "test");
        radio.handle(ms(0), RadioDirection::Up, Packet::new(52), 0);
        let left = std::iter::from_fn(|| {
            let at = radio.deadline()?;
            Some(radio.poll(at).map(|passed| passed.at))
        });
        let left = left.flatten().next().expect("a packet leaves");
        let least = ms(0) + preset.config.least_first_wait();
        // Frames of a satellite's uplink, turns on a low orbit's, repetitions.
        let more = Duration::from_millis(200);
        assert!(left >= least && left <= least + more, "{name}: {left:?}");
    }
}

#[test]
fn a_dozing_station_waits_for_a_beacon() {
    let mut radio = radio(Technology::Wifi(Wifi::default()));
    // Beacons every 102.4 ms.
    let left = through(
        &mut radio,
        &[
            (50, RadioDirection::Down, 100),
            (150, RadioDirection::Down, 100),
            (400, RadioDirection::Up, 100),
        ],
    );
    assert_eq!(left, [(0, 102), (1, 150), (2, 400)]);
    use RadioState::{Awake, Doze};
    assert_eq!(states(&radio), [(102, Awake), (350, Doze), (400, Awake), (600, Doze)]);
}

#[test]
fn a_terminal_asks_for_capacity_first_and_keeps_it_while_it_sends() {
    let mut radio = radio(Technology::Dama(Dama::default()));
    // Requested at 100 ms, granted at 760 ms; frames begin at multiples of 45 ms.
    let packets = [
        (100, RadioDirection::Up, 100),
        (200, RadioDirection::Down, 1500),
        (300, RadioDirection::Up, 100),
        (1000, RadioDirection::Up, 100),
        (3000, RadioDirection::Up, 100),
    ];
    let left = through(&mut radio, &packets);
    assert_eq!(left, [(1, 200), (0, 765), (2, 765), (3, 1035), (4, 3690)]);
    use RadioState::{Assigned, Requesting, Unassigned};
    let states: Vec<RadioState> = states(&radio).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [Requesting, Assigned, Unassigned, Requesting, Assigned, Unassigned]);
}

#[test]
fn a_low_orbits_path_changes_every_fifteen_seconds() {
    let mut radio = radio(Technology::Leo(Leo::default()));
    let packets: Vec<_> = (0..6000).map(|n| (n * 100, RadioDirection::Down, 100)).collect();
    let left = through(&mut radio, &packets);
    let delay = |n: usize| left[n].1 - packets[n].0;
    // Constant within a slot after an outage, different from slot to slot.
    let mut delays = Vec::new();
    for slot in 0..40 {
        let first = slot * 150 + 2;
        assert!((first..first + 147).all(|n| delay(n) == delay(first)), "slot {slot}");
        delays.push(delay(first));
    }
    assert!(delays.iter().all(|delay| *delay <= 19), "half of 38 ms: {delays:?}");
    assert!(delays.windows(2).any(|pair| pair[0] != pair[1]));
    // Some slots begin with 40 to 150 ms without service.
    let outages = (0..40).filter(|slot| delay(slot * 150) >= 40).count();
    assert!((4..24).contains(&outages), "{outages} of 40, three in ten expected");
}

/// A download of 10 s at 5 Mbit/s from idle, to idle again.
#[test]
fn an_lte_downloads_energy_by_hand() {
    let mut config = RadioConfig::named("lte").unwrap();
    config.set("harq_failure", "0%").unwrap();
    let mut radio = Radio::new(&config, &RandomSource::new(1, 0), "test");
    radio.handle(Time::ZERO, RadioDirection::Up, Packet::new(52), 0);
    let mut at = ms(260);
    while at < ms(10_260) {
        radio.handle(at, RadioDirection::Down, Packet::new(1250), 0);
        while radio.poll(at).is_some() {}
        at += Duration::from_millis(2);
    }
    while let Some(at) = radio.deadline() {
        while radio.poll(at).is_some() {}
    }
    let joules = radio.energy(Time::ZERO, ms(30_000)).joules();
    assert!((joules / 28.1 - 1.0).abs() < 0.02, "{joules}");
}

/// Long DRX ends between two on-times: a packet after the last one finds the device idle, and is paged for.
#[test]
fn who_waits_when_the_device_falls_idle_asks_again() {
    let mut radio = lte();
    // Long DRX from 380 to 11,836 ms; its last cycle begins at 11,820 and is cut short.
    let left =
        through(&mut radio, &[(0, RadioDirection::Up, 100), (11_830, RadioDirection::Down, 100)]);
    let (1, at) = left[1] else { panic!("both leave: {left:?}") };
    assert!((11_836 + 260..11_836 + 260 + 1280).contains(&at), "{at}");
    let asked = radio.transitions().iter().find(|t| t.at > ms(11_836)).map(|t| (t.to, t.cause));
    let idle = radio.transitions().iter().filter(|t| t.to == RadioState::IdleToConnected).count();
    assert_eq!((idle, asked.map(|(to, _)| to)), (2, Some(RadioState::Continuous)));
}

/// Capacity ends before the next frame begins: the waiting packet requests more.
#[test]
fn who_waits_when_capacity_ends_asks_again() {
    let mut radio = radio(Technology::Dama(Dama::default()));
    // Departure at 765 ms; capacity held until 1765; the next frame would begin at 1800 (40 x 45).
    let left =
        through(&mut radio, &[(100, RadioDirection::Up, 100), (1760, RadioDirection::Up, 100)]);
    // Requested at 1765, granted at 2425; the next frame begins at 2430.
    assert_eq!(left, [(0, 765), (1, 2430)]);
}

/// One of farlink's own radios with timers changed, as far as the result is consistent.
fn any_radio() -> impl Strategy<Value = RadioConfig> {
    let spans = ["1us", "700us", "1ms", "9ms", "45ms", "100ms", "1s", "13s"];
    let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (any::<prop::sample::Index>(), prop::collection::vec(change, 0..4)).prop_map(
        move |(which, changes)| {
            let presets: Vec<_> = radios().values().collect();
            let mut radio = which.get(&presets).config.clone();
            for (key, span) in changes {
                let before = radio.clone();
                let keys = radio.technology.keys();
                let (key, span): (&&str, &&str) = (key.get(&keys[..]), span.get(&spans[..]));
                let _ = radio.set(key, span);
                if radio.check().is_err() {
                    radio = before;
                }
            }
            radio
        },
    )
}

proptest! {
    /// Every packet leaves, in order, not before it arrived; the radio comes to rest; energy is not negative and adds
    /// up.
    #[test]
    fn no_packet_is_lost_and_no_state_is_without_exit(
        config in any_radio(),
        packets in prop::collection::vec((0..4_000_000u64, any::<bool>(), 40..=1500u32), 1..60),
        seed in any::<u64>(),
    ) {
        let mut radio: Radio<usize> = Radio::new(&config, &RandomSource::new(seed, 0), "any");
        let (mut now, mut came, mut left) = (Time::ZERO, Vec::new(), Vec::new());
        let mut steps = 0;
        for (number, (gap_us, is_up, bytes)) in packets.iter().enumerate() {
            now += Duration::from_micros(*gap_us);
            while let Some(passed) = radio.poll(now) {
                left.push(passed);
            }
            let way = if *is_up { RadioDirection::Up } else { RadioDirection::Down };
            radio.handle(now, way, Packet::new(*bytes), number);
            came.push((now, way));
        }
        while let Some(at) = radio.deadline() {
            steps += 1;
            prop_assert!(steps < 100_000, "{config} never comes to rest");
            while let Some(passed) = radio.poll(at) {
                left.push(passed);
            }
            now = now.max(at);
        }
        prop_assert_eq!(left.len(), packets.len(), "{}", &config);
        prop_assert_eq!(radio.waiting(), 0);
        for way in RadioDirection::BOTH {
            let of_way: Vec<_> = left.iter().filter(|passed| passed.way == way).collect();
            prop_assert!(of_way.is_sorted_by_key(|passed| (passed.at, passed.body)), "{}", &config);
            prop_assert!(of_way.iter().all(|passed| passed.at >= came[passed.body].0));
        }
        let spent = |since, until| radio.energy(since, until);
        let half = Time::from_nanos(now.as_nanos() / 2);
        let end = now + Duration::from_nanos(1);
        let (whole, first, second) = (spent(Time::ZERO, end), spent(Time::ZERO, half), spent(half, end));
        prop_assert!(first.joules() >= 0.0 && second.joules() >= 0.0);
        let sum = first.joules() + second.joules();
        prop_assert!((whole.joules() - sum).abs() <= 1e-6 * (1.0 + sum), "{} {}", whole.joules(), sum);
        prop_assert_eq!(radio.tail(now).joules(), 0.0, "it rests");
    }
}
