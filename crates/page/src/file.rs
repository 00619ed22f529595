//! Page files: farlink's own format for pages, JSON with a format number.
//!
//! `{"format": "farlink-page", "version": 3, "page": {...}}`; `docs/pages.md` lists the keys. Newer versions and
//! unknown keys are refused: a page that is half understood yields silently wrong results.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::nearest;
use crate::{Error, Page, rendering};

/// Version that is written, and the newest that is read.
pub const VERSION: u32 = 3;

/// First version that states which objects block the first paint.
const FIRST_WITH_RENDERING: u32 = 3;

const FORMAT: &str = "farlink-page";

#[derive(Serialize)]
struct StoredPageRef<'a> {
    format: &'static str,
    version: u32,
    page: &'a Page,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPage {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    page: Page,
}

/// Format and version of a page file.
#[derive(Deserialize)]
struct FileHeader {
    format: String,
    version: Option<u64>,
}

/// Returns true if `text` claims to be a page file.
pub(crate) fn is_page_file(text: &[u8]) -> bool {
    serde_json::from_slice::<FileHeader>(text).is_ok_and(|head| head.format == FORMAT)
}

/// Serialises a page.
pub fn to_text(page: &Page) -> String {
    let mut text =
        serde_json::to_string_pretty(&StoredPageRef { format: FORMAT, version: VERSION, page })
            .expect("a page has only text keys, and its spans are far below 584 years");
    text.push('\n');
    text
}

/// Parses the text of a page file. `name` begins the messages.
pub fn parse(name: &str, text: &[u8]) -> Result<Page, Error> {
    let wrong = |problem: String| Error::PageFile { name: name.to_owned(), problem };
    let head: FileHeader = serde_json::from_slice(text).map_err(|e| wrong(explained(&e)))?;
    if head.format != FORMAT {
        return Err(wrong(format!("`format` is `{}`; expected `{FORMAT}`", head.format)));
    }
    match head.version {
        Some(version) if (1..=u64::from(VERSION)).contains(&version) => {}
        Some(version) if version > u64::from(VERSION) => {
            return Err(wrong(format!(
                "version {version} is newer than this farlink reads ({VERSION}); use a newer farlink"
            )));
        }
        _ => return Err(wrong(format!("`version` is not a number from 1 to {VERSION}"))),
    }
    let read: StoredPage = serde_json::from_slice(text).map_err(|e| wrong(explained(&e)))?;
    let mut page = read.page;
    page.check().map_err(wrong)?;
    if head.version < Some(u64::from(FIRST_WITH_RENDERING)) {
        rendering::mark(&mut page, &[]);
    }
    Ok(page)
}

/// Writes a page file; an existing file at `path` is replaced atomically.
pub fn save(page: &Page, path: &Path) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}", std::process::id()));
    fs::write(&partial, to_text(page))
        .and_then(|()| fs::rename(&partial, path))
        .inspect_err(|_| drop(fs::remove_file(&partial)))
        .map_err(io)
}

/// The JSON parser's message, with the key that was probably meant.
fn explained(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let suggestion = match message.starts_with("unknown field") {
        true => quoted.next().and_then(|typed| nearest(typed, quoted)),
        false => None,
    };
    match suggestion {
        Some(key) => format!("{message} (did you mean `{key}`?)"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        to_text(&crate::open("synthetic:3x1KB@2hosts").unwrap())
    }

    fn refusal(text: &str) -> String {
        parse("a.json", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_page_survives() {
        for listed in crate::catalogue() {
            let page = crate::open(&listed.name).unwrap();
            assert_eq!(parse("a", to_text(&page).as_bytes()).unwrap(), page);
        }
    }

    #[test]
    fn a_newer_version_is_refused() {
        let newer = text().replace("\"version\": 3", "\"version\": 4");
        assert_eq!(
            refusal(&newer),
            "a.json: version 4 is newer than this farlink reads (3); use a newer farlink"
        );
    }

    #[test]
    fn older_versions_are_read_and_what_blocks_the_first_paint_is_worked_out() {
        let page = crate::open("bth2013").unwrap();
        assert!(page.objects.iter().any(|object| object.blocks_render));
        let newest = to_text(&page);
        let lines = newest.lines().filter(|line| !line.contains("\"blocks_render\""));
        let older: String = lines.collect::<Vec<_>>().join("\n");
        for version in ["1", "2"] {
            let older = older.replace("\"version\": 3", &format!("\"version\": {version}"));
            assert_eq!(parse("a.json", older.as_bytes()).unwrap(), page);
        }
    }

    #[test]
    fn recorded_fields_survive() {
        let mut page = crate::open("synthetic:1x1KB").unwrap();
        page.objects[1].request_fields = vec![("accept".to_owned(), "*/*".to_owned())];
        assert_eq!(parse("a", to_text(&page).as_bytes()).unwrap(), page);
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
        let message = refusal(&text().replacen("\"body_bytes\"", "\"body_byte\"", 1));
        assert!(message.starts_with("a.json: unknown field `body_byte`"), "{message}");
        assert!(message.contains("did you mean `body_bytes`?"), "{message}");
        assert!(message.contains("line"), "{message}");
    }

    #[test]
    fn a_broken_graph_is_refused() {
        let message = refusal(&text().replace("\"host\": 1", "\"host\": 9"));
        assert!(message.contains("names a host that is not listed"), "{message}");
    }

    #[test]
    fn saving_replaces_whole_files() {
        let folder = std::env::temp_dir().join(format!("farlink-page-save-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("page.json");
        fs::write(&path, "old").unwrap();
        let page = crate::open("bth2013").unwrap();
        save(&page, &path).unwrap();
        assert_eq!(crate::open(path.to_str().unwrap()).unwrap(), page);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(save(&page, &folder.join("missing/page.json")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
