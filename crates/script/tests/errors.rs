//! Error messages of faulty scripts.

use farlink_script::{PacketScript, ScriptError};

/// The message, its position, and the whole text.
fn refusal(text: &str) -> (String, (usize, usize), String) {
    match PacketScript::parse("test.pkt", text) {
        Err(ScriptError::Syntax(report)) => {
            (report.message.clone(), (report.line, report.column), report.to_string())
        }
        Err(other) => panic!("not a syntax error: {other}"),
        Ok(_) => panic!("it was accepted:\n{text}"),
    }
}

/// A TCP script whose third line is wrong.
fn refused_line(line: &str) -> (String, usize, String) {
    let (message, (number, column), all) =
        refusal(&format!("tcp \"Test\"\nhandshake server 100ms\n{line}\n"));
    assert_eq!(number, 3, "{all}");
    (message, column, all)
}

/// The failure of a script when it is run.
fn failure(text: &str) -> (String, usize, String) {
    let script =
        PacketScript::parse("test.pkt", text).unwrap_or_else(|failure| panic!("{failure}"));
    match script.run() {
        Err(ScriptError::Unmet(report)) => {
            (report.message.clone(), report.line, report.to_string())
        }
        Err(other) => panic!("not a failed script: {other}"),
        Ok(()) => panic!("it passed:\n{text}"),
    }
}

#[test]
fn words_are_suggested() {
    let (message, column, all) = refused_line("0.1   wirte 10 segs");
    assert_eq!((message.as_str(), column), ("unknown event `wirte`", 7));
    assert!(all.contains("did you mean `write`?"), "{all}");
    let (message, column, all) = refused_line("0.1 expect cwdn=3");
    assert_eq!((message.as_str(), column), ("unknown quantity `cwdn`", 12));
    assert!(all.contains("did you mean `cwnd`?"), "{all}");
    let (_, _, all) = refused_line("0.1 < . ack 1 <sak seg 1>");
    assert!(all.contains("did you mean `sack`?"), "{all}");
    let (_, _, all) = refused_line("0.1 < . ackn 1");
    assert!(all.contains("did you mean `ack`?"), "{all}");
    let (_, _, all) = refusal("tpc \"Test\"\n");
    assert!(all.contains("did you mean `tcp`?"), "{all}");
    let (_, _, all) =
        refusal("link \"Test\"\nconfig rate=1mbit,delay=1ms\n0 in 40 #1\n+0 drop #1 queue\n");
    assert!(all.contains("did you mean `queue-full`?"), "{all}");
}

#[test]
fn messages_point_at_the_place() {
    for (line, message, column) in [
        ("0.1 > . 1:1449(1447)", "from 1 to 1449 it is 1448 bytes, not 1447", 9),
        ("0.1 > . 5:1", "the range ends before it begins", 9),
        ("0.1 > . segs 3..3", "there are no segments in this range", 14),
        ("0.1 > X. 1:2", "unknown flag `X`", 7),
        ("0.1 > S 0:0 ack 1", "a segment without the flag `.` acknowledges nothing", 13),
        ("0.1 > . ack 1 ack 2", "duplicate `ack`", 15),
        (
            "0.1 < . ack 1 <sack>",
            "expected a block: `1449:2897`, `seg 1` or `segs 1..3`, found `>`",
            20,
        ),
        ("0.1 < . ack 1 <nop>", "padding is not modelled", 16),
        ("0.1~0.2 write 1", "only what leaves may have a range of times", 1),
        ("0.2~0.1 > .", "a range goes from the earlier to the later time, both of one kind", 1),
        ("0.0000000001 quiet", "`0.0000000001` is no time that a script can name", 1),
        ("5weeks quiet", "unknown time unit `weeks`", 1),
        ("0.1 write", "the line ends before a number of bytes, a whole number", 10),
        ("0.1 write 99999999999", "a call moves at most 67108864 bytes", 11),
        ("0.1 expect state=3", "expected a word, found `3`", 18),
        ("0.1 expect cwnd 3", "expected one of = != < <= > >=, found `3`", 17),
        ("0.1 close quickly", "expected the end of the line, found `quickly`", 11),
        ("handshake proxy 1ms", "unknown role `proxy`", 11),
    ] {
        let (found, at, all) = refused_line(line);
        assert_eq!((found.as_str(), at), (message, column), "{all}");
    }
}

#[test]
fn a_script_needs_a_header_and_events() {
    assert_eq!(refusal("").0, "the script is empty");
    assert_eq!(refusal("// nothing\n\n").0, "the script is empty");
    assert_eq!(refusal("tcp\n0 connect\n").0, "the title is missing");
    assert_eq!(refusal("tcp \"Test\"\n").0, "the script has no events");
    assert_eq!(refusal("link \"Test\"\n0 in 1 #1\n").1, (1, 1));
    let (message, place, _) = refusal("link \"Test\"\nconfig rate=1mbit,dealy=3ms\n0 in 1 #1\n");
    assert!(message.contains("did you mean") && place == (2, 8), "{message}");
    let twice = refusal("link \"Test\"\nconfig rate=1mbit,delay=0ms\n0 in 1 #1\n+0 in 1 #1\n");
    assert_eq!((twice.0.as_str(), twice.1), ("there is a packet #1 already", (4, 1)));
}

const SENT: &str = "tcp \"Test\"\nhandshake server 100ms\n0.1 write 2 segs\n";

#[test]
fn what_leaves_must_be_expected() {
    let (message, line, all) = failure(&format!("{SENT}+0 > . seg 0\n0.2 quiet\n"));
    assert_eq!((message.as_str(), line), ("no line expects what left at 0.100 s", 5));
    assert!(all.contains("0.100 > . 1:1449(1448) ack 1"), "{all}");
    assert!(
        all.contains("1449:2897(1448) ack 1 win 64512 <TS val 0.100 ecr 0.100>   (not expected)"),
        "{all}"
    );
    let (message, line, _) = failure(&format!("{SENT}+0 > . seg 0\n"));
    assert_eq!((message.as_str(), line), ("no line expects what left at 0.100 s", 4));
}

#[test]
fn what_is_expected_must_leave() {
    let (message, line, all) = failure(&format!("{SENT}+0 > . segs 0..3\n"));
    assert_eq!((message.as_str(), line), ("nothing left by 0.100 s", 4));
    assert!(all.contains("expected . 2897:4345(1448)"), "{all}");
}

#[test]
fn times_must_be_met() {
    let sent = format!("{SENT}+0 > . segs 0..2\n0.200 < . ack seg 1\n");
    for (time, outcome) in [
        ("0.499999999", Some("nothing left by 0.499999999 s")),
        ("0.500000001", Some("this left too early")),
        ("0.500", None),
        ("+300ms", None),
        ("0.4~0.6", None),
        ("0.51~0.6", Some("this left too early")),
    ] {
        let text = format!("{sent}{time} > . seg 1\n");
        match outcome {
            Some(expected) => assert_eq!(failure(&text).0, expected, "{time}"),
            None => PacketScript::parse("test.pkt", &text)
                .and_then(|script| script.run())
                .unwrap_or_else(|failure| panic!("{failure}")),
        }
    }
}

#[test]
fn each_part_of_a_segment_counts() {
    for (segment, difference) in [
        ("F. seg 0", "flags: expected F., found ."),
        (". seg 1", "sequence numbers: expected 1449:2897(1448), found 1:1449(1448)"),
        (". seg 0 ack 2", "the acknowledgement: expected 2, found 1"),
        (". seg 0 win 1", "the window: expected 1, found 64512"),
        (". seg 0 <sack 1:2>", "SACK blocks: expected 1:2, found none"),
        (". seg 0 <TS val 1>", "the timestamp: expected 1.000, found 0.100"),
        (". seg 0 <ecr 1>", "the echoed timestamp: expected 1.000, found 0.100"),
    ] {
        let (message, _, all) = failure(&format!("{SENT}+0 > {segment}\n"));
        assert_eq!(message, "another output left");
        assert!(all.contains(difference), "{all}");
    }
    let syn = "tcp \"Test\"\n0 connect\n+0 > S 0:0 <mss 1460,sackOK,wscale 10>\n";
    assert!(failure(syn).2.contains("timestamps: expected false, found true"));
}

#[test]
fn states_and_calls_count() {
    assert!(
        failure(&format!("{SENT}+0 expect cwnd>10\n")).2.contains("expected cwnd>10, but it is 10")
    );
    assert!(failure(&format!("{SENT}+0 expect state!=Established\n")).0.contains("the state"));
    assert!(failure(&format!("{SENT}+0 read = 1\n")).2.contains("there were 0 bytes to read"));
    assert!(failure(&format!("{SENT}+0 connect\n")).2.contains("there is a connection already"));
    assert!(failure("tcp \"Test\"\n0 close\n").2.contains("there is no connection yet"));
    assert!(failure("tcp \"Test\"\n0 < . 1:1 ack 1\n").2.contains("only a SYN can arrive"));
    assert_eq!(failure("tcp \"Test\"\nhandshake client 900ms\n0.5 quiet\n").0, "time goes back");
}
