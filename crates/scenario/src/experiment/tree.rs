//! Untyped tree of a file's keys with their positions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::axis::{Axis, Scalar};

/// A table.
pub type Tree = BTreeMap<Spanned<String>, Spanned<Node>>;

/// Value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Further keys.
    Table(Tree),
    /// One value or several.
    Axis(Axis),
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
            Node::Axis(Axis::One(scalar)) => vec![Spanned::new(span.clone(), scalar.clone())],
            Node::Axis(Axis::Many(values)) => values.clone(),
        };
        all.push(Leaf { key: name, key_span: key.span(), values, span });
    }
}

/// Takes a key that holds one value out of `tree`.
pub fn take(tree: &mut Tree, key: &str) -> Option<Spanned<Scalar>> {
    let single = matches!(tree.get(key)?.get_ref(), Node::Axis(Axis::One(_)));
    let node = single.then(|| tree.remove(key)).flatten()?;
    let span = node.span();
    match node.into_inner() {
        Node::Axis(Axis::One(scalar)) => Some(Spanned::new(span, scalar)),
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
        Ok(Node::Axis(Axis::One(Scalar::Text(text.to_owned()))))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Axis(Axis::One(Scalar::Integer(number))))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Axis(Axis::One(Scalar::Float(number))))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Axis(Axis::One(Scalar::Bool(truth))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Node::Axis(Axis::Many(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut tree = Tree::new();
        while let Some((key, node)) = map.next_entry()? {
            tree.insert(key, node);
        }
        Ok(Node::Table(tree))
    }
}
