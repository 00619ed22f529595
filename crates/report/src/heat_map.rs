//! The winner under each condition, as a table whose cells are shaded by their distance from it.

use std::fmt::Write;

use super::answer::span;
use super::escape::html;
use super::summary::ReportSummary;

/// Limits of the shades: load time over the best of the condition.
const SHADES: [f64; 5] = [1.02, 1.1, 1.25, 1.5, 2.0];

/// The table; empty if there is nothing to compare, or a single condition, which the answer tells.
pub fn heat_map(summary: &ReportSummary) -> String {
    if summary.arms.len() < 2 || summary.conditions.len() < 2 {
        return String::new();
    }
    let mut text = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"heat\"><caption>Median load time over that of the condition's best</caption><thead><tr><th>condition</th>",
    );
    for arm in &summary.arms {
        let _ = write!(text, "<th class=\"n\">{}</th>", html(arm));
    }
    text.push_str("</tr></thead><tbody>");
    for (index, condition) in summary.conditions.iter().enumerate() {
        let medians: Vec<Option<f64>> =
            (0..summary.arms.len()).map(|arm| summary.median(arm, index)).collect();
        let Some(best) = medians.iter().flatten().copied().min_by(f64::total_cmp) else { continue };
        let _ = write!(text, "<tr><th>{}</th>", html(&condition.label));
        for median in &medians {
            text.push_str(&cell(*median, best));
        }
        text.push_str("</tr>");
    }
    text + "</tbody></table></div>"
}

fn cell(median: Option<f64>, best: f64) -> String {
    let Some(median) = median else { return "<td class=\"n\">-</td>".to_owned() };
    let ratio = median / best;
    let shade = SHADES.iter().take_while(|limit| ratio > **limit).count();
    let words = match ratio {
        1.0 => format!("<b>{}</b>", span(median * 1e6)),
        ratio if ratio < 2.0 => format!("+{:.0} %", 100.0 * (ratio - 1.0)),
        ratio => format!("{ratio:.1} times"),
    };
    format!("<td class=\"n heat-{shade}\" title=\"{}\">{words}</td>", span(median * 1e6))
}
