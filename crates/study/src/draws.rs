//! Number of draws, within a study, of sites of which only totals are known.
//!
//! Set-ups name only the first draws, to save time. A deep run takes all draws that the priors fix (`draws` in
//! `sites.toml`), a quick one only the first.

use scenario::experiment::{ExperimentError, Source};

/// Number of draws that every `sites.toml` has.
pub(super) const ALL: u32 = 20;

/// Limits an experiment to the first `draws` draws of each site that it loads; an experiment without such sites
/// is unchanged.
pub(super) fn take(source: &mut Source, draws: u32) -> Result<(), ExperimentError> {
    let names = pages(source.text());
    if !names.iter().any(|name| site(name).is_some()) {
        return Ok(());
    }
    let names: Vec<String> =
        with_draws(&names, draws).into_iter().map(|name| format!("\"{name}\"")).collect();
    source.set(&format!("page.name=[{}]", names.join(", ")))
}

/// The pages that an experiment names. Text that is no experiment has none: it is refused when it is resolved.
fn pages(text: &str) -> Vec<String> {
    let Ok(experiment) = text.parse::<toml::Table>() else { return Vec::new() };
    let name = experiment.get("page").and_then(|page| page.get("name"));
    let listed = name.and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    listed.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The site of a drawn page, without the draw: `erman2013-sites#7` of `erman2013-sites#7/3`.
fn site(page: &str) -> Option<&str> {
    let (site, draw) = page.rsplit_once('/')?;
    (site.contains("-sites#") && draw.parse::<u32>().is_ok()).then_some(site)
}

/// The first draws of each site, draw by draw, after the pages that are not drawn.
fn with_draws(names: &[String], draws: u32) -> Vec<String> {
    let mut all: Vec<String> = names.iter().filter(|name| site(name).is_none()).cloned().collect();
    let mut sites: Vec<&str> = Vec::new();
    for site in names.iter().filter_map(|name| site(name)) {
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    for draw in 1..=draws {
        all.extend(sites.iter().map(|site| format!("{site}/{draw}")));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NAMES, shipped};

    #[test]
    fn draws_are_taken_of_what_is_drawn() {
        let taken = |text: &str, draws| {
            let mut source = Source::new("e.toml", text);
            take(&mut source, draws).unwrap();
            pages(source.text())
        };
        let list = "[page]\nname = [\"synthetic:4x10KB\", \"a-sites#1/1\", \"a-sites#2/1\", \"a-sites#1/2\"]\n";
        assert_eq!(taken(list, 1), ["synthetic:4x10KB", "a-sites#1/1", "a-sites#2/1"]);
        let all = taken(list, ALL);
        assert_eq!(all.len(), 1 + 2 * 20);
        assert_eq!(all[..4], ["synthetic:4x10KB", "a-sites#1/1", "a-sites#2/1", "a-sites#1/2"]);
        assert_eq!(taken("[page]\nname = [\"a\", \"b\"]\n", 1), ["a", "b"]);
    }

    #[test]
    fn the_priors_fix_as_many() {
        for name in NAMES {
            let study = shipped(name).unwrap();
            let Some(sites) = study.files.get("sites.toml") else { continue };
            let draws = sites.parse::<toml::Table>().unwrap()["draws"].as_integer();
            assert_eq!(draws, Some(i64::from(ALL)), "{name}");
        }
    }
}
