//! Figures of a report for print: SVG and PDF as wide as a journal's column. Chromium draws them, as it draws the report.

use std::path::Path;

use chromium::{Chromium, ChromiumError};
use serde::Deserialize;

use crate::commands::files;
use crate::failure::CliError;

/// A figure as the report's script hands it over.
#[derive(Deserialize)]
struct Figure {
    name: String,
    width: f64,
    height: f64,
    #[serde(rename = "text")]
    svg: String,
}

/// Writes the figures of a report into `folder`, `width` CSS pixels wide.
pub fn write(report: &str, folder: &Path, width: u32) -> Result<(), CliError> {
    let chromium = super::super::chromium().map_err(not_drawn)?;
    files::make_folder(folder)?;
    let work = tempfile::tempdir().map_err(CliError::machine)?;
    let page = work.path().join("report.html");
    std::fs::write(&page, report).map_err(CliError::machine)?;
    let url = format!("file://{}#figures={width}", page.display());
    let document = chromium.document(&url, &work.path().join("profile")).map_err(not_drawn)?;
    for figure in figures(&document)? {
        files::write_whole(&folder.join(format!("{}.svg", figure.name)), figure.svg.as_bytes())?;
        let pdf = figure.pdf(&chromium, work.path())?;
        files::write_whole(&folder.join(format!("{}.pdf", figure.name)), &pdf)?;
    }
    Ok(())
}

fn not_drawn(error: ChromiumError) -> CliError {
    CliError::machine(error)
        .hint("--figures needs Chromium; the report has each figure as SVG and PNG, too".to_owned())
}

/// The figures in the document that the report's script has made.
fn figures(document: &str) -> Result<Vec<Figure>, CliError> {
    let begin = "<script type=\"application/json\" id=\"figures\">";
    let json = document.split_once(begin).and_then(|(_, rest)| rest.split_once("</script>"));
    let figures = json.and_then(|(json, _)| serde_json::from_str(json).ok());
    figures.ok_or_else(|| CliError::machine("Chromium did not draw the report's figures"))
}

impl Figure {
    /// The figure printed on paper of its own size.
    fn pdf(&self, chromium: &Chromium, work: &Path) -> Result<Vec<u8>, CliError> {
        let Figure { width, height, svg, .. } = self;
        let page = work.join("figure.html");
        let html = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>figure</title><style>@page {{ size: {width}px {height}px; margin: 0 }} \
             html, body {{ margin: 0 }} svg {{ display: block }}</style>{svg}"
        );
        std::fs::write(&page, html).map_err(CliError::machine)?;
        let pdf = work.join("figure.pdf");
        let url = format!("file://{}", page.display());
        chromium.print(&url, &pdf, &work.join("profile")).map_err(not_drawn)?;
        std::fs::read(&pdf).map_err(CliError::machine)
    }
}
