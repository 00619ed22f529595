//! `farlink validate`: suites, rejected input, and the judgement of a store that holds only a part.

use crate::common::Desk;

/// A suite that needs no emulation.
const SIMULATED: &str = r#"
format = 1
name = "half"

[targets]
ratio_median = "3%"

[[part]]
name = "near"
sim_loads = 2
[part.page]
name = "synthetic:12x10KB"
[part.network]
base = "cable"
[part.stack]
protocol = ["h1", "h2"]
"#;

#[test]
fn what_cannot_be_judged_is_not_met() {
    let desk = Desk::new();
    desk.put("half.toml", SIMULATED);
    let ran = desk.farlink("validate half.toml -o half.html");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("too few cells (0)"), "{}", ran.out);
    assert!(ran.out.contains("synthetic:12x10KB, cable, h2/tls13"), "{}", ran.out);
    assert!(ran.err.contains("half: near, sim: 4 loads"), "{}", ran.err);
    assert!(desk.read("half.html").contains("0 targets met, 0 missed; 1 cannot be told."));

    // Nothing is measured twice, and the report can be made again without measuring.
    let again = desk.farlink("validate half.toml -o half.html");
    assert!(!again.err.contains("half: near"), "{}", again.err);
    assert_eq!(again.out, ran.out);
    let report = desk.farlink("validate half.toml -o other.html --report-only");
    assert_eq!(report.out, ran.out);
    assert_eq!(desk.farlink("runs --store farlink-validate.sqlite").ok().lines().count(), 2);
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_measured() {
    let desk = Desk::new();
    desk.farlink("validate quik").refused(&["unknown suite `quik`", "did you mean `quick`?"]);
    desk.farlink("validate none.toml").refused(&["cannot read the suite none.toml"]);
    desk.put("s.toml", SIMULATED.replace("ratio_median", "ratio_mode"));
    desk.farlink("validate s.toml").refused(&["s.toml:6:1: unknown key `ratio_mode`"]);
    desk.put("s.toml", SIMULATED);
    desk.farlink("validate s.toml -o no/where.html").refused(&["no such directory: no"]);
    desk.farlink("validate s.toml --report-only").refused(&["there is no store at"]);
    assert_eq!(desk.names(), ["s.toml"]);
}
