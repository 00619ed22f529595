//! Columns of tables and the values in them.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_schema::{DataType, Field};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// Text.
    Text,
    /// True or false.
    Flag,
}

/// A column of a table. Any value may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit of its numbers.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its meaning, as a sentence without a full stop.
    pub about: Cow<'static, str>,
}

/// A value in a table.
#[derive(Debug)]
pub(crate) enum Cell<'a> {
    None,
    Whole(i64),
    Number(f64),
    Text(Cow<'a, str>),
    Flag(bool),
}

/// A column with the function that reads it from a record.
pub(crate) struct RecordColumn<R> {
    name: &'static str,
    kind: Kind,
    about: &'static str,
    pub(crate) get: fn(&R) -> Cell<'_>,
}

impl Kind {
    /// Its name in the data dictionary, which is that of SQL.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Whole => "bigint",
            Kind::Number => "double",
            Kind::Text => "text",
            Kind::Flag => "boolean",
        }
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            Kind::Whole => DataType::Int64,
            Kind::Number => DataType::Float64,
            Kind::Text => DataType::Utf8,
            Kind::Flag => DataType::Boolean,
        }
    }
}

impl Column {
    /// The Arrow field, whose metadata have the description.
    pub(crate) fn field(&self) -> Field {
        let about = HashMap::from([("description".to_owned(), self.about.to_string())]);
        Field::new(self.name, self.kind.data_type(), true).with_metadata(about)
    }
}

impl<R> RecordColumn<R> {
    pub(crate) fn column(&self) -> Column {
        Column { name: self.name, kind: self.kind, about: Cow::Borrowed(self.about) }
    }
}

/// A column of whole numbers.
pub(crate) const fn whole<R>(
    name: &'static str,
    about: &'static str,
    get: fn(&R) -> Cell<'_>,
) -> RecordColumn<R> {
    RecordColumn { name, kind: Kind::Whole, about, get }
}

/// A column of text.
pub(crate) const fn text<R>(
    name: &'static str,
    about: &'static str,
    get: fn(&R) -> Cell<'_>,
) -> RecordColumn<R> {
    RecordColumn { name, kind: Kind::Text, about, get }
}

/// A column of truths.
pub(crate) const fn flag<R>(
    name: &'static str,
    about: &'static str,
    get: fn(&R) -> Cell<'_>,
) -> RecordColumn<R> {
    RecordColumn { name, kind: Kind::Flag, about, get }
}

macro_rules! whole_cells {
    ($($number:ty)+) => {$(
        impl From<$number> for Cell<'_> {
            fn from(number: $number) -> Self {
                // Counts and nanoseconds above 2^63 do not occur.
                Cell::Whole(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
    )+};
}

whole_cells! { u16 u32 u64 i64 usize }

impl From<bool> for Cell<'_> {
    fn from(truth: bool) -> Self {
        Cell::Flag(truth)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::None, Into::into)
    }
}
