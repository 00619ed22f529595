//! Fitted pages kept on disk, since each process of an emulated load opens its page.
//!
//! A file is found by everything that a fit depends on: the page, its recording and the program. Without a place to
//! write to, pages are fitted again.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use page::{Page, file};

/// Number of pages from which the oldest is dropped.
const MOST_PAGES: usize = 300;

/// Place of one fitted page.
pub(super) struct KeptFit(PathBuf);

impl KeptFit {
    /// The place of the fit of `page`, by this program.
    pub(super) fn of(page: &Page) -> Option<KeptFit> {
        let program = fs::metadata(std::env::current_exe().ok()?).ok()?;
        let built = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let input = format!(
            "{} {} {} {:?}",
            program.len(),
            built.as_nanos(),
            file::to_text(page),
            page.recording
        );
        let folder = match std::env::var_os("XDG_CACHE_HOME") {
            Some(cache) => PathBuf::from(cache),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
        };
        let name = format!("{}.json", blake3::hash(input.as_bytes()).to_hex());
        Some(KeptFit(folder.join("farlink/fitted-pages").join(name)))
    }

    /// The fitted page, if it was kept.
    pub(super) fn get(&self) -> Option<Page> {
        file::parse("fitted page", &fs::read(&self.0).ok()?).ok()
    }

    /// Keeps `fitted`, if the disk allows.
    pub(super) fn put(&self, fitted: &Page) {
        let Some(folder) = self.0.parent() else { return };
        let temporary = self.0.with_extension(std::process::id().to_string());
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&temporary, file::to_text(fitted)))
            .and_then(|()| fs::rename(&temporary, &self.0));
        if written.is_err() {
            // What is left of it, if anything.
            fs::remove_file(&temporary).ok();
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        let age =
            |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
        let mut kept: Vec<_> = entries.flatten().filter_map(age).collect();
        if kept.len() > MOST_PAGES {
            kept.sort();
            fs::remove_file(&kept[0].1).ok();
        }
    }
}
