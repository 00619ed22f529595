//! The file that defines a study's figures: `figures.toml`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::kind::Kind;
use crate::judge::{Clauses, Column, Filter, Grid, Quantity, Terms};
use crate::{Study, StudyError, known_format, typed};

/// The name of the file.
pub const FILE: &str = "figures.toml";

/// The figures of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The terms of its clauses, and those that its figures add.
    pub terms: Terms,
    /// In the document's order.
    pub figures: Vec<Figure>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The document's name for it, or ours: letters, digits, `.` and `-`.
    pub id: String,
    /// Title, in our words.
    pub title: String,
    /// Position in the document.
    pub place: String,
    /// A note for readers.
    pub note: Option<String>,
    /// The content.
    pub show: Kind,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigures {
    format: u32,
    #[serde(default)]
    terms: MoreTerms,
    #[serde(rename = "figure")]
    figures: Vec<Figure>,
}

/// Terms that the clauses do not define.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoreTerms {
    #[serde(default, rename = "arm")]
    arms: BTreeMap<String, Filter>,
    #[serde(default, rename = "grid")]
    grids: BTreeMap<String, Grid>,
    #[serde(default, rename = "published")]
    tables: BTreeMap<String, Column>,
}

impl Figures {
    /// The figures of `study`, from its folder.
    ///
    /// # Errors
    /// A missing or invalid file.
    pub fn of_study(study: &Study) -> Result<Figures, StudyError> {
        let text = study.files.get(FILE).ok_or_else(|| StudyError::Missing {
            study: study.name.clone(),
            file: FILE.to_owned(),
            named_by: None,
        })?;
        let experiments = study.setup.experiments.iter().map(|it| it.id.as_str()).collect();
        Figures::read(&study.name, text, &experiments, Clauses::of_study(study)?.terms)
    }

    /// Reads the figures of `study`; `terms` are the words of its clauses.
    ///
    /// # Errors
    /// The mistake in the text, with its position.
    pub fn read(
        study: &str,
        text: &str,
        experiments: &BTreeSet<&str>,
        terms: Terms,
    ) -> Result<Figures, StudyError> {
        let wrong = |entry: &str, field: &str, why: String| StudyError::Field {
            study: study.to_owned(),
            file: FILE.to_owned(),
            entry: entry.to_owned(),
            field: field.to_owned(),
            why,
        };
        let raw: RawFigures = typed(study, FILE, text)?;
        known_format(study, FILE, raw.format)?;
        let terms = raw.terms.with(terms).map_err(|word| {
            wrong("terms", &word, "clauses.toml has this word already".to_owned())
        })?;
        if let Some(why) = terms.mistake(|id| experiments.contains(id)) {
            return Err(wrong("terms", "arm, grid", why));
        }
        let figures = Figures { terms, figures: raw.figures };
        let mut seen = BTreeSet::new();
        for figure in &figures.figures {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
            if figure.id.is_empty() || !figure.id.chars().all(is_plain) {
                let why = "letters, digits, `.` and `-` make an id".to_owned();
                return Err(wrong(&figure.id, "id", why));
            }
            if !seen.insert(&figure.id) {
                return Err(wrong(&figure.id, "id", "a second figure of this name".to_owned()));
            }
            if let Some(why) = figures.mistake(figure) {
                return Err(wrong(&figure.id, "show", why));
            }
        }
        Ok(figures)
    }

    /// A term of a figure that the study does not define.
    fn mistake(&self, figure: &Figure) -> Option<String> {
        let Figure { show, .. } = figure;
        let scope = show.scope();
        if let Some(name) = scope.filter.unknown() {
            return Some(format!("`{name}` is no fact of a cell"));
        }
        if let Some(grid) = show.grids().find(|grid| !self.terms.grids.contains_key(*grid)) {
            return Some(format!("there is no [grid.{grid}]"));
        }
        for arm in show.arms() {
            if !self.terms.arms.contains_key(&arm.arm) {
                return Some(format!("there is no [arm.{}]", arm.arm));
            }
            if arm.on.is_none() && scope.on.is_empty() {
                return Some(format!("`{}` over which grid? Write `on = ...`", arm.name));
            }
        }
        let mut leaves = show.expressions().into_iter().flat_map(|it| it.leaves());
        leaves.find_map(|leaf| self.terms.unknown(leaf, scope.on.first().map(String::as_str)))
    }

    /// All quantities that figures need of the loads of `experiment`.
    pub fn quantities(&self, experiment: &str) -> BTreeSet<Quantity> {
        self.figures.iter().flat_map(|figure| self.asked(&figure.show, experiment)).collect()
    }

    fn asked(&self, show: &Kind, experiment: &str) -> BTreeSet<Quantity> {
        let mut asked = BTreeSet::new();
        for leaf in show.expressions().into_iter().flat_map(|it| it.leaves()) {
            let grids = show.scope().on.iter().map(|grid| Some(grid.as_str()));
            let quantities =
                grids.chain([None]).filter_map(|grid| self.terms.asked(leaf, grid, experiment));
            asked.extend(quantities);
        }
        if show.grids().any(|grid| self.is_of(grid, experiment)) {
            asked.extend(show.quantities());
        }
        asked
    }

    /// True if figures need single loads of this experiment.
    pub fn take_loads(&self, experiment: &str) -> bool {
        let takers = self.figures.iter().map(|it| &it.show).filter(|show| show.takes_loads());
        takers.flat_map(Kind::grids).any(|grid| self.is_of(grid, experiment))
    }

    /// True if a grid has cells of this experiment.
    fn is_of(&self, grid: &str, experiment: &str) -> bool {
        let grid = self.terms.grids.get(grid);
        grid.is_some_and(|grid| grid.experiments.iter().any(|id| id == experiment))
    }
}

impl MoreTerms {
    /// The terms of both; fails if both define the same one.
    fn with(self, mut terms: Terms) -> Result<Terms, String> {
        add(&mut terms.arms, self.arms)?;
        add(&mut terms.grids, self.grids)?;
        add(&mut terms.tables, self.tables)?;
        Ok(terms)
    }
}

fn add<T>(words: &mut BTreeMap<String, T>, more: BTreeMap<String, T>) -> Result<(), String> {
    for (word, meaning) in more {
        if words.contains_key(&word) {
            return Err(word);
        }
        words.insert(word, meaning);
    }
    Ok(())
}
