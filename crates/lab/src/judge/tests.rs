//! The studies' own clauses, and verdicts.

use super::{
    Cell, Clauses, Counted, Function, Hearing, Measured, Quantity, Statistic, Tally, Verdict,
    facts, hear, judge, markdown,
};
use crate::experiment::resolve;
use crate::scenario::World;
use crate::study::{Depth, Laboratory, Manner, NAMES, Study, shipped};
use crate::tour::Library;

const USUAL: Manner = Manner { depth: Depth::Usual, world: World::Sim };

/// Every cell of a study's experiments with three loads of numbers that mean nothing.
fn invented(study: &Study, clauses: &Clauses) -> Measured {
    let mut measured = Measured::new();
    let mut stream = chance::Source::new(1, 0).stream("invented");
    for (experiment, source) in study.experiments() {
        let plan = resolve(&source, &Library::default()).unwrap();
        let quantities = clauses.quantities(&experiment.id);
        for scenario in plan.cells() {
            let pages = scenario.page.pages.iter().map(Some);
            let visited = pages.chain(scenario.page.pages.is_empty().then_some(None));
            for (visit, page) in visited.enumerate() {
                let page = page.map(String::as_str);
                let mut cell = Cell::new(&experiment.id, scenario, visit as u32, page);
                for quantity in &quantities {
                    let values = (0..3).map(|r| (r, 1.0 + stream.unit())).collect();
                    cell.values.insert(*quantity, values);
                }
                cell.loads = 3;
                measured.add(&experiment.id, cell);
            }
        }
    }
    measured
}

#[test]
fn every_claim_has_clauses_that_can_be_read() {
    for name in NAMES {
        let study = shipped(name).unwrap();
        let clauses = Clauses::of_study(&study).unwrap_or_else(|error| panic!("{error}"));
        let measured = invented(&study, &clauses);
        let judged = judge(&study.claims, &clauses, &measured, &study.files)
            .unwrap_or_else(|(claim, fault)| panic!("{name}: {claim}: {fault}"));
        for (claim, judged) in study.claims.iter().zip(&judged) {
            let entry =
                clauses.of(&claim.id).unwrap_or_else(|| panic!("{} has no clauses", claim.id));
            match &judged.verdict {
                Verdict::Open(reasons) => {
                    assert_eq!(*reasons, sorted(&entry.waits_for), "{}", claim.id)
                }
                Verdict::Untestable => {}
                _ => assert_eq!(judged.findings.len(), entry.clauses.len(), "{}", claim.id),
            }
        }
    }
}

fn sorted(list: &[String]) -> Vec<String> {
    let mut list = list.to_vec();
    list.sort();
    list
}

#[test]
fn what_was_not_run_is_open() {
    let study = shipped("bth2013").unwrap();
    let clauses = Clauses::of_study(&study).unwrap();
    let judged = judge(&study.claims, &clauses, &Measured::new(), &study.files).unwrap();
    let first = &judged[0];
    assert_eq!(first.verdict.to_string(), "open: waits for a run of `rtt-http`");
    assert!(judged.iter().all(|it| matches!(it.verdict, Verdict::Open(_) | Verdict::Untestable)));
}

const SETUP: &str = "format = 1\ntitle = \"t\"\nauthors = \"a\"\nyear = 2013\nquestion = \"q?\"\nassumption = []\n\
    [[experiment]]\nid = \"one\"\nfile = \"one.toml\"\nsection = \"1\"\nwhat = \"w\"\nrole = \"variant\"\nwaits_for = []\n\
    [[experiment]]\nid = \"two\"\nsection = \"1\"\nwhat = \"w\"\nrole = \"variant\"\nwaits_for = [\"journeys\"]\n";

const EXPERIMENT: &str = "format = 1\nname = \"one\"\nrepetitions = 6\nseed = 1\n[page]\nname = \"synthetic:4x10KB\"\n\
    [network]\nrtt = [\"50ms\", \"200ms\"]\ndown = \"10mbit\"\nup = \"5mbit\"\nqueue = \"100pkt\"\n\
    [stack]\nprotocol = [\"h1\", \"h2\"]\ntls = \"none\"\n";

fn claim(id: &str, fact: &str, more: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\nfact = \"{fact}\"\nsection = \"4\"\nkind = \"ratio\"\nstatement = \"a | b\"\n\
         metric = \"m\"\npublished = \"p\"\ncriterion = \"c\"\ncheck = {{ test = \"none\" }}\n{more}\n"
    )
}

/// A study of one experiment that a toy ran.
fn heard(clauses: &str) -> Hearing {
    heard_in(clauses, &[])
}

/// The same, run in these laboratories, too.
fn heard_in(clauses: &str, laboratories: &[Laboratory]) -> Hearing {
    let claims = [
        claim("slow", "f", "strength = \"strong\""),
        claim("fast", "f", "strength = \"weak\""),
        claim("input", "g", "strength = \"strong\"\nrestates_inputs = true"),
        claim("dark", "h", "strength = \"untestable\""),
    ];
    let claims = format!("format = 1\n{}", claims.concat());
    let files = [
        ("study.toml", SETUP),
        ("claims.toml", claims.as_str()),
        ("clauses.toml", clauses),
        ("one.toml", EXPERIMENT),
    ];
    let study = Study::read("s", &files).unwrap();
    let (_, source) = study.experiments().next().unwrap();
    let plan = resolve(&source, &Library::default()).unwrap();
    let mut filled = crate::toy::filled_store(&plan);
    for laboratory in laboratories {
        crate::toy::finish(&mut filled.store, &laboratory.plan(&plan));
    }
    hear(study, &filled.store, USUAL, &Library::default()).unwrap_or_else(|error| panic!("{error}"))
}

const CLAUSES: &str = "format = 1\n[terms]\nstatistic = \"median\"\narm.h1 = { protocol = \"h1\" }\n\
    grid.rtt = { experiments = [\"one\"], x = \"rtt_ms\" }\n\
    [[claim]]\nid = \"slow\"\nclause = [{ on = \"rtt\", test = \"sign\", less = [\"at(50, plt(h1))\"], more = [\"at(200, plt(h1))\"] }]\n\
    [[claim]]\nid = \"fast\"\nclause = [\n{ on = \"rtt\", test = \"range\", quantity = \"at(200, plt(h1))\", low = 0 },\n\
    { on = \"rtt\", test = \"range\", quantity = \"at(200, plt(h1))\", high = 0.1 }]\n\
    [[claim]]\nid = \"input\"\nwaits_for = [\"journeys\"]\n";

#[test]
fn a_store_is_judged_clause_by_clause() {
    let hearing = heard(CLAUSES);
    let verdicts: Vec<&Verdict> = hearing.judged.iter().map(|judged| &judged.verdict).collect();
    let open = Verdict::Open(vec!["journeys".to_owned()]);
    assert_eq!(verdicts, [&Verdict::Confirmed, &Verdict::Refuted, &open, &Verdict::Untestable]);
    assert_eq!((hearing.judged[0].grounds.loads, hearing.judged[1].findings.len()), (12, 2));
    assert!(hearing.experiments[0].run.is_some() && hearing.experiments[1].run.is_none());

    let tally = Tally::of(&hearing, Counted::Findings);
    assert_eq!((tally.claims, tally.facts), (3, 2.0));
    assert_eq!((tally.confirmed, tally.refuted, tally.untestable), (0.5, 0.5, 1.0));
    assert_eq!(tally.rate(), Some(50.0));
    assert_eq!(Tally::of(&hearing, Counted::Strong).rate(), Some(100.0));
    let restated = Tally::of(&hearing, Counted::Restatements);
    assert_eq!((restated.claims, restated.open, restated.rate()), (1, 1.0, None));

    let page = markdown(&[hearing], "farlink study report s");
    assert!(page.contains("| `slow` (strong) a \\| b | p | `rtt: at(50, plt(h1)) < at(200, plt(h1))` holds: % of places less 100"), "{page}");
    assert!(page.contains("| open: waits for journeys |"), "{page}");
    assert!(page.contains("| two | not run | | journeys |"), "{page}");
}

#[test]
fn what_all_wrong_laboratories_confirm_is_not_counted() {
    // The labels' exchange needs a run of the other protocol alone; a direct route over a wire has neither radio nor proxy.
    let hearing = heard_in(CLAUSES, &[Laboratory::NoLossRecovery, Laboratory::ClientSlower]);
    let there = |laboratory| hearing.in_laboratory(laboratory);
    assert!(there(Laboratory::NoRadio).unwrap().is_same);
    assert!(there(Laboratory::UnlimitedUpstream).unwrap().is_same);
    assert!(!there(Laboratory::NoLossRecovery).unwrap().is_same);
    assert!(there(Laboratory::TcpOlder).is_none(), "it was not run");
    assert_eq!(hearing.confirmed_wrongly(0).len(), 4);
    assert!(hearing.is_non_discriminating(0) && !hearing.is_non_discriminating(1));
    let tally = Tally::of(&hearing, Counted::Findings);
    assert_eq!((tally.confirmed, tally.refuted, tally.non_discriminating), (0.0, 0.5, 0.5));
    assert_eq!(tally.rate(), Some(0.0));
    let page = markdown(&[hearing], "farlink study report s");
    assert!(page.contains("| all four: non-discriminating | 12 |"), "{page}");
    assert!(page.contains("| no-radio | | | | none: nothing of it is in this study |"), "{page}");
    assert!(page.contains("| client-x0.5 | 1 | 1 | 0 | none |"), "{page}");
    assert!(page.contains("| tcp-linux-3.2 | | | | not run |"), "{page}");
}

#[test]
fn a_verdict_turns_with_the_labels() {
    let clauses =
        CLAUSES.replace("arm.h1 = ", "arm.h2 = { protocol = \"h2\" }\narm.h1 = ").replace(
            "[\"at(50, plt(h1))\"], more = [\"at(200, plt(h1))\"]",
            "[\"at(200, plt(h2))\"], more = [\"at(200, plt(h1))\"]",
        );
    let hearing = heard(&clauses);
    assert_eq!(hearing.judged[0].verdict, Verdict::Confirmed);
    let swapped = hearing.in_laboratory(Laboratory::LabelsSwapped).unwrap();
    let turns = hearing.turns(swapped);
    let turned = (turns[0].claim, turns[0].here, turns[0].there);
    assert_eq!(turned, ("slow", &Verdict::Confirmed, &Verdict::Refuted));
    assert!(!hearing.is_non_discriminating(0));
    let page = markdown(&[hearing], "c");
    assert!(page.contains("confirmed to refuted: 1 (`slow`)"), "{page}");
}

#[test]
fn what_is_wrong_in_a_file_is_named() {
    let read = |text: &str| {
        let experiments = ["one"].into_iter().collect();
        let claims = ["slow", "fast", "input"].into_iter().collect();
        Clauses::read("s", text, &experiments, &claims).map(|_| ()).unwrap_err().to_string()
    };
    let changed = |from: &str, to: &str| {
        assert!(CLAUSES.contains(from), "{from}");
        read(&CLAUSES.replacen(from, to, 1))
    };
    let starts = |message: String, with: &str| assert!(message.starts_with(with), "{message}");
    starts(
        changed("\"slow\"", "\"slower\""),
        "s/clauses.toml: `slower`: id: claims.toml has no such claim",
    );
    starts(
        changed("\"fast\"", "\"slow\""),
        "s/clauses.toml: `slow`: id: a second entry of this name",
    );
    starts(changed("plt(h1)", "plt(h2)"), "s/clauses.toml: `slow`: clause 1: there is no [arm.h2]");
    starts(
        changed("on = \"rtt\", ", ""),
        "s/clauses.toml: `slow`: clause 1: `h1` over which grid?",
    );
    starts(
        changed("\"rtt_ms\"", "\"rtt\""),
        "s/clauses.toml: `terms`: arm, grid: [grid.rtt]: `rtt` is no fact",
    );
    starts(
        changed("[\"one\"]", "[\"two\"]"),
        "s/clauses.toml: `terms`: arm, grid: [grid.rtt]: study.toml has no experiment `two`",
    );
    assert!(changed("low = 0", "lower = 0").contains("lower"));
    assert!(changed("plt(h1)", "plr(h1)").contains("`plr`"));
    assert!(changed("waits_for = [\"journeys\"]", "").contains("it must wait for something"));
}

#[test]
fn quantities_are_gathered_for_their_experiments_alone() {
    let study = shipped("erman2013").unwrap();
    let clauses = Clauses::of_study(&study).unwrap();
    assert!(clauses.quantities("images-http").contains(&Quantity::Concurrency));
    assert!(clauses.quantities("lte").is_empty());
}

#[test]
fn every_word_of_clauses_is_explained() {
    let words = include_str!("../../../../studies/README.md");
    let facts = facts::NAMES.iter().map(|(name, _)| *name);
    let quantities = Quantity::ALL.iter().map(|it| it.name());
    let statistics = Statistic::ALL.iter().map(|it| it.name());
    let plain = facts.chain(quantities).chain(statistics);
    let missing = plain.filter(|name| !words.contains(&format!("`{name}`")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    let missing = Function::ALL.iter().filter(|it| !words.contains(&format!("`{it}(")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&Function>::new());
}
