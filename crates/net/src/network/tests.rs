use proptest::prelude::*;

use super::*;
use crate::{
    Channels, Codel, EmulatorModel, GilbertElliott, Jitter, JitterShape, LaneScheduling, LossModel,
    Management, Pie, ProportionalFair, QueueLimit, Rate, Reorder, TimedGilbertElliott,
};

const ONE_PER_CENT: LossModel = LossModel::Random(0.01);

fn message(text: &str) -> String {
    Network::parse(text).expect_err("refused").to_string()
}

fn file_message(text: &str) -> String {
    Network::from_toml("net.toml", text).expect_err("refused").to_string()
}

#[test]
fn a_custom_network_halves_the_rtt_and_applies_loss_to_each_direction() {
    let network =
        Network::parse("rtt=101ms, down=10mbit, up=5mbit, loss=1%, queue=64pkt").expect("valid");
    assert_eq!(network.up.delay, Duration::from_micros(50_500));
    assert_eq!(network.down.delay, Duration::from_micros(50_500));
    assert_eq!(
        (network.down.rate, network.up.rate),
        (BitsPerSec::mbit(10).into(), BitsPerSec::mbit(5).into())
    );
    assert_eq!((&network.down.loss, &network.up.loss), (&ONE_PER_CENT, &ONE_PER_CENT));
    assert_eq!(network.down.queue, QueueLimit::Packets(64));
    assert_eq!(network.down.mtu, 1500);
    assert_eq!(network.notes, [""; 0]);
    assert_eq!(network.name, "rtt=101ms,down=10mbit,up=5mbit,loss=1%,queue=64pkt");
}

#[test]
fn a_direction_can_have_its_own_settings() {
    let network = Network::parse(
        "rtt=100ms,down=10mbit,up.rate=512kbit,loss=1%,up.loss=0%,down.queue=64KB,up.delay=70ms,mtu=1400",
    )
    .expect("valid");
    assert_eq!((&network.up.loss, &network.down.loss), (&LossModel::NONE, &ONE_PER_CENT));
    assert_eq!(network.down.queue, QueueLimit::Bytes(64_000));
    assert_eq!(network.up.queue, QueueLimit::Packets(100));
    assert_eq!(network.notes, ["no queue given for up: 100 packets"]);
    assert_eq!(network.rtt(), Duration::from_millis(120));
    assert_eq!(network.up.mtu, 1400);
}

#[test]
fn a_network_without_a_queue_gets_100_packets_and_says_so() {
    let network = Network::parse("rtt=100ms,down=10mbit,up=5mbit").expect("valid");
    assert_eq!(network.up.queue, QueueLimit::Packets(100));
    assert_eq!(network.notes, ["no queue given: 100 packets"]);
}

#[test]
fn a_profile_can_be_changed_in_single_settings() {
    let cable = Network::parse("cable").unwrap();
    let far = Network::parse("cable, rtt=600ms,queue=50pkt,down.loss=1%").unwrap();
    assert_eq!(far.rtt(), Duration::from_millis(600));
    assert_eq!((&far.up.rate, &far.down.rate), (&cable.up.rate, &cable.down.rate));
    assert_eq!((&far.up.loss, &far.down.loss), (&cable.up.loss, &ONE_PER_CENT));
    assert_eq!(far.up.queue, QueueLimit::Packets(50));
    assert_eq!(far.source, cable.source);
    let note = "cable changed as typed: rtt=600ms,queue=50pkt,down.loss=1%";
    assert_eq!(far.notes.last().unwrap(), note);
    assert!(cable.notes.iter().any(|note| note.starts_with("queue:")));
    assert!(!far.notes.iter().any(|note| note.starts_with("queue:")));

    let slower_up = Network::parse("cable,up.delay=100ms").unwrap();
    assert_eq!(slower_up.down, cable.down);
    assert_eq!(slower_up.up.delay, Duration::from_millis(100));

    assert!(message("cabel,rtt=1ms").contains("did you mean `cable`?"));
    assert!(message("cable,rtt").contains("`rtt` is not of the form key=value"));
    assert!(message("cable,3g,rtt=1ms").contains("`3g` is not of the form key=value"));
}

#[test]
fn a_file_says_the_same_as_a_command_line() {
    let text = "name = \"ship\"\nsource = \"a ping from the deck\"\nrtt = \"600ms\"\nloss = 0.01\n\
                down = \"2mbit\"\n[up]\nrate = \"256kbit\"\nqueue = \"30pkt\"\nmtu = 1400\n";
    let file = Network::from_toml("net.toml", text).expect("valid");
    let typed =
        Network::parse("rtt=600ms,loss=1%,down=2mbit,up=256kbit,up.queue=30pkt,up.mtu=1400")
            .expect("valid");
    assert_eq!((&file.up, &file.down, &file.notes), (&typed.up, &typed.down, &typed.notes));
    assert_eq!((file.name.as_str(), file.source.as_str()), ("ship", "a ping from the deck"));
}

#[test]
fn errors_say_what_is_wrong_and_what_to_write() {
    assert_eq!(
        message("3g-fats"),
        "there is no network `3g-fats` (did you mean `3g-fast`?); `farlink networks` lists them, \
         or describe one: rtt=100ms,down=10mbit,up=5mbit"
    );
    assert!(message("qqq").starts_with("there is no network `qqq`; "));
    assert!(
        message("rtt=100ms,down=10mbit,up=5mbit,los=1%")
            .starts_with("network: a network has no setting `los` (did you mean `loss`?)")
    );
    assert_eq!(
        message("rtt=100,down=10mbit,up=5mbit"),
        "network: rtt: `100` has no unit; write `100ms` (units: ns, us, ms, s, min, h)"
    );
    assert_eq!(message("rtt=100ms,up=5mbit"), "network: `down` is missing; add down=10mbit");
    assert_eq!(
        message("down=1mbit,up.delay=5ms,up=5mbit"),
        "network: `rtt` is missing; add rtt=100ms"
    );
    assert_eq!(
        message("rtt=100ms,down=10mbit,up=5mbit,queue=64"),
        "network: queue: `64` is not a queue: write `64pkt`, `64KB`, `unlimited` or, for both directions, `1bdp`"
    );
    assert_eq!(
        message("rtt=2h,down=10mbit,up=5mbit"),
        "network: rtt: `2h` is out of range: a round trip takes at most 1h"
    );
    assert!(message("rtt=1ms,down=1mbit,up=1mbit,loss=101%").contains("0% to 100%"));
    assert!(message("rtt=1ms,down=1mbit,up=1mbit,mtu=100").contains("between 576 and 65535"));
    assert_eq!(
        message("rtt=1ms,down=1mbit,up=1mbit,down.rate=2mbit"),
        "network: `down.rate` is set twice"
    );
    assert_eq!(
        message("rtt=1ms,10mbit"),
        "network: `10mbit` is not of the form key=value, for example rtt=100ms"
    );
    assert!(
        message("nowhere/net.toml").contains("failed to read the network file nowhere/net.toml")
    );
}

#[test]
fn errors_in_a_file_have_a_line_and_a_column() {
    assert!(
        file_message("rtt = \"1ms\"\ndown = = 3\n").starts_with("net.toml:2:8: not valid TOML: ")
    );
    assert!(file_message("rtt = \"1ms\"\n\n[down]\n  rates = \"1mbit\"\n").starts_with(
        "net.toml:4:3: a network has no setting `down.rates` (did you mean `down.rate`?)"
    ));
    assert_eq!(
        file_message("rtt = 100\n"),
        "net.toml:1:1: rtt: `100` has no unit; write `100ms` (units: ns, us, ms, s, min, h)"
    );
    assert_eq!(
        file_message("loss = true\n"),
        "net.toml:1:8: loss: `true` is not a string with a unit, such as \"100ms\""
    );
    assert_eq!(
        file_message("rtt = \"1ms\"\nup = \"1mbit\"\n"),
        "net.toml: `down` is missing; add down=10mbit"
    );
    assert!(file_message("name = 3\n").starts_with("net.toml:1:8: name: `3` is not a string"));
}

#[test]
fn each_setting_of_a_link_can_be_typed() {
    let link = |settings: &str| {
        Network::parse(&format!("rtt=10ms,down=1mbit,up=1mbit,{settings}")).expect(settings).down
    };
    let codel = Codel { target: Duration::from_millis(20), ecn: true, ..Codel::default() };
    assert_eq!(link("aqm=fq_codel ecn target 20ms").management, Management::FqCodel(codel));
    assert_eq!(link("aqm=fq_codel").queue, QueueLimit::Packets(10_240));
    assert_eq!(link("aqm=codel,queue=50pkt").queue, QueueLimit::Packets(50));
    assert_eq!(link("emulator=dummynet").queue, QueueLimit::Packets(50));
    let clock = |settings: &str| match link(settings).emulator {
        EmulatorModel::Dummynet { tick, timer } => (tick.as_millis(), timer.as_millis()),
        other => panic!("{other:?}"),
    };
    assert_eq!(clock("emulator=dummynet"), (1, 4));
    assert_eq!(clock("emulator=dummynet,timer=1ms"), (1, 1));
    assert_eq!(clock("emulator=dummynet,tick=10ms"), (10, 10), "FreeBSD at kern.hz=100");
    assert_eq!(clock("emulator=dummynet,tick=2ms,timer=4ms"), (2, 4));
    let model = GilbertElliott { to_bad: 0.01, to_good: 0.99, loss_in_bad: 1.0, loss_in_good: 0.0 };
    assert_eq!(link("gemodel=1%").loss, LossModel::GilbertElliott(model));
    let (good, bad) = (Duration::from_secs(2), Duration::from_millis(80));
    let timed = TimedGilbertElliott { good, bad, loss_in_bad: 1.0, loss_in_good: 0.0 };
    assert_eq!(link("gemodel-time=2s 80ms").loss, LossModel::TimedGilbertElliott(timed));
    let timed = TimedGilbertElliott { loss_in_bad: 0.5, loss_in_good: 0.001, ..timed };
    assert_eq!(link("gemodel-time=2s 80ms 50% 0.1%").loss, LossModel::TimedGilbertElliott(timed));
    let spread = Duration::from_millis(3);
    assert_eq!(link("jitter=3 ms normal").jitter, Jitter { spread, shape: JitterShape::Normal });
    assert_eq!(link("reorder=jitter").reorder, Reorder::ByJitter);
    assert_eq!(link("reorder=2%").reorder, Reorder::Jump(0.02));
    assert_eq!(link("up.duplicate=5%").duplicate, 0.0);
}

#[test]
fn what_excludes_each_other_is_refused() {
    let refused = |settings: &str| message(&format!("rtt=10ms,down=1mbit,up=1mbit,{settings}"));
    assert_eq!(
        refused("aqm=pie,emulator=netem"),
        "network: aqm cannot be combined with emulator=netem"
    );
    assert!(refused("jitter=1ms,emulator=dummynet").contains("jitter cannot be combined"));
    assert!(
        refused("timer=1ms").contains("timer cannot be combined with any emulator but dummynet")
    );
    assert!(
        refused("tick=10ms").contains("tick cannot be combined with any emulator but dummynet")
    );
    assert!(
        refused("emulator=dummynet,tick=10ms,timer=4ms")
            .contains("timer cannot be combined with a tick that does not divide it")
    );
    assert!(refused("emulator=dummynet,tick=3ms").contains("1ms, 2ms, 4ms, 5ms or 10ms"));
    assert!(refused("queue=9KB,emulator=netem").contains("a queue in bytes"));
    for text in ["gemodel-time=2s", "gemodel-time=", "gemodel-time=1s 1s 1% 1% 1%"] {
        assert!(refused(text).contains("`2s 80ms` or `2s 80ms 50% 0.1%`"), "{}", refused(text));
    }
    assert!(refused("gemodel-time=2s 0ms").contains("between 100us and 1h"));
    assert!(refused("gemodel-time=2s 80").contains("80"), "a unit is always written");
    assert!(refused("gemodel-time=2s 80ms 120%").contains("gemodel-time"));
    assert!(refused("gemodel=1%,gemodel-time=2s 80ms").contains("`gemodel-time` is set twice"));
    for emulator in ["emulator=netem", "emulator=dummynet"] {
        let refusal = refused(&format!("gemodel-time=2s 80ms,{emulator}"));
        assert!(refusal.contains("gemodel-time cannot be combined with"), "{refusal}");
    }
    assert!(refused("loss=1%,gemodel=1%").contains("`gemodel` is set twice"));
    assert!(refused("aqm=red").contains("`red` is not queue management: write `droptail`"));
    assert!(refused("aqm=pie interval 9ms").contains("but for `pie`"));
    assert!(refused("emulator=ns3").contains("`farlink`, `dummynet` or `netem`"));
    assert!(refused("aqn=pie").contains("did you mean `aqm`?"));
    assert!(refused("hop.1.rt=1ms").contains("did you mean `hop.1.rtt`?"));
    assert!(refused("hop.2.rtt=1ms").contains("there is a `hop.2` but no `hop.1`"));
    assert!(refused("down.trace=nowhere.txt").contains("set twice"));
    let missing = message("rtt=1ms,up=1mbit,down.trace=nowhere.txt");
    assert!(missing.contains("down.trace: failed to read the trace nowhere.txt"), "{missing}");
}

#[test]
fn farther_hops_delay_and_need_no_rate() {
    let network = Network::parse(
        "rtt=40ms,down=10mbit,up=5mbit,queue=64pkt,hop.1.name=backhaul,hop.1.rtt=20ms,hop.1.down=5mbit,\
         hop.2.down.delay=3ms",
    )
    .expect("valid");
    let [backhaul, server] = network.beyond.as_slice() else { panic!("two hops") };
    assert_eq!((backhaul.name.as_str(), server.name.as_str()), ("backhaul", "hop-2"));
    assert_eq!((&backhaul.up.rate, backhaul.up.queue), (&Rate::UNLIMITED, QueueLimit::Unlimited));
    assert_eq!(backhaul.down.queue, QueueLimit::Packets(100));
    assert_eq!(server.down.delay, Duration::from_millis(3));
    assert_eq!(network.rtt(), Duration::from_millis(63));
    assert_eq!(network.down_peak(), BitsPerSec::mbit(5));
    assert_eq!(network.notes, ["hop 1: no queue given for down: 100 packets"]);

    let file = "rtt = \"40ms\"\ndown = \"10mbit\"\nup = \"5mbit\"\nqueue = \"64pkt\"\n\
                [[hop]]\nname = \"backhaul\"\nrtt = \"20ms\"\ndown = \"5mbit\"\n\
                [[hop]]\ndown = { delay = \"3ms\" }\n";
    assert_eq!(Network::from_toml("net.toml", file).expect("valid").beyond, network.beyond);
}

#[test]
fn a_queue_of_bandwidth_delay_products_sits_at_the_bottleneck() {
    let text =
        "rtt=100ms,down=12mbit,up=1mbit,queue=7pkt,down.queue=9KB,hop.1.up=600kbit,hop.1.rtt=20ms";
    let network = Network::parse(text).expect("valid").with_queue_bdp(1.0);
    // 12 Mbit/s over 120 ms.
    assert_eq!(network.down.queue, QueueLimit::Bytes(180_000));
    // On the uplink the second hop is slower: 9000 bytes.
    assert_eq!(network.up.queue, QueueLimit::Packets(7));
    assert_eq!(network.beyond[0].up.queue, QueueLimit::Packets(6));
    let tiny = Network::parse("3g").expect("a profile").with_queue_bdp(0.001);
    assert_eq!(tiny.down.queue, QueueLimit::Packets(1));
    assert_eq!(tiny.queue_caveat(), None);
    assert_eq!(
        Network::parse("loopback").unwrap().with_queue_bdp(1.0).down.queue,
        QueueLimit::Unlimited
    );
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), (0..=1000u32).prop_map(|n| f64::from(n) / 1000.0), 0.0..=1.0f64]
}

fn loss_model() -> impl Strategy<Value = LossModel> {
    let bursts = (share(), share(), share(), share()).prop_map(|(a, b, c, d)| {
        LossModel::GilbertElliott(GilbertElliott {
            to_bad: a,
            to_good: b,
            loss_in_bad: c,
            loss_in_good: d,
        })
    });
    let length = || {
        prop_oneof![
            (100..1_000_000u64).prop_map(Duration::from_micros),
            (1..3_600_000u64).prop_map(Duration::from_millis)
        ]
    };
    let timed = (length(), length(), share(), share()).prop_map(|(good, bad, c, d)| {
        LossModel::TimedGilbertElliott(TimedGilbertElliott {
            good,
            bad,
            loss_in_bad: c,
            loss_in_good: d,
        })
    });
    prop_oneof![share().prop_map(LossModel::Random), bursts, timed]
}

fn link() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![
        (1..1_000_000_000_000u64).prop_map(BitsPerSec),
        (1..100_000u64).prop_map(BitsPerSec::kbit),
        Just(BitsPerSec::UNLIMITED)
    ];
    let delay = prop_oneof![
        (0..=1_800_000_000_000u64).prop_map(Duration::from_nanos),
        (0..2_000u64).prop_map(Duration::from_millis)
    ];
    let queue = prop_oneof![
        (1..u32::MAX).prop_map(QueueLimit::Packets),
        (1..1_000_000_000_000u64).prop_map(QueueLimit::Bytes),
        Just(QueueLimit::Unlimited)
    ];
    let codel = Codel { ecn: true, target: Duration::from_micros(1500), ..Codel::default() };
    let management = prop_oneof![
        Just(Management::DropTail),
        Just(Management::DropHead),
        Just(Management::Codel(Codel::default())),
        Just(Management::FqCodel(codel)),
        Just(Management::Pie(Pie { ecn: true, ..Pie::default() })),
    ];
    let jitter = prop_oneof![
        Just(Jitter::NONE),
        (1..1_000_000u64).prop_map(|micros| Jitter {
            spread: Duration::from_micros(micros),
            shape: JitterShape::Normal
        })
    ];
    let reorder =
        prop_oneof![Just(Reorder::Never), Just(Reorder::ByJitter), share().prop_map(Reorder::Jump)];
    let slot = Duration::from_micros(1500);
    let scheduler = prop_oneof![
        Just(LaneScheduling::Fifo),
        Just(LaneScheduling::RoundRobin),
        Just(LaneScheduling::ProportionalFair(ProportionalFair::default())),
        Just(LaneScheduling::ProportionalFair(ProportionalFair {
            slot,
            ..ProportionalFair::default()
        })),
    ];
    let channels = prop::collection::vec(0.001..=1.0f64, 0..4).prop_map(Channels::new);
    let mtu = prop_oneof![Just(1500), 576..=65_535u32];
    (
        rate,
        delay,
        queue,
        loss_model(),
        (management, jitter, reorder, share(), mtu),
        (scheduler, channels),
    )
        .prop_map(
            |(
                rate,
                delay,
                queue,
                loss,
                (management, jitter, reorder, duplicate, mtu),
                (scheduler, channels),
            )| LinkConfig {
                scheduler,
                channels,
                loss,
                management,
                jitter,
                reorder,
                duplicate,
                mtu,
                ..LinkConfig::new(rate, delay, queue)
            },
        )
}

proptest! {
    #[test]
    fn what_is_displayed_parses_back_to_the_same(up in link(), down in link(), far in link()) {
        let (name, source) = (String::new(), String::new());
        let beyond = vec![Hop { name: "far".to_owned(), up: far.clone(), down: far }];
        let network = Network { name, source, up, down, beyond, radio: None, notes: Vec::new() };
        let shown = network.to_string();
        let again = Network::parse(&shown).map_err(|e| TestCaseError::fail(format!("{shown}: {e}")))?;
        prop_assert_eq!(&again.up, &network.up, "{}", shown);
        prop_assert_eq!(&again.down, &network.down, "{}", shown);
        prop_assert_eq!(&again.beyond, &network.beyond, "{}", shown);
        prop_assert_eq!(again.to_string(), shown);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = Network::parse(&text);
        let _ = Network::from_toml("any", &text);
    }

    #[test]
    fn no_list_of_settings_makes_it_panic(
        text in "((hop\\.[0-9]{1,2}\\.)?(rtt|down|up|loss|queue|mtu|aqm|jitter|gemodel|gemodel-time|timer|name|trace|up\\.loss|down\\.delay|\\PC{0,3}) ?= ?([0-9.]{0,22}|codel|pie|ecn|dummynet)(ms|h|mbit|bit|%|pkt|KB| ecn| target| normal|\\PC)?,?){0,6}"
    ) {
        let _ = Network::parse(&text);
    }

    #[test]
    fn no_toml_makes_it_panic(
        text in "(((rtt|down|up|loss|notes|name|\\[up\\]|\\[\\[x\\]\\]) ?=? ?(\"[0-9]{1,3}(ms|mbit)\"|[0-9.]{1,5}|\\[|true|\\{ a = 1 \\})?)\n?){0,6}"
    ) {
        let _ = Network::from_toml("any", &text);
    }
}

#[test]
fn a_queue_may_be_given_in_bandwidth_delay_products() {
    // 10 Mbit/s for 120 ms are 100 full packets; on the uplink it is a tenth.
    let network = Network::parse("rtt=120ms,down=10mbit,up=1mbit,queue=2bdp").unwrap();
    assert_eq!(network.down.queue, QueueLimit::Packets(200));
    assert_eq!(network.up.queue, QueueLimit::Packets(20));
    assert_eq!(network.queue_caveat(), None);
    let profile = Network::parse("cable,queue=0.5bdp").unwrap();
    assert_eq!(profile.down.queue, QueueLimit::Packets(6), "half of 17.5 kB in packets of 1500");
    let error = |text: &str| Network::parse(text).unwrap_err().to_string();
    assert!(error("cable,queue=0bdp").contains("write `2bdp`"));
    assert!(error("cable,queue=1bdp,queue=3pkt").contains("twice"));
}

#[test]
fn a_network_has_handovers() {
    let text = "rtt=100ms,down=2mbit,up=1mbit,queue=100pkt,handover.every=60000ms,handover.length=50ms..150ms,handover.lossless=true";
    let network = Network::parse(text).unwrap();
    assert_eq!(network.to_string(), text);
    assert_eq!(network.up.handover, network.down.handover);
    let changed =
        Network::parse("3g,handover.lossless=false,handover.length=40ms,handover.every=10s");
    let handover = changed.unwrap().up.handover.unwrap();
    assert_eq!((handover.least, handover.most), (handover.most, Duration::from_millis(40)));
    assert!(!handover.lossless);
    let refused = |text: &str| Network::parse(text).unwrap_err().to_string();
    assert!(refused("3g,handover.length=50ms").contains("`handover.every` is missing"));
    assert!(refused("3g,handover.every=1s").contains("`handover.length` is missing"));
    assert!(
        refused("3g,handover.every=1s,handover.length=2s").contains("reaches the next handover")
    );
    assert!(refused("3g,handover.every=9s,handover.length=2s..1s").contains("50ms..150ms"));
    assert!(
        refused("3g,handover.every=9s,handover.length=1s,handover.lossless=no").contains("`false`")
    );
    assert!(refused("3g,handover.evry=9s").contains("handover.every"));
    assert!(
        refused("3g,emulator=netem,handover.every=9s,handover.length=1s")
            .contains("emulator=netem")
    );
    assert!(refused("3g,hop.1.handover.every=9s").contains("no setting"));
    assert_eq!(Network::parse("3g,handover.every=never").unwrap().up.handover, None);
}

#[test]
fn a_link_has_a_scheduler() {
    let text = "rtt=100ms,down=2mbit,up=1mbit,queue=100pkt,up.scheduler=round-robin,\
                down.scheduler=proportional-fair slot 2ms window 100ms,channels=100% 50%";
    let network = Network::parse(text).unwrap();
    assert_eq!(network.up.scheduler, LaneScheduling::RoundRobin);
    assert_eq!([0, 1, 2].map(|user| network.down.channels.of(user)), [1.0, 0.5, 1.0]);
    assert_eq!(network.to_string(), text);
    let refused = |text: &str| Network::parse(text).unwrap_err().to_string();
    assert!(refused("3g,scheduler=fair").contains("`round-robin`"));
    assert!(refused("3g,scheduler=round-robin slot 1ms").contains("a scheduler"));
    assert!(refused("3g,scheduler=proportional-fair slot 0ms").contains("more than nothing"));
    assert!(refused("3g,channels=0%").contains("at least 0.1%"));
    assert!(refused("3g,emulator=dummynet,scheduler=round-robin").contains("emulator=dummynet"));
    assert!(refused("3g,emulator=dummynet,channels=50%").contains("channels cannot be combined"));
}

#[test]
fn a_network_has_a_radio_in_front() {
    let text = "rtt=100ms,down=2mbit,up=1mbit,queue=100pkt,radio=umts,radio.fach_inactivity=10s";
    let network = Network::parse(text).unwrap();
    assert_eq!(network.to_string(), text);
    let again = Network::parse("3g,radio.dch_inactivity=4s,radio=umts").unwrap();
    assert_eq!(again.radio.unwrap().to_string(), "radio=umts,radio.dch_inactivity=4s");
    let refused = |text: &str| Network::parse(text).unwrap_err().to_string();
    assert!(refused("3g,radio=utms").contains("did you mean `umts`?"));
    assert!(refused("3g,radio.dch_inactivity=4s").contains("`radio` is missing"));
    assert!(refused("3g,radio=lte,radio.dch_inactivity=4s").contains("has no setting"));
    assert!(refused("3g,hop.1.radio=lte").contains("no setting"));
    assert_eq!(Network::parse("3g,radio=none").unwrap().radio, None);
    assert!(crate::is_setting("radio.long_drx") && !crate::is_setting("radio.longdrx"));
}

#[test]
fn a_cells_link_repeats_as_its_radio_says() {
    let plain = Network::parse("rtt=20ms,down=lte:5mhz,up=lte:5mhz/20prb,queue=1MB").unwrap();
    assert_eq!((&plain.up.harq, &plain.down.harq), (&None, &None));
    let cell = "rtt=20ms,down=lte:5mhz,up=lte:5mhz/20prb,queue=1MB,hop.1.name=s1,hop.1.down=10mbit,hop.1.queue=9pkt";
    let cell = Network::parse(&format!("{cell},radio=lte,radio.harq_failure=20%")).unwrap();
    let failure = |link: &LinkConfig| link.harq.map(|harq| harq.failure);
    assert_eq!((failure(&cell.up), failure(&cell.down)), (Some(0.2), Some(0.2)));
    assert_eq!(failure(&cell.beyond[0].down), None, "a cable repeats nothing");
    let again = Network::parse(&cell.to_string()).unwrap();
    assert_eq!((&again.up, &again.down, &again.radio), (&cell.up, &cell.down, &cell.radio));
    for without in ["radio=none", "radio.harq_failure=0%"] {
        let profile = Network::parse(&format!("kallio2016-cell-4prb,{without}")).unwrap();
        assert_eq!((failure(&profile.up), failure(&profile.down)), (None, None), "{without}");
    }
    assert_eq!(failure(&Network::parse("3g,radio=umts").unwrap().down), None);
}

#[test]
fn an_uplinks_rate_is_read_as_an_uplinks() {
    let network = Network::parse("rtt=20ms,down=lte:25prb,up=lte:25prb,queue=9pkt").unwrap();
    assert_eq!(network.to_string(), "rtt=20ms,down=36672kbit,up=10680kbit,queue=9pkt");
    assert!(message("rtt=1ms,down=1mbit,up=lte:17prb").contains("network: up: an uplink's"));
    assert!(
        message("rtt=1ms,down=lte:5mhz/40prb,up=1mbit").contains("down: a cell of 5mhz has 25")
    );
    let file = "rtt = \"1ms\"\nup = \"1mbit\"\n[down]\n rate = \"lte:cqi9\"\n";
    assert!(file_message(file).starts_with("net.toml:4:2: down.rate: a share of an LTE cell"));
}
