//! Untyped tree of a file's keys with their positions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

/// A table.
pub type Tree = BTreeMap<Spanned<String>, Spanned<Node>>;

/// Value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Further keys.
    Table(Tree),
    /// One value or several.
    Axis(OneOrMany),
}

/// A key with its path and its values.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Full path: `stack.protocol`.
    pub key: String,
    /// Position of the key.
    pub key_span: Range<usize>,
    /// Values, each with its position.
    pub values: Vec<Spanned<Scalar>>,
    /// Position of the values.
    pub span: Range<usize>,
}

/// All keys of `tree` that hold values.
pub fn leaves(tree: &Tree) -> Vec<Leaf> {
    let mut all = Vec::new();
    collect("", tree, &mut all);
    all
}

fn collect(prefix: &str, tree: &Tree, all: &mut Vec<Leaf>) {
    for (key, node) in tree {
        let name = format!("{prefix}{}", key.get_ref());
        let span = node.span();
        let values = match node.get_ref() {
            Node::Table(inner) => {
                collect(&format!("{name}."), inner, all);
                continue;
            }
            Node::Axis(OneOrMany::One(scalar)) => vec![Spanned::new(span.clone(), scalar.clone())],
            Node::Axis(OneOrMany::Many(values)) => values.clone(),
        };
        all.push(Leaf { key: name, key_span: key.span(), values, span });
    }
}

/// Takes a key that holds one value out of `tree`.
pub fn take(tree: &mut Tree, key: &str) -> Option<Spanned<Scalar>> {
    let single = matches!(tree.get(key)?.get_ref(), Node::Axis(OneOrMany::One(_)));
    let node = single.then(|| tree.remove(key)).flatten()?;
    let span = node.span();
    match node.into_inner() {
        Node::Axis(OneOrMany::One(scalar)) => Some(Spanned::new(span, scalar)),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true, false, a list of those, or a table")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Axis(OneOrMany::One(Scalar::Text(text.to_owned()))))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Axis(OneOrMany::One(Scalar::Integer(number))))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Axis(OneOrMany::One(Scalar::Float(number))))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Axis(OneOrMany::One(Scalar::Bool(truth))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Node::Axis(OneOrMany::Many(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut tree = Tree::new();
        while let Some((key, node)) = map.next_entry()? {
            tree.insert(key, node);
        }
        Ok(Node::Table(tree))
    }
}

// A key's value as typed: one scalar, or a list of them.

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
pub enum OneOrMany {
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
