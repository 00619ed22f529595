//! Bad input: each with exit code 2, one message that names the position and the expected input, advice, and
//! nothing written.

use crate::common::{Desk, experiment, refuses};

/// Checks that `farlink ARGUMENTS` is refused on a desk with one file on it, and leaves nothing else there.
#[track_caller]
fn refuses_file(name: &str, contents: impl AsRef<[u8]>, arguments: &str, parts: &[&str]) {
    let desk = Desk::new();
    desk.put(name, contents);
    desk.farlink(arguments).refused(parts);
    assert_eq!(desk.names(), [name]);
}

#[test]
fn pac_files_are_refused_with_their_line() {
    const LOAD: &str = "load synthetic:1x1KB --network 4g --route proxy,pac=x.pac";
    for (text, says) in [
        ("function FindProxyForURL( {", "x.pac, line 1: SyntaxError"),
        (
            "\nfunction FindProxyForURL() { timeRange(9, 17); }",
            "line 2: `timeRange` asks for the calendar",
        ),
        ("function FindProxyForURL() { return 'SOCKS s:1080'; }", "use the route `socks`"),
        ("function FindProxyForURL() { while (true) {} }", "still at work after 10000000 steps"),
    ] {
        refuses_file("x.pac", text, LOAD, &[says]);
    }
    refuses(LOAD, &["the PAC file x.pac cannot be read"]);
    let experiment = "format = 1\nroute = \"proxy,pac=x.pac\"\n[page]\nname = \"synthetic:1x1KB\"\n[network]\nbase = \"4g\"\n";
    refuses_file(
        "e.toml",
        experiment,
        "run e.toml",
        &["e.toml:2:", "the PAC file x.pac cannot be read"],
    );
}

/// A HAR with these entries.
fn har(entries: &str) -> String {
    format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"t","version":"1"}},"entries":[{entries}]}}}}"#
    )
}

/// An entry with this `wait`.
fn entry(wait: &str) -> String {
    format!(
        r#"{{"startedDateTime":"2024-01-01T00:00:00.000Z","time":50,
        "request":{{"method":"GET","url":"https://a.test/","httpVersion":"h2","headers":[],"headersSize":300,"bodySize":0}},
        "response":{{"status":200,"statusText":"OK","httpVersion":"h2","headers":[],"content":{{"size":5000,"mimeType":"text/html"}},"redirectURL":"","headersSize":200,"bodySize":5000}},
        "timings":{{"blocked":0,"dns":0,"connect":20,"ssl":10,"send":0,"wait":{wait},"receive":10}}}}"#
    )
}

#[test]
fn files_that_are_not_hars() {
    refuses_file("a.har", "hello\n", "load a.har", &["a.har: not JSON at line 1, column 1"]);
    refuses_file("a.har", "", "load a.har --har out.har", &["a.har: "]);
    let not_har = &["a.har: JSON, but not a HAR: ", "`log.entries`"];
    refuses_file("a.har", r#"{"a": 1}"#, "load a.har", not_har);
    refuses_file("a.har", "[1, 2]", "load a.har", not_har);
    refuses_file(
        "a.har",
        har(""),
        "load a.har",
        &["a.har: the HAR has no entries", "record it again"],
    );
    refuses_file("a.har", [0xff, 0xfe, 0x00, 0x41], "load a.har", &["a.har: "]);
}

#[test]
fn a_har_warns_of_times_without_sense_and_of_several_pages() {
    let desk = Desk::new();
    desk.put("a.har", har(&entry("-40")));
    let load = "load a.har -n 1 --protocol h2";
    let warning = "warning: a.har: an invalid time is treated as unknown: -40 ms in timings.wait";
    let said = desk.farlink(load).err;
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(warning), "{said}");
    let page = |id: &str, url: &str| {
        let paged = entry("30").replacen('{', &format!("{{\"pageref\":\"{id}\","), 1);
        paged.replace("https://a.test/", url)
    };
    let pages = format!("{},{}", page("one", "https://a.test/"), page("two", "https://b.test/"));
    desk.put("two.har", har(&pages));
    let said = desk.farlink("load two.har -n 1 --protocol h2").err;
    assert!(said.contains("contains 2 pages; loading `one`"), "{said}");
    let chosen = desk.farlink("load two.har --page 2 -n 1 --protocol h2 --json").ok();
    assert!(chosen.contains("two.har#2"), "{chosen}");
    desk.farlink("load two.har --page 3").refused(&["no page `3`", "one, two"]);
    desk.farlink("load bth2013 --page 2").refused(&["--page 2", "`bth2013` is not a HAR file"]);
}

#[test]
fn pages_that_are_not_there() {
    refuses("load nowhere/a.har", &["nowhere/a.har: No such file or directory"]);
    refuses(
        "load bth2031",
        &["no page or file `bth2031`", "did you mean `bth2013`?", "`farlink pages list`"],
    );
    refuses("load qqq", &["no page or file `qqq`", "`farlink pages list`"]);
    refuses("load synthetic:0x10KB", &["synthetic:0x10KB"]);
    refuses("load synthetic:10x10", &["synthetic:10x10"]);
    refuses("pages show bth2031", &["did you mean `bth2013`?"]);
    refuses("pages write bth2031 -o out", &["did you mean `bth2013`?"]);
}

#[test]
fn pages_are_not_written_over_what_is_there() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("out")).unwrap();
    desk.put("out/mine.txt", "mine");
    desk.farlink("pages write bth2013 -o out").refused(&["out is not empty", "another directory"]);
    assert_eq!(desk.read("out/mine.txt"), "mine");
    assert_eq!(std::fs::read_dir(desk.path("out")).unwrap().count(), 1);
}

#[test]
fn networks_that_cannot_be() {
    let load = |network: &str| format!("load bth2013 --network {network}");
    let nearest =
        &["there is no network `3g-fats`", "did you mean `3g-fast`?", "`farlink networks`"];
    refuses(&load("3g-fats"), nearest);
    refuses("networks show 3g-fats", nearest);
    refuses(
        &load("rtt=100,down=10mbit,up=5mbit"),
        &["--network", "rtt: `100` has no unit", "`100ms`"],
    );
    refuses(&load("rtt=100ms,up=5mbit"), &["`down` is missing", "down=10mbit"]);
    refuses(&load("rtt=1ms,down=1mbit,up=1mbit,loss=101%"), &["loss", "101%"]);
    refuses(
        &load("rtt=1ms,down=1mbit,up=1mbit,wobble=1ms"),
        &["`wobble`", "settings: rtt, down, up"],
    );
    refuses(
        &load("rtt=1ms,down=1mbit,up=1mbit,queue=0bdp"),
        &["`0bdp` is not a number of bandwidth-delay", "`2bdp`"],
    );
    refuses(&load("rtt=1ms,down=1mbit,up=1mbit,queue=many"), &["`many` is not a queue", "`64pkt`"]);
    refuses(&load("cabel,rtt=600ms"), &["did you mean `cable`?"]);
    refuses(&load("cable,down.delya=3ms"), &["did you mean `down.delay`?"]);
    refuses(&load("nowhere.toml"), &["nowhere.toml", "No such file"]);
    let text = "rtt = \"1ms\"\ndown = \"1mbit\"\nupp = \"1mbit\"\n";
    let parts = &["n.toml:3:1: ", "no setting `upp`", "did you mean `up`?"];
    refuses_file("n.toml", text, &load("n.toml"), parts);
}

#[test]
fn one_network_is_refused_in_the_same_words_everywhere() {
    let wrong = [
        ("rtt=100ms,rtt=900ms,down=5mbit,up=1mbit", "network: `rtt` is set twice"),
        ("3g,loss=1%,loss=50%", "network: `loss` is set twice"),
        ("3g,down.loss=1%,down.loss=2%", "network: `down.loss` is set twice"),
        ("3g,queue=2bdp,queue=3bdp", "network: `queue` is set twice"),
        ("3g,foo=3", "network: a network has no setting `foo`"),
        ("3g,loss=1", "network: loss: `1` has no unit; write 1% or 0.01"),
        ("5g", "did you mean `lte`?"),
    ];
    for (network, message) in wrong {
        refuses(&format!("load bth2013 --network {network}"), &["--network", message]);
        refuses(&format!("networks show {network}"), &[message]);
    }
    for network in ["3g,queue=1BDP", "3g,queue=Unlimited", "3g,loss=0.01", "starlink", "satellite"]
    {
        let desk = Desk::new();
        desk.farlink(&format!("networks show {network}")).ok();
        desk.farlink(&format!("load synthetic:2x5KB -n 1 --protocol h1 --network {network}")).ok();
    }
}

#[test]
fn a_key_stands_once_in_every_list() {
    let load = |rest: &str| format!("load bth2013 {rest}");
    let twice = &["is set twice"];
    refuses(&load("--traffic ping:every=3s,every=5s"), twice);
    refuses(&load("--tcp linux-6,iw=3,iw=4"), twice);
    refuses(&load("--dns at=first-hop,at=first-hop"), twice);
    refuses(&load("--route proxy,rtt=1ms,rtt=2ms"), twice);
    refuses("load bth2013~inline=2KB~inline=4KB", twice);
}

#[test]
fn names_that_are_not_known() {
    let load = |rest: &str| format!("load bth2013 {rest}");
    refuses(
        &load("--device deskop"),
        &["no device `deskop`", "known: ", "did you mean `desktop`?"],
    );
    refuses(&load("--browser chrom"), &["no browser policy `chrom`", "did you mean `chrome`?"]);
    refuses(&load("--protocol h9"), &["unknown protocol `h9`", "known: h1.0, h1, h1-pipelined"]);
    refuses(
        &load("--tls tls31"),
        &["unknown tls `tls31`", "known: none, tls10, tls12, tls13", "did you mean `tls13`?"],
    );
    refuses(&load("--view warmish"), &["unknown view `warmish`", "known: cold, warm, both"]);
    refuses(&load("--origins far"), &["unknown origins `far`", "known: equal, recorded"]);
    refuses(
        &load("--cross-traffic non"),
        &["--cross-traffic non: unknown cross traffic `non`", "did you mean `none`?"],
    );
    refuses(&load("--network 3g,scheduler=fair"), &["scheduler", "`round-robin`"]);
    refuses(&load("--congestion cubik"), &["did you mean `cubic`?"]);
    refuses(&load("--tcp linux-3.3"), &["no TCP generation is called `linux-3.3`", "`linux-3.2`?"]);
    refuses(&load("--tcp linux-6,min-rot=1s"), &["no TCP knob is called `min-rot`", "`min-rto`?"]);
    refuses(&load("--client-tcp acks=windows-8"), &["--client-tcp", "did you mean `windows-7`?"]);
    let typo = "--block upload-02.wikimedia.ogr";
    refuses(&load(typo), &["the page has no such host", "did you mean `upload-02.wikimedia.org`?"]);
    refuses("load bth2013 --networks 3g", &["--networks", "--network"]);
}

#[test]
fn chromium_speaks_no_spdy() {
    let chromium = "load bth2013 --world emu --client chromium --protocol spdy/3";
    refuses(chromium, &["Chromium speaks SPDY no more", "use h1 or h2"]);
}

#[test]
fn what_quic_cannot_do_and_what_it_is_not_asked_for() {
    let load = |rest: &str| format!("load bth2013 {rest}");
    refuses(&load("--protocol h3 --tls none"), &["QUIC", "use tls13"]);
    refuses(&load("--protocol h3,h3-matched --tls tls12"), &["QUIC", "use tls13"]);
    let nowhere = |option| [option, "changes nothing", "no arm runs on QUIC", "h3-deployed"];
    refuses(&load("--protocol h2 --h3-discovery alt-svc"), &nowhere("--h3-discovery"));
    refuses(&load("--protocol h1 --block-udp"), &nowhere("--udp"));
    refuses(&load("--protocol h3 --h3-discovery https-record"), &["HTTPS records", "dns `on`"]);
    refuses(&load("--protocol h3 --h3-discovery altsvc"), &["did you mean `alt-svc`?"]);
    refuses(&load("--protocol h2 --quic iw=4"), &nowhere("--quic"));
    refuses(&load("--protocol h3 --quic cc=bbr"), &["--quic", "BBR", "cc=cubic"]);
    refuses(&load("--protocol h3 --quic pacing=off"), &["--quic", "quinn always paces"]);
    refuses(&load("--protocol h3 --quic rto=1s"), &["no QUIC knob is called `rto`"]);
    refuses(
        &load("--protocol h3,h3-deployed"),
        &["--protocol h3-deployed: the same value is given twice"],
    );
    let chromium = "--world emu --client chromium --protocol h3 --h3-discovery alt-svc";
    refuses(&load(chromium), &["Chromium is told beforehand who speaks HTTP/3"]);
    refuses(&load("--protocol h3 --quic migration=on"), &["--quic", "migrate-at=2s"]);
    let moving = "--world emu --client chromium --protocol h3 --quic migrate-at=1s";
    refuses(&load(moving), &["Chromium keeps its address", "`loader`"]);
    refuses(&load("--protocol h1,h3 --push css"), &["--push: it changes nothing", "h2 or spdy"]);
}

#[test]
fn what_tls_of_an_era_cannot_do() {
    let load = |rest: &str| format!("load bth2013 {rest}");
    refuses(&load("--protocol h2 --tls tls10"), &["HTTP/2 runs over TLS 1.2 or later", "spdy"]);
    refuses(&load("--tls tls13 --security false-start=on"), &["False Start", "RFC 7918"]);
    refuses(&load("--tls tls12 --security resume=0rtt"), &["only TLS 1.3 has early data"]);
    let hybrid = "--security group=x25519mlkem768";
    refuses(&load(&format!("--tls tls12 {hybrid}")), &["only TLS 1.3 has x25519mlkem768"]);
    refuses(&load("--security group=p256"), &["`group`", "x25519 or x25519mlkem768"]);
    refuses(&load("--tls none --security chain=4KB"), &["--security: it changes nothing", "tls12"]);
    refuses(&load("--protocol h3 --security records=4KB"), &["QUIC has packets", "`records`"]);
    refuses(&load("--security chain=4"), &["--security", "`chain`", "1000B to 12000B"]);
    let chromium = |rest: &str| load(&format!("--world emu --client chromium {rest}"));
    refuses(&chromium("--protocol h1 --tls tls10"), &["modelled TLS", "`loader`"]);
    refuses(&chromium("--tls tls12 --security false-start=on"), &["modelled TLS", "`loader`"]);
    refuses(&chromium("--dns on"), &["Chromium", "asks no DNS"]);
    refuses(&load("--dns yes"), &["--dns yes: no DNS setting is called `yes`", "`off`, `on`"]);
    refuses(&load("--dns at=moon"), &["--dns", "first-hop or far-end"]);
}

#[test]
fn numbers_that_make_no_sense() {
    let load = |rest: &str| format!("load bth2013 {rest}");
    refuses(&load("-n 0"), &["--repetitions", "at least one load is required", "use -n 1 or more"]);
    refuses(&load("-n -3"), &["'-3'", "use -n 1 or more"]);
    refuses(&load("-n many"), &["'many'", "--repetitions"]);
    refuses(&load("-j 0"), &["'0'", "--jobs"]);
    refuses(&load("--seed 18446744073709551615"), &["too large", "9223372036854775807"]);
    refuses(&load("--cpu 0x"), &["--cpu 0x: `0x`", "write 4, 0.5 or 4x"]);
    refuses(&load("--cpu fast"), &["--cpu fast: `fast`", "write 4, 0.5 or 4x"]);
    refuses(&load("--initial-window 0"), &["--initial-window 0: `0` is not", "from 1 to 1000"]);
    refuses(&load("--workers 0"), &["--workers 0", "from 1 to"]);
    refuses(&load("--clients 0"), &["--clients 0", "1 to 100"]);
    refuses(&load("--start-spacing 5"), &["--start-spacing 5: `5`", "`drawn 500ms`"]);
    refuses(&load("--clients 2 --client chromium --world emu"), &["several clients are loaders"]);
    refuses(&load("--service-time 5"), &["--service-time 5: `5` has no unit", "write `100ms`"]);
    refuses(
        &load("--protocol h1,h1"),
        &["--protocol h1: the same value is given twice", "-n sets the number of loads"],
    );
    refuses(
        &load("--har nowhere/out.har"),
        &["no such directory: nowhere", "hint: mkdir -p nowhere"],
    );
}

/// Checks that this experiment is refused, and nothing is written: no store is created.
#[track_caller]
fn refuses_experiment(text: &str, parts: &[&str]) {
    refuses_file("e.toml", text, "run e.toml", parts);
}

#[test]
fn experiments_that_are_not_toml() {
    refuses_experiment("format = 1\n[page\nname = 3\n", &["e.toml:2:6: ", "\n  2 | [page\n", "^"]);
    refuses_experiment("format = 1\nname = = 3\n", &["e.toml:2:8: ", "  2 | name = = 3\n"]);
    refuses_file("e.toml", [0xff, 0xfe], "run e.toml", &["cannot read the experiment e.toml"]);
    refuses("run nowhere.toml", &["nowhere.toml: No such file", "hint: docs/experiment.md"]);
}

#[test]
fn experiments_with_keys_and_values_that_mean_nothing() {
    let with = |from: &str, to: &str| experiment(1).replace(from, to);
    refuses_experiment(
        &with("rtt = ", "rrt = "),
        &["e.toml:10:1: unknown key `rrt`", "known here: base, rtt", "hint: did you mean `rtt`?"],
    );
    refuses_experiment(
        &with("[\"h1\", \"h2\"]", "[]"),
        &["e.toml:14:12: the grid has 0 scenarios, because `stack.protocol` is an empty list"],
    );
    refuses_experiment(
        &with("\"h2\"]", "\"gopher\"]"),
        &["e.toml:14:19: ", "unknown protocol `gopher`"],
    );
    refuses_experiment(
        &with("\"cable\"", "\"cabel\""),
        &["e.toml:9:8: `network.base`: there is no network `cabel`", "did you mean `cable`?"],
    );
    refuses_experiment(
        &with("synthetic:12x10KB", "bth2031"),
        &["e.toml:6:8: ", "did you mean `bth2013`?"],
    );
    refuses_experiment(
        &with("\"20ms\"", "\"20\""),
        &["e.toml:10:8: ", "`20` has no unit", "write `100ms`"],
    );
    refuses_experiment(
        &with("repetitions = 1", "repetitions = 0"),
        &["e.toml:3:15: ", "from 1 to "],
    );
    refuses_experiment(
        &with("format = 1", "format = 2"),
        &["e.toml:1:10: ", "newer", "hint: use a newer"],
    );
    refuses_experiment(&with("format = 1", ""), &["`format` is missing", "write format = 1"]);
    let device = "[client]\ndevice = \"deskop\"\n";
    let text = format!("{}\n{device}", experiment(1));
    refuses_experiment(
        &text,
        &["e.toml:17:10: ", "no device `deskop`", "hint: did you mean `desktop`?"],
    );
}

#[test]
fn overrides_that_cannot_be_applied() {
    let refuses = |set: &str, parts: &[&str]| {
        refuses_file("e.toml", experiment(1), &format!("run e.toml --set {set}"), parts);
    };
    refuses("network.rtt", &["`--set network.rtt` cannot be applied", "write KEY=VALUE"]);
    refuses(
        "network.rrt=1ms",
        &["(with --set network.rrt=1ms)", "unknown key `rrt`", "did you mean `rtt`?"],
    );
    refuses("name.x=1", &["cannot be applied", "a value, not a table"]);
}

#[test]
fn stores_that_cannot_be_written() {
    let text = experiment(1);
    let parts = &["nowhere/s.sqlite cannot be written", "check that its directory exists"];
    refuses_file("e.toml", &text, "run e.toml --store nowhere/s.sqlite", parts);
    let desk = Desk::new();
    desk.put("e.toml", &text);
    std::fs::create_dir(desk.path("folder")).unwrap();
    desk.farlink("run e.toml --store folder").refused(&["folder"]);
    assert_eq!(std::fs::read_dir(desk.path("folder")).unwrap().count(), 0);
}

#[test]
fn a_folder_that_may_not_be_written_to() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    std::fs::create_dir(desk.path("locked")).unwrap();
    let mut permissions = std::fs::metadata(desk.path("locked")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(desk.path("locked"), permissions).unwrap();
    if std::fs::write(desk.path("locked/probe"), "").is_ok() {
        println!("skipped: this user may write anywhere (root)");
        return;
    }
    desk.farlink("run e.toml --store locked/s.sqlite")
        .refused(&["locked/s.sqlite cannot be written", "that you may write there"]);
}

#[test]
fn stores_that_are_none() {
    let text = "these are my notes, and they shall stay as they are\n".repeat(100);
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    desk.put("notes.txt", &text);
    let parts = &["notes.txt is not a farlink store; nothing was changed in it"];
    for command in ["run e.toml --store", "report --store", "runs --store"] {
        desk.farlink(&format!("{command} notes.txt")).refused(parts);
    }
    assert_eq!(desk.read("notes.txt"), text);

    let other = rusqlite::Connection::open(desk.path("other.sqlite")).unwrap();
    other.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    drop(other);
    desk.farlink("run e.toml --store other.sqlite")
        .refused(&["other.sqlite is not a farlink store"]);
    refuses("runs", &["there is no store at farlink.sqlite", "`farlink run` creates one"]);
    refuses("report --store x", &["there is no store at x"]);
}

#[test]
fn a_store_from_the_future_is_left_as_it_is() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    desk.farlink("run e.toml").ok();
    let store = rusqlite::Connection::open(desk.path("farlink.sqlite")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let parts =
        &["farlink.sqlite has store format 99", "use a newer farlink", "nothing was changed"];
    for command in ["run e.toml", "report", "runs"] {
        desk.farlink(command).refused(parts);
    }
    assert_eq!(desk.names(), ["e.toml", "farlink.sqlite"]);
}

#[test]
fn reports_of_runs_that_are_not_there() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    desk.farlink("run e.toml").ok();
    let parts = &["farlink.sqlite contains no run 7", "hint: `farlink runs` lists its runs"];
    desk.farlink("report 7").refused(parts);
    let parts = &["no such directory: nowhere", "hint: mkdir -p nowhere"];
    desk.farlink("report -o nowhere/r.html").refused(parts);
    desk.farlink("export --csv nowhere/v.csv").refused(parts);

    let store = rusqlite::Connection::open(desk.path("farlink.sqlite")).unwrap();
    store
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM visit; DELETE FROM stored_journey")
        .unwrap();
    let ran = desk.farlink("report");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("run 1 holds no journeys yet"), "{}", ran.err);
    store.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM run").unwrap();
    drop(store);
    desk.farlink("report")
        .refused(&["farlink.sqlite contains no runs", "hint: farlink run EXPERIMENT.toml"]);
    assert_eq!(desk.names(), ["e.toml", "farlink.sqlite"]);
}

#[test]
fn traces_that_are_none() {
    let refuses = |contents: &str, parts: &[&str]| {
        for command in ["load synthetic:3x10KB --network", "link test"] {
            let arguments = format!("{command} rtt=40ms,up=5mbit,down.trace=t.txt");
            refuses_file("t.txt", contents, &arguments, parts);
        }
    };
    refuses("1\n5\n3\n", &["down.trace: t.txt:3: `3`: time goes backwards"]);
    refuses("hello\n", &["t.txt:1: no known form of a trace", "Mahimahi"]);
    refuses("", &["t.txt: the trace is empty", "no lines"]);
}
