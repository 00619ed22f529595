//! Ways of running a study: depth and world.
//!
//! Of sites of which a study gives only totals, set-ups name the first draws, to save time. A deep run takes all
//! draws that the priors fix (`draws` in `sites.toml`), a quick one only the first.

use std::fmt;
use std::num::NonZeroU32;

use scenario::Plan;
use scenario::World;
use scenario::experiment::{Catalogue, ExperimentError, Source, resolve};

/// Repetitions of each cell in a deep run, by default.
pub const DEEP: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// Number of repetitions of each cell of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Two, and one draw of drawn sites: a check that everything runs; too few to judge by.
    Quick,
    /// As many as the study made.
    #[default]
    Usual,
    /// This many: at least five are needed for any conclusion.
    Loads(NonZeroU32),
    /// This many, with all draws of drawn sites: the truth of a claim, beyond the study's few repetitions.
    Deep(NonZeroU32),
}

/// The depth of a study's runs, and their world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunMode {
    /// Number of repetitions of each cell.
    pub depth: Depth,
    /// The world, simulated or emulated.
    pub world: World,
}

impl Depth {
    /// The number of repetitions, if not the study's.
    fn repetitions(self) -> Option<u32> {
        match self {
            Depth::Quick => Some(2),
            Depth::Usual => None,
            Depth::Loads(loads) | Depth::Deep(loads) => Some(loads.get()),
        }
    }

    /// The number of draws of drawn sites, if not that of the set-ups.
    fn draws(self) -> Option<u32> {
        match self {
            Depth::Quick => Some(1),
            Depth::Usual | Depth::Loads(_) => None,
            Depth::Deep(_) => Some(ALL_DRAWS),
        }
    }
}

/// Command-line notation; empty for the usual depth.
impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Depth::Quick => f.write_str("--quick"),
            Depth::Usual => Ok(()),
            Depth::Loads(loads) => write!(f, "--loads {loads}"),
            Depth::Deep(DEEP) => f.write_str("--deep"),
            Depth::Deep(loads) => write!(f, "--deep --loads {loads}"),
        }
    }
}

impl RunMode {
    /// Text and plan of a study's experiment, run in this manner in the laboratory of its set-up.
    ///
    /// # Errors
    /// Text that is not an experiment.
    pub fn plan(
        self,
        mut source: Source,
        catalogue: &dyn Catalogue,
    ) -> Result<(Source, Plan), ExperimentError> {
        self.apply(&mut source)?;
        let plan = resolve(&source, catalogue)?;
        Ok((source, plan))
    }

    /// Applies this manner to an experiment. Settings that already match are left alone, so that the usual
    /// manner keeps the experiment identical to its file.
    fn apply(self, source: &mut Source) -> Result<(), ExperimentError> {
        if let Some(repetitions) = self.depth.repetitions() {
            source.set(&format!("repetitions={repetitions}"))?;
        }
        if let Some(draws) = self.depth.draws() {
            take_draws(source, draws)?;
        }
        if self.world != World::Sim {
            source.set(&format!("world={}", self.world))?;
        }
        Ok(())
    }
}

/// Number of draws that every `sites.toml` has.
const ALL_DRAWS: u32 = 20;

/// Limits an experiment to the first `draws` draws of each site that it loads; an experiment without such sites
/// is unchanged.
fn take_draws(source: &mut Source, draws: u32) -> Result<(), ExperimentError> {
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
    fn the_usual_mode_changes_nothing() {
        let text = "format = 1\nrepetitions = 5\n";
        let applied = |depth, world| {
            let mut source = Source::new("e.toml", text);
            RunMode { depth, world }.apply(&mut source).unwrap();
            source.text().to_owned()
        };
        assert_eq!(applied(Depth::Usual, World::Sim), text);
        assert_eq!(applied(Depth::Quick, World::Sim), text.replace('5', "2"));
        assert_eq!(applied(Depth::Deep(DEEP), World::Sim), text.replace('5', "200"));
        let seven = Depth::Loads(NonZeroU32::new(7).unwrap());
        assert_eq!(applied(seven, World::Sim), text.replace('5', "7"));
        assert!(applied(Depth::Usual, World::Emu).contains("world = \"emu\""));
    }

    #[test]
    fn draws_are_taken_of_what_is_drawn() {
        let taken = |text: &str, draws| {
            let mut source = Source::new("e.toml", text);
            take_draws(&mut source, draws).unwrap();
            pages(source.text())
        };
        let list = "[page]\nname = [\"synthetic:4x10KB\", \"a-sites#1/1\", \"a-sites#2/1\", \"a-sites#1/2\"]\n";
        assert_eq!(taken(list, 1), ["synthetic:4x10KB", "a-sites#1/1", "a-sites#2/1"]);
        let all = taken(list, ALL_DRAWS);
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
            assert_eq!(draws, Some(i64::from(ALL_DRAWS)), "{name}");
        }
    }
}
