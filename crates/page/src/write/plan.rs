//! Which objects become files, where, and which file refers to which.

use std::collections::{BTreeMap, BTreeSet};

use crate::show::middle_cut;
use crate::{After, Error, Kind, Object, Page};

/// One object that becomes a file.
#[derive(Debug)]
pub(super) struct Item {
    /// Index in the page.
    pub object: usize,
    pub kind: Kind,
    /// The host's folder.
    pub folder: String,
    /// The path in the URL, which is that of the file below the folder, but for `/` itself.
    pub path: String,
    /// The item whose file refers to this one, and after how many of its bytes. `None` for the
    /// document.
    pub parent: Option<(usize, u64)>,
}

/// The page as files.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub page: &'a Page,
    /// The document first.
    pub items: Vec<Item>,
    /// What differs from the page.
    pub notes: Vec<String>,
}

impl Item {
    /// The file below the directory written.
    pub fn file(&self) -> String {
        let path = if self.path == "/" { "/index.html" } else { &self.path };
        format!("{}{path}", self.folder)
    }
}

impl<'a> Plan<'a> {
    /// Plans the files of `page`.
    pub fn new(page: &'a Page) -> Result<Plan<'a>, Error> {
        let mut plan = Plan { page, items: Vec::new(), notes: Vec::new() };
        // The item that stands for each object: its own, or that of what an omitted one waited for.
        let mut stands_for: Vec<Option<usize>> = Vec::with_capacity(page.objects.len());
        let mut names = Names::default();
        for (index, object) in page.objects.iter().enumerate() {
            let parent = plan.parent(object, &stands_for);
            if let Some(reason) = unservable(object) {
                plan.notes.push(format!(
                    "left out: {} {} ({reason})",
                    object.method,
                    middle_cut(&object.url)
                ));
                stands_for.push(parent.map(|(item, _)| item));
                continue;
            }
            stands_for.push(Some(plan.items.len()));
            let kind = if plan.items.is_empty() { Kind::Document } else { object.kind };
            let folder = folder(&page.host_of(object).name);
            let path = names.claim(&folder, object, kind, index, plan.items.is_empty());
            if path != object.path {
                plan.notes.push(format!("renamed: {} is {folder}{path}", middle_cut(&object.url)));
            }
            plan.items.push(Item { object: index, kind, folder, path, parent });
        }
        match plan.items.is_empty() {
            true => Err(Error::NotWritable {
                page: page.name.clone(),
                problem: "none of its objects is a GET answered with 200".to_owned(),
            }),
            false => Ok(plan),
        }
    }

    /// What refers to `object`: the last thing it waits for that can hold a reference.
    fn parent(&self, object: &Object, stands_for: &[Option<usize>]) -> Option<(usize, u64)> {
        let edge = object.waits_for.iter().max_by_key(|edge| edge.object)?;
        let mut item = stands_for[edge.object.0 as usize]?;
        let own = self.items[item].object == edge.object.0 as usize;
        let mut at = match edge.after {
            After::Bytes(bytes) if own => bytes,
            _ => u64::MAX,
        };
        while !matches!(self.items[item].kind, Kind::Document | Kind::Stylesheet | Kind::Script) {
            (item, at) = self.items[item].parent?;
        }
        Some((item, at))
    }

    /// The items that `item`'s file refers to, with the bytes after which they stand, in order.
    pub fn references(&self, item: usize) -> Vec<(u64, &Item)> {
        let mut found: Vec<(u64, &Item)> = self
            .items
            .iter()
            .filter_map(|child| match child.parent {
                Some((parent, at)) if parent == item => Some((at, child)),
                _ => None,
            })
            .collect();
        found.sort_by_key(|(at, child)| (*at, child.object));
        found
    }

    /// How `from`'s file names `to`: with the host and whatever scheme the page itself was loaded
    /// by, or by the path alone on the same host. A script's links are relative to its document, which
    /// may lie on another host.
    pub fn link(&self, from: &Item, to: &Item) -> String {
        match from.folder == to.folder && from.kind != Kind::Script {
            true => to.path.clone(),
            false => format!("//{}{}", to.folder, to.path),
        }
    }
}

/// Why no plain file can answer for it.
fn unservable(object: &Object) -> Option<String> {
    match (object.kind, object.method.as_str(), object.status) {
        (Kind::Redirect, _, status) => Some(format!("redirect, {status}")),
        (_, "GET", 200) => None,
        (_, "GET", status) => Some(format!("status {status}")),
        _ => Some("not a GET".to_owned()),
    }
}

/// The host's name if it is one, as no folder may lie outside the directory.
pub fn folder(host: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
    let name: String = host.chars().map(safe).collect();
    match name.starts_with('.') || name.is_empty() {
        true => format!("_{name}"),
        false => name,
    }
}

/// Paths in use, by folder; in lower case, as some file systems do not tell cases apart.
#[derive(Default)]
struct Names {
    taken: BTreeMap<String, Taken>,
}

#[derive(Default)]
struct Taken {
    files: BTreeSet<String>,
    /// Everything that is a folder because a file lies below it.
    folders: BTreeSet<String>,
}

impl Taken {
    /// Whether `path` is a file already, or one of the two would have to be file and folder.
    fn clashes(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        self.files.contains(&path)
            || self.folders.contains(&path)
            || folders_of(&path).any(|folder| self.files.contains(folder))
    }

    fn claim(&mut self, path: &str) {
        let path = path.to_ascii_lowercase();
        self.folders.extend(folders_of(&path).map(str::to_owned));
        self.files.insert(path);
    }
}

/// `/a` and `/a/b` of `/a/b/c`.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').skip(1).map(|(at, _)| &path[..at])
}

impl Names {
    /// The object's own path where a file can have it, else one made up.
    fn claim(
        &mut self,
        folder: &str,
        object: &Object,
        kind: Kind,
        index: usize,
        root: bool,
    ) -> String {
        let taken = self.taken.entry(folder.to_owned()).or_default();
        let own = object.path.as_str();
        let usable = match root {
            true => own == "/" || is_file_path(own) && ending_fits(own, kind),
            false => is_file_path(own) && ending_fits(own, kind),
        };
        let path = match usable && !taken.clashes(own) {
            true => own.to_owned(),
            false if root => "/".to_owned(),
            false => format!("/farlink/o{index}.{}", ending(kind)),
        };
        taken.claim(&path);
        path
    }
}

/// Whether a file below a folder can have this path, and a server will find it under it.
fn is_file_path(path: &str) -> bool {
    let safe = |segment: &str| {
        (1..=100).contains(&segment.len())
            && !segment.starts_with('.')
            && segment.chars().all(|c| c.is_ascii_alphanumeric() || "._-~@,+".contains(c))
    };
    path.len() <= 200
        && path != "/index.html"
        && !path.starts_with("/farlink/")
        && path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(safe))
}

/// Whether a server gives the media type that the kind needs. A browser refuses a sheet or a script
/// of the wrong type; it looks into images.
fn ending_fits(path: &str, kind: Kind) -> bool {
    let ending = path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, e)| e);
    match kind {
        Kind::Document => matches!(ending, Some("html" | "htm")),
        Kind::Stylesheet => ending == Some("css"),
        Kind::Script => ending == Some("js"),
        Kind::Image => matches!(ending, Some("png" | "jpg" | "jpeg" | "gif" | "bin")),
        _ => ending.is_some_and(|e| !matches!(e, "html" | "htm" | "css" | "js" | "svg")),
    }
}

fn ending(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => "html",
        Kind::Stylesheet => "css",
        Kind::Script => "js",
        Kind::Image => "png",
        Kind::Font => "woff2",
        Kind::Media => "mp4",
        Kind::Data => "json",
        Kind::Redirect | Kind::Other => "bin",
    }
}
