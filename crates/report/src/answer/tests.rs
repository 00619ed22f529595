//! Answers to made-up loads.

use super::*;
use statistics::FEWEST_FOR_MEDIAN;

/// An arm whose loads take about this long, in milliseconds: to the load event, and to the first render.
fn arm(name: &str, load_ms: f64, render_ms: f64) -> RankedInput {
    loads(name, load_ms, render_ms, 10)
}

fn loads(name: &str, load_ms: f64, render_ms: f64, count: u32) -> RankedInput {
    // The same noise in every arm, as from a common seed.
    let noise = |repetition: u32| 1.0 + f64::from(repetition * 7 % 10) / 1000.0;
    let times = |repetition| Times {
        load_ns: load_ms * 1e6 * noise(repetition),
        render_ns: Some(render_ms * 1e6 * noise(repetition)),
        floor_ns: Some(load_ms * 5e5),
    };
    let loads = (0..count).map(|repetition| ((repetition, 0, 0), times(repetition))).collect();
    RankedInput { name: name.to_owned(), loads, ..RankedInput::default() }
}

fn told(arms: &[RankedInput]) -> String {
    Answer::of(arms, 1).sentences().join("\n")
}

#[test]
fn one_arm_that_is_first_in_both_is_named_once() {
    let told = told(&[arm("h1", 8000.0, 6930.0), arm("h2", 6000.0, 4850.0)]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "h2 loads first and shows something first.");
    assert_eq!(
        lines[1],
        "Load time: h2 6.03 s, 25 % (95 % interval 25-25 %) ahead of h1 (8.04 s)."
    );
    assert!(lines[2].starts_with("First render (estimated): h2 4.87 s, 30 % "), "{told}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_lead_in_load_time_that_is_too_small_is_none_and_the_render_decides() {
    let told = told(&[arm("h1", 8122.0, 6930.0), arm("h2", 8000.0, 4850.0)]);
    let first = told.lines().next().unwrap();
    assert_eq!(first, "h2 shows something first; in load time h2 and h1 are practically the same.");
    assert!(told.contains("practically the same as h1 (8.16 s): 1.5 %"), "{told}");
}

#[test]
fn arms_that_lead_in_one_thing_each_are_a_warning() {
    let told = told(&[arm("h1", 8000.0, 3000.0), arm("h2", 7000.0, 3600.0)]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "It depends on the metric: h2 loads first, but h1 shows something first.");
    assert!(lines[3].starts_with("Load time and first render disagree"), "{told}");
}

#[test]
fn all_arms_are_ranked_with_ties_whatever_their_order() {
    let arms = [
        arm("a", 4000.0, 900.0),
        arm("b", 2000.0, 901.0),
        arm("c", 2020.0, 902.0),
        arm("d", 3000.0, 903.0),
    ];
    let answer = Answer::of(&arms, 1);
    let ranks = answer.ranking(Moment::Load).ranks().iter();
    let ranks: Vec<Vec<usize>> = ranks.map(|rank| rank.iter().map(|p| p.arm).collect()).collect();
    assert_eq!(ranks, [vec![1, 2], vec![3], vec![0]]);
    assert_eq!(answer.ranking(Moment::Load).winner(), None, "b and c share the first rank");
    assert_eq!(answer.ranking(Moment::Render).ranks().len(), 1);
    assert!(!answer.disagrees());
}

#[test]
fn an_arm_that_lacks_an_object_is_named_and_not_ranked() {
    let mut quick = arm("spdy", 1234.0, 567.0);
    quick
        .shortfall
        .loaded(1, || Some(("https://a.test/b.css".to_owned(), "too many fields".to_owned())));
    let told = told(&[arm("h1", 3000.0, 2000.0), quick, arm("h2", 2000.0, 1000.0)]);
    assert!(told.starts_with("h2 loads first and shows something first."), "{told}");
    let why = "spdy: 1 object failed in 1 of 1 loads (https://a.test/b.css: too many fields).";
    assert!(
        told.contains(&format!("Not ranked, because the page was incomplete: {why}")),
        "{told}"
    );
    assert!(!told.contains("1.23 s") && !told.contains("567 ms"), "its time is no result: {told}");
}

#[test]
fn nothing_is_ranked_where_nothing_is_whole() {
    let mut lost = arm("h1", 3000.0, 2000.0);
    lost.shortfall.failed("the visit timed out");
    let told = told(&[lost]);
    assert!(told.starts_with("No arm loaded the whole page, so none is ranked."), "{told}");
    assert!(told.contains("h1: 1 of 1 loads failed (the visit timed out)"), "{told}");
    assert_eq!(self::told(&[]), "The page did not load.");
}

#[test]
fn too_few_repetitions_are_no_verdict() {
    let told = told(&[loads("h1", 8000.0, 4000.0, 1), loads("h2", 4000.0, 2000.0, 1)]);
    assert!(told.starts_with(&format!(
        "In load time and first render h2 and h1 cannot be told apart with so few repetitions (at least {FEWEST_FOR_MEDIAN} are needed)."
    )), "{told}");
    assert!(
        told.contains(
            "50 % (no confidence interval: needs at least 6 repetitions; you ran 1) below h1"
        ),
        "{told}"
    );
}

#[test]
fn many_arms_are_summed_up() {
    let arms = (0..9).map(|n| arm(&format!("a{n}"), 1000.0 + 100.0 * f64::from(n), 500.0));
    let told = told(&arms.collect::<Vec<_>>());
    let load = told.lines().nth(1).unwrap();
    assert_eq!(load.matches(" ahead of a").count(), 3, "{load}");
    assert!(load.ends_with(", and further ahead of 5 more, up to 44 %."), "{load}");
    assert!(told.contains("a0 502 ms, the same as a1 (502 ms), a2 (502 ms)"), "{told}");
    assert!(told.starts_with("a0 loads first; in first render all 9 arms are the same."), "{told}");
}

#[test]
fn a_grid_has_a_best_arm_overall_and_counts_of_conditions() {
    let answer = |h1: f64, h2: f64, h3: f64| {
        Answer::of(&[arm("h1", h1, h1 / 2.0), arm("h2", h2, h2 / 2.0), arm("h3", h3, h3 / 2.0)], 1)
    };
    // h2 is first twice, but h3 is never far behind, and once far ahead.
    let answers =
        [answer(200.0, 100.0, 105.0), answer(200.0, 100.0, 105.0), answer(300.0, 200.0, 100.0)];
    let load = OverConditions::of(&answers, Moment::Load);
    assert_eq!(load.best(), Some(2));
    let h2 = load.standings().iter().find(|one| one.arm == 1).unwrap();
    assert_eq!((h2.wins, h2.ties), (2, 0));
    let mean = h2.over_best.unwrap();
    assert!((mean - 2_f64.powf(1.0 / 3.0)).abs() < 1e-6, "{mean}");
    let told = over_conditions(&answers).join("\n");
    assert!(told.starts_with(
        "Load time: h3 is best overall, on average 3.3 % above the best of each condition, then h2 (26 %). \
         First of 3 conditions: h2 under 2 and h3 under 1."
    ), "{told}");
}
