//! A key's value as typed: one scalar, or a list of them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
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

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Axis, D::Error> {
        deserializer.deserialize_any(AxisVisitor)
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

struct AxisVisitor;

impl<'de> Visitor<'de> for AxisVisitor {
    type Value = Axis;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true, false, or a list of those")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Axis, E> {
        ScalarVisitor.visit_str(text).map(Axis::One)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Axis, E> {
        ScalarVisitor.visit_i64(number).map(Axis::One)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Axis, E> {
        ScalarVisitor.visit_f64(number).map(Axis::One)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Axis, E> {
        ScalarVisitor.visit_bool(truth).map(Axis::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Axis, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Axis::Many(values))
    }
}
