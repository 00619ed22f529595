//! Opens a page by name: a generator, a study's page, a file, which may be compressed.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::nearest;
use crate::{Error, Page, archived, draw, file, generate, har, is_list, transform};

/// One page of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Spec for [`open`].
    pub name: String,
    /// Description, in one line.
    pub description: String,
    /// Total size of all bodies.
    pub body_bytes: u64,
    /// Number of objects.
    pub requests: usize,
    /// Number of servers.
    pub hosts: usize,
}

/// Opens `spec`: `synthetic:100x10KB[@4hosts]`, a study's page (`bth2013`, `test1-050-1024`), or a file: a HAR
/// (`.har`, `.har.gz`; `file.har#page_2` or `file.har#2` for another page than the first), a web archive (`.wacz`,
/// `.warc`, `.warc.gz`), a farlink page file, or a draw from priors (`sites.toml#7/3`, `erman2013-sites#7/3`). Transforms may follow: `bth2013~sprite~shard=4`.
pub fn open(spec: &str) -> Result<Page, Error> {
    open_with(spec, |_, page| page)
}

/// Opens `spec`; `refine` gets the name of the page without transforms and the page before they are applied. A page
/// `as-recorded` is not refined.
pub fn open_with(spec: &str, refine: impl FnOnce(&str, Page) -> Page) -> Result<Page, Error> {
    match plain(spec) {
        Some(page) if transform::is_as_recorded(spec) => transform::apply(spec, open_plain(page)?),
        Some(page) => transform::apply(spec, refine(page, open_plain(page)?)),
        None => Ok(refine(spec, open_plain(spec)?)),
    }
}

/// Name of the page without its transforms; `None` if there are none or `spec` itself is a file.
fn plain(spec: &str) -> Option<&str> {
    transform::untransformed(spec).filter(|_| !Path::new(spec).is_file())
}

fn open_plain(spec: &str) -> Result<Page, Error> {
    if let Some(page) = generate::from_name(spec)? {
        return Ok(page);
    }
    if Path::new(spec).is_file() {
        return open_file(Path::new(spec), None);
    }
    if draw::names_several(spec) {
        return Err(Error::NotOnePage { name: spec.to_owned() });
    }
    let (name, which) = spec.split_once('#').unzip();
    if let Some(shipped) = draw::shipped(name.unwrap_or(spec)) {
        return shipped.sites().draw(which);
    }
    match spec.rsplit_once('#') {
        Some((file, page)) if Path::new(file).is_file() => open_file(Path::new(file), Some(page)),
        _ => Err(unknown(spec)),
    }
}

/// Files that the page `spec` is read from; none for a page that its name determines.
pub fn files(spec: &str) -> Vec<PathBuf> {
    let spec = plain(spec).unwrap_or(spec);
    let file = |name: &str| Path::new(name).is_file().then(|| PathBuf::from(name));
    let named = file(spec).or_else(|| file(spec.rsplit_once('#')?.0));
    let beside = named.as_deref().filter(|path| draw::is_drawn(&name_of(path)));
    let beside = beside.and_then(draw::table_of);
    named.into_iter().chain(beside).collect()
}

fn open_file(path: &Path, page: Option<&str>) -> Result<Page, Error> {
    let name = name_of(path);
    if is_list(&name) {
        return Err(Error::NotOnePage { name });
    }
    if draw::is_drawn(&name) {
        return draw::open(path, page);
    }
    let options = har::ImportOptions { page: page.map(str::to_owned) };
    let stored = stored(path, &name)?;
    if archive::is_archive(&stored) {
        return archived::parse(&name, &stored, &options);
    }
    let text = inflate(&name, stored, LIMIT_BYTES)?;
    match file::is_page_file(&text) {
        true => file::parse(&name, &text),
        false => har::parse(&name, &text, &options),
    }
}

fn unknown(spec: &str) -> Error {
    let lower = spec.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Error::Address { spec: spec.to_owned() };
    }
    let looks_like_a_file = spec.contains('/') || spec.contains(".har");
    if looks_like_a_file {
        let source = match std::fs::metadata(spec) {
            Err(error) => error,
            Ok(_) => std::io::ErrorKind::IsADirectory.into(),
        };
        return Error::Io { path: spec.into(), source };
    }
    let names: Vec<String> = names().chain(["synthetic:100x10KB".to_owned()]).collect();
    let suggestion = nearest(spec, names.iter().map(String::as_str)).map(str::to_owned);
    Error::UnknownPage { spec: spec.to_owned(), suggestion }
}

fn names() -> impl Iterator<Item = String> {
    let studies = generate::STUDY_PAGES.iter().map(|study| study.name.to_owned());
    studies.chain(generate::kallio_names())
}

/// All named pages, and examples of the synthetic ones.
pub fn catalogue() -> Vec<CatalogueEntry> {
    let synthetic = ["synthetic:100x10KB".to_owned(), "synthetic:100x10KB@4hosts".to_owned()];
    synthetic.into_iter().chain(names()).map(|name| entry(&name)).collect()
}

fn entry(name: &str) -> CatalogueEntry {
    let page = match generate::from_name(name) {
        Ok(Some(page)) => page,
        other => panic!("the catalogue lists `{name}`, which no generator makes: {other:?}"),
    };
    let study = generate::STUDY_PAGES.iter().find(|study| study.name == name);
    CatalogueEntry {
        name: name.to_owned(),
        description: study.map_or_else(|| page.origin.clone(), |s| s.description.to_owned()),
        body_bytes: page.body_bytes(),
        requests: page.objects.len(),
        hosts: page.hosts.len(),
    }
}

// Reader of files, which inflates gzip and refuses bombs.

/// Maximum size read from one file, inflated or not. The largest HARs of single pages, with all bodies inside, stay
/// under 200 MB.
const LIMIT_BYTES: u64 = 512 << 20;

/// RFC 1952 section 2.3.1: the first two bytes of a gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Name of the file in messages and tables.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The bytes of `path`, inflated if they are gzip by their first bytes (not by the name).
pub(crate) fn load(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    inflate(name, stored(path, name)?, LIMIT_BYTES)
}

/// The bytes of `path`.
fn stored(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut stored = Vec::new();
    let file = File::open(path).map_err(io)?;
    let read = BufReader::new(file).take(LIMIT_BYTES + 1).read_to_end(&mut stored).map_err(io)?;
    if read as u64 > LIMIT_BYTES {
        return Err(Error::TooLarge { name: name.to_owned(), limit_bytes: LIMIT_BYTES });
    }
    Ok(stored)
}

/// `stored` as it is, or inflated if it is gzip.
fn inflate(name: &str, stored: Vec<u8>, limit_bytes: u64) -> Result<Vec<u8>, Error> {
    if !stored.starts_with(&GZIP_MAGIC) {
        return Ok(stored);
    }
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(stored.as_slice())
        .take(limit_bytes + 1)
        .read_to_end(&mut text)
        .map_err(|e| Error::Gzip { name: name.to_owned(), detail: e.to_string() })?;
    if read as u64 > limit_bytes {
        return Err(Error::TooLarge { name: name.to_owned(), limit_bytes });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn everything_in_the_catalogue_opens() {
        let catalogue = catalogue();
        assert_eq!(catalogue.len(), 2 + 6 + 40);
        for listed in catalogue {
            assert_eq!(open(&listed.name).unwrap().name, listed.name);
        }
        assert_eq!(open("test1-050-1024.html").unwrap().name, "test1-050-1024");
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let message = open("erman2013-samedomain").unwrap_err().to_string();
        assert_eq!(
            message,
            "no page or file `erman2013-samedomain` (did you mean `erman2013-same-domain`?); \
             `farlink pages list` lists the named pages"
        );
        assert!(!open("zzz").unwrap_err().to_string().contains("did you mean"));
        assert!(matches!(open("nowhere/a.har"), Err(Error::Io { .. })));
        for address in ["https://www.example.com/", "HTTP://example.com"] {
            let message = open(address).unwrap_err().to_string();
            assert!(message.contains("is a URL") && message.contains("save-a-har"), "{message}");
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn inflates_what_is_gzip_and_leaves_the_rest() {
        assert_eq!(inflate("a", gzip(b"{}"), 100).unwrap(), b"{}");
        assert_eq!(inflate("a", b"{}".to_vec(), 100).unwrap(), b"{}");
    }

    #[test]
    fn a_truncated_gzip_is_named() {
        let mut whole = gzip(&[b'x'; 5000]);
        whole.truncate(whole.len() - 6);
        let message = inflate("a.har.gz", whole, 10_000).unwrap_err().to_string();
        assert!(message.starts_with("a.har.gz: truncated or damaged gzip file"), "{message}");
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(bomb.len() < 2000);
        assert!(matches!(inflate("a", bomb, 1 << 16), Err(Error::TooLarge { .. })));
    }
}
