//! Settings by the names that Python callers give them: `initial_window`, `stack_tls`, `network__down__loss`.
//!
//! A name is an option of `farlink load` with underscores for dashes, or a key of an experiment file with two
//! underscores for each dot.

use pyo3::prelude::*;
use scenario::grid::{self, Axis, GridError, GridFault};
use scenario::settings::SETTINGS;

use crate::failure::Failure;

/// Values of a setting by its Python name.
pub type Given = (String, Vec<String>);

/// An axis with the name that the caller gave it.
pub struct NamedAxis {
    /// The caller's name.
    pub name: String,
    /// The axis.
    pub axis: Axis,
}

/// A setting: Python name, key of experiment files, default, meaning, and column of table `visits`.
type SettingRow = (String, &'static str, &'static str, &'static str, &'static str);

/// All settings. Those whose value is also in the text of another are left out if `within` is false.
#[pyfunction]
#[pyo3(signature = (*, within = true))]
pub fn settings(within: bool) -> Vec<SettingRow> {
    let row = |setting: &scenario::settings::Setting| {
        (python_name(setting), setting.key, setting.default, setting.help, setting.column)
    };
    SETTINGS.iter().filter(|setting| within || setting.within.is_none()).map(row).collect()
}

fn python_name(setting: &scenario::settings::Setting) -> String {
    match setting.option {
        Some(option) => option.replace('-', "_"),
        None => setting.key.replace('.', "__"),
    }
}

/// The key of the setting that Python callers call `name`.
pub fn key_of(name: &str) -> Option<String> {
    let dotted = name.replace("__", ".");
    let named = SETTINGS.iter().find(|setting| python_name(setting) == name);
    match named {
        Some(setting) => Some(setting.key.to_owned()),
        None => grid::is_key(&dotted).then_some(dotted),
    }
}

/// The axes of settings, in the order of grids.
pub fn axes(given: Vec<Given>) -> Result<Vec<NamedAxis>, Failure> {
    let mut axes = Vec::with_capacity(given.len());
    for (name, values) in given {
        let key = key_of(&name).ok_or_else(|| unknown(&name))?;
        if let Some(twice) = axes.iter().find(|it: &&NamedAxis| it.axis.key == key) {
            let message = format!("`{}` and `{name}` are the same setting", twice.name);
            return Err(Failure::with_hint(message, "give one of them"));
        }
        axes.push(NamedAxis { name, axis: Axis { key, values } });
    }
    axes.sort_by_key(|it| grid::position(&it.axis.key));
    Ok(axes)
}

fn unknown(name: &str) -> Failure {
    let known: Vec<String> = SETTINGS.iter().map(python_name).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Failure::unknown("setting", name, &known)
}

/// The error of a grid, attributed to the caller's argument.
pub fn refusal(axes: &[NamedAxis], error: GridError) -> Failure {
    let GridError { axis, value, fault, .. } = error;
    let NamedAxis { name, axis } = &axes[axis];
    let named = |message: &str| match value {
        Some(value) => format!("{name}={:?}: {message}", axis.values[value]),
        None => format!("{name}: {message}"),
    };
    match fault {
        GridFault::Refused(refusal) => {
            Failure::Refused { message: named(&refusal.message), hint: refusal.hint }
        }
        GridFault::Twice => {
            let hint = "list each value once; `loads` sets the number of loads";
            Failure::with_hint(named("the same value is given twice"), hint)
        }
        GridFault::Empty => Failure::refused(named("no value is given")),
        GridFault::TooLarge(cells) => {
            Failure::refused(named(&format!("too many combinations: {cells}")))
        }
    }
}
