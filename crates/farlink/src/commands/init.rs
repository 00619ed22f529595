//! `farlink init`: a commented experiment file to begin with, and the schema that completes its keys in an editor.

use super::{files, output, reference};
use crate::args::Init;
use crate::failure::{CliError, ExitCode};

/// Name of the schema's file, beside the experiment.
const SCHEMA: &str = "experiment.schema.json";

/// Carries out `farlink init`.
pub fn run(init: &Init) -> Result<ExitCode, CliError> {
    let schema = init.file.with_file_name(SCHEMA);
    if init.file.exists() {
        let message = format!("{} exists and is kept", init.file.display());
        return Err(
            CliError::bad_input(message).hint("name another file: farlink init FILE".to_owned())
        );
    }
    files::write_whole(&init.file, text(init).as_bytes())?;
    files::write_whole(&schema, reference::schema().as_bytes())?;
    output::line(format!("farlink run {}", super::shell::quote(&init.file.display().to_string())))?;
    Ok(ExitCode::Success)
}

fn text(init: &Init) -> String {
    let list = |values: &[String]| {
        let quoted: Vec<String> =
            values.iter().map(|value| toml::Value::from(value.as_str()).to_string()).collect();
        format!("[{}]", quoted.join(", "))
    };
    let name =
        init.file.file_stem().map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy());
    format!(
        "\
#:schema ./{SCHEMA}
# An experiment: each list is an axis, and every combination is loaded. docs/experiment.md has all keys.
#
#   farlink run FILE --plan    how many loads, how long, how large
#   farlink run FILE           run it; again after an interruption: the rest
#   farlink report             the answer as HTML
format = 1
name = {name}
# Loads of each combination. Intervals need at least 6; 10 to 30 are usual.
repetitions = 10
# The same seed gives the same numbers. Loads of one repetition are paired across combinations.
seed = 1

[page]
# A HAR, a recording (farlink record URL -o page.wacz), or a generated page: synthetic:100x10KB.
name = {pages}

[network]
# Profiles (farlink networks), each of which the keys below can change.
base = {networks}
# loss = [\"0\", \"1%\"]
# queue = \"30pkt\"

[stack]
protocol = {protocols}
# tls = \"tls13\"

# [transport]
# congestion = [\"cubic\", \"bbr\"]
# initial_window_segments = [10, 40]

# [client]
# view = \"both\"          # cold and warm cache
# device = \"nexus7\"
",
        name = toml::Value::from(&*name),
        pages = list(&init.page),
        networks = list(&init.network),
        protocols = list(&init.protocol),
    )
}
