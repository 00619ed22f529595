//! A study's own figures, drawn from our runs of its experiments: one self-contained HTML page.
//!
//! The content of figures is defined in `studies/NAME/figures.toml`, in the terms of the study's clauses: arms,
//! grids, quantities, expressions. A new study needs a file and no code. Each figure carries the rows that it is
//! drawn from as CSV, and only those: quartiles, means, a limited number of points of a distribution.

mod curves;
mod data;
mod definition;
mod distributions;
mod single;
mod traffic;

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use thiserror::Error;

use self::data::{FigureData, Layout, PlotData, PlotError};
use self::definition::{Figure, FigureKind, Figures};
use crate::judge::{ClauseError, StudyResult};
use crate::{DIGITS, StudyError};
use report::escape::{html as escaped, script_json};
use report::frame::{PageFrame, frame};
use scenario::VERSION;
use store::{Store, StoreError};

/// Failed to draw figures.
#[derive(Debug, Error)]
pub enum FiguresError {
    /// The study's folder is invalid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A figure with an invalid definition.
    #[error("{study}/figures.toml: `{figure}`: {error}")]
    Figure {
        /// The study.
        study: String,
        /// The figure.
        figure: String,
        /// The reason.
        error: ClauseError,
    },
}

const SCRIPT: &str = include_str!("../assets/figures.js");

/// A figure in the form that the script reads.
#[derive(Serialize)]
struct PlacedPlot {
    id: String,
    #[serde(flatten)]
    layout: Layout,
}

/// The page of these studies' figures, drawn from the runs of their experiments in `store`.
///
/// # Errors
/// An invalid file of figures, or a store that cannot be read.
pub fn html(results: &[StudyResult], store: &Store) -> Result<String, FiguresError> {
    let mut sections = String::from("<header><p class=\"kicker\">farlink</p><h1>");
    let names: Vec<&str> = results.iter().map(|it| it.study.name.as_str()).collect();
    let title = format!("The figures of {}", names.join(", "));
    let _ = writeln!(sections, "{}</h1></header>", escaped(&title));
    let mut placed = Vec::new();
    for result in results {
        sections.push_str(&section(result, store, &mut placed)?);
    }
    Ok(frame(&PageFrame {
        title: &title,
        version: VERSION,
        sections: &sections,
        data: &script_json(&placed),
        script: SCRIPT,
    }))
}

/// One study.
fn section(
    result: &StudyResult,
    store: &Store,
    placed: &mut Vec<PlacedPlot>,
) -> Result<String, FiguresError> {
    let study = &result.study;
    let figures = Figures::of_study(study)?;
    let data = FigureData::gather(result, &figures, store)?;
    let mut text = format!(
        "<section><h2>{} ({})</h2><p>{}</p>{}\n",
        escaped(&study.setup.title),
        study.setup.year,
        escaped(&study.setup.question),
        runs(result),
    );
    for figure in &figures.figures {
        let id = format!("{}-{}", study.name, figure.id.replace('.', "_"));
        let body = match plot(&data, figure) {
            Ok(plot) => {
                let body = picture(&id, &plot);
                placed.push(PlacedPlot { id, layout: plot.layout });
                body
            }
            Err(PlotError::Store(error)) => return Err(error.into()),
            Err(PlotError::Clause(error @ ClauseError::Invalid(_))) => {
                let (study, figure) = (study.name.clone(), figure.id.clone());
                return Err(FiguresError::Figure { study, figure, error });
            }
            Err(PlotError::Clause(missing)) => format!(
                "<p class=\"small\">Not drawn: the store lacks {}.</p>",
                escaped(&missing.to_string())
            ),
        };
        let verdicts = verdicts(result, figure);
        let _ = writeln!(text, "<figure>{}{body}{verdicts}</figure>", caption(figure));
    }
    text.push_str("</section>\n");
    Ok(text)
}

fn plot(data: &FigureData<'_>, figure: &Figure) -> Result<PlotData, PlotError> {
    let show = &figure.show;
    Ok(match show.kind {
        FigureKind::Curves => curves::curves(data, figure)?,
        FigureKind::Numbers => curves::numbers(data, figure)?,
        FigureKind::Boxes | FigureKind::Stacked => distributions::at_positions(data, show)?,
        FigureKind::Cumulative | FigureKind::CumulativeObjects => {
            distributions::cumulative(data, show)?
        }
        FigureKind::PacketSizes => distributions::packet_sizes(data, show)?,
        FigureKind::Seconds => traffic::seconds(data, show)?,
        FigureKind::Timelines => single::timelines(data, show)?,
        FigureKind::Windows => single::windows(data, show)?,
    })
}

fn caption(figure: &Figure) -> String {
    let note = figure.note.as_ref().map_or(String::new(), |note| format!(" {}", escaped(note)));
    format!(
        "<figcaption><b>{}. {}</b><br><span class=\"small\">{}.{note}</span></figcaption>",
        escaped(&figure.id),
        escaped(&figure.title),
        escaped(&figure.place),
    )
}

/// The verdicts on the study's claims on a figure.
fn verdicts(result: &StudyResult, figure: &Figure) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut list = String::new();
    for claim in figure.claims(&result.study) {
        let Some(judged) = result.claims.iter().find(|judged| judged.id == claim.id) else {
            continue;
        };
        *counts.entry(judged.verdict.name()).or_default() += 1;
        let verdict = escaped(&judged.verdict.to_string());
        let _ = write!(
            list,
            "<li><b>{verdict}</b>: {} <code>{}</code></li>",
            escaped(&claim.statement),
            escaped(&claim.id)
        );
    }
    if counts.is_empty() {
        return String::new();
    }
    let all: usize = counts.values().sum();
    let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let claims = if all == 1 { "claim" } else { "claims" };
    format!(
        "<details open class=\"small\"><summary>{all} {claims} on this figure: {}</summary><ul>{list}</ul></details>",
        counts.join(", ")
    )
}

fn picture(id: &str, plot: &PlotData) -> String {
    let remarks: String =
        plot.remarks.iter().map(|remark| format!("<li>{}.</li>", escaped(remark))).collect();
    let remarks = match remarks.is_empty() {
        true => remarks,
        false => format!("<ul class=\"small\">{remarks}</ul>"),
    };
    format!(
        "<div id=\"figure-{id}\" class=\"charts\"></div>{remarks}\
         <details><summary>The data, as CSV</summary><pre tabindex=\"0\" id=\"data-{id}\" class=\"csv\">{}</pre></details>",
        escaped(&plot.csv)
    )
}

/// The runs behind the figures.
fn runs(result: &StudyResult) -> String {
    let mut table = String::from(
        "<details><summary>The runs behind these figures</summary><table class=\"figures plain\"><thead><tr><th>experiment</th>\
         <th class=\"n\">run</th><th class=\"n\">journeys</th><th class=\"n\">repetitions</th><th>digest</th></tr></thead><tbody>",
    );
    for experiment in &result.experiments {
        let _ = write!(table, "<tr><th scope=\"row\">{}</th>", escaped(&experiment.id));
        let _ = match &experiment.run {
            None => write!(table, "<td colspan=\"4\">not run</td></tr>"),
            Some(run) => {
                let digest: String =
                    run.digest.iter().flat_map(|it| it.chars()).take(DIGITS).collect();
                write!(
                    table,
                    "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{digest}</td></tr>",
                    run.id.0, run.journeys, run.repetitions
                )
            }
        };
    }
    table.push_str("</tbody></table></details>");
    table
}

#[cfg(test)]
mod tests;
