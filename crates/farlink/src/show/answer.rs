//! The sentence that answers, and what else can be said in a line.

use std::collections::BTreeSet;

use lab::statistics::{Comparison, Pair, compare};

use super::arms::{Arm, Load, fastest};
use super::units::span_f64;

/// One answer for each state of the cache: the fastest arm against the runner-up in a sentence, and its
/// lead over the rest in a line.
pub fn answer(arms: &[Arm], seed: u64) -> Vec<String> {
    let views: BTreeSet<&str> = arms.iter().map(Arm::view).collect();
    let is_one = views.len() == 1;
    let of = |view: &&str| {
        let arms: Vec<&Arm> = arms.iter().filter(|arm| arm.view() == *view).collect();
        let cache = if is_one { String::new() } else { format!("{view} cache: ") };
        answer_for(&arms, seed).map(|sentence| format!("{cache}{sentence}"))
    };
    let sentences: Vec<String> = views.iter().filter_map(of).collect();
    match sentences.is_empty() {
        true => vec!["The page did not load.".to_owned()],
        false => sentences,
    }
}

fn answer_for(arms: &[&Arm], seed: u64) -> Option<String> {
    let first = fastest(arms.iter().copied())?;
    let mut behind: Vec<(f64, &Arm)> = arms
        .iter()
        .filter(|arm| !std::ptr::eq(**arm, first))
        .filter_map(|arm| Some((arm.plt()?.median(), *arm)))
        .collect();
    behind.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(((_, second), rest)) = behind.split_first() else { return alone(first) };
    let sentence = versus(first, second, seed)?.sentence(first.stack(), second.stack());
    let leads = rest.iter().filter_map(|(_, arm)| {
        Some(format!("{} {}", arm.stack(), versus(first, arm, seed)?.lead()))
    });
    let leads: Vec<String> = leads.collect();
    Some(match leads.is_empty() {
        true => format!("{sentence}."),
        false => {
            format!("{sentence}.\n  {} leads the rest by: {}.", first.stack(), leads.join(", "))
        }
    })
}

/// One arm that loaded: a figure is all there is to say.
fn alone(arm: &Arm) -> Option<String> {
    let median = span_f64(arm.plt()?.median());
    Some(match arm.over_floor() {
        Some(ratio) => format!("{} takes {median} here, {ratio:.2} times the floor.", arm.stack()),
        None => format!("{} takes {median} here.", arm.stack()),
    })
}

/// Compares the loads that came to their end in both arms.
fn versus(first: &Arm, second: &Arm, seed: u64) -> Option<Comparison> {
    let second_plt = |first: &Load| {
        let place = |load: &Load| (load.repetition, load.visit.record.index);
        let is_its = |load: &&Load| place(load) == place(first);
        second.loads().iter().find(is_its)?.visit.record.plt_ns()
    };
    let pairs = first.loads().iter().filter_map(|load| {
        Some(Pair { first: load.visit.record.plt_ns()? as f64, second: second_plt(load)? as f64 })
    });
    compare(&pairs.collect::<Vec<_>>(), seed)
}
