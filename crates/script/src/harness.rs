//! Makes each script of a directory a separate test case, and lists the words of scripts for the documentation.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::script::run;

/// The `main` of a test target without libtest's harness: runs every `.pkt` file of `directory` as a test of the
/// same name, with libtest's command line.
pub fn test_directory(directory: &str) -> ExitCode {
    let scripts = match scripts(Path::new(directory)) {
        Ok(scripts) if !scripts.is_empty() => scripts,
        Ok(_) => return refuse(directory, "there are no files *.pkt in it"),
        Err(error) => return refuse(directory, &error.to_string()),
    };
    let trials = scripts.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn refuse(directory: &str, why: &str) -> ExitCode {
    eprintln!("error: failed to find scripts in {directory}: {why}");
    ExitCode::FAILURE
}

fn scripts(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let mut scripts: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "pkt"));
    scripts.sort();
    Ok(scripts)
}

fn trial(path: PathBuf) -> Trial {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Trial::test(name, move || run(&path).map_err(|failure| failure.to_string().into()))
}

/// The quantities that `expect` can check at an endpoint: name and meaning.
pub fn quantities() -> impl Iterator<Item = (&'static str, &'static str)> {
    crate::endpoint::quantities()
}

/// The causes that `drop` can name.
pub fn causes_of_drops() -> impl Iterator<Item = &'static str> {
    crate::link::causes()
}
