//! Lists of pages, which a journey goes through: a TOML file with a format number.
//!
//! ```toml
//! format = "farlink-page-list"
//! version = 1
//! pages = ["site-01.json", "sites.toml#7/3", "bth2013"]   # relative to this file, or names
//! ```
//!
//! Newer versions and unknown keys are refused: a list that is half understood is another journey.
//!
//! All sites of a draw form a list without such a file, `sites.toml#*/3`, `erman2013-sites#*/3`; so does a range of
//! them: `erman2013-sites#1-4/3`.

use std::path::Path;

use serde::Deserialize;

use crate::draw::{self, Sites};
use crate::{Error, generate, transform};

/// Version that is read.
pub const VERSION: u32 = 1;

const FORMAT: &str = "farlink-page-list";

/// Maximum number of pages in a list. Each page's hosts are servers of the journey's.
const MOST: usize = 1000;

/// A list of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// In the order of the file; at least one.
    pub pages: Vec<ListEntry>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// Name as written in the list.
    pub name: String,
    /// Spec for [`open`](crate::open()).
    pub spec: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFile {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    pages: Vec<String>,
}

/// Format and version of a list.
#[derive(Deserialize)]
struct ListHeader {
    format: Option<toml::Value>,
    version: Option<toml::Value>,
}

/// Suffix that distinguishes lists from pages, and from the priors that pages are drawn from.
const ENDING: &str = ".pages.toml";

/// Returns true if `spec` names a list rather than a page.
pub fn is_list(spec: &str) -> bool {
    spec.ends_with(ENDING) || draw::names_several(spec)
}

impl List {
    /// Opens the list that `spec` names: a file, or several sites of a draw. Its pages are not opened.
    ///
    /// # Errors
    /// If there is none, or it is invalid.
    pub fn open(spec: &str) -> Result<List, Error> {
        match spec.rsplit_once('#') {
            Some((sites, which)) if draw::names_several(spec) => List::of_draw(sites, which),
            _ => List::read(Path::new(spec)),
        }
    }

    /// Several sites of one draw, each with the name that it has by itself.
    fn of_draw(sites: &str, which: &str) -> Result<List, Error> {
        let several = match draw::shipped(sites) {
            Some(shipped) => shipped.sites().several_of(which)?,
            None => Sites::read(Path::new(sites))?.several_of(which)?,
        };
        let name = crate::open::name_of(Path::new(sites));
        let listed = |which: String| ListEntry {
            name: format!("{name}#{which}"),
            spec: format!("{sites}#{which}"),
        };
        Ok(List { pages: several.into_iter().map(listed).collect() })
    }

    fn read(path: &Path) -> Result<List, Error> {
        let name = crate::open::name_of(path);
        let text = crate::open::load(path, &name)?;
        let wrong = |problem: &str| Error::PageList { name: name.clone(), problem: problem.into() };
        let text = String::from_utf8(text).map_err(|_| wrong("not UTF-8 text"))?;
        List::parse(&name, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// Parses the text of a list; files are relative to `folder`. `name` begins the messages.
    ///
    /// # Errors
    /// If the text is invalid.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<List, Error> {
        let wrong = |problem: String| Error::PageList { name: name.to_owned(), problem };
        let head: ListHeader = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if head.format.as_ref().and_then(toml::Value::as_str) != Some(FORMAT) {
            return Err(wrong(format!("the first line must be format = \"{FORMAT}\"")));
        }
        match head.version.as_ref().and_then(toml::Value::as_integer) {
            Some(version) if version == i64::from(VERSION) => {}
            Some(version) if version > i64::from(VERSION) => {
                return Err(wrong(format!(
                    "version {version} is newer than this farlink reads ({VERSION}); use a newer farlink"
                )));
            }
            _ => return Err(wrong(format!("`version` must be {VERSION}"))),
        }
        let read: ListFile = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if !(1..=MOST).contains(&read.pages.len()) {
            return Err(wrong(format!("`pages` must list 1 to {MOST} pages")));
        }
        let pages = read.pages.into_iter().map(|name| ListEntry::in_folder(name, folder));
        Ok(List { pages: pages.collect::<Result<_, _>>()? })
    }
}

impl ListEntry {
    /// A page of a list: generated and drawn pages, transformed or not, are opened by name, anything else as a file.
    fn in_folder(name: String, folder: &Path) -> Result<ListEntry, Error> {
        let plain = transform::untransformed(&name).unwrap_or(&name);
        let is_drawn =
            plain.split_once('#').is_some_and(|(sites, _)| draw::shipped(sites).is_some());
        let spec = match is_drawn || generate::from_name(plain)?.is_some() {
            true => name.clone(),
            false => folder.join(&name).to_string_lossy().into_owned(),
        };
        Ok(ListEntry { name, spec })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<List, String> {
        List::parse("sites", text, Path::new("there")).map_err(|error| error.to_string())
    }

    fn with(rest: &str) -> String {
        format!("format = \"farlink-page-list\"\n{rest}")
    }

    #[test]
    fn names_and_files_are_told_apart() {
        let text = with("version = 1\npages = [\"a.json\", \"bth2013~sprite\", \"b.har#page_2\"]");
        let list = parse(&text).unwrap();
        let specs: Vec<&str> = list.pages.iter().map(|page| page.spec.as_str()).collect();
        assert_eq!(specs, ["there/a.json", "bth2013~sprite", "there/b.har#page_2"]);
        assert_eq!(list.pages[0].name, "a.json");
        let list = parse(&with("version = 1\npages = [\"erman2013-sites#1/1\"]")).unwrap();
        assert_eq!(list.pages[0].spec, "erman2013-sites#1/1");
    }

    #[test]
    fn all_sites_of_a_draw_are_a_list() {
        let all = "cardaci2015-sites#*/20";
        assert!(is_list(all) && is_list("a/sites.toml#*/1") && !is_list("a.har#*/1"));
        let names: Vec<String> =
            List::open(all).unwrap().pages.into_iter().map(|page| page.name).collect();
        assert_eq!((names.len(), names[6].as_str()), (7, "cardaci2015-sites#7/20"));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/cardaci2015");
        let pages = List::open(&format!("{folder}/sites.toml#*/2")).unwrap().pages;
        assert_eq!(pages[0].name, "sites.toml#1/2");
        assert_eq!(pages[0].spec, format!("{folder}/sites.toml#1/2"));
        for beyond in ["*/21", "2-8/1", "0-3/1", "3-2/1", "-3/1"] {
            let error = List::open(&format!("cardaci2015-sites#{beyond}")).unwrap_err().to_string();
            assert!(error.contains("`#1/1` to `#7/20`"), "{error}");
        }
    }

    #[test]
    fn some_sites_of_a_draw_are_a_list() {
        assert!(is_list("cardaci2015-sites#2-4/3") && !is_list("a.har#2-4/3"));
        let pages = List::open("cardaci2015-sites#2-4/3").unwrap().pages;
        let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
        let expected = ["cardaci2015-sites#2/3", "cardaci2015-sites#3/3", "cardaci2015-sites#4/3"];
        assert_eq!(names, expected);
    }

    #[test]
    fn what_is_no_list_says_why() {
        for (text, says) in [
            ("pages = [\"a\"]".to_owned(), "the first line"),
            ("format = 1".to_owned(), "the first line"),
            (with("pages = [\"a\"]"), "`version` must be 1"),
            (with("version = 2\nsites = 3"), "newer than this farlink reads"),
            (with("version = 1\npages = []"), "1 to 1000 pages"),
            (with("version = 1\npages = [\"a\"]\norder = 1"), "unknown field `order`"),
            (with("version = 1\npages = [\"synthetic:0\"]"), "synthetic:0"),
            (with("version = 1\npages = [\"a"), "TOML parse error"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(is_list("sites.pages.toml") && !is_list("sites.toml") && !is_list("a.har#x"));
        assert!(matches!(List::open("nowhere.pages.toml"), Err(Error::Io { .. })));
    }
}
