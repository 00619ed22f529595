//! File operations of the disk tier, behind a trait so that tests can simulate power loss or a full disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Segments: numbered files, appended to and read at any offset.
pub trait Files {
    /// The numbers of all segments, in ascending order.
    fn list(&self) -> io::Result<Vec<u64>>;
    /// Reads a whole segment.
    fn read(&self, segment: u64) -> io::Result<Vec<u8>>;
    /// Reads `length` bytes of a segment.
    fn read_at(&self, segment: u64, at: u64, length: usize) -> io::Result<Vec<u8>>;
    /// Writes at an offset, the segment's end; creates the segment if it does not exist.
    fn write_at(&mut self, segment: u64, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates a segment.
    fn truncate(&mut self, segment: u64, length: u64) -> io::Result<()>;
    /// Returns once the segment would survive a power loss.
    fn sync(&mut self, segment: u64) -> io::Result<()>;
    /// Removes a segment.
    fn remove(&mut self, segment: u64) -> io::Result<()>;
}

/// Segments in a dedicated directory, held by one process at a time.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Lock held while the file is open; the kernel releases it when the process ends, however it ends.
    _lock: File,
}

const SUFFIX: &str = ".segment";

impl Directory {
    /// Locks a directory, creating it if it does not exist.
    pub fn open(path: &Path) -> io::Result<Directory> {
        std::fs::create_dir_all(path)?;
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Directory { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let text = format!(
                    "{} is held by another process: give each proxy a directory of its own",
                    path.display()
                );
                Err(io::Error::new(io::ErrorKind::ResourceBusy, text))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn file(&self, segment: u64) -> PathBuf {
        self.path.join(format!("{segment:016x}{SUFFIX}"))
    }

    fn writable(&self, segment: u64) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.file(segment))
    }
}

impl Files for Directory {
    fn list(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for file in std::fs::read_dir(&self.path)? {
            let name = file?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            numbers.extend(number.and_then(|number| u64::from_str_radix(number, 16).ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn read(&self, segment: u64) -> io::Result<Vec<u8>> {
        std::fs::read(self.file(segment))
    }

    fn read_at(&self, segment: u64, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.file(segment))?;
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&mut self, segment: u64, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.writable(segment)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    fn truncate(&mut self, segment: u64, length: u64) -> io::Result<()> {
        self.writable(segment)?.set_len(length)
    }

    fn sync(&mut self, segment: u64) -> io::Result<()> {
        File::open(self.file(segment))?.sync_data()?;
        // Sync the directory too, so that the file's name survives.
        File::open(&self.path)?.sync_all()
    }

    fn remove(&mut self, segment: u64) -> io::Result<()> {
        std::fs::remove_file(self.file(segment))
    }
}
