//! In which manner a study is run.

use std::fmt;
use std::num::NonZeroU32;

use super::draws;
use scenario::Plan;
use scenario::World;
use scenario::experiment::{Catalogue, ExperimentError, Source, resolve};

/// How often a deep run repeats each cell, if nothing else is said.
pub const DEEP: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// How often each cell of a study is repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Twice, and with one draw of the sites that are drawn: whether everything runs; too few to judge by.
    Quick,
    /// As often as the study did.
    #[default]
    Usual,
    /// So often: five are the fewest that anything is concluded from.
    Loads(NonZeroU32),
    /// So often, and with all draws of those sites: what is so, whatever the study's few repetitions say of it.
    Deep(NonZeroU32),
}

/// How much of a study is run, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// How often each cell is repeated.
    pub depth: Depth,
    /// On which clock.
    pub world: World,
}

impl Depth {
    /// The repetitions, if they are not the study's.
    fn repetitions(self) -> Option<u32> {
        match self {
            Depth::Quick => Some(2),
            Depth::Usual => None,
            Depth::Loads(loads) | Depth::Deep(loads) => Some(loads.get()),
        }
    }

    /// The draws of drawn sites, if they are not those that set-ups name.
    fn draws(self) -> Option<u32> {
        match self {
            Depth::Quick => Some(1),
            Depth::Usual | Depth::Loads(_) => None,
            Depth::Deep(_) => Some(draws::ALL),
        }
    }
}

/// As the command line has it; nothing for the usual depth.
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
    /// What an experiment of a study comes to in this manner, in the laboratory of its set-up: its text, and its plan.
    ///
    /// # Errors
    /// A text that is no experiment.
    pub fn plan(
        self,
        mut source: Source,
        catalogue: &dyn Catalogue,
    ) -> Result<(Source, Plan), ExperimentError> {
        self.apply(&mut source)?;
        let plan = resolve(&source, catalogue)?;
        Ok((source, plan))
    }

    /// Sets an experiment of a study so. Nothing is set that is so already, so that the usual manner leaves the
    /// experiment the one that its file is.
    ///
    /// # Errors
    /// A text that is no experiment.
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
