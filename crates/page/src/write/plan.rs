//! The part of a page that plain files can serve, and the names of the files.

use std::collections::{BTreeMap, BTreeSet};

use crate::show::middle_cut;
use crate::{After, Edge, Error, Kind, Object, ObjectId, Page};

/// A page that files can serve, and its differences from the requested one.
#[derive(Debug)]
pub(super) struct Servable {
    pub(super) page: Page,
    pub(super) notes: Vec<String>,
}

/// The part of `page` that files can serve: GETs with status 200, under paths that files can have. Objects that wait
/// for a left-out object wait for that object's own dependencies instead.
pub(super) fn servable(page: &Page) -> Result<Servable, Error> {
    let mut kept = Page { objects: Vec::new(), ..page.clone() };
    for host in &mut kept.hosts {
        host.name = folder(&host.name);
    }
    let mut notes = Vec::new();
    let mut stand_ins: Vec<StandIn> = Vec::with_capacity(page.objects.len());
    let mut names = FileNames::default();
    for (index, object) in page.objects.iter().enumerate() {
        let waits_for = edges(object, &stand_ins, kept.objects.is_empty());
        if let Some(reason) = unservable(object) {
            let url = middle_cut(&object.url);
            notes.push(format!("left out: {} {url} ({reason})", object.method));
            let object = waits_for.last().map_or(0, |edge| edge.object.0 as usize);
            stand_ins.push(StandIn { object, own: false });
            continue;
        }
        stand_ins.push(StandIn { object: kept.objects.len(), own: true });
        let root = kept.objects.is_empty();
        let kind = if root { Kind::Document } else { object.kind };
        let folder = &kept.hosts[object.host.0 as usize].name;
        let path = names.claim(folder, object, kind, index, root);
        if path != object.path {
            notes.push(format!("renamed: {} is {folder}{path}", middle_cut(&object.url)));
        }
        kept.objects.push(Object { path, kind, waits_for, ..object.clone() });
    }
    match kept.objects.is_empty() {
        true => Err(Error::NotWritable {
            page: page.name.clone(),
            problem: "none of its objects is a GET answered with 200".to_owned(),
        }),
        false => Ok(Servable { page: kept, notes }),
    }
}

/// The kept object that stands for one of the page: itself, or the dependency of one left out; the document if there
/// is none.
#[derive(Clone, Copy)]
struct StandIn {
    object: usize,
    own: bool,
}

/// Dependencies of `object` among the kept ones, the latest last.
fn edges(object: &Object, stand_ins: &[StandIn], root: bool) -> Vec<Edge> {
    let mut kept: BTreeMap<usize, Edge> = BTreeMap::new();
    for edge in object.waits_for.iter().filter(|_| !root) {
        let StandIn { object, own } = stand_ins[edge.object.0 as usize];
        let after = if own { edge.after } else { After::End };
        kept.insert(object, Edge { object: ObjectId(object as u32), after, ..edge.clone() });
    }
    kept.into_values().collect()
}

/// Reason why no plain file can answer for the object.
fn unservable(object: &Object) -> Option<String> {
    match (object.kind, object.method.as_str(), object.status) {
        (Kind::Redirect, _, status) => Some(format!("redirect, {status}")),
        (_, "GET", 200) => None,
        (_, "GET", status) => Some(format!("status {status}")),
        _ => Some("not a GET".to_owned()),
    }
}

/// The host's name, sanitised so that no folder lies outside the directory.
fn folder(host: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
    let name: String = host.chars().map(safe).collect();
    match name.starts_with('.') || name.is_empty() {
        true => format!("_{name}"),
        false => name,
    }
}

/// Paths in use, by folder; in lower case, as some file systems are case-insensitive.
#[derive(Default)]
struct FileNames {
    taken: BTreeMap<String, TakenPaths>,
}

#[derive(Default)]
struct TakenPaths {
    files: BTreeSet<String>,
    /// All folders that exist because a file lies below them.
    folders: BTreeSet<String>,
}

impl TakenPaths {
    /// Returns true if `path` is a file already, or if file and folder would collide.
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

impl FileNames {
    /// The object's own path if a file can have it, else a generated one.
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

/// Returns true if a file below a folder can have this path, and a server will find it under it.
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

/// Returns true if a server derives the media type that the kind needs. A browser refuses a sheet or a script of the
/// wrong type; images are sniffed.
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
