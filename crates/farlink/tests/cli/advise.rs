//! `farlink advise`: each step is that of loads with its options, and what was typed stays.

use crate::common::{Desk, median_ns, refuses};
use serde_json::Value;

fn advice(desk: &Desk, options: &str) -> Value {
    desk.farlink(&format!("advise {options} -n 10 --json")).json().remove(0)
}

#[test]
fn the_advice_is_what_loads_with_its_options_take() {
    let desk = Desk::new();
    let advice = advice(&desk, "bth2013 --network 3g");
    let steps = advice["steps"].as_array().unwrap();
    assert!(!steps.is_empty(), "{advice}");
    let (mut page, mut options) = ("bth2013".to_owned(), "--network 3g".to_owned());
    if !steps[0]["option"].as_str().unwrap().starts_with("--protocol") {
        options += " --protocol h2";
    }
    for step in steps {
        match step["option"].as_str().unwrap().strip_prefix("PAGE") {
            Some(transform) => page += transform,
            None => options += &format!(" {}", step["option"].as_str().unwrap()),
        }
        let told = step["networks"][0]["step"]["after"].as_f64().unwrap();
        let loaded = median_ns(&desk, &page, &options, 10);
        assert!((told - loaded).abs() < 2.0, "{options}: {told} {loaded}");
    }
    let all = &steps.last().unwrap()["networks"][0]["in_all"];
    assert!(all["change"].as_f64().unwrap() < -0.1, "{advice}");
    let loads = &advice["loads"];
    assert!(loads["made"].as_u64().unwrap() * 10 <= loads["all"].as_u64().unwrap(), "{advice}");
}

#[test]
fn what_is_typed_stays() {
    let desk = Desk::new();
    let options = "bth2013 --network 3g --network geo --share 1,3 --protocol h2 --initial-window 10 --congestion cubic --security key=rsa-2048";
    let advice = advice(&desk, options);
    for step in advice["steps"].as_array().unwrap() {
        let option = step["option"].as_str().unwrap();
        assert!(option.starts_with("PAGE") || option.starts_with("--scheduler"), "{option}");
        assert_eq!(step["networks"][1]["share"], 0.75);
    }
}

#[test]
fn middleboxes_are_tried_on_request() {
    let desk = Desk::new();
    let options = "synthetic:20x10KB --network geo --protocol h1,h2";
    let routed = |advice: &Value| {
        let steps = advice["steps"].as_array().expect("a list").iter();
        steps
            .filter(|step| step["option"].as_str().is_some_and(|it| it.starts_with("--route")))
            .count()
    };
    let (without, with) =
        (advice(&desk, options), advice(&desk, &format!("{options} --middleboxes")));
    assert_eq!((routed(&without), routed(&with)), (0, 1), "{with}");
    let all = |advice: &Value| advice["configurations"]["all"].as_u64();
    assert!(all(&with) > all(&without), "{with}");
    refuses(
        "advise bth2013 --network geo --middleboxes --route pep",
        &["--middleboxes", "--route"],
    );
}

#[test]
fn returning_visitors_are_judged_on_request() {
    let desk = Desk::new();
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop.har");
    let warm = advice(&desk, &format!("{shop} --network geo --protocol h2 --view warm"));
    let has = |advice: &Value, option: &str| {
        let mut steps = advice["steps"].as_array().expect("a list").iter();
        steps.any(|step| step["option"] == option)
    };
    assert!(has(&warm, "--security resume=0rtt"), "{warm}");
    assert_eq!(warm["steps"][0]["networks"][0]["view"], "warm");

    let both = advice(&desk, &format!("{shop} --network geo --protocol h2 --view both"));
    assert!(!has(&both, "--security resume=0rtt"), "{both}");
    let conditions = both["steps"][0]["networks"].as_array().expect("a list");
    for (condition, view) in conditions.iter().zip(["cold", "warm"]) {
        assert_eq!((&condition["view"], &condition["share"]), (&view.into(), &0.5.into()));
    }
    assert_eq!(conditions.len(), 2);
}

#[test]
fn shares_fit_the_networks() {
    let refusals = [
        ("--network 3g --network geo --share 1", "1 share for 2 networks"),
        ("--network 3g --share 0", "a share that is not above 0"),
        ("--network 3g --tls tls12 --tls tls13", "--tls: several values"),
        ("--network 3g --world emu", "--world emu"),
    ];
    for (options, problem) in refusals {
        refuses(&format!("advise bth2013 {options}"), &[problem]);
    }
}
