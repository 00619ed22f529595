//! Table of known totals per site.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::priors::Columns;
use crate::Error;

/// Totals of one site.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    pub name: String,
    pub bytes: f64,
    pub domains: f64,
    pub objects: Objects,
}

/// Average numbers of objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Objects {
    ByType { text: f64, js_css: f64, images_other: f64 },
    InAll(f64),
}

pub(super) fn read(path: &Path, columns: &Columns) -> Result<Vec<Site>, Error> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let name = || path.display().to_string();
    parse(file, columns).map_err(|problem| Error::Priors { name: name(), problem })
}

/// Parses the text of a table; errors state the problem.
pub(super) fn parse(text: impl Read, columns: &Columns) -> Result<Vec<Site>, String> {
    let mut reader = csv::Reader::from_reader(text);
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut sites = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        sites.push(Row { head: &head, row: &row }.site(columns)?);
    }
    Ok(sites)
}

struct Row<'a> {
    head: &'a csv::StringRecord,
    row: &'a csv::StringRecord,
}

impl Row<'_> {
    fn site(&self, columns: &Columns) -> Result<Site, String> {
        let objects = match columns {
            Columns {
                text: Some(text), js_css: Some(code), images_other: Some(images), ..
            } => Objects::ByType {
                text: self.number(text)?,
                js_css: self.number(code)?,
                images_other: self.number(images)?,
            },
            _ => Objects::InAll(self.number(columns.objects.as_deref().unwrap_or_default())?),
        };
        Ok(Site {
            name: self.text(&columns.site)?.to_owned(),
            bytes: self.number(&columns.kilobytes)? * 1000.0,
            domains: self.number(&columns.domains)?,
            objects,
        })
    }

    fn text(&self, column: &str) -> Result<&str, String> {
        let index = self.head.iter().position(|name| name == column);
        index.and_then(|index| self.row.get(index)).ok_or_else(|| {
            let known: Vec<&str> = self.head.iter().collect();
            format!("there is no column `{column}`; there are {}", known.join(", "))
        })
    }

    fn number(&self, column: &str) -> Result<f64, String> {
        let text = self.text(column)?;
        let line = self.row.position().map_or(0, csv::Position::line);
        let number: Option<f64> = text.parse().ok();
        number.filter(|number| *number >= 0.0 && number.is_finite()).ok_or_else(|| {
            format!("line {line}, column `{column}`: `{text}` is not a number of 0 or more")
        })
    }
}
