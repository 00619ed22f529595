//! The file that defines how a study's claims are judged: `clauses.toml`.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use super::{Cause, Filter, Leaf, Quantity, Terms, Test, causes};
use crate::{Study, StudyError, known_format, typed};

/// Rules by which a study's claims are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Clauses {
    /// The terms.
    pub terms: Terms,
    /// By claim, in the file's order.
    pub claims: Vec<ClaimClauses>,
    /// Causes of unconfirmed claims.
    pub causes: Vec<Cause>,
}

/// The rules for one or more claims.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimClauses {
    /// The claim.
    pub id: String,
    /// The clauses, all of which must hold.
    #[serde(default, rename = "clause")]
    pub clauses: Vec<Clause>,
    /// Missing features without which it cannot be judged at all.
    #[serde(default)]
    pub waits_for: Vec<String>,
    /// The interpretation of the criterion, where several are possible.
    pub reading: Option<String>,
}

/// One clause of a claim's criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The grid of series that do not name one.
    pub grid: Option<String>,
    /// Filter on its cells.
    pub filter: Filter,
    /// Number of curves on which it must hold, if it is tested on each.
    pub cases: Option<Cases>,
    /// The test.
    pub test: Test,
}

/// Number of curves on which a clause must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cases {
    /// All of them.
    All,
    /// At least this many; all of them, if there are fewer.
    AtLeast(usize),
    /// At least this share of them, in per cent.
    Share(f64),
}

impl Cases {
    /// The least number out of `curves` curves.
    pub fn least(self, curves: usize) -> usize {
        match self {
            Cases::All => curves,
            Cases::AtLeast(least) => least.min(curves),
            Cases::Share(pct) => (curves as f64 * pct / 100.0).ceil() as usize,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClauses {
    format: u32,
    terms: Terms,
    #[serde(rename = "claim")]
    claims: Vec<ClaimClauses>,
}

/// The name of the file.
pub const FILE: &str = "clauses.toml";

/// The keys of a clause that do not belong to its test.
#[derive(Debug, Deserialize)]
struct Scope {
    on: Option<String>,
    #[serde(default, rename = "where")]
    filter: Filter,
    #[serde(default)]
    by_case: bool,
    min_cases: Option<usize>,
    min_cases_pct: Option<f64>,
}

impl<'de> Deserialize<'de> for Clause {
    /// Removes the clause's own keys and reads the rest as its test: serde could read both from one table, but
    /// would then accept any unknown key.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Clause, D::Error> {
        use serde::de::Error;
        let mut test = toml::Table::deserialize(deserializer)?;
        let mut own = toml::Table::new();
        for key in ["on", "where", "by_case", "min_cases", "min_cases_pct"] {
            if let Some(value) = test.remove(key) {
                own.insert(key.to_owned(), value);
            }
        }
        let scope: Scope = own.try_into().map_err(D::Error::custom)?;
        let test: Test = test.try_into().map_err(D::Error::custom)?;
        let cases = match (scope.min_cases, scope.min_cases_pct) {
            (Some(_), Some(_)) => {
                return Err(D::Error::custom(
                    "`min_cases` and `min_cases_pct` say the same: take one",
                ));
            }
            (Some(least), None) => Some(Cases::AtLeast(least)),
            (None, Some(pct)) => Some(Cases::Share(pct)),
            (None, None) => scope.by_case.then_some(Cases::All),
        };
        Ok(Clause { grid: scope.on, filter: scope.filter, cases, test })
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.grid.iter().try_for_each(|grid| write!(f, "{grid}: "))?;
        write!(f, "{}", self.test)?;
        if self.filter != Filter::default() {
            write!(f, ", where {}", self.filter)?;
        }
        match self.cases {
            Some(Cases::All) => f.write_str(", on each curve"),
            Some(Cases::AtLeast(least)) => write!(f, ", on {least} curves"),
            Some(Cases::Share(pct)) => write!(f, ", on {pct} % of curves"),
            None => Ok(()),
        }
    }
}

impl Clauses {
    /// The clauses of `study` and its causes, from its folder.
    ///
    /// # Errors
    /// A missing or invalid file.
    pub fn of_study(study: &Study) -> Result<Clauses, StudyError> {
        let text = study.files.get(FILE).ok_or_else(|| StudyError::Missing {
            study: study.name.clone(),
            file: FILE.to_owned(),
            named_by: None,
        })?;
        let experiments = study.setup.experiments.iter().map(|it| it.id.as_str()).collect();
        let claims = study.claims.iter().map(|claim| claim.id.as_str()).collect();
        let mut clauses = Clauses::read(&study.name, text, &experiments, &claims)?;
        (clauses.terms, clauses.causes) = causes::read(study, &clauses)?;
        Ok(clauses)
    }

    /// Reads the clauses of `study`; `experiments` are its experiments, `claims` its claims.
    ///
    /// # Errors
    /// The mistake in the text, with its position.
    pub fn read(
        study: &str,
        text: &str,
        experiments: &BTreeSet<&str>,
        claims: &BTreeSet<&str>,
    ) -> Result<Clauses, StudyError> {
        let raw: RawClauses = typed(study, FILE, text)?;
        known_format(study, FILE, raw.format)?;
        let clauses = Clauses { terms: raw.terms, claims: raw.claims, causes: Vec::new() };
        let wrong = |entry: &str, field: &str, why: String| StudyError::Field {
            study: study.to_owned(),
            file: FILE.to_owned(),
            entry: entry.to_owned(),
            field: field.to_owned(),
            why,
        };
        if let Some(why) = clauses.terms.mistake(|id| experiments.contains(id)) {
            return Err(wrong("terms", "arm, grid", why));
        }
        let mut seen = BTreeSet::new();
        for claim in &clauses.claims {
            if !claims.contains(claim.id.as_str()) {
                return Err(wrong(&claim.id, "id", "claims.toml has no such claim".to_owned()));
            }
            if !seen.insert(&claim.id) {
                return Err(wrong(&claim.id, "id", "a second entry of this name".to_owned()));
            }
            if claim.clauses.is_empty() && claim.waits_for.is_empty() {
                let why = "it has no clause, so it must wait for something";
                return Err(wrong(&claim.id, "waits_for", why.to_owned()));
            }
            for (index, clause) in claim.clauses.iter().enumerate() {
                if let Some(why) = clause.mistake(&clauses.terms) {
                    return Err(wrong(&claim.id, &format!("clause {}", index + 1), why));
                }
            }
        }
        Ok(clauses)
    }

    /// The rules for a claim.
    pub fn of(&self, claim: &str) -> Option<&ClaimClauses> {
        self.claims.iter().find(|entry| entry.id == claim)
    }

    /// All quantities that are needed of the loads of `experiment`.
    pub fn quantities(&self, experiment: &str) -> BTreeSet<Quantity> {
        let of_claims = self.claims.iter().flat_map(|claim| &claim.clauses);
        let clauses = of_claims.chain(self.causes.iter().flat_map(|cause| &cause.clauses));
        let asked = clauses.flat_map(|clause| {
            let leaves = clause.test.leaves().into_iter();
            leaves.filter_map(|leaf| self.terms.asked(leaf, clause.grid.as_deref(), experiment))
        });
        asked.collect()
    }

    /// The experiments that can show `cause`: those of its clauses, or of the clauses of its claims.
    pub fn experiments_of(&self, cause: &Cause) -> BTreeSet<String> {
        let of_claims = self.claims.iter().filter(|claim| cause.of.contains(&claim.id));
        let clauses: Vec<&Clause> = match cause.clauses.is_empty() {
            true => of_claims.flat_map(|claim| &claim.clauses).collect(),
            false => cause.clauses.iter().collect(),
        };
        let grids = clauses.into_iter().flat_map(|clause| {
            let leaves = clause.test.leaves().into_iter();
            leaves.filter_map(|leaf| match leaf {
                Leaf::Measured { grid, .. } => grid.as_ref().or(clause.grid.as_ref()),
                Leaf::Published(_) => None,
            })
        });
        let grids = grids.filter_map(|name| self.terms.grids.get(name));
        grids.flat_map(|grid| grid.experiments.iter().cloned()).collect()
    }
}

impl Clause {
    /// The mistake in the clause, given these terms.
    pub(super) fn mistake(&self, terms: &Terms) -> Option<String> {
        if let Some(why) = self.test.mistake() {
            return Some(why);
        }
        if let Some(name) = self.filter.unknown() {
            return Some(format!("`{name}` is no fact of a cell"));
        }
        let leaves = self.test.leaves();
        leaves.into_iter().find_map(|leaf| terms.unknown(leaf, self.grid.as_deref()))
    }
}
