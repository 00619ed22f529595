//! The answer as the terminal prints it: the report's answer, once for each state of the cache.

use std::collections::BTreeSet;

use report::answer::{self, Answer, Shortfall, Times};

use super::arms::{Arm, Load};

/// The sentences of the answer, the first of which is the answer itself.
pub fn answer(arms: &[Arm], seed: u64) -> Vec<String> {
    let views: BTreeSet<&str> = arms.iter().map(Arm::view).collect();
    let of = |view: &&str| {
        let sentences = of_view(arms, view, seed).sentences().into_iter().enumerate();
        let cache = if views.len() == 1 { String::new() } else { format!("{view} cache: ") };
        let indented =
            |(place, text)| if place == 0 { format!("{cache}{text}") } else { format!("  {text}") };
        sentences.map(indented).collect::<Vec<_>>()
    };
    views.iter().flat_map(of).collect()
}

/// The answer of the arms with this state of the cache.
pub fn of_view(arms: &[Arm], view: &str, seed: u64) -> Answer {
    let arms = arms.iter().filter(|arm| arm.view() == view);
    Answer::of(&arms.map(contender).collect::<Vec<_>>(), seed)
}

fn contender(arm: &Arm) -> answer::Arm {
    let mut shortfall = Shortfall::default();
    arm.loads().iter().for_each(|load| shortfall.take(&load.visit.record));
    arm.lost().for_each(|why| shortfall.failed(why));
    let loads = arm
        .loads()
        .iter()
        .filter_map(|load| Some(((load.repetition, 0, load.visit.record.index), times(load)?)));
    let paints = arm.loads().iter().any(|load| load.visit.record.paint.is_some());
    answer::Arm { name: arm.stack().to_owned(), loads: loads.collect(), shortfall, paints }
}

fn times(load: &Load) -> Option<Times> {
    let record = &load.visit.record;
    Some(Times {
        load_ns: record.plt_ns()? as f64,
        render_ns: store::early::first_render_ns(record).map(|ns| ns as f64),
        floor_ns: load.visit.floors.map(|floors| floors.graph_ns as f64),
    })
}
