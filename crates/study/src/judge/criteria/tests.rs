//! Each kind of criterion: holding, failing and inconclusive.

use crate::judge::testdata::Curves;
use crate::judge::{ClauseError, TestOutcome, Value};
use scenario::Protocol::{H1, H2};

const RISING: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn outcome(curves: &Curves, test: &str) -> TestOutcome {
    curves.judge("small", test).unwrap_or_else(|fault| panic!("{test}: {fault}")).outcome
}

fn holds(curves: &Curves, test: &str) {
    assert_eq!(outcome(curves, test), TestOutcome::Holds, "{test}");
}

fn fails(curves: &Curves, test: &str) {
    assert_eq!(outcome(curves, test), TestOutcome::Fails, "{test}");
}

fn open(curves: &Curves, test: &str) {
    assert_eq!(outcome(curves, test), TestOutcome::Inconclusive, "{test}");
}

fn number(curves: &Curves, grid: &str, expression: &str) -> f64 {
    match curves.value(grid, expression).unwrap() {
        Value::Number(number) => number,
        series => panic!("{series:?}"),
    }
}

#[test]
fn ranges_and_shares() {
    let curves = Curves::new().exact(H1, &RISING);
    holds(&curves, "test = 'range'\nquantity = 'at(150, plt(h1))'\nlow = 3\nhigh = 3.5");
    fails(&curves, "test = 'range'\nquantity = 'at(150, plt(h1))'\nlow = 3.1");
    holds(&curves, "test = 'range'\nquantity = 'plt(h1)'\nhigh = 5\nmin_share_pct = 80");
    fails(&curves, "test = 'range'\nquantity = 'plt(h1)'\nhigh = 4\nmin_share_pct = 80");
    // The mean is 3 within about 20 %: it may lie on either side of 3.05.
    let noisy = Curves::new().curve(H1, "10", &RISING, 30.0);
    open(&noisy, "test = 'range'\nquantity = 'at(150, plt(h1))'\nlow = 3.05");
    let finding = noisy.judge("small", "test = 'report'\nquantity = 'at(150, plt(h1))'").unwrap();
    assert_eq!(finding.outcome, TestOutcome::Reported);
    let interval = finding.numbers[0].interval.unwrap();
    assert!(interval.low < 2.7 && interval.high > 3.3, "{interval:?}");
}

#[test]
fn signs_need_to_be_certain_and_no_larger_than_claimed() {
    let sign = "test = 'sign'\nless = ['plt(h1)']\nmore = ['plt(h2)']";
    let against = |factor: f64, noise: f64| {
        let other = RISING.map(|value| value * factor);
        Curves::new().curve(H1, "10", &RISING, noise).exact(H2, &other)
    };
    holds(&against(1.5, 5.0), sign);
    fails(&against(0.6, 5.0), sign);
    holds(&against(1.01, 0.0), sign); // small, but certain: no gap is claimed
    open(&against(1.05, 40.0), sign); // large, but not certain
    holds(&against(1.01, 0.0), &format!("{sign}\nor_equal = true"));
    fails(&against(0.9, 0.0), &format!("{sign}\nor_equal = true"));
    holds(&against(1.5, 5.0), &format!("{sign}\nmin_gap_pct = 20"));
    fails(&against(1.1, 1.0), &format!("{sign}\nmin_gap_pct = 20"));
}

#[test]
fn signs_are_counted_over_places() {
    let other = [2.0, 3.0, 4.0, 5.0, 4.0, 5.0];
    let curves = Curves::new().exact(H1, &RISING).exact(H2, &other);
    let sign = "test = 'sign'\nless = ['plt(h1)']\nmore = ['plt(h2)']";
    holds(&curves, &format!("{sign}\nmin_share_pct = 66"));
    fails(&curves, &format!("{sign}\nmin_share_pct = 67"));
    let both = "test = 'exists'\nless = ['plt(h1)', 'plt(h2)']\nmore = ['plt(h2)', 'plt(h1)']";
    fails(&curves, both);
    holds(&curves, "test = 'exists'\nless = ['plt(h1)']\nmore = ['plt(h2)']");
}

#[test]
fn what_is_similar_and_what_is_published() {
    let curves = Curves::new().exact(H1, &RISING).exact(H2, &[1.0, 2.0, 3.0, 4.0, 9.0, 9.0]);
    let similar = "test = 'similar'\na = 'plt(h1)'\nb = 'plt(h2)'\ntol_pct = 10";
    holds(&curves, &format!("{similar}\nmin_share_pct = 60"));
    fails(&curves, similar);
    // The published table has three places; the first two match within 20 %.
    let curves = Curves::new().exact(H1, &[1.1, 1.7, 4.0, 5.0]);
    let near = "test = 'similar'\na = 'plt(h1)'\nb = 'published(table)'\ntol_pct = 20";
    holds(&curves, &format!("{near}\nmin_share_pct = 66"));
    fails(&curves, &format!("{near}\nmin_share_pct = 70"));
}

#[test]
fn crossovers() {
    let curves = Curves::new().exact(H1, &RISING).exact(H2, &[2.0, 2.5, 3.0, 3.5, 4.0, 4.5]);
    let from = |low, high| {
        format!("test = 'crossover'\na = 'plt(h2)'\nb = 'plt(h1)'\nlow = {low}\nhigh = {high}")
    };
    holds(&curves, &from(150, 250));
    fails(&curves, &from(250, 300));
    let tight = format!("{}\ntight_low = 150\ntight_high = 190", from(150, 250));
    let finding = curves.judge("small", &tight).unwrap();
    assert_eq!(finding.to_string(), "holds: from 200, not within 150 to 190");
    let never = "test = 'no_crossover'\na = 'plt(h2)'\nb = 'plt(h1)'\nmax_wins_pct = 50";
    holds(&curves, never);
    fails(&curves, &never.replace("50", "40"));
    holds(&curves, &format!("{}\nmargin_pct = 20", never.replace("50", "20")));
    assert_eq!(number(&curves, "small", "crossover(plt(h2), plt(h1))"), 200.0);
    assert_eq!(number(&curves, "small", "crossover(plt(h1), plt(h1))"), f64::INFINITY);
    // From the third place on, the arms are within each other's noise.
    let noisy =
        Curves::new().curve(H1, "10", &RISING, 10.0).exact(H2, &[2.0, 2.5, 2.99, 3.99, 4.99, 5.99]);
    open(&noisy, &from(50, 200));
}

#[test]
fn shapes_of_curves() {
    let curves = Curves::new().exact(H1, &RISING).exact(H2, &[1.0, 4.0, 4.3, 4.0, 4.2, 3.9]);
    holds(
        &curves,
        "test = 'monotone'\nquantity = 'plt(h1)'\ndirection = 'up'\nmin_rank_corr = 0.9",
    );
    fails(&curves, "test = 'monotone'\nquantity = 'plt(h1)'\ndirection = 'down'");
    holds(
        &curves,
        "test = 'fit'\nquantity = '1000 * plt(h1)'\nmin_r2 = 0.99\nslope_low = 19\nslope_high = 21",
    );
    fails(&curves, "test = 'fit'\nquantity = '1000 * plt(h1)'\nslope_high = 19");
    fails(&curves, "test = 'fit'\nquantity = 'plt(h2)'\nmin_r2 = 0.9");
    holds(&curves, "test = 'flat'\nquantity = 'from(100, 300, plt(h2))'\nmax_abs_slope = 0.002");
    fails(&curves, "test = 'flat'\nquantity = 'plt(h1)'\nmax_abs_slope = 0.002");
    holds(&curves, "test = 'plateau'\nquantity = 'plt(h2)'\nfrom_x = 100\ntol_pct = 10");
    fails(&curves, "test = 'plateau'\nquantity = 'plt(h1)'\nfrom_x = 100\ntol_pct = 10");
}

#[test]
fn orders_and_alternatives() {
    let curves = Curves::new().exact(H1, &RISING);
    let order = "test = 'order'\nexpect = ['min(plt(h1))', 'median(plt(h1))', 'max(plt(h1))']";
    holds(&curves, order);
    fails(&curves, &order.replace("min", "max"));
    let equals = "test = 'order'\nexpect = ['at(50, plt(h1))', 'at(50, plt(h1))']";
    fails(&curves, equals);
    holds(&curves, &format!("{equals}\nor_equal = true"));
    let any = "test = 'any'\n[[of]]\ntest = 'range'\nquantity = 'min(plt(h1))'\nlow = 2\n\
               [[of]]\ntest = 'range'\nquantity = 'max(plt(h1))'\nlow = 2";
    holds(&curves, any);
    fails(&curves, &any.replace("low = 2", "low = 7"));
}

#[test]
fn the_largest_of_several_curves() {
    let curves = Curves::new()
        .curve(H1, "10", &[1.0, 1.0], 0.0)
        .curve(H1, "20", &[3.0, 3.0], 0.0)
        .curve(H1, "30", &[2.5, 2.5], 0.0);
    let of = |test: &str, expect: &str| {
        let test = format!("test = '{test}'\nquantity = 'mean(plt(h1))'\nexpect = '{expect}'");
        curves.judge("rtt", &test).unwrap().outcome
    };
    assert_eq!(of("argmax", "20"), TestOutcome::Holds);
    assert_eq!(of("argmax", "30"), TestOutcome::Fails);
    assert_eq!(of("argmin", "10"), TestOutcome::Holds);
    let close = "test = 'argmax'\nquantity = 'mean(plt(h1))'\nexpect = '30'\nslack = 0.5";
    assert_eq!(curves.judge("rtt", close).unwrap().outcome, TestOutcome::Holds);
    let unknown = "test = 'argmax'\nquantity = 'mean(plt(h1))'\nexpect = '40'";
    assert!(
        matches!(curves.judge("rtt", unknown), Err(ClauseError::Invalid(why)) if why.contains("40"))
    );
}

#[test]
fn numbers_of_curves() {
    let curves = Curves::new()
        .curve(H1, "10", &RISING, 0.0)
        .curve(H2, "10", &[2.0, 2.5, 3.0, 3.5, 4.0, 4.5], 0.0)
        .curve(H1, "20", &RISING, 0.0)
        .curve(H2, "20", &[0.5, 2.5, 3.0, 3.5, 4.0, 4.5], 0.0);
    assert_eq!(number(&curves, "rtt", "at(20, medians(plt(h1)))"), 3.5);
    assert_eq!(number(&curves, "rtt", "at(10, crossovers(plt(h2), plt(h1)))"), 200.0);
    assert_eq!(number(&curves, "small", "above(3, plt(h1))"), 3.0);
    assert_eq!(number(&curves, "small", "share(2, 4, plt(h1))"), 50.0);
    assert_eq!(number(&curves, "small", "max(least(plt(h1), plt(h2)))"), 4.5);
    assert!((number(&curves, "small", "slope(1000 * plt(h1))") - 20.0).abs() < 1e-9);
    assert!((number(&curves, "small", "r2(plt(h1))") - 1.0).abs() < 1e-12);
    assert!(number(&curves, "small", "r2(along_log(plt(h1)))") < 0.95);
    assert_eq!(number(&curves, "small", "abs(ln(at(50, plt(h1))))"), 0.0);
}

#[test]
fn what_cannot_be_read_says_why() {
    let curves = Curves::new().exact(H1, &RISING);
    let fault = |grid: &str, expression: &str| curves.value(grid, expression).unwrap_err();
    assert_eq!(fault("unrun", "plt(h1)"), ClauseError::NotRun("other".into()));
    let none = ClauseError::NoLoads { arm: "h3".into(), grid: "small".into() };
    assert_eq!(fault("small", "plt(h3)"), none);
    let range = "test = 'range'\nquantity = 'plt(h1)'\nlow = 3";
    let several = curves.judge("small", range).unwrap_err();
    assert!(several.to_string().contains("has 6 numbers where one is needed"), "{several}");
    let nothing = ClauseError::TooFewLoads("median".into());
    assert_eq!(fault("small", "median(from(1000, 2000, plt(h1)))"), nothing);
    let twice = Curves::new().exact(H1, &[1.0]).exact(H1, &[1.0]).value("small", "plt(h1)");
    assert!(twice.unwrap_err().to_string().contains("two cells of `h1` at 50"));
}
