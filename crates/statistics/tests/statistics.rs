//! Our statistics against SciPy's and NumPy's on fixed data, to 1e-9. `scripts/statistics/reference.py`
//! wrote the data and their results; the file names the versions.

use farlink_statistics::{
    Interval, Pair, PercentileRule, RegressionLine, Sample, holm, mann_whitney, median_interval,
    normal_interval, pearson, relative_interval_percent, spearman, wilcoxon,
};
use serde_json::{Map, Value};

/// The required accuracy, relative to the value, or absolute below 1.
const TOLERANCE: f64 = 1e-9;

fn reference(part: &str) -> Map<String, Value> {
    let text = include_str!("fixtures/statistics.json");
    let whole: Value = serde_json::from_str(text).unwrap();
    whole[part].as_object().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[track_caller]
fn agree(what: &str, ours: f64, theirs: &Value) {
    let theirs = number(theirs);
    let allowed = TOLERANCE * theirs.abs().max(1.0);
    assert!((ours - theirs).abs() <= allowed, "{what}: ours {ours:e}, theirs {theirs:e}");
}

#[track_caller]
fn interval_agrees(what: &str, ours: Interval, theirs: &Value) {
    agree(&format!("{what}, low"), ours.low, &theirs[0]);
    agree(&format!("{what}, high"), ours.high, &theirs[1]);
}

#[test]
fn samples() {
    for (name, theirs) in reference("samples") {
        let ours = Sample::new(numbers(&theirs["values"])).unwrap();
        agree(&name, ours.mean(), &theirs["mean"]);
        agree(&name, ours.standard_deviation().unwrap(), &theirs["deviation"]);
        interval_agrees(&name, ours.mean_interval().unwrap(), &theirs["student"]);
        interval_agrees(&name, normal_interval(&ours).unwrap(), &theirs["normal"]);
        match &theirs["median"] {
            Value::Null => assert!(median_interval(&ours).is_err(), "{name}"),
            ends => interval_agrees(&name, median_interval(&ours).unwrap(), ends),
        }
        agree(&name, relative_interval_percent(&ours).unwrap(), &theirs["relative_percent"]);
    }
}

#[test]
fn percentiles() {
    let text = include_str!("fixtures/statistics.json");
    let shares = numbers(&serde_json::from_str::<Value>(text).unwrap()["shares"]);
    let rules = [
        ("NearestRank", PercentileRule::NearestRank),
        ("Weibull", PercentileRule::Weibull),
        ("Linear", PercentileRule::Linear),
        ("MedianUnbiased", PercentileRule::MedianUnbiased),
    ];
    for (name, theirs) in reference("samples") {
        let ours = Sample::new(numbers(&theirs["values"])).unwrap();
        for (rule_name, rule) in rules {
            for (share, percentile) in
                shares.iter().zip(theirs["percentiles"][rule_name].as_array().unwrap())
            {
                let what = format!("{name}, {rule_name}, {share}");
                agree(&what, ours.quantile_by(rule, *share), percentile);
            }
        }
        for (share, percentile) in
            shares.iter().zip(theirs["percentiles"]["Linear"].as_array().unwrap())
        {
            agree(&name, ours.quantile(*share), percentile);
        }
    }
}

#[test]
fn lines() {
    for (name, theirs) in reference("lines") {
        let (x, y) = (numbers(&theirs["x"]), numbers(&theirs["y"]));
        let points: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
        let ours = RegressionLine::fit(&points).unwrap();
        agree(&name, ours.slope, &theirs["slope"]);
        agree(&name, ours.intercept, &theirs["intercept"]);
        agree(&name, ours.r_squared, &theirs["r_squared"]);
        interval_agrees(&name, ours.slope_interval, &theirs["slope_interval"]);
        interval_agrees(&name, ours.intercept_interval, &theirs["intercept_interval"]);
        agree(&name, pearson(&x, &y).unwrap(), &theirs["pearson"]);
        agree(&name, spearman(&x, &y).unwrap(), &theirs["spearman"]);
    }
}

#[test]
fn adjustments_for_many_tests() {
    for (name, theirs) in reference("adjustments") {
        let probabilities = numbers(&theirs["probabilities"]);
        for (ours, theirs) in
            holm(&probabilities).into_iter().zip(theirs["holm"].as_array().unwrap())
        {
            agree(&name, ours, theirs);
        }
    }
}

#[test]
fn the_mann_whitney_test() {
    for (name, theirs) in reference("mann_whitney") {
        let ours = mann_whitney(&numbers(&theirs["first"]), &numbers(&theirs["second"])).unwrap();
        agree(&name, ours.u, &theirs["u"]);
        let p = number(&theirs["p"]);
        assert!((ours.p - p).abs() <= TOLERANCE * p, "{name}: ours {:e}, theirs {p:e}", ours.p);
    }
}

#[test]
fn signed_rank_tests() {
    for (name, theirs) in reference("wilcoxon") {
        let (first, second) = (numbers(&theirs["first"]), numbers(&theirs["second"]));
        let pairs = first.into_iter().zip(second).map(|(first, second)| Pair { first, second });
        let ours = wilcoxon(&pairs.collect::<Vec<_>>()).unwrap();
        agree(&name, ours.larger, &theirs["larger"]);
        agree(&name, ours.effect, &theirs["effect"]);
        agree(&name, ours.p, &theirs["p"]);
    }
}
