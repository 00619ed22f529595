//! A key's value as typed: one scalar, or a list of them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use toml::Spanned;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// In quotes.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a point.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
}

/// One value or several.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// The key is fixed.
    One(Scalar),
    /// The key is an axis of the grid.
    Many(Vec<Spanned<Scalar>>),
}

impl Scalar {
    /// The value as typed on a command line: numbers unchanged, `true` and `false` as `on` and `off`.
    pub fn typed(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            Scalar::Integer(number) => number.to_string(),
            Scalar::Float(number) => number.to_string(),
            Scalar::Bool(truth) => if *truth { "on" } else { "off" }.to_owned(),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => write!(f, "the text \"{text}\""),
            Scalar::Integer(number) => write!(f, "the number {number}"),
            Scalar::Float(number) => write!(f, "the number {number}"),
            Scalar::Bool(truth) => write!(f, "{truth}"),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true or false")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Integer(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(truth))
    }
}
