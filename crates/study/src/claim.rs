//! One claim of a study.

use serde::Deserialize;

use super::{Study, StudyError};
use scenario::choice;

choice! {
    /// Strength of the source's support for a claim.
    pub enum Strength, "strength" {
        /// Measured, and shown by a table or stated without reservation.
        Strong = "strong",
        /// Measured, but read off a graph, or in a condition that is not described in full.
        Medium = "medium",
        /// A visual impression, a side remark, or contradicted elsewhere.
        Weak = "weak",
        /// The document does not say enough for a test.
        Untestable = "untestable",
    }
    not_yet {}
}

choice! {
    /// Kind of statement.
    pub enum ClaimKind, "kind" {
        /// The point from which one arm is ahead.
        Crossover = "crossover",
        /// The ratio of two quantities.
        Ratio = "ratio",
        /// The arm that is ahead.
        Ordering = "ordering",
        /// The size of something.
        Magnitude = "magnitude",
        /// The spread of something.
        Distribution = "distribution",
        /// Things that go together.
        Correlation = "correlation",
        /// The course of a curve.
        Trend = "trend",
        /// The absence of an effect.
        Absence = "absence",
        /// A cause.
        Mechanism = "mechanism",
        /// The parts that something consists of.
        Composition = "composition",
    }
    not_yet {}
}

/// A claim that a re-run can confirm or refute.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The fact that it is about; claims of one fact stand or fall together.
    pub fact: String,
    /// True if it restates an input of the laboratory.
    pub restates_inputs: bool,
    /// Position in the document: section, and figure or table.
    pub place: String,
    /// Numbers of the document's figures that show it, each on its own.
    pub figures: Vec<String>,
    /// Numbers of the document's tables that show it, taken together.
    pub tables: Vec<String>,
    /// Kind of statement.
    pub kind: ClaimKind,
    /// The statement, in our words.
    pub statement: String,
    /// The conditions: network, page, protocols, TLS, cache, as far as they matter.
    pub conditions: Vec<(&'static str, String)>,
    /// The measured quantity.
    pub metric: String,
    /// The document's value.
    pub published: String,
    /// The result that a fair re-run must show: the claim is confirmed if every clause holds.
    pub criterion: String,
    /// Strength of the source's support.
    pub strength: Strength,
    /// Contradictions within the source, or with another.
    pub conflict: Option<String>,
    /// Further remarks for readers.
    pub note: Option<String>,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaims {
    format: u32,
    claim: Vec<RawClaim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    id: String,
    fact: String,
    #[serde(default)]
    restates_inputs: bool,
    section: String,
    figure: Option<String>,
    table: Option<String>,
    kind: ClaimKind,
    statement: String,
    network: Option<String>,
    page: Option<String>,
    protocols: Option<Vec<String>>,
    tls: Option<String>,
    cache: Option<String>,
    metric: String,
    published: String,
    criterion: String,
    check: toml::Table,
    strength: Strength,
    conflict: Option<String>,
    note: Option<String>,
}

/// The name of the file.
const FILE: &str = "claims.toml";

/// The claims of `study`, read from their file.
pub(super) fn read(study: &Study) -> Result<Vec<Claim>, StudyError> {
    let raw: RawClaims = study.parsed(FILE, |raw: &RawClaims| raw.format)?;
    let mut claims: Vec<Claim> = Vec::with_capacity(raw.claim.len());
    for raw in raw.claim {
        let wrong = |field, why: &str| Err(study.wrong(FILE, &raw.id, field, why.to_owned()));
        if claims.iter().any(|known| known.id == raw.id) {
            return wrong("id", "a second claim of this name");
        }
        // The criterion's core as it was written before any run; clauses.toml judges the whole of it.
        if !raw.check.contains_key("test") {
            return wrong("check", "it names no test");
        }
        claims.push(raw.into_claim());
    }
    Ok(claims)
}

impl RawClaim {
    fn into_claim(self) -> Claim {
        let figures = self.figure.as_deref().map_or(Vec::new(), numbers);
        let tables = self.table.as_deref().map_or(Vec::new(), numbers);
        let place = [
            Some(format!("section {}", self.section)),
            self.figure.map(|figure| format!("figure {figure}")),
            self.table.map(|table| format!("table {table}")),
        ];
        let conditions = [
            ("network", self.network),
            ("page", self.page),
            ("protocols", self.protocols.map(|names| names.join(", "))),
            ("TLS", self.tls),
            ("cache", self.cache),
        ];
        Claim {
            id: self.id,
            fact: self.fact,
            restates_inputs: self.restates_inputs,
            place: place.into_iter().flatten().collect::<Vec<_>>().join(", "),
            figures,
            tables,
            kind: self.kind,
            statement: self.statement,
            conditions: conditions.into_iter().filter_map(|(key, v)| Some((key, v?))).collect(),
            metric: self.metric,
            published: self.published,
            criterion: self.criterion,
            strength: self.strength,
            conflict: self.conflict,
            note: self.note,
        }
    }
}

/// The single numbers of a list like `6.1, 6.3`, `23-27` or `C.1-C.4`.
pub(crate) fn numbers(list: &str) -> Vec<String> {
    let each = |item: &str| match range(item) {
        Some((prefix, from, to)) => (from..=to).map(|n| format!("{prefix}{n}")).collect(),
        None => vec![item.to_owned()],
    };
    list.split(',').map(str::trim).flat_map(each).collect()
}

/// The common beginning and the two ends of a range.
fn range(item: &str) -> Option<(&str, u32, u32)> {
    let (from, to) = item.split_once('-')?;
    let begin = from.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let (prefix, first) = from.split_at(begin);
    let last = to.strip_prefix(prefix)?;
    Some((prefix, first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn lists_of_figures_and_tables_name_each() {
        assert_eq!(numbers("6.1, 6.3"), ["6.1", "6.3"]);
        assert_eq!(numbers("23-25"), ["23", "24", "25"]);
        assert_eq!(numbers("C.9-C.11"), ["C.9", "C.10", "C.11"]);
        for single in ["2-open", "I (text)", "C.1-D.2", "3-"] {
            assert_eq!(numbers(single), [single]);
        }
    }
}
