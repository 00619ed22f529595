//! Options of `farlink export` and `farlink merge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use export::Format;

use super::DEFAULT_STORE;

#[derive(Args)]
pub struct ExportRun {
    /// Run number (default: the latest).
    pub run: Option<i64>,

    /// Store to read.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// Tables to write: visits, objects, connections and others (docs/data-dictionary.md), or `all`. Several are files of a
    /// directory.
    #[arg(long, value_delimiter = ',', value_name = "TABLE", default_value = "visits")]
    pub table: Vec<String>,

    #[command(flatten)]
    pub place: ExportPlace,
}

/// Format and place of the files.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ExportPlace {
    /// Write Apache Parquet files.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    parquet: Option<PathBuf>,

    /// Write Arrow IPC files, also called Feather.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    arrow: Option<PathBuf>,

    /// Write CSV files.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    csv: Option<PathBuf>,
}

impl ExportPlace {
    /// The format and the path that was given for it.
    pub fn format(&self) -> (Format, &PathBuf) {
        let named = [
            (Format::Parquet, &self.parquet),
            (Format::Arrow, &self.arrow),
            (Format::Csv, &self.csv),
        ];
        let named = named.into_iter().find_map(|(format, path)| Some((format, path.as_ref()?)));
        named.expect("clap requires one of them")
    }
}

#[derive(Args)]
pub struct Merge {
    /// Stores to read.
    #[arg(required = true, value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub from: Vec<PathBuf>,

    /// Store that gets their runs: a SQLite file, created if missing.
    #[arg(short = 'o', long = "into", value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub into: PathBuf,
}
