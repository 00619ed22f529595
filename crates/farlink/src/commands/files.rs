//! Files that are written atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::CliError;

/// Checks before anything is measured that a result can be written to `path`.
pub fn check_place(path: &Path) -> Result<(), CliError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(CliError::bad_input(format!("{} is a directory", path.display()))
            .hint("name a file inside it".to_owned()));
    }
    if !folder.is_dir() {
        let (path, folder) = (path.display(), folder.display());
        return Err(CliError::bad_input(format!(
            "cannot write {path}: no such directory: {folder}"
        ))
        .hint(format!("mkdir -p {folder}")));
    }
    Ok(())
}

/// The file for one of several: `out.har` and `h2 tls13` make `out.h2-tls13.har`; `spdy/3` becomes `spdy-3`.
pub fn beside(path: &Path, which: &str) -> PathBuf {
    let which = which.replace([' ', '/'], "-");
    match path.extension() {
        Some(extension) => path.with_extension(format!("{which}.{}", extension.display())),
        None => path.with_extension(which),
    }
}

/// Writes a file atomically, and reports it.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), CliError> {
    write_quietly(path, contents)?;
    anstream::eprintln!("wrote {}", path.display());
    Ok(())
}

/// Writes a temporary file beside `path`, then renames it.
pub fn write_quietly(path: &Path, contents: &[u8]) -> Result<(), CliError> {
    write_streamed(path, |file| file.write_all(contents).map_err(|error| unwritable(path, &error)))
}

/// Writes a file atomically through `write`.
pub fn write_streamed<T>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let failed = |error| unwritable(path, &error);
    let written = File::create(partial).map_err(failed).and_then(|mut file| {
        let written = write(&mut file)?;
        file.sync_all().and_then(|()| fs::rename(partial, path)).map_err(failed)?;
        Ok(written)
    });
    if written.is_err() {
        // The first error is the one reported; there may be nothing to remove.
        let _ = fs::remove_file(partial);
    }
    written
}

/// Creates a directory, unless it exists.
pub fn make_folder(path: &Path) -> Result<(), CliError> {
    fs::create_dir_all(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::machine(format!("cannot write {}: {error}", path.display()))
}
