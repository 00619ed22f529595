//! `farlink decide`: gains and costs are those of independent loads, and a choice is wrong where another is faster.

use crate::common::{Desk, median_ns, refuses};
use serde_json::Value;

fn decision(desk: &Desk, options: &str) -> Value {
    desk.farlink(&format!("decide {options} -n 10 --json")).json().remove(0)
}

fn choice<'a>(decision: &'a Value, name: &str) -> &'a Value {
    let choices = decision["choices"].as_array().unwrap();
    choices.iter().find(|it| it["choice"] == name).unwrap_or_else(|| panic!("{name}: {decision}"))
}

#[test]
fn gains_are_those_of_loads_weighted_by_shares() {
    let desk = Desk::new();
    let networks = [("3g", 0.75), ("geo", 0.25)];
    let options = "bth2013 --network 3g --network geo --share 3,1 --protocol h1,h2,h3-deployed";
    let decision = decision(&desk, options);
    assert_eq!(decision["first"], "h1");
    let mut logarithm = 0.0;
    for (index, (network, share)) in networks.iter().enumerate() {
        let median = |protocol: &str| {
            let options = format!("--network {network} --protocol {protocol}");
            let loaded = median_ns(&desk, "bth2013", &options, 10);
            let told = choice(&decision, protocol)["networks"][index]["plt_ns"].as_f64().unwrap();
            assert!((told - loaded).abs() < 2.0, "{options}: {told} {loaded}");
            loaded
        };
        logarithm += share * (median("h2") / median("h1")).ln();
    }
    let told = choice(&decision, "h2")["change"].as_f64().unwrap();
    assert!((told - (logarithm.exp() - 1.0)).abs() < 1e-6, "{told} {logarithm}");
    // The first of the list is the best, and no other is faster over all networks.
    let best = &decision["choices"][0];
    assert!(best["change"].as_f64().unwrap() <= told);
    assert!(choice(&decision, "h1")["wrong_for"].as_array().unwrap().len() == 2, "{decision}");
}

#[test]
fn costs_tell_choices_apart() {
    let desk = Desk::new();
    let options = "bth2013 --network erman2013-3g --protocol h1,h2 --no-noise";
    let decision = decision(&desk, options);
    let cost = |name: &str, of: &str| choice(&decision, name)[of].as_f64().unwrap();
    // HTTP/1.1 has more connections: more handshakes, headers and packets.
    assert!(cost("h1", "server_cpu_ms") > 2.0 * cost("h2", "server_cpu_ms"), "{decision}");
    assert!(cost("h1", "bytes") > cost("h2", "bytes"), "{decision}");
    assert!(cost("h1", "joules") > 1.0, "{decision}");
    let wired = self::decision(&desk, "bth2013 --network cable --protocol h1,spdy");
    assert_eq!(choice(&wired, "h1")["joules"], Value::Null);
    assert_eq!(choice(&wired, "spdy")["server_cpu_ms"], Value::Null, "its costs were not measured");
}

#[test]
fn what_is_no_choice_is_refused() {
    refuses(
        "decide bth2013 --network 3g --device desktop,nexus7",
        &["--device: several values; it is not a choice of the operator", "give it one value"],
    );
    refuses("decide bth2013 --network 3g --share 1,2", &["--share: 2 shares for 1 network"]);
    refuses("decide bth2013 --network 3g --world emu", &["decisions come from simulations"]);
    let desk = Desk::new();
    let text = desk.farlink("decide bth2013 --network 3g -n 2 --protocol h2").ok();
    assert!(text.starts_with("h2 is the only choice; name others"), "{text}");
}
