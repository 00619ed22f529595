//! Pages drawn from a study's description of its sites: totals from a table, everything else from priors.
//!
//! `sites.toml#7/3` is the third draw of the seventh site, `sites.toml#*/3` the third draw of all sites and `#1-4/3`
//! that of four: lists. The same file, site and draw give the same page; draws of one site differ in everything that
//! the table leaves open, so a result that holds in most of them does not depend on a guess. The priors of studies
//! are built in, too: `erman2013-sites#7/3`. The format is in `docs/pages.md`.

mod discovery;
mod objects;
mod priors;

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use chance::{RandomSource, RandomStream};

use crate::generate::{Builder, NamedObject};
use crate::{Error, HostId, Kind, Page};

/// Suffix of files of priors.
const ENDING: &str = ".toml";

/// Returns true if pages of this file are drawn.
pub(crate) fn is_drawn(file: &str) -> bool {
    file.ends_with(ENDING)
}

/// Draws `which`, `SITE/DRAW`, both counted from 1, from the priors at `path`.
pub(crate) fn open(path: &Path, which: Option<&str>) -> Result<Page, Error> {
    Sites::read(path)?.draw(which)
}

/// Sites known by their totals, and the priors to draw them.
pub(crate) struct Sites {
    /// Name of the study or file.
    name: String,
    priors: Priors,
    known: Vec<SiteTotals>,
}

impl Sites {
    /// Reads the priors at `path`.
    pub(crate) fn read(path: &Path) -> Result<Sites, Error> {
        let name = crate::open::name_of(path);
        let text =
            String::from_utf8(crate::open::load(path, &name)?).map_err(|error| Error::Priors {
                name: name.clone(),
                problem: format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()),
            })?;
        let priors = Priors::parse(&text)
            .map_err(|problem| Error::Priors { name: name.clone(), problem })?;
        let table = path.parent().unwrap_or(Path::new("")).join(&priors.table);
        let known = read_table(&table, &priors.columns)?;
        Ok(Sites { name, priors, known })
    }

    /// Draws `SITE/DRAW`, both counted from 1.
    pub(crate) fn draw(&self, which: Option<&str>) -> Result<Page, Error> {
        let (site, draw) = self.choice(which).ok_or_else(|| self.no_such(which))?;
        let source = RandomSource::new(self.priors.seed, draw);
        let name = format!("{}#{site}/{draw}", self.name);
        Ok(Drawing { source, site }.page(&self.priors, &self.known[site - 1], name))
    }

    /// Selectors of a list's pages, in the table's order: all sites of one draw (`*/3`), or a range of them
    /// (`1-4/3`).
    pub(crate) fn several_of(&self, which: &str) -> Result<Vec<String>, Error> {
        let (sites, draw) = self.several(which).ok_or_else(|| self.no_such(Some(which)))?;
        Ok(sites.map(|site| format!("{site}/{draw}")).collect())
    }

    fn several(&self, which: &str) -> Option<(RangeInclusive<usize>, u64)> {
        let (sites, draw) = which.split_once('/')?;
        let sites = match sites.split_once('-') {
            None => 1..=self.known.len(),
            Some((first, last)) => first.parse().ok()?..=last.parse().ok()?,
        };
        let draw = draw.parse().ok()?;
        let are_there = (1..=*sites.end()).contains(sites.start())
            && *sites.end() <= self.known.len()
            && (1..=self.priors.draws).contains(&draw);
        are_there.then_some((sites, draw))
    }

    fn choice(&self, which: Option<&str>) -> Option<(usize, u64)> {
        let (site, draw) = which?.split_once('/')?;
        let (site, draw) = (site.parse().ok()?, draw.parse().ok()?);
        let is_there =
            (1..=self.known.len()).contains(&site) && (1..=self.priors.draws).contains(&draw);
        is_there.then_some((site, draw))
    }

    fn no_such(&self, which: Option<&str>) -> Error {
        let (sites, draws) = (self.known.len(), self.priors.draws);
        let which = which.map_or("nothing".to_owned(), |which| format!("`#{which}`"));
        Error::Priors {
            name: self.name.clone(),
            problem: format!(
                "its pages are named by site and draw, `#1/1` to `#{sites}/{draws}`, not {which}"
            ),
        }
    }
}

/// Returns true if `spec` names several sites of a draw: all of them, or a range.
pub(crate) fn names_several(spec: &str) -> bool {
    let are_several = |sites: &str| {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        sites == "*"
            || sites
                .split_once('-')
                .is_some_and(|(first, last)| is_number(first) && is_number(last))
    };
    spec.rsplit_once('#').is_some_and(|(file, which)| {
        which.split_once('/').is_some_and(|(sites, _)| are_several(sites))
            && (is_drawn(file) || shipped(file).is_some())
    })
}

/// The table beside the priors that its pages are drawn from.
pub(crate) fn table_of(path: &Path) -> Option<std::path::PathBuf> {
    let priors = Priors::parse(&std::fs::read_to_string(path).ok()?).ok()?;
    Some(path.parent()?.join(priors.table))
}

/// One draw of one site, with a random stream for each quantity.
struct Drawing {
    source: RandomSource,
    site: usize,
}

impl Drawing {
    fn stream(&self, of: &str) -> RandomStream {
        self.source.stream(&format!("site/{}/{of}", self.site))
    }

    fn page(&self, priors: &Priors, site: &SiteTotals, name: String) -> Page {
        let counts = objects::draw_counts(priors, site, &mut self.stream("counts"));
        let sizes =
            objects::draw_sizes(&priors.sizes, &counts, site.bytes, &mut self.stream("sizes"));
        let hosts = objects::draw_hosts(&priors.domains, &counts, &mut self.stream("domains"));
        let found =
            discovery::draw(&priors.discovery, &counts, &sizes, &mut self.stream("discovery"));
        let origin = format!(
            "{}: drawn from the totals of a table and priors for all else; text beside the document is taken as frames",
            site.name
        );
        let names = (0..counts.domains).map(|host| priors.host_name(self.site, host)).collect();
        let mut page = Builder::new(&name, &origin, names, "/", sizes.document);
        for (index, object) in found.iter().enumerate() {
            page.name(NamedObject {
                host: HostId(hosts[index]),
                path: format!("/{:03}{}", index + 1, ending(object.kind)),
                kind: object.kind,
                body_bytes: object.bytes,
                by: object.by,
                after: object.after,
            });
        }
        let mut page = page.finish();
        objects::think(&priors.origin, &mut page, &mut self.stream("think"));
        objects::beacons(&priors.beacons, &mut page, &mut self.stream("beacons"));
        page
    }
}

fn ending(kind: Kind) -> &'static str {
    match kind {
        Kind::Stylesheet => ".css",
        Kind::Script => ".js",
        Kind::Document => ".html",
        _ => ".jpg",
    }
}

/// A whole number with the mean `average`: the ceiling with the fraction as its probability.
fn by_fraction(average: f64, stream: &mut RandomStream) -> u64 {
    let least = average.floor();
    least as u64 + u64::from(stream.happens(average - least))
}

#[cfg(test)]
mod tests;

use self::priors::PriorColumns;

pub use self::priors::Priors;
pub(crate) use self::priors::shipped;

/// Totals of one site.
#[derive(Clone, Debug, PartialEq)]
struct SiteTotals {
    pub name: String,
    pub bytes: f64,
    pub domains: f64,
    pub objects: Objects,
}

/// Average numbers of objects.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Objects {
    ByType { text: f64, js_css: f64, images_other: f64 },
    InAll(f64),
}

fn read_table(path: &Path, columns: &PriorColumns) -> Result<Vec<SiteTotals>, Error> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let name = || path.display().to_string();
    parse_table(file, columns).map_err(|problem| Error::Priors { name: name(), problem })
}

/// Parses the text of a table; errors state the problem.
fn parse_table(text: impl Read, columns: &PriorColumns) -> Result<Vec<SiteTotals>, String> {
    let mut reader = csv::Reader::from_reader(text);
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut sites = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        sites.push(TableRow { head: &head, row: &row }.site(columns)?);
    }
    Ok(sites)
}

struct TableRow<'a> {
    head: &'a csv::StringRecord,
    row: &'a csv::StringRecord,
}

impl TableRow<'_> {
    fn site(&self, columns: &PriorColumns) -> Result<SiteTotals, String> {
        let objects = match columns {
            PriorColumns {
                text: Some(text),
                js_css: Some(code),
                images_other: Some(images),
                ..
            } => Objects::ByType {
                text: self.number(text)?,
                js_css: self.number(code)?,
                images_other: self.number(images)?,
            },
            _ => Objects::InAll(self.number(columns.objects.as_deref().unwrap_or_default())?),
        };
        Ok(SiteTotals {
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
            format!("no column `{column}`; columns: {}", known.join(", "))
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
