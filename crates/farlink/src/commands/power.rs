//! Number of loads that shows a difference of a given size: `--power` of `farlink load` and `run`.

use statistics::pairs_for;

use super::compare::difference::paired;
use crate::budget::metric;
use crate::show::arms::{self, Arm};
use crate::show::units::counted;

/// A pair of arms that needs most loads.
struct Need {
    loads: u64,
    pair: [String; 2],
}

/// The number of loads that shows a `difference` between any two arms under the same conditions, in words.
pub fn sentence(arms: &[Arm], difference: f64, seed: u64) -> String {
    let percent = difference * 100.0;
    let Some(metric) = metric("plt") else { return String::new() };
    let mut most: Option<Need> = None;
    let (mut pairs, mut pilot) = (0, 0);
    for arms in arms::by_condition(arms) {
        for (index, one) in arms.iter().enumerate() {
            for other in &arms[index + 1..] {
                pairs += 1;
                let Some(loads) = paired(one, other, metric) else { continue };
                pilot = pilot.max(loads.len());
                let Some(needed) = pairs_for(difference, &loads, seed) else { continue };
                if most.as_ref().is_none_or(|most| needed > most.loads) {
                    let pair = [one.label().to_owned(), other.label().to_owned()];
                    most = Some(Need { loads: needed, pair });
                }
            }
        }
    }
    match most {
        _ if pairs == 0 => "power: there is one arm; a difference needs two, as --protocol h1,h2".to_owned(),
        Some(Need { loads, pair: [one, other] }) => format!(
            "power: a difference of {percent} % in load time shows with {} of each arm, in at least four of five such experiments. \
             Most are needed for {one} against {other}; estimated from {}.",
            counted(loads as usize, "load"),
            counted(pilot, "load"),
        ),
        None => "power: load times do not vary, or the loads are fewer than six; there is nothing to estimate from".to_owned(),
    }
}
