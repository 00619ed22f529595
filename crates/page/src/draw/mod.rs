//! Pages drawn from what a study tells of its sites: totals from a table, everything else from priors.
//!
//! `sites.toml#7/3` is the third draw of the seventh site. The same file, site and draw give the same page; draws of one site differ in all that
//! the table leaves open, so what holds in most of them does not hang on a guess. The format is in `docs/pages.md`.

mod arrivals;
mod counts;
mod discovery;
mod domains;
mod priors;
mod sizes;
mod table;

use std::path::Path;

use chance::{Source, Stream};

pub use priors::Priors;

use crate::generate::{Builder, Named};
use crate::{Error, HostId, Kind, Page, load};

/// What tells a file of priors from other pages.
const ENDING: &str = ".toml";

/// Whether a page is drawn from the file of this name.
pub(crate) fn is_drawn(file: &str) -> bool {
    file.ends_with(ENDING)
}

/// Draws `which`, `SITE/DRAW`, both counted from 1, from the priors at `path`.
pub(crate) fn open(path: &Path, which: Option<&str>) -> Result<Page, Error> {
    let name = load::name_of(path);
    let wrong = |problem: String| Error::Priors { name: name.clone(), problem };
    let text = String::from_utf8(load::load(path, &name)?).map_err(|error| {
        wrong(format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })?;
    let priors = Priors::parse(&text).map_err(wrong)?;
    let table = path.parent().unwrap_or(Path::new("")).join(&priors.table);
    let sites = table::read(&table, &priors.columns)?;
    let (site, draw) = choice(which, sites.len(), priors.draws).map_err(wrong)?;
    let source = Source::new(priors.seed, draw);
    let drawing = Drawing { source, site };
    Ok(drawing.page(&priors, &sites[site - 1], format!("{name}#{site}/{draw}")))
}

/// The files beside the priors that its pages are made of.
pub(crate) fn table_of(path: &Path) -> Option<std::path::PathBuf> {
    let priors = Priors::parse(&std::fs::read_to_string(path).ok()?).ok()?;
    Some(path.parent()?.join(priors.table))
}

fn choice(which: Option<&str>, sites: usize, draws: u64) -> Result<(usize, u64), String> {
    let read = |which: &str| {
        let (site, draw) = which.split_once('/')?;
        Some((site.parse().ok()?, draw.parse().ok()?))
    };
    which
        .and_then(read)
        .filter(|(site, draw)| (1..=sites).contains(site) && (1..=draws).contains(draw))
        .ok_or_else(|| {
            format!(
                "a page of it is named by site and draw, `#1/1` to `#{sites}/{draws}`, not by {}",
                which.map_or("nothing".to_owned(), |which| format!("`#{which}`"))
            )
        })
}

/// One draw of one site: each thing that is drawn has a stream of its own.
struct Drawing {
    source: Source,
    site: usize,
}

impl Drawing {
    fn stream(&self, of: &str) -> Stream {
        self.source.stream(&format!("site/{}/{of}", self.site))
    }

    fn page(&self, priors: &Priors, site: &table::Site, name: String) -> Page {
        let counts = counts::draw(priors, site, &mut self.stream("counts"));
        let sizes = sizes::draw(&priors.sizes, &counts, site.bytes, &mut self.stream("sizes"));
        let hosts = domains::draw(&priors.domains, &counts, &mut self.stream("domains"));
        let found =
            discovery::draw(&priors.discovery, &counts, &sizes, &mut self.stream("discovery"));
        let origin = format!(
            "{}: drawn from the totals of a table and priors for all else; text beside the document is taken as frames",
            site.name
        );
        let names = (0..counts.domains).map(|host| priors.host_name(self.site, host)).collect();
        let mut page = Builder::new(&name, &origin, names, "/", sizes.document);
        for (index, object) in found.iter().enumerate() {
            page.name(Named {
                host: HostId(hosts[index]),
                path: format!("/{:03}{}", index + 1, ending(object.kind)),
                kind: object.kind,
                body_bytes: object.bytes,
                by: object.by,
                after: object.after,
            });
        }
        let mut page = page.finish();
        arrivals::think(&priors.origin, &mut page, &mut self.stream("think"));
        arrivals::beacons(&priors.beacons, &mut page, &mut self.stream("beacons"));
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

/// A whole number whose mean is `average`: the ceiling with the fraction as its probability.
fn by_fraction(average: f64, stream: &mut Stream) -> u64 {
    let least = average.floor();
    least as u64 + u64::from(stream.happens(average - least))
}

#[cfg(test)]
mod tests;
