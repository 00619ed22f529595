//! Experiments as people write them, right and wrong.

use proptest::prelude::*;

use super::*;
use crate::plan::{Order, Plan};
use crate::{NetworkSpec, PageRef, Protocol, Tls, View, nearest};

/// Knows three names and nothing else.
struct Names;

fn known(what: &str, name: &str, names: &[&str]) -> Result<(), NameError> {
    match names.contains(&name) {
        true => Ok(()),
        false => Err(NameError {
            message: format!("unknown {what} `{name}`"),
            hint: nearest(name, names.iter().copied()).map(|n| format!("did you mean `{n}`?")),
        }),
    }
}

impl Catalogue for Names {
    fn page(&self, spec: &str) -> Result<PageRef, NameError> {
        let page = PageRef::named(spec);
        match spec.ends_with(".har") {
            true => Ok(PageRef { digest: Some("digest".to_owned()), ..page }),
            false => known("page", spec, &["small", "large"]).map(|()| page),
        }
    }

    fn network(&self, network: &NetworkSpec) -> Result<Option<String>, NameError> {
        match network.base.as_deref() {
            Some(base) if base.ends_with(".toml") => Ok(Some(format!("digest of {base}"))),
            Some(base) => known("profile", base, &["3g", "cable"]).map(|()| None),
            None => Ok(None),
        }
    }

    fn device(&self, name: &str) -> Result<Option<String>, NameError> {
        known("device", name, &["zero", "desktop"]).map(|()| None)
    }

    fn browser(&self, name: &str) -> Result<(), NameError> {
        known("browser", name, &["chrome"])
    }

    fn pac(&self, _: &str) -> Result<Option<String>, NameError> {
        Ok(Some("digest".to_owned()))
    }

    fn priorities(&self, name: &str) -> Result<Option<String>, NameError> {
        known("mapping", name, &["chrome", "equal"]).map(|()| None)
    }
}

fn read(text: &str) -> Result<Plan, ExperimentError> {
    resolve(&Source::new("e.toml", text), &Names)
}

const SWEEP: &str = r#"format = 1
name = "rtt sweep"
repetitions = 3
seed = 7
order = "random"

[page]
name = ["small", "large"]

[network]
base = "cable"
rtt = ["20ms", "100ms", "0.6s"]

[stack]
protocol = ["h1", "h2"]
tls = "tls13"
"#;

#[test]
fn lists_span_the_grid_with_the_arms_side_by_side() {
    let plan = read(SWEEP).unwrap();
    assert_eq!((plan.name(), plan.seed(), plan.repetitions()), ("rtt sweep", 7, 3));
    assert_eq!(plan.order(), Order::Random);
    let cells: Vec<String> = plan
        .cells()
        .iter()
        .map(|c| format!("{} {} {}", c.page.spec, c.network, c.stack.protocol))
        .collect();
    assert_eq!(cells.len(), 12);
    assert_eq!(cells[0], "small cable,rtt=20ms h1");
    assert_eq!(cells[1], "small cable,rtt=20ms h2");
    assert_eq!(cells[11], "large cable,rtt=600ms h2");
}

#[test]
fn every_key_has_its_place() {
    let plan = read(
        r#"
        format = 1
        noise = "off"
        world = "sim"
        page = { name = "news.har" }
        network = { rtt = "100ms", down = "10mbit", up = "5mbit", loss = "1%", queue = "64pkt" }
        stack = { protocol = "h1", tls = "none", connections_per_host = 8, connections_total = 16 }
        [transport]
        congestion = "reno"
        initial_window_segments = 3
        slow_start_after_idle = false
        [client]
        device = "zero"
        cpu = "4x"
        browser = "chrome"
        view = "both"
        block = "b.example, a.example"
        [server]
        origins = "recorded"
        workers = 4
        service_time = "2ms"
        "#,
    )
    .unwrap();
    let [cell] = plan.cells() else { panic!("{}", plan.cells().len()) };
    assert_eq!(cell.page.digest.as_deref(), Some("digest"));
    assert_eq!(cell.network.to_string(), "rtt=100ms,down=10mbit,up=5mbit,loss=0.01,queue=64pkt");
    assert_eq!((cell.stack.protocol, cell.stack.tls), (Protocol::H1, Tls::None));
    assert_eq!(cell.stack.connections_per_host, Some(8));
    assert_eq!(cell.stack.connections_total, Some(16));
    assert_eq!(cell.transport.server.to_string(), "linux-6,iw=3,cc=reno,slow-start-after-idle=off");
    assert_eq!(cell.transport.client, cell.transport.server);
    assert_eq!((cell.client.cpu_multiplier, cell.client.view), (4.0, View::Both));
    assert_eq!(cell.client.blocked_hosts, ["a.example", "b.example"]);
    assert_eq!((cell.server.workers, cell.server.service_time_ns), (Some(4), 2_000_000));
}

/// Error message for `text`, and its hint.
fn complaint(text: &str) -> (String, Option<String>) {
    let error = read(text).unwrap_err();
    (error.to_string(), error.hint())
}

#[test]
fn an_unknown_key_is_shown_with_what_was_meant() {
    let (message, hint) = complaint(&SWEEP.replace("rtt = [", "rrt = ["));
    assert_eq!(
        message,
        "e.toml:12:1: unknown key `rrt`; known here: base, rtt, down, up, loss, queue\n  \
         12 | rrt = [\"20ms\", \"100ms\", \"0.6s\"]\n     | ^^^"
    );
    assert_eq!(hint.as_deref(), Some("did you mean `rtt`?"));
}

#[test]
fn a_wrong_value_is_shown_where_it_stands() {
    let (message, _) = complaint(&SWEEP.replace("100ms", "100"));
    assert_eq!(
        message,
        "e.toml:12:16: `network.rtt`: `100` has no unit; write `100ms` \
         (units: ns, us, ms, s, min, h)\n  \
         12 | rtt = [\"20ms\", \"100\", \"0.6s\"]\n     |                ^^^^^"
    );
    let (message, hint) = complaint(&SWEEP.replace("\"h2\"", "\"gopher\""));
    assert!(message.contains("unknown protocol `gopher`; known: h1.0, h1, "), "{message}");
    assert_eq!(hint, None);
    let (message, hint) = complaint(&SWEEP.replace("tls13", "tls31"));
    assert!(message.starts_with("e.toml:16:7: `stack.tls`: unknown tls `tls31`"), "{message}");
    assert_eq!(hint.as_deref(), Some("did you mean `tls13`?"));
    let (message, hint) = complaint(&SWEEP.replace("\"cable\"", "\"cabel\""));
    assert!(
        message.starts_with("e.toml:11:8: `network.base`: unknown profile `cabel`"),
        "{message}"
    );
    assert_eq!(hint.as_deref(), Some("did you mean `cable`?"));
    let (message, _) = complaint(&SWEEP.replace("repetitions = 3", "repetitions = 0"));
    assert!(message.contains("`repetitions` is the number 0; expected a whole number from 1"));
}

#[test]
fn a_key_in_the_wrong_place_is_told_its_own() {
    let (_, hint) = complaint(&format!("{SWEEP}\n[client]\nroute = \"pep\""));
    assert_eq!(hint.as_deref(), Some("`route` is a top-level key: put it before any [table]"));
    let (_, hint) = complaint(&SWEEP.replacen("seed =", "tls =", 1));
    assert_eq!(hint.as_deref(), Some("`tls` is a key of [stack]"));
    let (message, _) = complaint(&SWEEP.replacen("\"100ms\"", "100", 1));
    assert!(message.contains("`100` has no unit; write `100ms`"), "{message}");
}

#[test]
fn malformed_toml_has_line_and_column() {
    let error = read("format = 1\nname = \"x\n").unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 10), "{error}");
    let error = read("format = 1\n[page\n").unwrap_err();
    assert_eq!(error.line(), 2, "{error}");
}

#[test]
fn any_setting_of_a_network_may_be_an_axis() {
    let text = "format = 1\npage.name = \"small\"\n[network]\nbase = \"cable\"\naqm = [\"droptail\", \"fq_codel\"]\n\
                \"down.loss\" = [\"0%\", \"1%\", \"2%\"]";
    let cells = read(text).unwrap().cells().len();
    assert_eq!(cells, 6);
    let (message, _) = complaint(&text.replace("aqm", "aqn"));
    assert!(message.contains("unknown key `aqn`"), "{message}");
}

#[test]
fn a_value_for_a_table_is_told_apart() {
    let (message, _) = complaint("format = 1\nname = \"a\"\npage = \"small\"\n");
    let expected = "`page` is a value; expected a table: a line [page], and its keys below";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_grid_of_nothing_is_an_error() {
    let (message, _) = complaint(&SWEEP.replace("[\"h1\", \"h2\"]", "[]"));
    assert!(
        message.contains("the grid has 0 scenarios, because `stack.protocol` is an empty list"),
        "{message}"
    );
}

#[test]
fn equal_values_written_differently_are_one() {
    let (message, _) = complaint(&SWEEP.replace("\"0.6s\"", "\"0.1s\""));
    assert!(message.contains("`network.rtt` holds the same value twice"), "{message}");
}

#[test]
fn a_grid_beyond_reason_is_refused_before_it_is_built() {
    let many = (1..=1000).map(|n| format!("\"{n}ms\"")).collect::<Vec<_>>().join(",");
    let text = format!(
        "format = 1\npage.name = \"small\"\n[network]\nrtt = [{many}]\n[server]\nservice_time = [{many}]\n\
         [stack]\nprotocol = [\"h1\", \"h2\"]"
    );
    assert!(complaint(&text).0.contains("2000000 scenarios or more"));
}

#[test]
fn what_must_be_there_is_asked_for() {
    assert!(complaint("").0.contains("`format` is missing; write format = 1"));
    assert!(complaint("format = 1").0.contains("`page.name` is missing"));
    assert!(complaint("format = 1\npage.name = \"small\"").0.contains("`network` is missing"));
}

#[test]
fn a_newer_format_is_refused_before_its_keys_are_looked_at() {
    let (message, hint) = complaint("format = 2\nradio = \"lte\"");
    assert!(message.contains("experiment format 2 is newer"), "{message}");
    assert_eq!(hint.as_deref(), Some("use a newer farlink"));
}

#[test]
fn any_key_can_be_overridden() {
    let mut source = Source::new("e.toml", SWEEP);
    source.set("network.rtt=600ms").unwrap();
    source.set("client.cpu = 4").unwrap();
    source.set("stack.protocol=[\"h2\"]").unwrap();
    let plan = resolve(&source, &Names).unwrap();
    assert_eq!(plan.cells().len(), 2);
    assert_eq!(plan.cells()[0].network.rtt_ns, Some(600_000_000));
    assert_eq!(plan.cells()[0].client.cpu_multiplier, 4.0);
    source.set("network.rt=1ms").unwrap();
    let error = resolve(&source, &Names).unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("did you mean `rtt`?"));
    assert!(error.to_string().contains("(with --set network.rt=1ms)"), "{error}");
    assert!(source.set("network").unwrap_err().to_string().contains("write KEY=VALUE"));
    assert!(source.set("seed.x=1").unwrap_err().to_string().contains("not a table"));
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(text in "(format = 1\n)?[a-z\\[\\]\"=., \n0-9é]{0,80}") {
        if let Err(error) = read(&text) {
            let _ = error.to_string();
        }
    }

    #[test]
    fn no_override_makes_it_panic(text in ".{0,30}") {
        let _ = Source::new("e.toml", SWEEP).set(&text);
    }
}

#[test]
fn a_network_from_a_file_is_told_apart_by_its_contents() {
    let text = "format = 1\n[page]\nname = \"small\"\n[network]\nbase = [\"a.toml\", \"3g\"]\n";
    let plan = resolve(&Source::new("test.toml", text), &Names).unwrap();
    let digests: Vec<_> =
        plan.cells().iter().map(|cell| cell.network.base_digest.as_deref()).collect();
    assert_eq!(digests, [Some("digest of a.toml"), None]);
}

#[test]
fn an_uplink_follows_the_axis_of_the_downlink() {
    let plan = read(
        "format = 1\n[page]\nname = \"small\"\n[network]\nrtt = \"150ms\"\nup = \"down/2\"\n\
         down = [\"150kbit\", \"650kbit\"]\n",
    )
    .unwrap();
    let rates = |cell: &crate::Scenario| {
        (cell.network.down_bit_per_s.unwrap(), cell.network.up_bit_per_s.unwrap())
    };
    let rates: Vec<(u64, u64)> = plan.cells().iter().map(|cell| rates(cell)).collect();
    assert_eq!(rates, [(150_000, 75_000), (650_000, 325_000)]);
    let error = read(
        "format = 1\n[page]\nname = \"small\"\n[network]\nbase = \"cable\"\nup = \"down/2\"\n",
    );
    assert_eq!(error.unwrap_err().line(), 6);
}

/// Cells of a plan in short: network, protocol, device.
fn cells(plan: &Plan) -> Vec<String> {
    let short = |cell: &std::sync::Arc<crate::Scenario>| {
        format!("{} {} {}", cell.network, cell.stack.protocol, cell.client.device)
    };
    plan.cells().iter().map(short).collect()
}

#[test]
fn linked_axes_vary_together() {
    let text = "format = 1\n[page]\nname = \"small\"\n[stack]\nprotocol = [\"h1\", \"h2\"]\n\
                [[linked]]\nnetwork.base = [\"3g\", \"cable\"]\nclient.device = [\"zero\", \"desktop\"]\n";
    let plan = read(text).unwrap();
    assert_eq!(cells(&plan), ["3g h1 zero", "3g h2 zero", "cable h1 desktop", "cable h2 desktop"]);
    // The same value may occur twice, as long as the others differ.
    let again = text.replace("\"zero\", \"desktop\"", "\"zero\", \"zero\"");
    assert_eq!(cells(&read(&again).unwrap()).len(), 4);
    let same = again.replace("\"3g\", \"cable\"", "\"3g\", \"3g\"");
    assert!(complaint(&same).0.contains("holds the same value twice"), "{}", complaint(&same).0);
    let (message, hint) = complaint(&text.replace("\"zero\", \"desktop\"", "\"zero\""));
    assert!(
        message.starts_with("e.toml:8:17: `client.device`: it has one value, and `network.base`, "),
        "{message}"
    );
    assert!(hint.unwrap().contains("equally many"));
    let (message, _) = complaint(&text.replace("client.device", "stack.protocol"));
    assert!(message.contains("`stack.protocol`: it is given twice"), "{message}");
    let (message, _) = complaint(&text.replace("client.device", "client.devise"));
    assert!(message.starts_with("e.toml:8:8: unknown key `devise`"), "{message}");
    let one = text.split("client.device").next().unwrap();
    assert!(
        complaint(one).0.contains("e.toml:6:1: `linked`: two axes or more"),
        "{}",
        complaint(one).0
    );
}

#[test]
fn a_linked_setting_that_acts_on_some_cells_repeats_none() {
    let text = "format = 1\n[page]\nname = \"small\"\n[network]\nbase = \"3g\"\n\
                [[linked]]\nstack.protocol = [\"h2\", \"h2\", \"h3-deployed\"]\ntransport.quic = [\"iw=10\", \"iw=20\", \"iw=20\"]\n";
    // The first two are written differently and are the same in effect: QUIC's window does not act on HTTP/2.
    let plan = read(text).unwrap();
    assert_eq!(plan.cells().len(), 3, "{:?}", cells(&plan));
}

#[test]
fn combinations_are_excluded() {
    let text = format!(
        "{SWEEP}\n[[exclude]]\nstack.protocol = \"h2\"\nnetwork.rtt = [\"20ms\", \"600ms\"]\n\
         [[exclude]]\npage.name = \"large\"\nnetwork.rtt = \"100ms\"\n"
    );
    let plan = read(&text).unwrap();
    // Of 12: h2 on two networks of two pages, and both protocols on one network of one page.
    assert_eq!(plan.cells().len(), 12 - 4 - 2);
    let [skipped] = plan.skipped() else { panic!("{:?}", plan.skipped()) };
    assert_eq!(skipped.cells, 6);
    assert!(skipped.sentence().contains("the experiment excludes them"), "{}", skipped.sentence());
    let (message, hint) = complaint(&text.replace("\"600ms\"]\n[", "\"700ms\"]\n["));
    assert!(message.contains("`network.rtt`: `700ms` is not a value of this axis"), "{message}");
    assert_eq!(hint.as_deref(), Some("its values: 20ms, 100ms, 0.6s"));
    let (message, hint) = complaint(&text.replace("page.name = \"large\"", "client.cpu = 4"));
    assert!(message.contains("`client.cpu`: the grid has no such axis"), "{message}");
    assert!(hint.unwrap().contains("page.name, "));
    let (message, _) =
        complaint(&format!("{SWEEP}\n[[exclude]]\nstack.protocol = [\"h1\", \"h2\"]"));
    assert!(message.contains("every combination of the grid is excluded"), "{message}");
    let (message, _) = complaint(&format!("{SWEEP}\n[[exclude]]\n"));
    assert!(message.contains("`exclude`: it names no value"), "{message}");
    let (message, _) = complaint(&format!("{SWEEP}\n[[exclude]]\nstack.protocoll = \"h1\""));
    assert!(message.contains("unknown key `protocoll`"), "{message}");
}

/// A source with other files beside it.
fn with_files(text: &str, files: &[(&str, &str)]) -> Result<Source, ExperimentError> {
    Source::new("dir/e.toml", text).with_includes(&|path| {
        let name = path.to_str().expect("names are text");
        let file = files.iter().find(|(known, _)| *known == name);
        file.map(|(_, text)| (*text).to_owned()).ok_or(std::io::ErrorKind::NotFound.into())
    })
}

#[test]
fn files_are_included_and_a_file_counts_before_what_it_includes() {
    let base = "format = 1\nrepetitions = 5\ninclude = \"deeper.toml\"\n[page]\nname = \"small\"\n\
                [network]\nbase = \"3g\"\nrtt = [\"20ms\", \"100ms\"]\n[[exclude]]\nnetwork.rtt = \"20ms\"\nstack.protocol = \"h2\"\n";
    let deeper = "format = 1\nseed = 9\nrepetitions = 6\n[network]\nloss = \"1%\"\n";
    let text = "format = 1\ninclude = [\"base.toml\"]\n[network]\nbase = \"cable\"\n[stack]\nprotocol = [\"h1\", \"h2\"]\n";
    let files = [("dir/base.toml", base), ("dir/deeper.toml", deeper)];
    let source = with_files(text, &files).unwrap();
    let plan = resolve(&source, &Names).unwrap();
    assert_eq!((plan.seed(), plan.repetitions(), plan.cells().len()), (9, 5, 3));
    assert!(
        cells(&plan)
            .iter()
            .all(|cell| cell.starts_with("cable,rtt=") && cell.contains("loss=0.01")),
        "{:?}",
        cells(&plan)
    );
    // One text says the same.
    let flat = Source::new("flat.toml", source.flat());
    assert!(!flat.text().contains("include"), "{}", flat.text());
    assert_eq!(resolve(&flat, &Names).unwrap(), plan);
    // An error is shown in the file that has it.
    let wrong = base.replace("\"100ms\"", "\"100\"");
    let source = with_files(text, &[("dir/base.toml", &wrong), files[1]]).unwrap();
    let message = resolve(&source, &Names).unwrap_err().to_string();
    assert!(
        message.starts_with("dir/base.toml:8:16: `network.rtt`: `100` has no unit"),
        "{message}"
    );
    let message = with_files(text, &files[..1]).unwrap_err().to_string();
    assert!(message.starts_with("dir/base.toml:3:11: cannot include `deeper.toml`: "), "{message}");
    let circle = [files[0], ("dir/deeper.toml", "format = 1\ninclude = \"base.toml\"")];
    let message = with_files(text, &circle).unwrap_err().to_string();
    assert!(message.contains("cannot include `base.toml`: it includes itself"), "{message}");
    let source =
        with_files("format = 1\ninclude = 7\npage.name = \"small\"\nnetwork.base = \"3g\"", &[])
            .unwrap();
    assert!(
        resolve(&source, &Names).unwrap_err().to_string().contains("`include` is the number 7")
    );
}
