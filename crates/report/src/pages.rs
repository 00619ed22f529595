//! The pages of a list together: what each arm takes for all of them.
//!
//! Medians are by page, over repetitions; here they are summed up over the pages, so that each page counts once however often it was visited.

use std::fmt::Write;

use super::cells::Cell;
use super::escape::html;
use super::keys::Key;
use super::number::{grouped, ms, ratio};
use super::summary::Summary;

/// The property that tells pages apart.
pub const PAGE: &str = "page";

/// One arm under one condition, over all pages.
#[derive(Clone, Debug, PartialEq)]
struct Together {
    condition: String,
    arm: usize,
    /// The median page load time of each page that loaded, in milliseconds.
    medians: Vec<f64>,
    failures: u64,
    /// On how many pages no other arm is faster.
    fastest_on: usize,
}

/// The section; empty if no journey went through a list.
pub fn section(summary: &Summary) -> String {
    let rows = rows(summary);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = String::from(
        "<table class=\"figures plain\"><thead><tr><th>condition</th><th>arm</th><th class=\"n\">pages</th>\
         <th class=\"n\">sum of medians<br>ms</th><th class=\"n\">/ least</th><th class=\"n\">mean of medians<br>ms</th>\
         <th class=\"n\">fastest on</th><th class=\"n\">failures</th></tr></thead><tbody>",
    );
    for row in &rows {
        // Sums of different pages say nothing of each other.
        let alike = rows.iter().filter(|other| {
            other.condition == row.condition && other.medians.len() == row.medians.len()
        });
        let least = alike.map(Together::sum).fold(f64::INFINITY, f64::min);
        let condition = if row.condition.is_empty() { "all" } else { &row.condition };
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th><th scope=\"row\">{}</th>",
            html(condition),
            html(&summary.arms[row.arm])
        );
        for text in [
            row.medians.len().to_string(),
            ms(row.sum()),
            ratio(row.sum() / least),
            ms(row.sum() / row.medians.len().max(1) as f64),
            row.fastest_on.to_string(),
            grouped(row.failures),
        ] {
            let _ = write!(table, "<td class=\"n\">{}</td>", html(&text));
        }
        table.push_str("</tr>");
    }
    table.push_str("</tbody></table>");
    format!(
        "<section><h2>All pages</h2><div class=\"wide\">{table}</div><p class=\"small\">The median page load time of each page of \
         the list, summed up. Fastest on: pages on which no other arm has a smaller median.</p></section>\n"
    )
}

impl Together {
    fn sum(&self) -> f64 {
        self.medians.iter().sum()
    }
}

/// In the order of conditions and arms.
fn rows(summary: &Summary) -> Vec<Together> {
    let mut rows: Vec<Together> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| cell.page.is_some()) {
        let condition = without_page(&summary.conditions[cell.condition].keys);
        let place = rows.iter().position(|row| row.condition == condition && row.arm == cell.arm);
        let place = place.unwrap_or_else(|| {
            let (arm, medians) = (cell.arm, Vec::new());
            rows.push(Together { condition, arm, medians, failures: 0, fastest_on: 0 });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.failures += cell.failures();
        if let Some(median) = median(summary, cell) {
            row.medians.push(median);
            let rivals = summary.cells.iter().filter(|other| other.condition == cell.condition);
            let is_fastest =
                rivals.filter_map(|rival| self::median(summary, rival)).all(|m| median <= m);
            row.fastest_on += usize::from(is_fastest);
        }
    }
    rows.sort_by_key(|row| {
        let first = summary.conditions.iter().position(|c| without_page(&c.keys) == row.condition);
        (first, row.arm)
    });
    rows
}

fn median(summary: &Summary, cell: &Cell) -> Option<f64> {
    Some(cell.describe(summary.run.seed)?.plt.median())
}

/// A condition's label but for the page.
fn without_page(keys: &[Key]) -> String {
    let labels = keys.iter().filter(|key| key.name != PAGE).map(|key| key.label.as_str());
    labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Order, Plan};
    use store::toy;

    fn summary(pages: &[&str]) -> Summary {
        let mut cells = toy::cells(&["sites.toml"], &[50, 200]);
        for cell in &mut cells {
            cell.page.pages = pages.iter().map(|page| (*page).to_owned()).collect();
        }
        let filled = toy::filled_store(&Plan::new("toy", 1, 3, Order::Blocked, cells));
        Summary::gather(&filled.store, filled.run).unwrap()
    }

    #[test]
    fn each_page_is_a_condition_and_all_are_summed_up() {
        let summary = summary(&["b", "a"]);
        let labels: Vec<&str> = summary.conditions.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["b, RTT 50 ms", "a, RTT 50 ms", "b, RTT 200 ms", "a, RTT 200 ms"]);
        let rows = rows(&summary);
        let of = |row: &Together| (row.condition.clone(), row.arm, row.medians.len());
        let expected = [("RTT 50 ms", 0), ("RTT 50 ms", 1), ("RTT 200 ms", 0), ("RTT 200 ms", 1)];
        let expected = expected.map(|(condition, arm)| (condition.to_owned(), arm, 2));
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(rows[0].fastest_on + rows[1].fastest_on, 2);
        assert!(section(&summary).contains("All pages"));
    }

    #[test]
    fn one_page_has_no_such_table() {
        assert_eq!(section(&summary(&[])), "");
    }
}
