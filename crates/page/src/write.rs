//! Writes a page as HTML and object files that any web server can serve and any browser can load.
//!
//! One folder per host, files of exactly the stated sizes, references at the stated bytes of the document (or as soon
//! after as they fit), a README with instructions for serving them, and the page itself as a page file. Features that
//! plain files lack - redirects, methods other than GET, statuses other than 200 - are left out and reported; so are
//! sizes too small for the required content.
//!
//! Think times (replaced by a server's own) and headers are left out as well. The contents of the files come from
//! [`browsable`](crate::browsable()).

mod plan;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::{Browsable, Error, Page, browsable, file};

use self::plan::Servable;

/// Treatment of a target directory that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse to write.
    Keep,
    /// Replace all of it.
    Replace,
}

/// Result of writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSummary {
    /// Object files, without the README and the page file.
    pub files: usize,
    /// Total size of these.
    pub bytes: u64,
    /// Differences from the page, one line each; also in the README.
    pub notes: Vec<String>,
}

/// Name of the page file in the directory.
const PAGE_FILE: &str = "page.json";

/// Writes `page` to `directory`, completely or not at all.
pub fn write(page: &Page, directory: &Path, existing: Existing) -> Result<ExportSummary, Error> {
    let io = |source| Error::Io { path: directory.to_owned(), source };
    if existing == Existing::Keep && !is_free(directory).map_err(io)? {
        return Err(Error::NotEmpty { path: directory.to_owned() });
    }
    let Servable { page: servable, notes } = plan::servable(page)?;
    let mut browsable = browsable(&servable)?;
    browsable.notes.splice(0..0, notes);
    let partial = beside(directory, "partial")?;
    let written = fill(page, &browsable, &partial)
        .and_then(|written| put_in_place(&partial, directory).map(|()| written));
    if written.is_err() {
        // The first error is the one reported; a leftover that cannot be removed either is named after the target and
        // this process.
        drop(fs::remove_dir_all(&partial));
    }
    written.map_err(io)
}

fn is_free(directory: &Path) -> io::Result<bool> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e),
    }
}

/// A name in the target's parent, hence on the same file system.
fn beside(directory: &Path, role: &str) -> Result<PathBuf, Error> {
    let name = directory.file_name().ok_or_else(|| Error::Io {
        path: directory.to_owned(),
        source: io::Error::other("is no name for a directory; name a new one"),
    })?;
    let name = format!(".{}.{role}-{}", name.to_string_lossy(), std::process::id());
    Ok(directory.with_file_name(name))
}

fn fill(page: &Page, browsable: &Browsable, folder: &Path) -> io::Result<ExportSummary> {
    let objects = &browsable.page.objects;
    for (object, content) in objects.iter().zip(&browsable.contents) {
        let name = if object.path == "/" { "/index.html" } else { &object.path };
        let path = folder.join(format!("{}{name}", browsable.page.host_of(object).name));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &content.body)?;
    }
    fs::write(folder.join("README.md"), text(page, browsable))?;
    fs::write(folder.join(PAGE_FILE), file::to_text(page))?;
    let bytes = browsable.page.body_bytes();
    Ok(ExportSummary { files: objects.len(), bytes, notes: browsable.notes.clone() })
}

fn put_in_place(partial: &Path, directory: &Path) -> io::Result<()> {
    if !directory.exists() {
        return fs::rename(partial, directory);
    }
    let old = beside(directory, "old").map_err(io::Error::other)?;
    fs::rename(directory, &old)?;
    if let Err(e) = fs::rename(partial, directory) {
        fs::rename(&old, directory)?;
        return Err(e);
    }
    fs::remove_dir_all(old)
}

/// The README's text.
fn text(page: &Page, browsable: &Browsable) -> String {
    let served = &browsable.page;
    let folder = |object| served.host_of(object).name.as_str();
    let folders: BTreeSet<&str> = served.objects.iter().map(folder).collect();
    let document = served.root();
    let mut text = format!(
        "# {}\n\n{}\n\n{} files on {} host(s), written by farlink. `{PAGE_FILE}` is the page itself; \
         farlink opens it by that path.\n\n## Serving it\n\nOne folder is one host: let a web server \
         answer for each name with the folder of that name, without compression, and let the client \
         resolve all names to that server (`/etc/hosts`, or Chromium's \
         `--host-resolver-rules=\"MAP * 127.0.0.1:8080\"`). \
         Browsers load some well-known names, such as wikipedia.org, over HTTPS only.\n\n",
        page.name,
        page.origin,
        served.objects.len(),
        folders.len(),
    );
    for folder in folders {
        text += &format!("- `{folder}/` is `{folder}`\n");
    }
    text += &format!("\nOpen `http://{}{}`.\n", folder(document), document.path);
    if !browsable.notes.is_empty() {
        text += "\n## What differs from the page\n\n";
        for note in &browsable.notes {
            text += &format!("- {note}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("farlink-page-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            drop(fs::remove_dir_all(&folder));
            fs::create_dir_all(&folder).unwrap();
            Scratch(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => found.extend(files_below(&path)),
                false => found.push(path),
            }
        }
        found
    }

    #[test]
    fn every_catalogued_page_is_written_exactly() {
        let scratch = Scratch::new("catalogue");
        for listed in crate::catalogue().into_iter().filter(|page| page.body_bytes < 2_000_000) {
            let page = crate::open(&listed.name).unwrap();
            let target = scratch.0.join(listed.name.replace(':', "-"));
            let written = write(&page, &target, Existing::Keep).unwrap();
            // The study printed its requests' addresses with their middles left out (`/...`): no such file names a
            // page's object.
            let printed = listed.name == "cardaci2015-wikipedia";
            let kept = |note: &&String| !(printed && note.starts_with("renamed: "));
            let notes: Vec<_> = written.notes.iter().filter(kept).collect();
            assert_eq!(notes, [""; 0], "{}", listed.name);
            assert_eq!((written.files, written.bytes), (listed.requests, listed.body_bytes));
            assert_eq!(files_below(&target).len(), listed.requests + 2);
            let path = target.join(PAGE_FILE);
            assert_eq!(crate::open(path.to_str().unwrap()).unwrap(), page);
        }
    }

    #[test]
    fn the_document_reveals_each_object_at_its_byte() {
        let scratch = Scratch::new("bytes");
        let target = scratch.0.join("page");
        let page = crate::open("bth2013").unwrap();
        write(&page, &target, Existing::Keep).unwrap();
        let document = fs::read_to_string(target.join("en.m.wikipedia.org/index.html")).unwrap();
        assert_eq!(document.len(), 87_000);
        for object in &page.objects[1..] {
            let crate::After::Bytes(at) = object.waits_for[0].after else { panic!() };
            let host = &page.host_of(object).name;
            let reference = format!("//{host}{}\"", object.path);
            let found = document.find(&reference).unwrap_or_else(|| panic!("{reference}"));
            let end = found + document[found..].find('>').unwrap() + 1;
            let end = end + if document[end..].starts_with("</script>") { 9 } else { 0 };
            assert_eq!(end as u64, at, "{reference}");
        }
    }

    #[test]
    fn what_is_there_is_kept_unless_told() {
        let scratch = Scratch::new("existing");
        let target = scratch.0.join("page");
        fs::create_dir(&target).unwrap();
        let page = crate::open("synthetic:2x1KB").unwrap();
        write(&page, &target, Existing::Keep).unwrap();
        fs::write(target.join("mine"), "mine").unwrap();
        let refused = write(&page, &target, Existing::Keep).unwrap_err();
        assert!(refused.to_string().contains("is not empty"), "{refused}");
        assert!(target.join("mine").exists());
        write(&page, &target, Existing::Replace).unwrap();
        assert!(!target.join("mine").exists());
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1, "no leftovers");
    }

    #[test]
    fn a_target_that_cannot_be_leaves_nothing() {
        let scratch = Scratch::new("unwritable");
        fs::write(scratch.0.join("file"), "").unwrap();
        let page = crate::open("synthetic:2x1KB").unwrap();
        assert!(write(&page, &scratch.0.join("file/page"), Existing::Keep).is_err());
        assert_eq!(files_below(&scratch.0).len(), 1);
    }
}
