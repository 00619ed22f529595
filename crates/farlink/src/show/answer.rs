//! The answer as the terminal prints it: the report's answer, once for each state of the cache; for a list of pages the
//! median of each, and their sum.

use std::collections::BTreeSet;

use report::answer::{self, Answer, Shortfall, Times};
use statistics::Sample;

use super::arms::{Arm, Load};
use super::table::Table;
use super::units::span_f64;

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

fn contender(arm: &Arm) -> answer::RankedInput {
    let mut shortfall = Shortfall::default();
    arm.loads().iter().for_each(|load| shortfall.take(&load.visit));
    arm.lost().for_each(|why| shortfall.failed(why));
    let loads = arm
        .loads()
        .iter()
        .filter_map(|load| Some(((load.repetition, 0, load.visit.record.index), times(load)?)));
    let paints = arm.loads().iter().any(|load| load.visit.record.paint.is_some());
    answer::RankedInput { name: arm.stack().to_owned(), loads: loads.collect(), shortfall, paints }
}

fn times(load: &Load) -> Option<Times> {
    Some(Times {
        load_ns: load.visit.record.plt_ns()? as f64,
        render_ns: load.visit.figures().first_render_ns.map(|ns| ns as f64),
        floor_ns: load.visit.floors.map(|floors| floors.graph_ns as f64),
    })
}

/// A table with a row per page and a column per arm; none if there is only one page.
pub fn table(arms: &[Arm]) -> Option<Table> {
    let pages = &arms.first()?.scenario().page.pages;
    if pages.is_empty() {
        return None;
    }
    let mut columns = vec!["median PLT by page"];
    columns.extend(arms.iter().map(Arm::name));
    columns.push("fastest");
    let mut table = Table::new(&columns);
    let mut sums = vec![Some(0.0); arms.len()];
    let mut listed: Vec<&String> = Vec::new();
    for page in pages {
        // A page that is listed twice has one median.
        if listed.contains(&page) {
            continue;
        }
        listed.push(page);
        let medians: Vec<Option<f64>> = arms.iter().map(|arm| median(arm, page)).collect();
        for (sum, median) in sums.iter_mut().zip(&medians) {
            *sum = sum.zip(*median).map(|(sum, median)| sum + median);
        }
        table.row(row(page, arms, &medians));
    }
    table.row(row("all (sum of medians)", arms, &sums));
    Some(table)
}

fn row(name: &str, arms: &[Arm], figures: &[Option<f64>]) -> Vec<String> {
    let fastest = arms.iter().zip(figures).filter_map(|(arm, figure)| Some((arm, (*figure)?)));
    let fastest = fastest.min_by(|a, b| a.1.total_cmp(&b.1)).map_or("-", |(arm, _)| arm.name());
    let figures = figures.iter().map(|figure| figure.map_or_else(|| "-".to_owned(), span_f64));
    let mut row = vec![name.to_owned()];
    row.extend(figures);
    row.push(fastest.to_owned());
    row
}

fn median(arm: &Arm, page: &str) -> Option<f64> {
    let its = arm.loads().iter().map(|load| &load.visit.record);
    let its = its.filter(|record| record.page.as_deref() == Some(page));
    Some(Sample::new(its.filter_map(|record| record.plt_ns()).map(|ns| ns as f64))?.median())
}
