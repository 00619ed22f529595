//! Stores as Python uses them: marked while one is written to, opened anew by each reader.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use store::Store;

use crate::failure::Failure;

/// Place of a store.
pub enum Place {
    /// A file.
    File(PathBuf),
    /// The memory of this process.
    Memory(Mutex<Store>),
}

impl Place {
    /// Reads from the store. A file is opened anew each time: it is locked by no one in between.
    pub fn read<T>(&self, read: impl FnOnce(&Store) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Place::File(path) => read(&Store::open(path)?),
            Place::Memory(store) => read(&store.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// Checks that a store to write to is a file: a server's runs are those of the command line.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    match store::server_url(path) {
        None => Ok(()),
        Some(_) => Err(Failure::with_hint(
            "runs from Python go to a file, not to a server",
            "farlink merge FILE --into postgres://...",
        )),
    }
}

/// A store's file that this process has marked before.
struct Marked {
    file: File,
    is_in_use: bool,
}

/// Such files, by device and number. They stay open: SQLite's locks on a file are released when any handle of it is closed (POSIX), a
/// reader's in another thread, too.
static MARKED: Mutex<BTreeMap<(u64, u64), Marked>> = Mutex::new(BTreeMap::new());

/// Mark of a store that is being run into; other processes and threads are refused meanwhile.
pub struct Mark {
    number: (u64, u64),
}

impl Mark {
    /// Marks the store at `path`, which exists.
    pub fn set(path: &Path) -> Result<Mark, Failure> {
        let failed = |error| Failure::refused(format!("cannot lock {}: {error}", path.display()));
        let facts = std::fs::metadata(path).map_err(failed)?;
        let number = (facts.dev(), facts.ino());
        let mut all = MARKED.lock().unwrap_or_else(PoisonError::into_inner);
        // The space of a file that was deleted is free once nobody has it open.
        all.retain(|_, it| it.is_in_use || it.file.metadata().is_ok_and(|facts| facts.nlink() > 0));
        let marked = match all.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let file = File::open(path).map_err(failed)?;
                new.insert(Marked { file, is_in_use: false })
            }
        };
        let locked = match marked.is_in_use {
            true => Err(TryLockError::WouldBlock),
            false => marked.file.try_lock(),
        };
        locked.map_err(|error| match error {
            TryLockError::WouldBlock => Failure::with_hint(
                format!("another run is using {}", path.display()),
                "wait for it to finish, or name another store",
            ),
            TryLockError::Error(error) => failed(error),
        })?;
        marked.is_in_use = true;
        Ok(Mark { number })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut all = MARKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(marked) = all.get_mut(&self.number) {
            marked.is_in_use = false;
            // A lock that cannot be released ends with the process.
            let _ = marked.file.unlock();
        }
    }
}
