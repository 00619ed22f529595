//! The file that defines how a study's claims are judged: `clauses.toml`.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use super::{Cause, Criterion, Filter, Leaf, Terms, causes};
use crate::{Study, StudyError};

/// The judgement of a study: its terms, criteria and causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Clauses {
    pub terms: Terms,
    /// The clauses of each claim.
    pub claims: Vec<ClaimClauses>,
    pub causes: Vec<Cause>,
}

/// The clauses of a claim's criterion.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimClauses {
    pub id: String,
    /// Its clauses: it is confirmed if all hold.
    #[serde(default, rename = "clause")]
    pub clauses: Vec<Clause>,
    /// Requirements of its other clauses that are still missing.
    #[serde(default)]
    pub waits_for: Vec<String>,
    /// The reading of an ambiguous criterion.
    pub reading: Option<String>,
}

/// One clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The grid of expressions that do not name one.
    pub grid: Option<String>,
    pub filter: Filter,
    /// The curves on which it must hold, each by itself; `None`: it is judged on all of them together.
    pub cases: Option<Cases>,
    pub criterion: Criterion,
}

/// The number of curves on which a clause must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cases {
    /// All.
    All,
    /// So many, or all if there are fewer.
    AtLeast(usize),
    /// A share, in per cent.
    Share(f64),
}

impl Cases {
    /// The number among so many curves, of which `decided` say something. A share is one of the latter, if they are the most.
    pub fn least(self, curves: usize, decided: usize) -> usize {
        match self {
            Cases::All => curves,
            Cases::AtLeast(least) => least.min(curves),
            Cases::Share(pct) => {
                let of = if 2 * decided > curves { decided } else { curves };
                (of as f64 * pct / 100.0).ceil() as usize
            }
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

/// The keys of a clause that are not its criterion's.
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
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Clause, D::Error> {
        use serde::de::Error;
        // Flattening would take every unknown key.
        let mut criterion = toml::Table::deserialize(deserializer)?;
        let mut own = toml::Table::new();
        for key in ["on", "where", "by_case", "min_cases", "min_cases_pct"] {
            own.extend(criterion.remove(key).map(|value| (key.to_owned(), value)));
        }
        let scope: Scope = own.try_into().map_err(D::Error::custom)?;
        let criterion = criterion.try_into().map_err(D::Error::custom)?;
        let cases = match (scope.min_cases, scope.min_cases_pct) {
            (Some(_), Some(_)) => {
                let why = "`min_cases` and `min_cases_pct` say the same: take one";
                return Err(D::Error::custom(why));
            }
            (Some(least), None) => Some(Cases::AtLeast(least)),
            (None, Some(pct)) => Some(Cases::Share(pct)),
            (None, None) => scope.by_case.then_some(Cases::All),
        };
        Ok(Clause { grid: scope.on, filter: scope.filter, cases, criterion })
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.grid.iter().try_for_each(|grid| write!(f, "{grid}: "))?;
        write!(f, "{}", self.criterion)?;
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
    /// The clauses and causes of `study`.
    pub fn of_study(study: &Study) -> Result<Clauses, StudyError> {
        let raw: RawClauses = study.parsed(FILE, |raw: &RawClauses| raw.format)?;
        let wrong = |entry: &str, field: &str, why: String| study.wrong(FILE, entry, field, why);
        if let Some(why) = raw.terms.mistake(study) {
            return Err(wrong("terms", "arm, grid", why));
        }
        let mut seen = BTreeSet::new();
        for claim in &raw.claims {
            if !study.has_claim(&claim.id) {
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
                if let Some(why) = clause.mistake(&raw.terms) {
                    return Err(wrong(&claim.id, &format!("clause {}", index + 1), why));
                }
            }
        }
        let (terms, causes) = causes::read(study, raw.terms)?;
        Ok(Clauses { terms, claims: raw.claims, causes })
    }

    /// The entry of a claim.
    pub fn of(&self, claim: &str) -> Option<&ClaimClauses> {
        self.claims.iter().find(|entry| entry.id == claim)
    }

    /// All quantities that are needed of the loads of `experiment`.
    pub fn quantities(&self, experiment: &str) -> BTreeSet<String> {
        let of_claims = self.claims.iter().flat_map(|claim| &claim.clauses);
        let clauses = of_claims.chain(self.causes.iter().flat_map(|cause| &cause.clauses));
        clauses.flat_map(|clause| clause.quantities(&self.terms, experiment)).collect()
    }

    /// The experiments that a cause is judged by.
    pub fn experiments_of(&self, cause: &Cause) -> BTreeSet<String> {
        let of_claims = self.claims.iter().filter(|claim| cause.of.contains(&claim.id));
        let clauses: Vec<&Clause> = match cause.clauses.is_empty() {
            true => of_claims.flat_map(|claim| &claim.clauses).collect(),
            false => cause.clauses.iter().collect(),
        };
        let grids = clauses.into_iter().flat_map(|clause| {
            let leaves = clause.criterion.leaves().into_iter();
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
    /// The quantities that it needs of the loads of `experiment`.
    pub(super) fn quantities(
        &self,
        terms: &Terms,
        experiment: &str,
    ) -> impl Iterator<Item = String> {
        let leaves = self.criterion.leaves().into_iter();
        leaves.filter_map(|leaf| terms.asked(leaf, self.grid.as_deref(), experiment))
    }

    /// The mistake in it, if there is one.
    pub(super) fn mistake(&self, terms: &Terms) -> Option<String> {
        let unknown = || {
            let name = self.filter.unknown()?;
            Some(format!("`{name}` is no fact of a cell"))
        };
        let undefined = || {
            let leaves = self.criterion.leaves();
            leaves.into_iter().find_map(|leaf| terms.unknown(leaf, self.grid.as_deref()))
        };
        self.criterion.mistake().or_else(unknown).or_else(undefined)
    }
}
