//! A study: its set-up and its claims, read from the files of its folder.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::judge::{MoreTerms, Terms};
use super::{Claim, SetupChanges, Strength, claim};
use scenario::choice;
use scenario::experiment::Source;

/// The format of a study's files that this version reads.
const FORMAT: u32 = 1;

/// The file of the set-up.
const SETUP: &str = "study.toml";

/// The file that defines how sites are drawn of which only totals are known.
const SITES: &str = "sites.toml";

/// The file of causes, and of experiments that only show them.
pub(crate) const CAUSES: &str = "causes.toml";

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
    pub changes: SetupChanges,
    /// The files of its folder, by name.
    pub files: BTreeMap<String, String>,
}

choice! {
    /// Role of an experiment in its study.
    pub enum Role, "role" {
        /// The study's own.
        AsPublished = "as-published",
        /// The study's with one change that a statement or a doubt calls for.
        Variant = "variant",
        /// A version with later technology: newer protocols, TCP, browsers.
        Afterwards = "afterwards",
        /// Not the study's: it shows why a claim is not confirmed (`causes.toml`).
        Cause = "cause",
    }
    not_yet {}
}

/// The study and its set-up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The format of the file.
    pub format: u32,
    /// The document's title.
    pub title: String,
    /// The authors.
    pub authors: String,
    /// Year of publication.
    pub year: u32,
    /// The research question.
    pub question: String,
    /// Its experiments.
    #[serde(rename = "experiment")]
    pub experiments: Vec<StudyExperiment>,
    /// Choices where the study does not say.
    #[serde(rename = "assumption")]
    pub assumptions: Vec<Assumption>,
}

/// One experiment of a study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyExperiment {
    /// Its name within the study.
    pub id: String,
    /// The experiment file, unless it cannot be written yet.
    pub file: Option<String>,
    /// Section of the document that describes it.
    pub section: String,
    /// The measurement.
    pub what: String,
    /// Its role in the study.
    pub role: Role,
    /// Missing features without which it is not the study's own.
    pub waits_for: Vec<String>,
}

impl StudyExperiment {
    /// True if other laboratories run it: they serve to test claims, and no claim is about later technology.
    pub fn is_varied(&self) -> bool {
        self.role != Role::Afterwards
    }
}

/// A value that the study does not state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Its name within the study.
    pub id: String,
    /// The chosen value.
    pub value: String,
    /// The reason.
    pub reason: String,
    /// Equally plausible values.
    pub alternatives: Vec<String>,
}

/// An error in a study's folder.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StudyError {
    /// No study of that name.
    #[error("unknown study `{name}`; known: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The known names.
        known: String,
        /// The closest known name, if one is close.
        nearest: Option<String>,
    },
    /// A required file is missing.
    #[error("{study}/{file} is missing{}", .named_by.as_ref().map_or_else(String::new, |by| format!(", which {by} names")))]
    Missing {
        /// The study.
        study: String,
        /// The file in its folder.
        file: String,
        /// The file that refers to it, unless every study has it.
        named_by: Option<String>,
    },
    /// Invalid TOML, or keys that a file of this kind does not have.
    #[error("{study}/{file}: {message}")]
    Syntax {
        /// The study.
        study: String,
        /// The file in its folder.
        file: String,
        /// The parser's message, with line and column.
        message: String,
    },
    /// An entry with an invalid value.
    #[error("{study}/{file}: `{entry}`: {field}: {why}")]
    Field {
        /// The study.
        study: String,
        /// The file in its folder.
        file: String,
        /// The entry's id.
        entry: String,
        /// The key.
        field: String,
        /// The value, and what was expected.
        why: String,
    },
}

#[derive(Deserialize)]
struct RawCauses {
    #[serde(default, rename = "experiment")]
    experiments: Vec<StudyExperiment>,
}

impl Study {
    /// Reads the study `name` from its folder's files: names and texts.
    ///
    /// # Errors
    /// A missing or invalid file, by file and field.
    pub fn read(name: &str, files: &[(&str, &str)]) -> Result<Study, StudyError> {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        let mut study = Study {
            name: name.to_owned(),
            setup: Setup::default(),
            claims: Vec::new(),
            changes: SetupChanges::default(),
            files: files.iter().map(owned).collect(),
        };
        study.setup = study.read_setup()?;
        study.claims = claim::read(&study)?;
        study.changes = SetupChanges::of(&study)?;
        Ok(study)
    }

    fn read_setup(&self) -> Result<Setup, StudyError> {
        let mut setup: Setup = self.parsed(SETUP, |setup: &Setup| setup.format)?;
        if let Some(text) = self.files.get(CAUSES) {
            setup.experiments.extend(self.typed::<RawCauses>(CAUSES, text)?.experiments);
        }
        let wrong = |entry: &str, field: &str, why: &str| {
            Err(self.wrong(SETUP, entry, field, why.to_owned()))
        };
        let (mut experiments, mut assumptions) = (BTreeSet::new(), BTreeSet::new());
        let experiment = setup.experiments.iter().find(|it| !experiments.insert(&it.id));
        let assumption = setup.assumptions.iter().find(|it| !assumptions.insert(&it.id));
        if let Some(id) = experiment.map(|it| &it.id).or(assumption.map(|it| &it.id)) {
            return wrong(id, "id", "a second entry of this name");
        }
        for experiment in &setup.experiments {
            match &experiment.file {
                Some(file) if !self.files.contains_key(file) => {
                    let by = format!("experiment `{}` of {SETUP}", experiment.id);
                    return Err(self.missing(file, Some(by)));
                }
                None if experiment.waits_for.is_empty() => {
                    let why = "it waits for nothing, so it must have a file";
                    return wrong(&experiment.id, "file", why);
                }
                _ => {}
            }
        }
        Ok(setup)
    }

    /// A file of its folder, parsed into its type and of a known format.
    pub(crate) fn parsed<T: DeserializeOwned>(
        &self,
        file: &str,
        format: impl Fn(&T) -> u32,
    ) -> Result<T, StudyError> {
        let text = self.files.get(file).ok_or_else(|| self.missing(file, None))?;
        let parsed: T = self.typed(file, text)?;
        match format(&parsed) {
            FORMAT => Ok(parsed),
            other => {
                let why =
                    format!("format {other} is not known; this farlink reads format {FORMAT}");
                Err(self.syntax(file, why))
            }
        }
    }

    fn typed<T: DeserializeOwned>(&self, file: &str, text: &str) -> Result<T, StudyError> {
        toml::from_str(text)
            .map_err(|error| self.syntax(file, error.to_string().trim_end().to_owned()))
    }

    fn syntax(&self, file: &str, message: String) -> StudyError {
        StudyError::Syntax { study: self.name.clone(), file: file.to_owned(), message }
    }

    fn missing(&self, file: &str, named_by: Option<String>) -> StudyError {
        StudyError::Missing { study: self.name.clone(), file: file.to_owned(), named_by }
    }

    /// The error of an invalid field of a file.
    pub(crate) fn wrong(&self, file: &str, entry: &str, field: &str, why: String) -> StudyError {
        StudyError::Field {
            study: self.name.clone(),
            file: file.to_owned(),
            entry: entry.to_owned(),
            field: field.to_owned(),
            why,
        }
    }

    /// `terms` extended by those of a file.
    pub(crate) fn extended(
        &self,
        file: &str,
        terms: Terms,
        more: MoreTerms,
    ) -> Result<Terms, StudyError> {
        let terms = terms.extended(more).map_err(|word| {
            self.wrong(file, "terms", &word, "clauses.toml has this word already".to_owned())
        })?;
        match terms.mistake(self) {
            Some(why) => Err(self.wrong(file, "terms", "arm, grid", why)),
            None => Ok(terms),
        }
    }

    /// True if it has an experiment of that id.
    pub(crate) fn has_experiment(&self, id: &str) -> bool {
        self.setup.experiments.iter().any(|experiment| experiment.id == id)
    }

    /// True if it has a claim of that id.
    pub(crate) fn has_claim(&self, id: &str) -> bool {
        self.claims.iter().any(|claim| claim.id == id)
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
        for file in [SETUP, SITES].into_iter().chain(written) {
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

impl StudyError {
    /// The remedy, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            StudyError::Unknown { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = "format = 1\ntitle = \"t\"\nauthors = \"a\"\nyear = 2013\nquestion = \"q?\"\n\
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
        let study = read(STUDY, CLAIMS).unwrap();
        assert_eq!(study.setup.experiments[0].file.as_deref(), Some("one.toml"));
        assert_eq!(study.claims[0].place, "section 4, figure 2");
        assert_eq!(study.claims[0].conditions, [("protocols", "a, b".to_owned())]);
        assert_eq!((study.facts(None), study.facts(Some(Strength::Strong))), (1, 0));
    }

    #[test]
    fn the_digest_is_of_the_set_up_alone() {
        let digest = |setup: &str, claims: &str| read(setup, claims).unwrap().setup_digest();
        let one = digest(STUDY, CLAIMS);
        assert_eq!(one, digest(STUDY, &CLAIMS.replace("\"weak\"", "\"strong\"")));
        assert_ne!(one, digest(&STUDY.replace("2013", "2014"), CLAIMS));
        let study = read(STUDY, CLAIMS).unwrap();
        let names: Vec<String> =
            study.experiments().map(|(_, source)| source.name().to_owned()).collect();
        assert_eq!(names, ["studies/s/one.toml"]);
    }

    #[test]
    fn what_is_wrong_has_its_file_and_field() {
        assert_eq!(Study::read("s", &[]).unwrap_err().to_string(), "s/study.toml is missing");
        assert_eq!(
            refusal(&STUDY.replace("one.toml", "two.toml"), CLAIMS),
            "s/two.toml is missing, which experiment `one` of study.toml names"
        );
        assert_eq!(
            refusal(&STUDY.replace("file = \"one.toml\"\n", ""), CLAIMS),
            "s/study.toml: `one`: file: it waits for nothing, so it must have a file"
        );
        assert_eq!(
            refusal(STUDY, &CLAIMS.replace("{ test = \"none\" }", "{ of = \"x\" }")),
            "s/claims.toml: `c`: check: it names no test"
        );
        let newer = refusal(STUDY, &CLAIMS.replace("format = 1", "format = 2"));
        assert!(newer.contains("s/claims.toml: format 2 is not known"), "{newer}");
        let twice = format!("{CLAIMS}{}", CLAIMS.replace("format = 1\n", ""));
        assert_eq!(refusal(STUDY, &twice), "s/claims.toml: `c`: id: a second claim of this name");
    }

    #[test]
    fn a_key_that_is_missing_or_wrong_is_shown_in_its_line() {
        let missing = refusal(STUDY, &CLAIMS.replace("criterion = \"c\"\n", ""));
        assert!(missing.contains("s/claims.toml: "), "{missing}");
        assert!(missing.contains("missing field `criterion`"), "{missing}");
        let wrong = refusal(STUDY, &CLAIMS.replace("\"weak\"", "\"faint\""));
        assert!(wrong.contains("line 13") && wrong.contains("faint"), "{wrong}");
        let unknown = refusal(&STUDY.replace("role =", "rolle ="), CLAIMS);
        assert!(unknown.contains("unknown field `rolle`"), "{unknown}");
    }
}
