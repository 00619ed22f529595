//! The studies' own files of figures, and a page of every kind.

use super::{Figures, html};
use crate::judge::{StudyResult, evaluate_study};
use crate::{Depth, NAMES, RunMode, Study, shipped};
use scenario::World;
use scenario::experiment::resolve;
use store::toy;
use testbed::tour::Library;

const USUAL: RunMode = RunMode { depth: Depth::Usual, world: World::Sim };

const SETUP: &str = "format = 1\ntitle = \"A & B\"\nauthors = \"a\"\nyear = 2013\nquestion = \"q?\"\nassumption = []\n\
    [[experiment]]\nid = \"one\"\nfile = \"one.toml\"\nsection = \"1\"\nwhat = \"w\"\nrole = \"variant\"\nwaits_for = []\n\
    [[experiment]]\nid = \"later\"\nsection = \"1\"\nwhat = \"w\"\nrole = \"variant\"\nwaits_for = [\"x\"]\n";

const CLAIMS: &str = "format = 1\n[[claim]]\nid = \"c\"\nfact = \"f\"\nsection = \"4\"\nkind = \"ratio\"\nstatement = \"s\"\n\
    metric = \"m\"\npublished = \"p\"\ncriterion = \"c\"\nstrength = \"weak\"\ncheck = { test = \"none\" }\n";

const EXPERIMENT: &str = "format = 1\nname = \"one\"\nrepetitions = 6\nseed = 1\n[page]\nname = \"synthetic:24x10KB\"\n\
    [network]\nbase = \"4g\"\nrtt = [\"50ms\", \"200ms\"]\n[stack]\nprotocol = [\"h1\", \"h2\"]\n";

const CLAUSES: &str = "format = 1\n\
    [terms]\nstatistic = \"median\"\n\
    [terms.arm]\nh1 = { protocol = \"h1\" }\nh2 = { protocol = \"h2\" }\n\
    [terms.grid.rtt]\nexperiments = [\"one\"]\nx = \"rtt_ms\"\n\
    [terms.grid.near]\nexperiments = [\"one\"]\nwhere = { rtt_ms = 50 }\n\
    [terms.grid.unrun]\nexperiments = [\"later\"]\nx = \"rtt_ms\"\n\
    [terms.quantity]\nmean_init = \"SELECT sum(init_ns) / 1e9 / count(*) FROM page_object\"\n\
    mean_send = \"SELECT sum(send_ns) / 1e9 / count(*) FROM page_object\"\n\
    mean_wait = \"SELECT sum(wait_ns) / 1e9 / count(*) FROM page_object\"\n\
    mean_receive = \"SELECT sum(receive_ns) / 1e9 / count(*) FROM page_object\"\n\
    [[claim]]\nid = \"c\"\nwaits_for = [\"x\"]\n";

/// A figure that shows `show`.
fn figure(id: &str, show: &str) -> String {
    format!(
        "[[figure]]\nid = \"{id}\"\ntitle = \"t <{id}>\"\nplace = \"section 1\"\n[figure.show]\n{show}\n"
    )
}

/// A page's figure of every kind.
fn all_kinds() -> String {
    let two = "lines = [{ name = \"H1\", arm = \"h1\" }, { name = \"H2\", arm = \"h2\" }]";
    let rtt = "scope = { on = [\"rtt\"] }";
    let shows = [
        (
            "curves",
            format!(
                "{rtt}\nx = \"ms\"\ny = \"s\"\nlines = [{{ name = \"H1\", of = \"plt(h1)\", published = \"published(t)\" }}]"
            ),
        ),
        (
            "numbers",
            "scope = { on = [\"near\"] }\ny = \"s\"\nlines = [{ name = \"H1\", of = \"plt(h1)\" }]"
                .to_owned(),
        ),
        ("boxes", format!("{rtt}\nof = \"plt\"\nx = \"ms\"\ny = \"s\"\n{two}")),
        ("cumulative", format!("{rtt}\nof = \"plt\"\nx = \"s\"\n{two}")),
        ("cumulative-objects", format!("{rtt}\nof = \"wait\"\nx = \"ms\"\n{two}")),
        ("stacked", format!("{rtt}\nx = \"ms\"\n{two}")),
        ("seconds", format!("{rtt}\nof = \"throughput\"\n{two}")),
        ("timelines", format!("{rtt}\nat = [50]\nof = \"client\"\n{two}")),
        ("windows", format!("{rtt}\nat = [50]\n{two}")),
        ("packet-sizes", format!("{rtt}\nof = \"down\"\n{two}")),
    ];
    let figures = shows.map(|(kind, show)| figure(kind, &format!("kind = \"{kind}\"\n{show}")));
    format!(
        "format = 1\n[terms.published]\nt = {{ file = \"t.csv\", x = \"rtt\", y = \"plt\" }}\n{}",
        figures.concat()
    )
}

fn study(figures: &str) -> Study {
    study_of(CLAIMS, figures)
}

fn study_of(claims: &str, figures: &str) -> Study {
    let table = "rtt,plt\n50,0.5\n";
    let files = [
        ("study.toml", SETUP),
        ("claims.toml", claims),
        ("one.toml", EXPERIMENT),
        ("clauses.toml", CLAUSES),
        ("t.csv", table),
        ("figures.toml", figures),
    ];
    Study::read("s", &files).unwrap_or_else(|error| panic!("{error}"))
}

fn page(figures: &str) -> String {
    page_of(study(figures))
}

fn page_of(study: Study) -> String {
    let (_, source) = study.experiments().next().expect("an experiment");
    let plan = resolve(&source, &Library::default()).unwrap_or_else(|error| panic!("{error}"));
    let filled = toy::filled_store(&plan);
    let result: StudyResult =
        evaluate_study(study, &filled.store, USUAL, None, &Library::default())
            .unwrap_or_else(|error| panic!("{error}"));
    html(&[result], &filled.store).unwrap_or_else(|error| panic!("{error}"))
}

/// The rows below a figure's picture.
fn rows(page: &str, figure: &str) -> Vec<String> {
    let from = page.split(&format!("id=\"data-s-{figure}\" class=\"csv\">")).nth(1);
    let text = from.and_then(|rest| rest.split("</pre>").next()).expect("the figure's data");
    text.trim().lines().map(str::to_owned).collect()
}

#[test]
fn every_studys_figures_can_be_read() {
    for name in NAMES {
        let study = shipped(name).unwrap();
        let figures = Figures::of_study(&study).unwrap_or_else(|error| panic!("{error}"));
        assert!(figures.figures.len() >= 5, "{name}");
        // Each is drawn from existing experiments.
        for figure in &figures.figures {
            let mut grids = figure.show.grids().map(|grid| &figures.terms.grids[grid]);
            let written = |id: &String| study.experiments().any(|(it, _)| it.id == *id);
            assert!(
                grids.all(|grid| grid.experiments.iter().all(written)),
                "{name}: {}",
                figure.id
            );
        }
    }
}

#[test]
fn a_page_has_every_figure_with_its_data() {
    let page = page(&all_kinds());
    assert!(page.contains("<h2>A &amp; B (2013)</h2>"), "the title, as text");
    assert!(page.contains("t &lt;boxes&gt;"));
    assert_eq!(page.matches("class=\"charts\"></div>").count(), 10);
    assert_eq!(page.matches("The data, as CSV").count(), 10);
    assert!(!page.contains("Not drawn"));
    assert!(!page.contains("on this figure"), "the claim names no figure");

    let curves = rows(&page, "curves");
    assert_eq!(curves.len(), 3, "two round trips");
    assert!(curves[0].starts_with("panel,line,x,y,low,high,published,"), "{}", curves[0]);
    assert!(curves[1].starts_with(",H1,50.0,") && curves[1].contains(",0.5,"), "{}", curves[1]);
    assert!(page.contains("H1: ours differs from the published value by "));
    assert_eq!(rows(&page, "boxes").len(), 1 + 2 * 2, "an arm at a place each");
    assert!(rows(&page, "boxes")[1].starts_with(",H1,50,6,"));
    assert_eq!(rows(&page, "cumulative").len(), 1 + 2 * 12, "every load of an arm");
    // Of 24 objects in 12 loads, 200 points remain.
    assert_eq!(rows(&page, "cumulative-objects").len(), 1 + 2 * 200);
    assert_eq!(rows(&page, "stacked").len(), 1 + 2 * 2);
    let windows = rows(&page, "windows");
    assert_eq!(windows[0], "panel,line,x,y,until,part,name");
    let first = windows[1].strip_prefix("&quot;50, H1&quot;,congestion window,");
    assert!(first.is_some_and(|rest| rest.ends_with(",10,,,")), "{windows:?}");
    let threshold = "&quot;50, H2&quot;,slow start threshold,";
    assert!(windows.iter().any(|row| row.starts_with(threshold)), "{windows:?}");
    let sizes = rows(&page, "packet-sizes");
    assert_eq!(sizes.len(), 1 + 2 * 19, "steps of 80 bytes up to 1,500");
    assert_eq!(sizes[19], ",H1,1440,1520,100.0");
}

#[test]
fn a_figure_has_the_verdicts_on_its_claims() {
    let of = |figures: &str, tables: &str| {
        let mut study = study(&format!(
            "format = 1\n{}",
            figure("1-a", "kind = \"curves\"\nscope = { on = [\"rtt\"] }\nlines = []")
                .replace("[figure.show]", &format!("{figures}\n{tables}\n[figure.show]"))
        ));
        study.claims[0].figures = vec!["1".to_owned()];
        study.claims[0].tables = ["C.1", "C.2"].map(str::to_owned).to_vec();
        Figures::of_study(&study).unwrap().figures[0].claims(&study).count()
    };
    assert_eq!(of("", ""), 0, "the id is another figure");
    assert_eq!(of("figures = \"1, 2\"", ""), 1);
    assert_eq!(of("", "tables = \"C.1-C.3\""), 1);
    assert_eq!(of("", "tables = \"C.1\""), 0, "half of what it is about");
    // Every study has a figure that is drawn beside its verdict.
    for name in NAMES {
        let study = shipped(name).unwrap();
        let figures = Figures::of_study(&study).unwrap().figures;
        assert!(figures.iter().any(|figure| figure.claims(&study).count() > 0), "{name}");
    }
}

#[test]
fn a_verdict_stands_below_its_figure() {
    let claims = CLAIMS.replace("kind = ", "figure = \"1\"\nkind = ").replace("\"s\"", "\"a < b\"");
    let show = "kind = \"numbers\"\nscope = { on = [\"near\"] }\ny = \"s\"\nlines = [{ name = \"H1\", of = \"plt(h1)\" }]";
    let page = page_of(study_of(&claims, &format!("format = 1\n{}", figure("1", show))));
    assert!(page.contains("1 claim on this figure: 1 open"), "{page}");
    assert!(page.contains("<b>open: waits for x</b>: a &lt; b <code>c</code>"), "{page}");
}

#[test]
fn what_was_not_run_is_said() {
    let show = "kind = \"curves\"\nscope = { on = [\"unrun\"] }\nx = \"ms\"\ny = \"s\"\nlines = [{ name = \"H1\", of = \"plt(h1)\" }]";
    let page = page(&format!("format = 1\n{}", figure("1", show)));
    assert!(page.contains("Not drawn: the store lacks a run of `later`."));
}

#[test]
fn what_is_wrong_with_a_figure_is_said_with_its_place() {
    let refusal = |text: &str| Figures::of_study(&study(text)).unwrap_err().to_string();
    let of = |show: &str| refusal(&format!("format = 1\n{}", figure("1", show)));
    let boxes = "kind = \"boxes\"\nscope = { on = [\"rtt\"] }\nof = \"plt\"\ny = \"s\"\n";
    let unknown = of(&format!("{boxes}lines = [{{ name = \"H3\", arm = \"h3\" }}]"));
    assert_eq!(unknown, "s/figures.toml: `1`: show: there is no [arm.h3]");
    let elsewhere = of(&format!("{boxes}lines = []").replace("rtt", "bandwidth"));
    assert_eq!(elsewhere, "s/figures.toml: `1`: show: there is no [grid.bandwidth]");
    assert!(of("kind = \"pies\"\nlines = []").contains("unknown kind of figure `pies`"));
    let key = of(&format!("{boxes}lines = []\ncolour = \"red\""));
    assert!(key.contains("unknown field `colour`"), "{key}");
    let twice = format!(
        "format = 1\n[terms.arm]\nh1 = {{ protocol = \"h1\" }}\n{}",
        figure("1", &format!("{boxes}lines = []"))
    );
    assert_eq!(refusal(&twice), "s/figures.toml: `terms`: h1: clauses.toml has this word already");
    let slash = refusal(&format!("format = 1\n{}", figure("a/b", &format!("{boxes}lines = []"))));
    assert!(slash.contains("letters, digits, `.` and `-` make an id"), "{slash}");
}
