//! The suite as typed: keys only, without a check of their values.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use scenario::experiment::{Scalar, Tree};

/// A key with its value.
pub type Typed = Option<Spanned<Scalar>>;

/// Limits by the names of figures.
pub type Limits = BTreeMap<Spanned<String>, Spanned<Scalar>>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSuite {
    /// Read before everything else, from the untyped table.
    #[serde(rename = "format")]
    pub _format: Spanned<Scalar>,
    pub name: Typed,
    pub seed: Typed,
    pub side_by_side: Typed,
    #[serde(default)]
    pub needs: RawNeeds,
    #[serde(default)]
    pub targets: Limits,
    #[serde(default)]
    pub better_than_toy: Limits,
    #[serde(default)]
    pub part: Vec<Tree>,
}

/// `[needs]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNeeds {
    pub cells: Typed,
    pub emu_lossless: Typed,
    pub sim_lossy: Typed,
    pub emu_lossy: Typed,
    pub chromium: Typed,
}
