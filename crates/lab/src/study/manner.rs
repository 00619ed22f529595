//! In which manner a study is run.

use crate::experiment::{Catalogue, ExperimentError, Source, resolve};
use crate::plan::Plan;
use crate::scenario::{World, choice};

choice! {
    /// How often each cell of a study is repeated.
    #[derive(Default)]
    pub enum Depth, "depth" {
        /// Twice: whether everything runs; too few to judge by.
        Quick = "quick",
        /// As often as the study did.
        #[default]
        Usual = "usual",
        /// 200 times: what is so, whatever the study's few repetitions say of it.
        Deep = "deep",
    }
    not_yet {}
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
            Depth::Deep => Some(200),
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
        assert_eq!(applied(Depth::Deep, World::Sim), text.replace('5', "200"));
        assert!(applied(Depth::Usual, World::Emu).contains("world = \"emu\""));
    }
}
