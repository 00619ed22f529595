//! The studies' own clauses, and verdicts.

use super::facts::FACTS;
use super::quantity::COMMON;
use super::verdict::judge_clause;
use super::{
    Clause, Clauses, Counted, Function, MeasuredCell, Measurements, Sources, Statistic,
    StudyResult, Tally, Verdict, evaluate_study, judge_claims, runs_for_causes, verdict_tables,
};
use crate::{Depth, Laboratory, NAMES, RunMode, Study, shipped};
use scenario::World;
use scenario::experiment::resolve;
use testbed::tour::Library;

const USUAL: RunMode = RunMode { depth: Depth::Usual, world: World::Sim };

/// Every cell of a study's experiments with three loads of meaningless numbers.
fn invented(study: &Study, clauses: &Clauses) -> Measurements {
    let mut measured = Measurements::default();
    let mut stream = chance::RandomSource::new(1, 0).stream("invented");
    for (experiment, source) in study.experiments() {
        let plan = resolve(&source, &Library::default()).unwrap();
        let quantities = clauses.quantities(&experiment.id);
        for scenario in plan.cells() {
            let pages = scenario.page.pages.iter().map(Some);
            let visited = pages.chain(scenario.page.pages.is_empty().then_some(None));
            for (visit, page) in visited.enumerate() {
                let page = page.map(String::as_str);
                let mut cell = MeasuredCell::new(&experiment.id, scenario, visit as u32, page);
                for quantity in &quantities {
                    let values = (0..3).map(|r| (r, 1.0 + stream.unit())).collect();
                    cell.values.insert(quantity.clone(), values);
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
        let judged = judge_claims(&study.claims, &clauses, &measured, &study.files)
            .unwrap_or_else(|(claim, error)| panic!("{name}: {claim}: {error}"));
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
    let judged =
        judge_claims(&study.claims, &clauses, &Measurements::default(), &study.files).unwrap();
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

#[test]
fn what_did_not_come_up_is_not_decided() {
    let clauses = CLAUSES.replacen("at(50, plt(h1))", "median(from(1000, 2000, plt(h1)))", 1);
    let result = evaluated(&clauses);
    let slow = result.claims.iter().find(|it| it.id == "slow").unwrap();
    assert_eq!(slow.verdict, Verdict::Inconclusive);
    let finding = slow.findings[0].finding.to_string();
    assert_eq!(finding, "inconclusive: too few loads of which `median` can be taken");
}

fn claim(id: &str, fact: &str, more: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\nfact = \"{fact}\"\nsection = \"4\"\nkind = \"ratio\"\nstatement = \"a | b\"\n\
         metric = \"m\"\npublished = \"p\"\ncriterion = \"c\"\ncheck = {{ test = \"none\" }}\n{more}\n"
    )
}

/// A study of one experiment that a toy ran.
fn evaluated(clauses: &str) -> StudyResult {
    evaluated_in(clauses, &[])
}

/// The same, also run in these laboratories.
fn evaluated_in(clauses: &str, laboratories: &[Laboratory]) -> StudyResult {
    evaluated_of(&[("clauses.toml", clauses)], laboratories)
}

/// The same, of a folder that has these files besides its set-up and its claims.
fn evaluated_of(more: &[(&str, &str)], laboratories: &[Laboratory]) -> StudyResult {
    let claims = [
        claim("slow", "f", "strength = \"strong\""),
        claim("fast", "f", "strength = \"weak\""),
        claim("input", "g", "strength = \"strong\"\nrestates_inputs = true"),
        claim("dark", "h", "strength = \"untestable\""),
    ];
    let claims = format!("format = 1\n{}", claims.concat());
    let mut files =
        vec![("study.toml", SETUP), ("claims.toml", claims.as_str()), ("one.toml", EXPERIMENT)];
    files.extend(more);
    let study = Study::read("s", &files).unwrap();
    let (_, source) = study.experiments().next().unwrap();
    let plan = resolve(&source, &Library::default()).unwrap();
    let mut filled = store::toy::filled_store(&plan);
    for laboratory in laboratories {
        store::toy::finish(&mut filled.store, &laboratory.plan(&plan));
    }
    evaluate_study(study, &filled.store, USUAL, None, &Library::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

const CLAUSES: &str = "format = 1\n[terms]\nstatistic = \"median\"\narm.h1 = { protocol = \"h1\" }\n\
    grid.rtt = { experiments = [\"one\"], x = \"rtt_ms\" }\n\
    [[claim]]\nid = \"slow\"\nclause = [{ on = \"rtt\", test = \"sign\", less = [\"at(50, plt(h1))\"], more = [\"at(200, plt(h1))\"] }]\n\
    [[claim]]\nid = \"fast\"\nclause = [\n{ on = \"rtt\", test = \"range\", quantity = \"at(200, plt(h1))\", low = 0 },\n\
    { on = \"rtt\", test = \"range\", quantity = \"at(200, plt(h1))\", high = 0.1 }]\n\
    [[claim]]\nid = \"input\"\nwaits_for = [\"journeys\"]\n";

/// One of the study's tables, as CSV.
fn table(result: &StudyResult, name: &str) -> String {
    let tables = verdict_tables(result);
    tables.iter().find(|table| table.name == name).expect("a table of this name").csv()
}

#[test]
fn a_store_is_judged_clause_by_clause() {
    let result = evaluated(CLAUSES);
    let verdicts: Vec<&Verdict> = result.claims.iter().map(|judged| &judged.verdict).collect();
    let open = Verdict::Open(vec!["journeys".to_owned()]);
    assert_eq!(verdicts, [&Verdict::Confirmed, &Verdict::Refuted, &open, &Verdict::Untestable]);
    assert_eq!((result.claims[0].loads.all, result.claims[1].findings.len()), (12, 2));
    assert!(result.experiments[0].run.is_some() && result.experiments[1].run.is_none());

    let tally = Tally::of(&result, Counted::Findings);
    assert_eq!((tally.claims, tally.facts), (3, 2.0));
    assert_eq!((tally.confirmed, tally.refuted, tally.untestable), (0.5, 0.5, 1.0));
    assert_eq!(tally.rate(), Some(50.0));
    assert_eq!(Tally::of(&result, Counted::Strong).rate(), Some(100.0));
    let restated = Tally::of(&result, Counted::Restatements);
    assert_eq!((restated.claims, restated.open, restated.rate()), (1, 1.0, None));

    let claims = table(&result, "claims");
    assert!(claims.contains("\nslow,strong,,a | b,p,\"rtt: at(50, plt(h1)) < at(200, plt(h1)): holds: % of places less 100"), "{claims}");
    assert!(claims.contains(",open: waits for journeys,"), "{claims}");
    let experiments = table(&result, "experiments");
    assert!(experiments.contains("\ntwo,,,journeys\n"), "{experiments}");
}

#[test]
fn what_all_wrong_laboratories_confirm_is_not_counted() {
    // Swapping labels requires a run of the other protocol; a direct route over a wire has neither radio nor
    // proxy.
    let result = evaluated_in(CLAUSES, &[Laboratory::NoLossRecovery, Laboratory::ClientSlower]);
    let there = |laboratory| result.in_laboratory(laboratory);
    assert!(there(Laboratory::NoRadio).unwrap().is_same);
    assert!(there(Laboratory::UnlimitedUpstream).unwrap().is_same);
    assert!(!there(Laboratory::NoLossRecovery).unwrap().is_same);
    assert!(there(Laboratory::TcpOlder).is_none(), "it was not run");
    assert_eq!(result.confirmed_wrongly(0).len(), 4);
    assert!(result.is_non_discriminating(0) && !result.is_non_discriminating(1));
    let tally = Tally::of(&result, Counted::Findings);
    assert_eq!((tally.confirmed, tally.refuted, tally.non_discriminating), (0.0, 0.5, 0.5));
    assert_eq!(tally.rate(), Some(0.0));
    let claims = table(&result, "claims");
    let all_four = "no-loss-recovery; no-radio; unlimited-upstream; labels-swapped,12,0\n";
    assert!(claims.contains(all_four), "{claims}");
    let laboratories = table(&result, "laboratories");
    let has = |row: &str| assert!(laboratories.contains(row), "{row} in {laboratories}");
    has("\nno-radio,wrong,same as the study's,,,,,\n");
    has("\nclient-x0.5,unstated,yes,,1,1,0,\n");
    has("\ntcp-linux-3.2,unstated,no,,,,,\n");
}

#[test]
fn a_verdict_turns_with_the_labels() {
    let clauses =
        CLAUSES.replace("arm.h1 = ", "arm.h2 = { protocol = \"h2\" }\narm.h1 = ").replace(
            "[\"at(50, plt(h1))\"], more = [\"at(200, plt(h1))\"]",
            "[\"at(200, plt(h2))\"], more = [\"at(200, plt(h1))\"]",
        );
    let result = evaluated(&clauses);
    assert_eq!(result.claims[0].verdict, Verdict::Confirmed);
    let swapped = result.in_laboratory(Laboratory::LabelsSwapped).unwrap();
    let changes = result.changed_verdicts(swapped);
    let turned = (changes[0].claim, changes[0].before, changes[0].after);
    assert_eq!(turned, ("slow", &Verdict::Confirmed, &Verdict::Refuted));
    assert!(!result.is_non_discriminating(0));
    let laboratories = table(&result, "laboratories");
    assert!(laboratories.contains(",confirmed to refuted: slow\n"), "{laboratories}");
}

const FAILING: &str =
    "{ on = \"rtt\", test = \"range\", quantity = \"at(200, plt(h1))\", high = 0.1 }";

/// A study whose claim `slow` is refuted, with these causes.
fn evaluated_with_causes(causes: &str, laboratories: &[Laboratory]) -> StudyResult {
    let sign = "{ on = \"rtt\", test = \"sign\", less = [\"at(50, plt(h1))\"], more = [\"at(200, plt(h1))\"] }";
    let clauses = CLAUSES.replace(sign, FAILING);
    assert_ne!(clauses, CLAUSES);
    evaluated_of(&[("clauses.toml", &clauses), ("causes.toml", causes)], laboratories)
}

#[test]
fn a_cause_is_judged() {
    let causes = format!(
        "format = 1\n[terms]\narm.h2 = {{ protocol = \"h2\" }}\n\
         [[cause]]\nof = [\"slow\"]\nlies_in = \"ours\"\nwhy = \"it is far\"\n\
         clause = [{{ on = \"rtt\", test = \"range\", quantity = \"min(plt(h2))\", low = 0.01 }}]\n\
         [[cause]]\nof = [\"slow\"]\nlies_in = \"defect\"\nwhy = \"not so\"\nclause = [{FAILING}]\n\
         [[cause]]\nof = [\"slow\"]\nlies_in = \"ours\"\nwhy = \"CPU\"\nlaboratory = \"client-x0.5\"\n\
         come_to = [\"confirmed\"]\n\
         [[cause]]\nof = [\"slow\"]\nlies_in = \"chance\"\nwhy = \"few\"\nloads = 9\ncome_to = [\"refuted\"]\n"
    );
    let result = evaluated_with_causes(&causes, &[Laboratory::ClientSlower]);
    assert_eq!(result.claims[0].verdict, Verdict::Refuted);
    let answers: Vec<String> = result.causes.iter().map(|it| it.answer()).collect();
    let waits = "open: waits for a run of `one` with 9 loads";
    assert_eq!(answers, ["shown", "not shown", "not shown", waits]);
    assert_eq!(result.unconfirmed(), ["slow"]);
    assert_eq!(result.causes_of("slow").filter(|it| it.is_shown()).count(), 1);
    let told = table(&result, "causes");
    assert!(
        told.contains("\nslow,ours,it is far,,rtt: min(plt(h2)) at least 0.01: holds"),
        "{told}"
    );
    assert!(
        told.contains(",in `client-x0.5`,slow there confirmed: fails: it is refuted,"),
        "{told}"
    );

    let runs = runs_for_causes(&study_with_causes(&causes)).unwrap();
    let places: Vec<_> =
        runs.iter().map(|run| (run.laboratory, run.loads.map(u32::from))).collect();
    let published = Laboratory::AsPublished;
    assert_eq!(places, [(published, None), (Laboratory::ClientSlower, None), (published, Some(9))]);
    assert!(runs.iter().all(|run| run.experiments.iter().eq(["one"])));
}

/// The study of [`evaluated_with_causes`], before judging.
fn study_with_causes(causes: &str) -> Study {
    evaluated_with_causes(causes, &[]).study
}

#[test]
fn a_claim_without_a_cause_is_named() {
    let result = evaluated_with_causes("format = 1\ncause = []\n", &[]);
    assert_eq!((result.unconfirmed(), result.causes_of("slow").count()), (vec!["slow"], 0));
    let causes = table(&result, "causes");
    assert!(causes.contains("\nslow,not known,,,,\n"), "{causes}");
}

#[test]
fn what_is_wrong_with_a_cause_is_named() {
    let study = study_with_causes("format = 1\ncause = []\n");
    let refusal = |cause: &str| {
        let mut study = study.clone();
        let text = format!("format = 1\n[[cause]]\nlies_in = \"ours\"\nwhy = \"w\"\n{cause}\n");
        study.files.insert("causes.toml".to_owned(), text);
        Clauses::of_study(&study).unwrap_err().to_string()
    };
    let starts = |cause: &str, with: &str| {
        let message = refusal(cause);
        assert!(message.starts_with(with), "{message}");
    };
    starts("of = [\"slows\"]", "s/causes.toml: `slows`: of: claims.toml has no claim `slows`");
    starts("of = []", "s/causes.toml: ``: of: it is the cause of no claim");
    starts("of = [\"slow\"]", "s/causes.toml: `slow`: clause, come_to: a cause is shown by");
    starts(
        "of = [\"slow\"]\ncome_to = [\"confirmed\"]",
        "s/causes.toml: `slow`: come_to: the claims come to what they are judged",
    );
    starts(
        "of = [\"slow\"]\nloads = 9\ncome_to = [\"true\"]",
        "s/causes.toml: `slow`: come_to: `true` is no verdict",
    );
    starts(
        &format!("of = [\"slow\"]\nclause = [{}]", FAILING.replace("(h1)", "(h9)")),
        "s/causes.toml: `slow`: clause: there is no [arm.h9]",
    );
}

#[test]
fn other_laboratories_may_be_judged_by_fewer_loads() {
    let study = study_with_causes("format = 1\ncause = []\n");
    let (_, source) = study.experiments().next().unwrap();
    let plan = resolve(&source, &Library::default()).unwrap();
    let mut filled = store::toy::filled_store(&plan);
    let five = std::num::NonZeroU32::new(5);
    let fewer = RunMode { depth: Depth::Loads(five.unwrap()), ..USUAL };
    let (_, source) = study.experiments().next().unwrap();
    let (_, shorter) = fewer.plan(source, &Library::default()).unwrap();
    let slower = Laboratory::ClientSlower;
    store::toy::finish(&mut filled.store, &slower.plan(&shorter));
    let evaluate_study = |store: &store::Store, loads| {
        evaluate_study(study.clone(), store, USUAL, loads, &Library::default()).unwrap()
    };
    assert_eq!(evaluate_study(&filled.store, None).in_laboratory(slower), None);
    let evaluated = evaluate_study(&filled.store, five);
    let there = evaluated.in_laboratory(slower).unwrap();
    assert_eq!((there.loads, &there.verdicts), (five, &there.baseline));
    let laboratories = table(&evaluated, "laboratories");
    assert!(laboratories.contains("\nclient-x0.5,unstated,yes,5,0,2,0,\n"), "{laboratories}");
    store::toy::finish(&mut filled.store, &slower.plan(&plan));
    let by_all = evaluate_study(&filled.store, five);
    assert_eq!(by_all.laboratories, evaluate_study(&filled.store, None).laboratories);
    assert_eq!(by_all.in_laboratory(slower).unwrap().loads, None);
}

#[test]
fn an_experiment_that_is_the_same_elsewhere_is_not_missed_there() {
    let setup = SETUP
        .replace("id = \"two\"", "id = \"two\"\nfile = \"two.toml\"")
        .replace("[\"journeys\"]", "[]");
    let by = |protocol: &str| EXPERIMENT.replace("[\"h1\", \"h2\"]", &format!("\"{protocol}\""));
    let clauses = "format = 1\n[terms]\nstatistic = \"median\"\narm.h1 = { protocol = \"h1\" }\narm.h2 = { protocol = \"h2\" }\n\
        grid.rtt = { experiments = [\"one\", \"two\"], x = \"rtt_ms\" }\n\
        [[claim]]\nid = \"slow\"\nclause = [{ on = \"rtt\", test = \"sign\", less = [\"at(200, plt(h2))\"], more = [\"at(200, plt(h1))\"] }]\n";
    let claims = format!("format = 1\n{}", claim("slow", "f", "strength = \"strong\""));
    let files = [
        ("study.toml", setup.as_str()),
        ("claims.toml", &claims),
        ("one.toml", &by("h1")),
        ("two.toml", &by("h2")),
        ("clauses.toml", clauses),
    ];
    let study = Study::read("s", &files).unwrap();
    let plans: Vec<_> =
        study.experiments().map(|(_, it)| resolve(&it, &Library::default()).unwrap()).collect();
    let mut filled = store::toy::filled_store(&plans[0]);
    store::toy::finish(&mut filled.store, &plans[1]);
    store::toy::finish(&mut filled.store, &Laboratory::TlsForHttp.plan(&plans[0]));
    let evaluated = evaluate_study(study, &filled.store, USUAL, None, &Library::default()).unwrap();
    let there = evaluated.in_laboratory(Laboratory::TlsForHttp).unwrap();
    assert!(!matches!(there.verdicts[0], Verdict::Open(_)), "{:?}", there.verdicts);
}

#[test]
fn what_came_after_is_of_no_matter_to_other_laboratories() {
    let (before, after) = SETUP.split_once("id = \"two\"").unwrap();
    let after = after.replace("variant", "afterwards").replace("[\"journeys\"]", "[]");
    let setup = format!("{before}id = \"two\"\nfile = \"two.toml\"{after}");
    let one = EXPERIMENT.replace("[\"h1\", \"h2\"]", "\"h2\"");
    let two = EXPERIMENT.replace("[\"h1\", \"h2\"]", "\"h1\"").replace("= 6", "= 9");
    let clauses = "format = 1\n[terms]\nstatistic = \"median\"\narm.h2 = { protocol = \"h2\" }\n\
        grid.rtt = { experiments = [\"one\"], x = \"rtt_ms\" }\n\
        [[claim]]\nid = \"slow\"\nclause = [{ on = \"rtt\", test = \"range\", quantity = \"at(200, plt(h2))\", low = 0 }]\n";
    let claims = format!("format = 1\n{}", claim("slow", "f", "strength = \"strong\""));
    let files = [
        ("study.toml", setup.as_str()),
        ("claims.toml", &claims),
        ("one.toml", &one),
        ("two.toml", &two),
        ("clauses.toml", clauses),
    ];
    let study = Study::read("s", &files).unwrap();
    let (_, source) = study.experiments().next().unwrap();
    let plan = resolve(&source, &Library::default()).unwrap();
    let mut filled = store::toy::filled_store(&plan);
    store::toy::finish(&mut filled.store, &Laboratory::ClientSlower.plan(&plan));
    // As many loads of the claims' experiments as the study's own.
    let own = std::num::NonZeroU32::new(6);
    let evaluated = evaluate_study(study, &filled.store, USUAL, own, &Library::default()).unwrap();
    // HTTP/1.1 over TLS makes a difference in `two` only.
    assert!(evaluated.in_laboratory(Laboratory::TlsForHttp).unwrap().is_same);
    assert_eq!(evaluated.in_laboratory(Laboratory::ClientSlower).unwrap().loads, own);
}

#[test]
fn a_deep_run_is_so_many_studies() {
    let study = study_with_causes("format = 1\ncause = []\n");
    let (_, source) = study.experiments().next().unwrap();
    let deep = RunMode { depth: Depth::Deep(12.try_into().unwrap()), ..USUAL };
    let (_, plan) = deep.plan(source, &Library::default()).unwrap();
    let filled = store::toy::filled_store(&plan);
    let evaluated =
        evaluate_study(study.clone(), &filled.store, deep, None, &Library::default()).unwrap();
    assert_eq!(evaluated.claims[0].loads.all, 24);
    let told: Vec<String> = evaluated.frequencies.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["refuted 2 of 2", "refuted 2 of 2", "open 2 of 2", "untestable 2 of 2"]);
    let claims = table(&evaluated, "claims");
    assert!(claims.contains(",refuted,no,,refuted 2 of 2,,24,0\n"), "{claims}");
    let chances = |manner| {
        evaluate_study(study.clone(), &filled.store, manner, None, &Library::default())
            .unwrap()
            .frequencies
    };
    assert_eq!(chances(USUAL), []);
    let too_few = Depth::Deep(5.try_into().unwrap());
    assert_eq!(chances(RunMode { depth: too_few, ..USUAL }), []);
}

#[test]
fn every_cause_can_be_read() {
    for name in NAMES {
        let study = shipped(name).unwrap();
        let clauses = Clauses::of_study(&study).unwrap_or_else(|error| panic!("{error}"));
        let measured = invented(&study, &clauses);
        let sources =
            Sources { measurements: &measured, terms: &clauses.terms, tables: &study.files };
        for clause in clauses.causes.iter().flat_map(|cause| &cause.clauses) {
            judge_clause(clause, "a cause", sources)
                .unwrap_or_else(|error| panic!("{name}: {clause}: {error}"));
        }
        for run in runs_for_causes(&study).unwrap() {
            assert!(!run.experiments.is_empty(), "{name}");
        }
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named() {
    let mut study = study_with_causes("format = 1\ncause = []\n");
    study.claims.retain(|claim| claim.id != "dark");
    let read = |text: &str| {
        let mut study = study.clone();
        study.files.insert("clauses.toml".to_owned(), text.to_owned());
        study.setup.experiments.retain(|experiment| experiment.id == "one");
        Clauses::of_study(&study).unwrap_err().to_string()
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
    assert!(changed("plt(h1)", "plr(h1)").ends_with("there is no [quantity.plr]"));
    assert!(changed("waits_for = [\"journeys\"]", "").contains("it must wait for something"));
}

#[test]
fn a_share_of_curves_is_rounded_up() {
    let clause = |more: &str| {
        let text =
            format!("test = \"range\", quantity = \"1\", low = 0, {more}").replace(", ", "\n");
        toml::from_str::<Clause>(&text)
    };
    let share = clause("min_cases_pct = 80").unwrap();
    let cases = share.cases.unwrap();
    assert_eq!([5, 6, 7, 20].map(|curves| cases.least(curves, curves)), [4, 5, 6, 16]);
    assert_eq!(share.to_string(), "1 at least 0, on 80 % of curves");
    let both = clause("min_cases_pct = 80, min_cases = 4").unwrap_err();
    assert!(both.to_string().contains("say the same"), "{both}");
}

#[test]
fn quantities_are_gathered_for_their_experiments_alone() {
    let study = shipped("erman2013").unwrap();
    let clauses = Clauses::of_study(&study).unwrap();
    assert!(clauses.quantities("images-http").contains("concurrency"));
    assert!(clauses.quantities("lte").is_empty());
}

#[test]
fn every_word_of_clauses_is_explained() {
    let words = include_str!("../../../../studies/README.md");
    let facts = FACTS.iter().map(|(name, _)| *name);
    let quantities = COMMON.iter().map(|(name, _)| *name);
    let statistics = Statistic::ALL.iter().map(|it| it.name());
    let plain = facts.chain(quantities).chain(statistics);
    let missing = plain.filter(|name| !words.contains(&format!("`{name}`")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    let missing = Function::ALL.iter().filter(|it| !words.contains(&format!("`{it}(")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&Function>::new());
}
