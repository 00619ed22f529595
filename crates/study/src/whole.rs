//! A study: its set-up and its claims.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

use super::{Changes, Claim, Role, Setup, Strength, StudyError, StudyExperiment, claim, setup};
use scenario::experiment::Source;

/// The format of a study's files that this version reads.
const FORMAT: u32 = 1;

/// The file that defines how sites are drawn of which only totals are known.
const SITES: &str = "sites.toml";

/// A published study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its short name, that of its folder.
    pub name: String,
    /// Its experiments and choices.
    pub setup: Setup,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// Changes to its set-up after its claims had been judged.
    pub changes: Changes,
    /// The files of its folder, by name.
    pub files: BTreeMap<String, String>,
}

impl Study {
    /// Reads the study `name` from its folder's files: names and texts.
    ///
    /// # Errors
    /// A missing or invalid file, by file and field.
    pub fn read(name: &str, files: &[(&str, &str)]) -> Result<Study, StudyError> {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        let files: BTreeMap<String, String> = files.iter().map(owned).collect();
        let text = |wanted: &str| {
            files.get(wanted).ok_or_else(|| StudyError::Missing {
                study: name.to_owned(),
                file: wanted.to_owned(),
                named_by: None,
            })
        };
        let mut study = Study {
            name: name.to_owned(),
            setup: setup::read(
                name,
                text(setup::FILE)?,
                files.get(setup::CAUSES).map(String::as_str),
                |wanted| files.contains_key(wanted),
            )?,
            claims: claim::read(name, text(claim::FILE)?)?,
            changes: Changes::default(),
            files,
        };
        study.changes = Changes::of(&study)?;
        Ok(study)
    }

    /// The experiments that have a file, with their texts.
    pub fn experiments(&self) -> impl Iterator<Item = (&StudyExperiment, Source)> {
        self.setup.experiments.iter().filter_map(|experiment| {
            let file = experiment.file.as_ref()?;
            let text = self.files.get(file)?;
            Some((experiment, Source::new(format!("studies/{}/{file}", self.name), text)))
        })
    }

    /// Digest of its set-up, in hexadecimal: `study.toml`, the definition of drawn sites, and every experiment
    /// of the study's own.
    pub fn setup_digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let own = self.setup.experiments.iter().filter(|it| it.role != Role::Cause);
        let written = own.filter_map(|it| it.file.as_deref());
        for file in [setup::FILE, SITES].into_iter().chain(written) {
            let Some(text) = self.files.get(file) else { continue };
            for part in [file, text] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The number of independent facts that its claims are about; with `strength`, of claims of that strength
    /// only.
    pub fn facts(&self, strength: Option<Strength>) -> usize {
        let counted = |claim: &&Claim| strength.is_none_or(|strength| claim.strength == strength);
        let facts: BTreeSet<&str> =
            self.claims.iter().filter(counted).map(|claim| claim.fact.as_str()).collect();
        facts.len()
    }
}

/// Parses a file of a study into its type.
pub(crate) fn typed<T: DeserializeOwned>(
    study: &str,
    file: &str,
    text: &str,
) -> Result<T, StudyError> {
    toml::from_str(text).map_err(|error| StudyError::Syntax {
        study: study.to_owned(),
        file: file.to_owned(),
        message: error.to_string().trim_end().to_owned(),
    })
}

/// Refuses a file of an unknown format.
pub(crate) fn known_format(study: &str, file: &str, format: u32) -> Result<(), StudyError> {
    match format {
        FORMAT => Ok(()),
        other => Err(StudyError::Syntax {
            study: study.to_owned(),
            file: file.to_owned(),
            message: format!("format {other} is not known; this farlink reads format {FORMAT}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETUP: &str = "format = 1\ntitle = \"t\"\nauthors = \"a\"\nyear = 2013\nquestion = \"q?\"\n\
        assumption = []\n[[experiment]]\nid = \"one\"\nfile = \"one.toml\"\nsection = \"1\"\n\
        what = \"w\"\nrole = \"variant\"\nwaits_for = []\n";
    const CLAIMS: &str = "format = 1\n[[claim]]\nid = \"c\"\nfact = \"f\"\nsection = \"4\"\n\
        figure = \"2\"\nkind = \"ratio\"\nstatement = \"s\"\nprotocols = [\"a\", \"b\"]\n\
        metric = \"m\"\npublished = \"p\"\ncriterion = \"c\"\nstrength = \"weak\"\n\
        check = { test = \"none\" }\n";

    fn read(setup: &str, claims: &str) -> Result<Study, StudyError> {
        Study::read("s", &[("study.toml", setup), ("claims.toml", claims), ("one.toml", "")])
    }

    fn refusal(setup: &str, claims: &str) -> String {
        read(setup, claims).unwrap_err().to_string()
    }

    #[test]
    fn a_study_is_read() {
        let study = read(SETUP, CLAIMS).unwrap();
        assert_eq!(study.setup.experiments[0].file.as_deref(), Some("one.toml"));
        assert_eq!(study.claims[0].place, "section 4, figure 2");
        assert_eq!(study.claims[0].conditions, [("protocols", "a, b".to_owned())]);
        assert_eq!((study.facts(None), study.facts(Some(Strength::Strong))), (1, 0));
    }

    #[test]
    fn the_digest_is_of_the_set_up_alone() {
        let digest = |setup: &str, claims: &str| read(setup, claims).unwrap().setup_digest();
        let one = digest(SETUP, CLAIMS);
        assert_eq!(one, digest(SETUP, &CLAIMS.replace("\"weak\"", "\"strong\"")));
        assert_ne!(one, digest(&SETUP.replace("2013", "2014"), CLAIMS));
        let study = read(SETUP, CLAIMS).unwrap();
        let names: Vec<String> =
            study.experiments().map(|(_, source)| source.name().to_owned()).collect();
        assert_eq!(names, ["studies/s/one.toml"]);
    }

    #[test]
    fn what_is_wrong_has_its_file_and_field() {
        assert_eq!(Study::read("s", &[]).unwrap_err().to_string(), "s/study.toml is missing");
        assert_eq!(
            refusal(&SETUP.replace("one.toml", "two.toml"), CLAIMS),
            "s/two.toml is missing, which experiment `one` of study.toml names"
        );
        assert_eq!(
            refusal(&SETUP.replace("file = \"one.toml\"\n", ""), CLAIMS),
            "s/study.toml: `one`: file: it waits for nothing, so it must have a file"
        );
        assert_eq!(
            refusal(
                SETUP,
                &CLAIMS.replace("{ test = \"none\" }", "{ test = \"share\", of = \"x\" }")
            ),
            "s/claims.toml: `c`: check: missing field `low_pct`"
        );
        let newer = refusal(SETUP, &CLAIMS.replace("format = 1", "format = 2"));
        assert!(newer.contains("s/claims.toml: format 2 is not known"), "{newer}");
        let twice = format!("{CLAIMS}{}", CLAIMS.replace("format = 1\n", ""));
        assert_eq!(refusal(SETUP, &twice), "s/claims.toml: `c`: id: a second claim of this name");
    }

    #[test]
    fn a_key_that_is_missing_or_wrong_is_shown_in_its_line() {
        let missing = refusal(SETUP, &CLAIMS.replace("criterion = \"c\"\n", ""));
        assert!(missing.contains("s/claims.toml: "), "{missing}");
        assert!(missing.contains("missing field `criterion`"), "{missing}");
        let wrong = refusal(SETUP, &CLAIMS.replace("\"weak\"", "\"faint\""));
        assert!(wrong.contains("line 13") && wrong.contains("faint"), "{wrong}");
        let unknown = refusal(&SETUP.replace("role =", "rolle ="), CLAIMS);
        assert!(unknown.contains("unknown field `rolle`"), "{unknown}");
    }
}
