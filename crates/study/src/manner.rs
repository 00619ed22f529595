//! Ways of running a study: depth and world.

use std::fmt;
use std::num::NonZeroU32;

use super::draws;
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
pub struct Manner {
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
            Depth::Deep(_) => Some(draws::ALL),
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

impl Manner {
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
    ///
    /// # Errors
    /// Text that is not an experiment.
    fn apply(self, source: &mut Source) -> Result<(), ExperimentError> {
        if let Some(repetitions) = self.depth.repetitions() {
            source.set(&format!("repetitions={repetitions}"))?;
        }
        if let Some(draws) = self.depth.draws() {
            draws::take(source, draws)?;
        }
        if self.world != World::Sim {
            source.set(&format!("world={}", self.world))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_manner_changes_nothing() {
        let text = "format = 1\nrepetitions = 5\n";
        let applied = |depth, world| {
            let mut source = Source::new("e.toml", text);
            Manner { depth, world }.apply(&mut source).unwrap();
            source.text().to_owned()
        };
        assert_eq!(applied(Depth::Usual, World::Sim), text);
        assert_eq!(applied(Depth::Quick, World::Sim), text.replace('5', "2"));
        assert_eq!(applied(Depth::Deep(DEEP), World::Sim), text.replace('5', "200"));
        let seven = Depth::Loads(NonZeroU32::new(7).unwrap());
        assert_eq!(applied(seven, World::Sim), text.replace('5', "7"));
        assert!(applied(Depth::Usual, World::Emu).contains("world = \"emu\""));
    }
}
