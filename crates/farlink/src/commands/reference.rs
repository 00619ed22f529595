//! Documents generated from the program, so that they are true: `docs/cli.md`, `docs/exit-codes.md` and
//! `docs/settings-table.md`. A test compares them; `scripts/reference.sh` regenerates them. The JSON Schema of experiment
//! files is for editors.

use std::fmt::Write;

use clap::CommandFactory;
use scenario::settings::{Lists, SETTINGS, Setting, ValueKind};

use super::output;
use crate::args::{Cli, Document};
use crate::failure::{CliError, ExitCode};

/// Columns at which help is wrapped.
const WIDTH: usize = 100;

pub fn run(document: Document) -> Result<ExitCode, CliError> {
    output::print(match document {
        Document::Cli => cli(),
        Document::ExitCodes => exit_codes(),
        Document::SettingsTable => settings(),
        Document::Schema => schema(),
        Document::DataDictionary => export::markdown(),
    })?;
    Ok(ExitCode::Success)
}

fn cli() -> String {
    let mut text = String::from(
        "# The command line\n\n\
         Made from the program by `scripts/reference.sh`; what `farlink help COMMAND` prints.\n\
         Data goes to standard output, talk to standard error. Colours are off when the output is not \
         a\nterminal or `NO_COLOR` is set. What the exit codes mean: [exit-codes.md](exit-codes.md).\n",
    );
    let mut command = Cli::command().term_width(WIDTH);
    command.build();
    describe(&mut command, &mut text);
    text
}

/// Appends a section for `command` and each of its subcommands.
fn describe(command: &mut clap::Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.clone().term_width(WIDTH).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    let inner = command.get_subcommands_mut();
    for inner in inner.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        describe(inner, text);
    }
}

fn settings() -> String {
    let mut text = String::from(
        "# Settings\n\nMade from the program by `scripts/reference.sh`.\n\n\
         A key of an experiment file takes one value or a list, which is an axis of the grid ([experiment.md](experiment.md)). `farlink load` takes\n\
         several values with commas or, where a value has commas of its own, by repeating the option. Each setting is a column of `export`.\n\
         `[network]` takes every setting of [networks.md](networks.md) beside those here.\n\n\
         | key | option of `load` | CSV column | default | values | meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in SETTINGS.iter() {
        let Setting { key, column, default, help, .. } = setting;
        let option = match (setting.option, setting.lists) {
            (None, _) => String::new(),
            (Some(option), Lists::Commas) => format!("`--{option}`"),
            (Some(option), Lists::Repeated) => format!("`--{option}`, repeated"),
        };
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        let names = setting.names().into_iter().map(|name| format!("`{name}`"));
        let values = match setting.kind {
            ValueKind::Whole(least, most) => format!("{least} to {most}"),
            _ => names.collect::<Vec<_>>().join(", "),
        };
        let help = help.replace('|', "\\|");
        let _ =
            writeln!(text, "| `{key}` | {option} | `{column}` | {default} | {values} | {help} |");
    }
    text
}

pub(super) fn schema() -> String {
    let schema = scenario::experiment::schema();
    format!("{}\n", serde_json::to_string_pretty(&schema).expect("a schema is plain data"))
}

fn exit_codes() -> String {
    let mut text = String::from(
        "# Exit codes\n\nMade from the program by `scripts/reference.sh`.\n\n\
         | code | meaning |\n|---|---|\n",
    );
    for code in ExitCode::ALL {
        let _ = writeln!(text, "| {} | {} |", code as u8, code.meaning());
    }
    text.push_str(
        "\n`farlink shell` leaves with the exit code of its command, or with 128 + N if signal N ended it; \
         the codes above are\nfarlink's own before the command has started.\n",
    );
    text
}
