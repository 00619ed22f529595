//! Reads settings from TOML, each with its line and column.
//!
//! serde is not used for this: its errors would state neither a position nor a similar key.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::error::ValueError;
use crate::spec::TypedSetting;
use crate::{NetworkSpecError, SettingOrigin};

/// A TOML text with its name.
pub(crate) struct TomlText<'t> {
    name: &'t str,
    text: &'t str,
}

/// A table of a TOML text, to be consumed key by key.
pub(crate) type TomlTable<'t> = DeTable<'t>;

impl<'t> TomlText<'t> {
    pub(crate) fn new(name: &'t str, text: &'t str) -> TomlText<'t> {
        TomlText { name, text }
    }

    pub(crate) fn parse(&self) -> Result<TomlTable<'t>, NetworkSpecError> {
        let table = DeTable::parse(self.text).map_err(|error| NetworkSpecError::Toml {
            place: self.place(error.span().unwrap_or(0..0)),
            reason: error.message().to_owned(),
        })?;
        Ok(table.into_inner())
    }

    /// Takes a string out of `table`, if present.
    pub(crate) fn take_string(
        &self,
        table: &mut TomlTable<'t>,
        key: &str,
    ) -> Result<Option<String>, NetworkSpecError> {
        let Some(value) = table.remove(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(text.to_string())),
            other => Err(self.form(value.span(), key, other, "a string")),
        }
    }

    /// Takes a list of strings out of `table`; empty if absent.
    pub(crate) fn take_strings(
        &self,
        table: &mut TomlTable<'t>,
        key: &str,
    ) -> Result<Vec<String>, NetworkSpecError> {
        let Some(value) = table.remove(key) else { return Ok(Vec::new()) };
        let expected = "a list of strings";
        let DeValue::Array(items) = value.get_ref() else {
            return Err(self.form(value.span(), key, value.get_ref(), expected));
        };
        items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                other => Err(self.form(item.span(), key, other, expected)),
            })
            .collect()
    }

    /// All of `table` as settings; a table `down` in it yields the keys `down.rate` and so on, a list of tables `hop`
    /// the keys `hop.1.rtt` and so on.
    pub(crate) fn settings(
        &self,
        table: &TomlTable<'t>,
    ) -> Result<Vec<TypedSetting>, NetworkSpecError> {
        let mut settings = Vec::new();
        for (key, value) in table {
            match value.get_ref() {
                DeValue::Table(inner) => settings.extend(self.nested(key.get_ref(), inner)?),
                DeValue::Array(items)
                    if items.iter().all(|item| matches!(item.get_ref(), DeValue::Table(_))) =>
                {
                    for (item, number) in items.iter().zip(1..) {
                        let DeValue::Table(inner) = item.get_ref() else { continue };
                        settings
                            .extend(self.nested(&format!("{}.{number}", key.get_ref()), inner)?);
                    }
                }
                scalar => settings.push(TypedSetting {
                    place: self.place(key.span()),
                    key: key.get_ref().to_string(),
                    value: self.scalar(value.span(), key.get_ref(), scalar)?,
                }),
            }
        }
        Ok(settings)
    }

    /// A table's settings, each prefixed with the table's name.
    fn nested(
        &self,
        name: &str,
        table: &TomlTable<'t>,
    ) -> Result<Vec<TypedSetting>, NetworkSpecError> {
        let inner = self.settings(table)?.into_iter();
        Ok(inner.map(|s| TypedSetting { key: format!("{name}.{}", s.key), ..s }).collect())
    }

    fn scalar(
        &self,
        span: Range<usize>,
        key: &str,
        value: &DeValue<'_>,
    ) -> Result<String, NetworkSpecError> {
        match value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            other => Err(self.form(span, key, other, "a string with a unit, such as \"100ms\"")),
        }
    }

    fn form(
        &self,
        span: Range<usize>,
        key: &str,
        found: &DeValue<'_>,
        expected: &'static str,
    ) -> NetworkSpecError {
        let text = self.text.get(span.clone()).unwrap_or(found.type_str()).to_owned();
        NetworkSpecError::BadValue {
            place: self.place(span),
            key: key.to_owned(),
            reason: Box::new(ValueError::Form { text, expected }),
        }
    }

    fn place(&self, span: Range<usize>) -> SettingOrigin {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        SettingOrigin::File {
            name: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
