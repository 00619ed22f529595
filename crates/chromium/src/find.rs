//! Finding the Chromium binary.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::ChromiumError;

/// Names of the binary, the distributions' own first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// An installed Chromium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chromium {
    program: PathBuf,
}

impl Chromium {
    /// The program `named` (the variable `FARLINK_CHROMIUM`), else the first of its usual names in the directories
    /// of `path` (the variable `PATH`).
    ///
    /// # Errors
    /// [`ChromiumError::NotFound`], with the places searched and the package to install.
    pub fn find(named: Option<&OsStr>, path: Option<&OsStr>) -> Result<Chromium, ChromiumError> {
        if let Some(program) = named.filter(|name| !name.is_empty()) {
            let program = PathBuf::from(program);
            let searched =
                format!("FARLINK_CHROMIUM names `{}`, which is no file", program.display());
            return match program.is_file() {
                true => Ok(Chromium { program }),
                false => Err(ChromiumError::NotFound { searched }),
            };
        }
        let folders: Vec<PathBuf> = path.map(std::env::split_paths).into_iter().flatten().collect();
        let programs = NAMES.iter().flat_map(|name| folders.iter().map(move |f| f.join(name)));
        programs
            .into_iter()
            .find(|program| program.is_file())
            .map(|program| Chromium { program })
            .ok_or_else(|| ChromiumError::NotFound {
                searched: format!("PATH has none of {}", NAMES.join(", ")),
            })
    }

    /// Its path.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_browser_says_what_to_install() {
        let nowhere = OsStr::new("/nonexistent");
        for (named, path) in [(None, Some(nowhere)), (None, None), (Some(nowhere), None)] {
            let error = Chromium::find(named, path).unwrap_err().to_string();
            assert!(error.contains("apt-get install chromium"), "{error}");
            assert!(error.contains("FARLINK_CHROMIUM"), "{error}");
        }
    }

    #[test]
    fn the_one_that_is_named_is_taken() {
        let any_file = OsStr::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        assert_eq!(Chromium::find(Some(any_file), None).unwrap().program(), Path::new(any_file));
    }
}
