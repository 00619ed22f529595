//! Repetition until median load times are certain: `until` of an experiment, `--until` of `farlink load`.

use std::collections::BTreeMap;

use scenario::{Plan, StopRule};
use statistics::{Sample, next_look, relative_width};

/// Load times in ns by cell and place in the journey.
pub type LoadTimes = BTreeMap<(u32, u32), Vec<u64>>;

/// The plan with more repetitions, if its stop rule asks for them after these loads.
pub fn extended(plan: &Plan, times: &LoadTimes) -> Option<Plan> {
    let rule = plan.stop_rule()?;
    let is_enough = widest(times) <= rule.width() || plan.repetitions() >= rule.most;
    (!is_enough).then(|| plan.clone().repeated(next_look(plan.repetitions())))
}

/// The outcome of a stop rule in words; `None` without a rule.
pub fn outcome(plan: &Plan, times: &LoadTimes) -> Option<String> {
    let StopRule { width_ppm, .. } = plan.stop_rule()?;
    let asked = f64::from(width_ppm) / 1e4;
    let (reached, loads) = (100.0 * widest(times), plan.repetitions());
    Some(match reached <= asked {
        true => format!(
            "{loads} repetitions: intervals of median load times are at most {reached:.1} % wide ({asked} % asked)"
        ),
        false if reached.is_finite() => format!(
            "stopped after {loads} repetitions: the widest interval of a median load time is {reached:.1} % ({asked} % asked)"
        ),
        false => {
            format!("stopped after {loads} repetitions: an arm has too few loads for an interval")
        }
    })
}

/// The widest interval of a median, relative to the median: infinite for one of too few loads. An arm that never loads has none, and
/// would have none with more repetitions.
fn widest(times: &LoadTimes) -> f64 {
    let width = |loads: &Vec<u64>| {
        let sample = Sample::new(loads.iter().map(|ns| *ns as f64))?;
        Some(relative_width(&sample).unwrap_or(f64::INFINITY))
    };
    times.values().filter_map(width).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use scenario::{NetworkSpec, Order, Scenario};

    use super::*;

    fn plan() -> Plan {
        let cells = vec![Scenario::new("a", NetworkSpec::default())];
        let rule = StopRule::parse("5%", Some(10), Some(40)).unwrap();
        Plan::new("test", 1, 10, Order::Blocked, cells).until(rule)
    }

    fn times(scatter: u64) -> LoadTimes {
        BTreeMap::from([((0, 0), (0..10).map(|n| 1_000_000 + n * scatter).collect())])
    }

    #[test]
    fn wide_intervals_ask_for_more_until_there_is_no_more() {
        let plan = plan();
        assert!(extended(&plan, &times(1_000)).is_none());
        let more = extended(&plan, &times(20_000)).unwrap();
        assert_eq!(more.repetitions(), 11);
        assert!(extended(&plan.repeated(40), &times(20_000)).is_none());
    }

    #[test]
    fn outcomes_say_what_was_reached() {
        let told = |times: &LoadTimes| outcome(&plan(), times).unwrap();
        assert!(told(&times(0)).contains("at most 0.0 % wide (5 % asked)"));
        assert!(told(&times(20_000)).starts_with("stopped after 10 repetitions: the widest"));
        let few = BTreeMap::from([((0, 0), vec![1, 2])]);
        assert!(told(&few).contains("too few loads"));
    }
}
