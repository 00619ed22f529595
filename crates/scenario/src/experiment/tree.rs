//! Untyped tree of a file's keys with their positions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

/// A table.
pub type Tree = BTreeMap<Spanned<String>, Spanned<Node>>;

/// Top-level keys that hold tables of settings, which say how axes are combined.
pub(super) const COMBINING_TABLES: [&str; 2] = ["exclude", "linked"];

/// A whole file: settings, and how they are combined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Keys of the experiment and its settings.
    pub settings: Tree,
    /// Combinations that are left out.
    pub exclude: Vec<Spanned<Tree>>,
    /// Axes that vary together.
    pub linked: Vec<Spanned<Tree>>,
}

impl Document {
    /// Adds what another file has and this one has not; combinations of both count.
    pub fn include(&mut self, other: Document) {
        add_missing(&mut self.settings, other.settings);
        self.exclude.extend(other.exclude);
        self.linked.extend(other.linked);
    }

    /// The same document with all its places `by` bytes further.
    #[must_use]
    pub fn shifted(self, by: usize) -> Document {
        let tables = |tables: Vec<Spanned<Tree>>| {
            tables.into_iter().map(|table| moved(table, by, |tree| shifted(tree, by))).collect()
        };
        Document {
            settings: shifted(self.settings, by),
            exclude: tables(self.exclude),
            linked: tables(self.linked),
        }
    }
}

fn add_missing(tree: &mut Tree, other: Tree) {
    for (key, node) in other {
        match tree.get_mut(key.get_ref().as_str()) {
            None => {
                tree.insert(key, node);
            }
            Some(there) => {
                if let (Node::Table(there), Node::Table(node)) =
                    (there.get_mut(), node.into_inner())
                {
                    add_missing(there, node);
                }
            }
        }
    }
}

fn shifted(tree: Tree, by: usize) -> Tree {
    let node = |node| match node {
        Node::Table(inner) => Node::Table(shifted(inner, by)),
        Node::Axis(OneOrMany::Many(values)) => Node::Axis(OneOrMany::Many(
            values.into_iter().map(|value| moved(value, by, |scalar| scalar)).collect(),
        )),
        one => one,
    };
    tree.into_iter().map(|(key, it)| (moved(key, by, |key| key), moved(it, by, node))).collect()
}

/// A value `by` bytes further, changed by `change`.
fn moved<T>(value: Spanned<T>, by: usize, change: impl Fn(T) -> T) -> Spanned<T> {
    let Range { start, end } = value.span();
    Spanned::new(start + by..end + by, change(value.into_inner()))
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_map(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an experiment")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            match key.get_ref().as_str() {
                "exclude" => document.exclude = map.next_value()?,
                "linked" => document.linked = map.next_value()?,
                _ => {
                    document.settings.insert(key, map.next_value()?);
                }
            }
        }
        Ok(document)
    }
}

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

/// Takes a key that holds one value or several out of `tree`.
pub fn take_list(tree: &mut Tree, key: &str) -> Vec<Spanned<Scalar>> {
    let is_axis = |node: &Spanned<Node>| matches!(node.get_ref(), Node::Axis(_));
    if !tree.get(key).is_some_and(is_axis) {
        return Vec::new();
    }
    let mut taken = Tree::new();
    taken.extend(tree.remove_entry(key));
    leaves(&taken).pop().map_or_else(Vec::new, |leaf| leaf.values)
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
