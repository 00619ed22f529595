//! Values of columns and parameters, of either database.

use std::fmt::Display;

use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::StoreError;
use crate::postgres;

/// A value. The store has no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

/// A row of a query.
pub enum Row<'a> {
    /// Of a SQLite file.
    Sqlite(&'a rusqlite::Row<'a>),
    /// Of a PostgreSQL server.
    Postgres(&'a ::postgres::Row),
}

/// A type that parameters have.
pub trait ToValue {
    /// The value.
    fn to_value(&self) -> Value<'_>;
}

/// A type that columns are read as.
pub trait FromValue: Sized {
    /// The value as this type; `None` if it has another one.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

impl Row<'_> {
    /// The value of the column with this name.
    pub fn get<T: FromValue>(&self, name: &str) -> Result<T, StoreError> {
        let value = match self {
            Row::Sqlite(row) => of_sqlite(row.get_ref(name)?)?,
            Row::Postgres(row) => postgres::value(row, name)?,
        };
        T::from_value(value).ok_or_else(|| unexpected(name, value))
    }

    /// The value of the column at this place.
    pub fn at<T: FromValue>(&self, place: usize) -> Result<T, StoreError> {
        let value = self.value_at(place)?;
        T::from_value(value).ok_or_else(|| unexpected(place, value))
    }

    /// The value of the column at this place, whatever its type.
    pub fn value_at(&self, place: usize) -> Result<Value<'_>, StoreError> {
        match self {
            Row::Sqlite(row) => of_sqlite(row.get_ref(place)?),
            Row::Postgres(row) => postgres::value(row, place),
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<String> {
        match self {
            Row::Sqlite(row) => row.as_ref().column_names().map(str::to_owned).collect(),
            Row::Postgres(row) => {
                row.columns().iter().map(|column| column.name().to_owned()).collect()
            }
        }
    }
}

fn of_sqlite(value: ValueRef<'_>) -> Result<Value<'_>, StoreError> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|error| error.to_string());
    let value = match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::Integer(number)),
        ValueRef::Text(bytes) => text(bytes).map(Value::Text),
        ValueRef::Blob(bytes) => Ok(Value::Blob(bytes)),
        ValueRef::Real(number) => Err(format!("the number {number} where there is none")),
    };
    value.map_err(|what| StoreError::Damaged { what })
}

fn unexpected(column: impl Display, value: Value<'_>) -> StoreError {
    StoreError::Damaged { what: format!("column {column} holds {value:?}") }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

macro_rules! whole_values {
    ($($number:ty)+) => {$(
        impl ToValue for $number {
            fn to_value(&self) -> Value<'_> {
                // Counts and nanoseconds above 2^63 do not occur.
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }

        impl FromValue for $number {
            fn from_value(value: Value<'_>) -> Option<$number> {
                match value {
                    Value::Integer(number) => number.try_into().ok(),
                    _ => None,
                }
            }
        }
    )+};
}

whole_values! { i64 u64 u32 u16 }

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(i64::from(*self))
    }
}

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Option<bool> {
        match value {
            Value::Integer(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl ToValue for &str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Option<String> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value<'_>) -> Option<Vec<u8>> {
        match value {
            Value::Blob(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: ToValue> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (*self).to_value()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
