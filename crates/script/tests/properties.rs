//! Reading and running terminates with a result, whatever the text is.

use farlink_script::PacketScript;
use proptest::prelude::*;

fn play(text: &str) {
    if let Ok(script) = PacketScript::parse("random.pkt", text) {
        let _ = script.run();
    }
}

/// Words of the language and separators.
fn token() -> impl Strategy<Value = String> {
    let fixed = [
        "+0",
        "0.1",
        "+40ms",
        "~",
        "<",
        ">",
        "S",
        "S.",
        ".",
        "F.",
        "R.",
        "P.",
        "ack",
        "win",
        "seg",
        "segs",
        "0..3",
        "1:1449",
        "(1448)",
        "1:1",
        "<sack",
        ">",
        "mss",
        "wscale",
        "sackOK",
        "TS",
        "val",
        "ecr",
        ",",
        ";",
        "=",
        "write",
        "read",
        "close",
        "abort",
        "connect",
        "lowat",
        "expect",
        "cwnd",
        "state",
        "quiet",
        "handshake",
        "server",
        "client",
        "100ms",
        "config",
        "iw=3",
        "in",
        "out",
        "drop",
        "#1",
        "#1..#3",
        "1500",
        "queue-full",
        "\n",
        "\n",
        "\n",
        "//",
        "\"",
    ];
    prop_oneof![
        8 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => any::<u32>().prop_map(|n| n.to_string()),
        1 => "\\PC{0,3}",
    ]
}

fn header() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "tcp \"T\"\nhandshake server 100ms\n0.1 write 1000\n",
        "tcp \"T\"\nhandshake client 100ms\n",
        "tcp \"T\"\n",
        "link \"L\"\nconfig rate=10mbit,delay=50ms,queue=2pkt\n",
        "",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_fatal(text in "(\\PC|\n){0,200}") {
        play(&text);
    }

    #[test]
    fn no_order_of_words_is_fatal(header in header(), tokens in prop::collection::vec(token(), 0..40)) {
        play(&format!("{header}{}", tokens.join(" ")));
    }

    /// The text shown for a segment is itself a line that expects it.
    #[test]
    fn what_is_shown_can_be_expected(segments in 1usize..10) {
        let start = "tcp \"T\"\nhandshake server 100ms\n";
        let text = format!("{start}0.1 write {segments} segs\n1 quiet\n");
        let Err(failure) = PacketScript::parse("shown.pkt", &text).and_then(|script| script.run()) else {
            panic!("what left was not expected");
        };
        let shown = failure.to_string();
        let lines: Vec<&str> = shown.lines().filter_map(|line| line.trim().strip_suffix("   (not expected)")).collect();
        prop_assert_eq!(lines.len(), segments);
        let text = format!("{start}0.1 write {segments} segs\n{}\n", lines.join("\n"));
        let outcome = PacketScript::parse("shown.pkt", &text).and_then(|script| script.run());
        prop_assert!(outcome.is_ok(), "{}", outcome.err().map(|failure| failure.to_string()).unwrap_or_default());
    }
}
