//! The pages of a list together: sums for each arm over all of them.
//!
//! Medians are by page, over repetitions; they are summed over the pages, so that each page counts once however
//! often it was visited.

use std::fmt::Write;

use super::cells::ReportCell;
use super::escape::html;
use super::keys::Property;
use super::number::{grouped, ms, ratio};
use super::summary::ReportSummary;

/// The property that tells pages apart.
pub const PAGE: &str = "page";

/// One arm under one condition, over all pages.
#[derive(Clone, Debug, PartialEq)]
struct ArmOverPages {
    condition: String,
    arm: usize,
    /// By page load time.
    load: PageSum,
    /// By first render.
    render: PageSum,
    failures: u64,
}

/// An arm's pages by one moment, without pages of which the arm lost anything.
#[derive(Clone, Debug, Default, PartialEq)]
struct PageSum {
    /// The median of each page, in milliseconds.
    medians: Vec<f64>,
    /// Number of pages on which no other arm has a smaller median.
    first_on: usize,
}

/// The section; empty unless a journey went through a list.
pub fn section(summary: &ReportSummary) -> String {
    let rows = rows(summary);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = String::from(
        "<table class=\"figures plain\"><thead><tr><th>condition</th><th>arm</th><th class=\"n\">pages</th>\
         <th class=\"n\">load time, sum of medians<br>ms</th><th class=\"n\">/ least</th><th class=\"n\">first on</th>\
         <th class=\"n\">first render, sum of medians<br>ms</th><th class=\"n\">/ least</th><th class=\"n\">first on</th>\
         <th class=\"n\">failures</th></tr></thead><tbody>",
    );
    for row in &rows {
        let condition = if row.condition.is_empty() { "all" } else { &row.condition };
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th><th scope=\"row\">{}</th>",
            html(condition),
            html(&summary.arms[row.arm])
        );
        let of = |moment: fn(&ArmOverPages) -> &PageSum| {
            let sum = moment(row);
            [
                ms(sum.total()),
                ratio(sum.total() / least(&rows, row, moment)),
                sum.first_on.to_string(),
            ]
        };
        let pages = row.load.medians.len().to_string();
        let figures = [of(|row| &row.load), of(|row| &row.render)].concat();
        let failures = grouped(row.failures);
        for text in std::iter::once(pages).chain(figures).chain([failures]) {
            let _ = write!(table, "<td class=\"n\">{}</td>", html(&text));
        }
        table.push_str("</tr>");
    }
    table.push_str("</tbody></table>");
    format!(
        "<section><h2>All pages</h2><div class=\"wide\" tabindex=\"0\">{table}</div><p class=\"small\">The medians of each page of the list, \
         summed; an arm's sums leave out pages on which it lost an object or a load. First on: pages on which no other arm has a smaller median.</p></section>\n"
    )
}

impl PageSum {
    fn total(&self) -> f64 {
        self.medians.iter().sum()
    }

    /// Counts a page, given the arm's median and those of all arms.
    fn count(&mut self, median: Option<f64>, rivals: impl Iterator<Item = f64>) {
        let Some(median) = median else { return };
        self.medians.push(median);
        self.first_on += usize::from(rivals.into_iter().all(|rival| median <= rival));
    }
}

/// The least sum under the same condition over as many pages: sums over different pages are not comparable.
fn least(rows: &[ArmOverPages], row: &ArmOverPages, moment: fn(&ArmOverPages) -> &PageSum) -> f64 {
    let alike = rows.iter().filter(|other| {
        other.condition == row.condition && moment(other).medians.len() == moment(row).medians.len()
    });
    alike.map(|other| moment(other).total()).fold(f64::INFINITY, f64::min)
}

/// The rows in the order of conditions and arms.
fn rows(summary: &ReportSummary) -> Vec<ArmOverPages> {
    let mut rows: Vec<ArmOverPages> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| cell.page.is_some()) {
        let condition = without_page(&summary.conditions[cell.condition].keys);
        let place = rows.iter().position(|row| row.condition == condition && row.arm == cell.arm);
        let place = place.unwrap_or_else(|| {
            let (load, render) = (PageSum::default(), PageSum::default());
            rows.push(ArmOverPages { condition, arm: cell.arm, load, render, failures: 0 });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.failures += cell.failures() + cell.objects_failed();
        let rivals = || {
            let rivals = summary.cells.iter().filter(|other| other.condition == cell.condition);
            rivals.filter_map(|rival| medians(summary, rival))
        };
        let own = medians(summary, cell);
        row.load.count(own.map(|own| own.load), rivals().map(|rival| rival.load));
        row.render.count(own.and_then(|own| own.render), rivals().filter_map(|rival| rival.render));
    }
    rows.sort_by_key(|row| {
        let first = summary.conditions.iter().position(|c| without_page(&c.keys) == row.condition);
        (first, row.arm)
    });
    rows
}

/// Medians of a cell, in milliseconds.
#[derive(Clone, Copy)]
struct Medians {
    load: f64,
    render: Option<f64>,
}

/// The medians of a cell that lost nothing.
fn medians(summary: &ReportSummary, cell: &ReportCell) -> Option<Medians> {
    let described = cell.describe(&summary.run).filter(|_| cell.shortfall.is_nothing())?;
    Some(Medians { load: described.plt.median(), render: described.first_render })
}

/// A condition's label without the page.
fn without_page(keys: &[Property]) -> String {
    let labels = keys.iter().filter(|key| key.name != PAGE).map(|key| key.label.as_str());
    labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Order, Plan};
    use store::toy;

    fn summary(pages: &[&str]) -> ReportSummary {
        let mut cells = toy::cells(&["sites.toml"], &[50, 200]);
        for cell in &mut cells {
            cell.page.pages = pages.iter().map(|page| (*page).to_owned()).collect();
        }
        let filled = toy::filled_store(&Plan::new("toy", 1, 3, Order::Blocked, cells));
        ReportSummary::gather(&filled.store, filled.run).unwrap()
    }

    #[test]
    fn each_page_is_a_condition_and_all_are_summed_up() {
        let summary = summary(&["b", "a"]);
        let labels: Vec<&str> = summary.conditions.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["b, RTT 50 ms", "a, RTT 50 ms", "b, RTT 200 ms", "a, RTT 200 ms"]);
        let rows = rows(&summary);
        let of = |row: &ArmOverPages| (row.condition.clone(), row.arm, row.load.medians.len());
        let expected = [("RTT 50 ms", 0), ("RTT 50 ms", 1), ("RTT 200 ms", 0), ("RTT 200 ms", 1)];
        let expected = expected.map(|(condition, arm)| (condition.to_owned(), arm, 2));
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(rows[0].load.first_on + rows[1].load.first_on, 2);
        assert!(rows[0].render.first_on + rows[1].render.first_on >= 2);
        assert!(section(&summary).contains("All pages"));
    }

    #[test]
    fn an_arm_that_lost_an_object_is_not_ranked_on_that_page() {
        let mut summary = summary(&["b", "a"]);
        let least = |summary: &ReportSummary| rows(summary)[0].load.medians.len();
        assert_eq!(least(&summary), 2);
        let cell = summary.cells.iter().position(|c| c.arm == 0 && c.page.as_deref() == Some("b"));
        summary.cells[cell.unwrap()].shortfall.failed("an object was lost");
        assert_eq!(least(&summary), 1);
        let rows = rows(&summary);
        assert_eq!(rows[1].load.medians.len(), 2);
        let least = super::least(&rows, &rows[1], |row| &row.load);
        assert_eq!(least, rows[1].load.total(), "sums over other pages are not compared");
    }

    #[test]
    fn one_page_has_no_such_table() {
        assert_eq!(section(&summary(&[])), "");
    }
}
