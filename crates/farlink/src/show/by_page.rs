//! The pages of a list: the median of each, and their sum.

use statistics::Sample;

use super::arms::Arm;
use super::table::Table;
use super::units::span_f64;

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
