//! Table of settings: each is defined once, in one row.
//!
//! Command-line options, keys of experiment files and their JSON Schema, columns of exports, properties in reports,
//! the conditions line and most contradictions are loops over [`SETTINGS`]. A new setting is a row here, a field of
//! [`Scenario`], and the code that it acts on.

mod arms;
mod conditions;
mod read;

pub(crate) use read::property;

use std::sync::LazyLock;

use crate::experiment::{Catalogue, NameError};
use crate::{NetworkSpec, Scenario};

/// One setting of a scenario.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Path in an experiment file: `stack.protocol`.
    pub key: &'static str,
    /// Command-line option without its dashes; `None` if only files have it.
    pub option: Option<&'static str>,
    /// Name of its CSV column.
    pub column: &'static str,
    /// Heading in help.
    pub group: &'static str,
    /// One line for help.
    pub help: &'static str,
    /// Placeholder of its value in help.
    pub value_name: &'static str,
    /// Default value, as text; empty if there is none.
    pub default: &'static str,
    /// Role in comparisons: an arm, or a condition.
    pub role: SettingRole,
    /// Form of a value.
    pub kind: ValueKind,
    /// Form of several values on the command line.
    pub lists: Lists,
    /// The setting whose text also holds it.
    pub within: Option<&'static str>,
    /// Scenarios that it acts on; `None` is all.
    pub applies: Option<Applies>,
    /// Requirements of a value other than the default.
    pub needs: &'static [Need],
    /// Unit of its number; empty if it has none.
    pub unit: &'static str,
    /// Returns true if it is a property of its own in reports, rather than part of one or split into several.
    pub is_listed: bool,
    examples: [&'static str; 2],
    name: &'static str,
    phrase: &'static str,
    label: &'static str,
    unset: &'static str,
    meant: fn(&Scenario) -> bool,
    text: fn(&Scenario) -> String,
    number: fn(&Scenario) -> Option<f64>,
    read: ReadValue,
    get: fn(&Scenario) -> String,
    cell: fn(&Scenario) -> String,
    cell_type: Option<ColumnType>,
}

/// Role of a setting in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingRole {
    /// A compared alternative: protocol, security, TCP's settings.
    Arm,
    /// A condition under which they are compared.
    Condition,
}

/// Form of a value.
#[derive(Clone, Copy)]
pub enum ValueKind {
    /// Text that its reader parses.
    Text,
    /// A number, or text with one: `4`, `"4x"`.
    Number,
    /// A whole number.
    Whole(i64, i64),
    /// `true` or `false`, `on` or `off`.
    Truth,
    /// One of a closed set of names; the second set has other spellings, too.
    Names(fn() -> Vec<&'static str>, fn() -> Vec<&'static str>),
}

/// Type of a column of exported tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// A whole number from 0.
    Whole,
    /// A number.
    Number,
}

/// Form of a list of values on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// `--protocol h1,h2`
    Commas,
    /// `--network 3g --network 4g`, because a value contains commas.
    Repeated,
}

/// Scenarios that a setting acts on.
#[derive(Clone, Copy)]
pub struct Applies {
    /// Returns true if it acts on this scenario.
    pub to: fn(&Scenario) -> bool,
    /// Explanation if it acts on no scenario: "no arm runs on QUIC".
    pub otherwise: &'static str,
    /// Advice in that case.
    pub remedy: &'static str,
}

/// A requirement of a setting, and the reason for it with an alternative.
pub type Need = (fn(&Scenario) -> bool, &'static str);

/// A parsed value, ready to be put into scenarios.
pub type Change = Box<dyn Fn(&mut Scenario)>;

type ReadValue = fn(&str, &dyn Catalogue) -> Result<Change, NameError>;

/// All settings. Later ones vary faster in a grid, so that the arms of one comparison are adjacent.
pub static SETTINGS: LazyLock<Vec<Setting>> =
    LazyLock::new(|| conditions::ROWS.iter().chain(arms::ROWS).copied().collect());

impl Setting {
    /// Parses a value.
    pub fn read(&self, text: &str, catalogue: &dyn Catalogue) -> Result<Change, NameError> {
        if let ValueKind::Whole(least, most) = self.kind {
            let number = text.trim().parse::<i64>().ok();
            let number = number.filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| {
                read::refused(format!("`{text}` is not a whole number from {least} to {most}"))
            })?;
        }
        (self.read)(text.trim(), catalogue)
    }

    /// The value in `scenario`, in the form that [`Setting::read`] reads; empty if unset.
    pub fn get(&self, scenario: &Scenario) -> String {
        (self.get)(scenario)
    }

    /// The value in a table: a number in the unit of its column, or text.
    pub fn cell(&self, scenario: &Scenario) -> String {
        (self.cell)(scenario)
    }

    /// Two values that differ.
    pub fn examples(&self) -> [String; 2] {
        match (self.kind, &self.names()[..]) {
            (_, [one, other, ..]) => [one, other].map(|name| (*name).to_owned()),
            (ValueKind::Whole(least, _), _) => [least, least + 1].map(|number| number.to_string()),
            _ => self.examples.map(str::to_owned),
        }
    }

    /// Its name for people: "connections per host".
    pub fn name(&self) -> String {
        match self.name {
            "" => self.column.replace('_', " "),
            name => name.to_owned(),
        }
    }

    /// The value for people, with its unit: "100 ms", "as the profile".
    pub fn text(&self, scenario: &Scenario) -> String {
        if let Some(number) = self.number(scenario) {
            return format!("{} {}", (number * 1e6).round() / 1e6, self.unit).trim_end().to_owned();
        }
        match (self.text)(scenario) {
            text if text.is_empty() => self.unset.to_owned(),
            text => text,
        }
    }

    /// The value as a number in [`Setting::unit`], if it can span an axis.
    pub fn number(&self, scenario: &Scenario) -> Option<f64> {
        (self.number)(scenario)
    }

    /// A value in a sentence: "4 connections a host".
    pub fn phrase(&self, text: &str) -> String {
        match self.phrase {
            "" => format!("{} {text}", self.name()),
            phrase => phrase.replace("{}", text),
        }
    }

    /// A value in the label of something compared: "4 conn./host".
    pub fn label(&self, text: &str) -> String {
        match self.label {
            "" => self.phrase(text),
            label => label.replace("{}", text),
        }
    }

    /// Returns true if it acts on `scenario` and its value means something there.
    pub fn is_meant(&self, scenario: &Scenario) -> bool {
        self.applies(scenario) && (self.meant)(scenario)
    }

    /// Returns true if its value in `scenario` is not the one in `usual`.
    pub fn differs(&self, scenario: &Scenario, usual: &Scenario) -> bool {
        self.get(scenario) != self.get(usual)
    }

    /// The reason why its value, other than the default, is impossible in `scenario`.
    pub(crate) fn contradiction(&self, scenario: &Scenario) -> Option<&'static str> {
        static USUAL: LazyLock<Scenario> =
            LazyLock::new(|| Scenario::new("", NetworkSpec::default()));
        let idle = self.applies.filter(|applies| !(applies.to)(scenario));
        let failed = self.needs.iter().find(|(holds, _)| !holds(scenario));
        let reason = idle.map(|applies| applies.otherwise).or(failed.map(|(_, reason)| *reason))?;
        self.differs(scenario, &USUAL).then_some(reason)
    }

    /// Type of the values in a table.
    pub fn column_type(&self) -> ColumnType {
        self.cell_type.unwrap_or(match self.kind {
            ValueKind::Whole(..) => ColumnType::Whole,
            ValueKind::Number => ColumnType::Number,
            ValueKind::Text | ValueKind::Truth | ValueKind::Names(..) => ColumnType::Text,
        })
    }

    /// Returns true if it acts on `scenario`.
    pub fn applies(&self, scenario: &Scenario) -> bool {
        self.applies.is_none_or(|applies| (applies.to)(scenario))
    }

    /// The names that it accepts, if they are a closed set.
    pub fn names(&self) -> Vec<&'static str> {
        match &self.kind {
            ValueKind::Names(names, _) => names(),
            ValueKind::Truth => vec!["on", "off"],
            _ => Vec::new(),
        }
    }
}

/// The setting with this key.
pub fn setting(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

/// A row with everything else at its most common value.
const fn row(
    key: &'static str,
    option: &'static str,
    group: &'static str,
    help: &'static str,
    read: ReadValue,
    get: fn(&Scenario) -> String,
) -> Setting {
    Setting {
        key,
        option: if option.is_empty() { None } else { Some(option) },
        column: key,
        group,
        help,
        value_name: "TEXT",
        default: "",
        role: SettingRole::Condition,
        kind: ValueKind::Text,
        lists: Lists::Commas,
        within: None,
        applies: None,
        needs: &[],
        unit: "",
        is_listed: true,
        examples: ["", ""],
        name: "",
        phrase: "",
        label: "",
        unset: "default",
        meant: |_| true,
        text: get,
        number: |_| None,
        read,
        get,
        cell: get,
        cell_type: None,
    }
}

impl Setting {
    const fn column(mut self, column: &'static str) -> Setting {
        self.column = column;
        self
    }

    const fn value(mut self, name: &'static str, default: &'static str) -> Setting {
        (self.value_name, self.default) = (name, default);
        self
    }

    const fn arm(mut self) -> Setting {
        self.role = SettingRole::Arm;
        self
    }

    const fn kind(mut self, kind: ValueKind) -> Setting {
        self.kind = kind;
        self
    }

    const fn repeated(mut self) -> Setting {
        self.lists = Lists::Repeated;
        self
    }

    const fn within(mut self, key: &'static str) -> Setting {
        self.within = Some(key);
        self
    }

    const fn only(
        mut self,
        to: fn(&Scenario) -> bool,
        otherwise: &'static str,
        remedy: &'static str,
    ) -> Setting {
        self.applies = Some(Applies { to, otherwise, remedy });
        self
    }

    const fn needs(mut self, needs: &'static [Need]) -> Setting {
        self.needs = needs;
        self
    }

    /// Sets the name for people, the template of a phrase, and that of a label unless it is the phrase.
    const fn words(
        mut self,
        name: &'static str,
        phrase: &'static str,
        label: &'static str,
    ) -> Setting {
        (self.name, self.phrase, self.label) = (name, phrase, label);
        self
    }

    const fn tried_with(mut self, examples: [&'static str; 2]) -> Setting {
        self.examples = examples;
        self
    }

    const fn unset(mut self, text: &'static str) -> Setting {
        self.unset = text;
        self
    }

    const fn number_of(
        mut self,
        unit: &'static str,
        number: fn(&Scenario) -> Option<f64>,
    ) -> Setting {
        (self.unit, self.number) = (unit, number);
        self
    }

    const fn text_of(mut self, text: fn(&Scenario) -> String) -> Setting {
        self.text = text;
        self
    }

    const fn meant(mut self, meant: fn(&Scenario) -> bool) -> Setting {
        self.meant = meant;
        self
    }

    const fn unlisted(mut self) -> Setting {
        self.is_listed = false;
        self
    }

    const fn cells(mut self, kind: ColumnType, cell: fn(&Scenario) -> String) -> Setting {
        (self.cell, self.cell_type) = (cell, Some(kind));
        self
    }
}

#[cfg(test)]
mod tests;
