//! The page of all studies' figures: one self-contained HTML file.

use std::fmt::Write;

use serde::Serialize;

use super::drawn::{Drawn, Layout, Undrawn};
use super::kind::Kind;
use super::sources::Evidence;
use super::{
    Figure, Figures, FiguresError, boxes, cumulative, curves, numbers, packet_sizes, seconds,
    stacked, timelines, windows,
};
use crate::judge::{Fault, Hearing};
use report::escape::{html as escaped, script_json};
use report::frame::{Frame, frame};
use scenario::VERSION;
use store::Store;

const SCRIPT: &str = include_str!("../../assets/figures.js");

/// Number of hexadecimal digits of a digest by which readers can tell runs apart.
const DIGITS: usize = 16;

/// A figure in the form that the script reads.
#[derive(Serialize)]
struct Placed {
    id: String,
    #[serde(flatten)]
    layout: Layout,
}

/// The page of these studies' figures, drawn from the runs of their experiments in `store`.
///
/// # Errors
/// An invalid file of figures, or a store that cannot be read.
pub fn html(hearings: &[Hearing], store: &Store) -> Result<String, FiguresError> {
    let mut sections = String::from("<header><p class=\"kicker\">farlink</p><h1>");
    let names: Vec<&str> = hearings.iter().map(|it| it.study.name.as_str()).collect();
    let title = format!("The figures of {}", names.join(", "));
    let _ = writeln!(sections, "{}</h1></header>", escaped(&title));
    let mut placed = Vec::new();
    for hearing in hearings {
        sections.push_str(&section(hearing, store, &mut placed)?);
    }
    Ok(frame(&Frame {
        title: &title,
        version: VERSION,
        sections: &sections,
        data: &script_json(&placed),
        script: SCRIPT,
    }))
}

/// One study.
fn section(
    hearing: &Hearing,
    store: &Store,
    placed: &mut Vec<Placed>,
) -> Result<String, FiguresError> {
    let study = &hearing.study;
    let figures = Figures::of_study(study)?;
    let evidence = Evidence::gather(hearing, &figures, store)?;
    let mut text = format!(
        "<section><h2>{} ({})</h2><p>{}</p>{}\n",
        escaped(&study.setup.title),
        study.setup.year,
        escaped(&study.setup.question),
        runs(hearing),
    );
    for figure in &figures.figures {
        let id = format!("{}-{}", study.name, figure.id.replace('.', "_"));
        let body = match drawn(&evidence, figure) {
            Ok(drawn) => {
                let body = picture(&id, &drawn);
                placed.push(Placed { id, layout: drawn.layout });
                body
            }
            Err(Undrawn::Store(error)) => return Err(error.into()),
            Err(Undrawn::Fault(fault @ Fault::Clause(_))) => {
                let (study, figure) = (study.name.clone(), figure.id.clone());
                return Err(FiguresError::Figure { study, figure, fault });
            }
            Err(Undrawn::Fault(missing)) => format!(
                "<p class=\"small\">Not drawn: the store lacks {}.</p>",
                escaped(&missing.to_string())
            ),
        };
        let _ = writeln!(text, "<figure>{}{body}</figure>", caption(figure));
    }
    text.push_str("</section>\n");
    Ok(text)
}

fn drawn(evidence: &Evidence<'_>, figure: &Figure) -> Result<Drawn, Undrawn> {
    Ok(match &figure.show {
        Kind::Curves(show) => curves::drawn(evidence, figure, show)?,
        Kind::Numbers(show) => numbers::drawn(evidence, figure, show)?,
        Kind::Boxes(show) => boxes::drawn(evidence, show)?,
        Kind::Cumulative(show) => cumulative::of_loads(evidence, show)?,
        Kind::CumulativeObjects(show) => cumulative::of_objects(evidence, show)?,
        Kind::Stacked(show) => stacked::drawn(evidence, show)?,
        Kind::Seconds(show) => seconds::drawn(evidence, show)?,
        Kind::Timelines(show) => timelines::drawn(evidence, show)?,
        Kind::Windows(show) => windows::drawn(evidence, show)?,
        Kind::PacketSizes(show) => packet_sizes::drawn(evidence, show)?,
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

fn picture(id: &str, drawn: &Drawn) -> String {
    let remarks: String =
        drawn.remarks.iter().map(|remark| format!("<li>{}.</li>", escaped(remark))).collect();
    let remarks = match remarks.is_empty() {
        true => remarks,
        false => format!("<ul class=\"small\">{remarks}</ul>"),
    };
    format!(
        "<div id=\"figure-{id}\" class=\"charts\"></div>{remarks}\
         <details><summary>The data, as CSV</summary><pre id=\"data-{id}\" class=\"csv\">{}</pre></details>",
        escaped(&drawn.csv)
    )
}

/// The runs behind the figures.
fn runs(hearing: &Hearing) -> String {
    let mut table = String::from(
        "<details><summary>The runs behind these figures</summary><table class=\"figures plain\"><thead><tr><th>experiment</th>\
         <th class=\"n\">run</th><th class=\"n\">journeys</th><th class=\"n\">repetitions</th><th>digest</th></tr></thead><tbody>",
    );
    for evidence in &hearing.experiments {
        let _ = write!(table, "<tr><th scope=\"row\">{}</th>", escaped(&evidence.id));
        let _ = match &evidence.run {
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
