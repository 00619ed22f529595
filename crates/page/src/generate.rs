//! Generated pages: synthetic ones and those of published studies.
//!
//! Every page is exact in its counts and sizes. Details that a study does not state are assumed, and the page's
//! `origin` says so. Sizes in KB are thousands of bytes, as in the studies' tables, except if a page's name gives
//! bytes.

mod calibration;
mod studies;
mod synthetic;
mod transfer;

use std::time::Duration;

use crate::har::kinds_by_default;
use crate::{
    After, BodyCoding, BodySource, Edge, Error, HostId, Kind, Object, ObjectId, Page, PageHost,
    Provenance, SizeEstimate, rendering,
};

pub use self::calibration::calibration_pages;
pub(crate) use self::studies::{STUDY_PAGES, StudyPage};
pub use self::synthetic::Synthetic;

/// The page of a generator or study; `None` if `spec` is not such a name.
pub fn from_name(spec: &str) -> Result<Option<Page>, Error> {
    if let Some(parameters) = spec.strip_prefix("synthetic:") {
        return Synthetic::parse(spec, parameters).map(|synthetic| Some(synthetic.page()));
    }
    if let Some(page) = calibration::from_name(spec)? {
        return Ok(Some(page));
    }
    if let Some(page) = transfer::from_name(spec)? {
        return Ok(Some(page));
    }
    let name = spec.strip_suffix(".html").unwrap_or(spec);
    if let Some(page) = studies::kallio(name) {
        return Ok(Some(page));
    }
    Ok(STUDY_PAGES.iter().find(|study| study.name == name).map(StudyPage::page))
}

/// Names of Kallio's 40 pages, in the study's order.
pub(crate) fn kallio_names() -> impl Iterator<Item = String> {
    studies::kallio_parameters().map(|(name, _, _)| name)
}

/// Request heads of Chrome in the 2010s without cookies: request line, Host, Connection, Accept,
/// User-Agent, Referer, Accept-Encoding, Accept-Language.
const REQUEST_HEAD_BYTES: u32 = 400;

/// Response heads of a plain static file server: status line, Date, Server, Last-Modified, ETag,
/// Accept-Ranges, Content-Length, Content-Type, Keep-Alive, Connection.
const RESPONSE_HEAD_BYTES: u32 = 300;

/// A page in the making.
pub(crate) struct Builder {
    page: Page,
    /// Document that references are added to.
    document: ObjectId,
}

/// One reference of the latest document.
pub(crate) struct Reference {
    pub host: HostId,
    pub path: String,
    pub kind: Kind,
    pub body_bytes: u64,
    /// The document's bytes up to and including the reference.
    pub at: u64,
}

/// An object named by another.
pub(crate) struct NamedObject {
    pub host: HostId,
    pub path: String,
    pub kind: Kind,
    pub body_bytes: u64,
    /// The object that names it.
    pub by: ObjectId,
    /// Part of that object that must have arrived.
    pub after: After,
}

impl Builder {
    /// A page of one document on the first of `hosts`.
    pub fn new(name: &str, origin: &str, hosts: Vec<String>, path: &str, bytes: u64) -> Builder {
        let hosts = hosts
            .into_iter()
            .map(|name| PageHost {
                name,
                extra_rtt: SizeEstimate::defaulted(Duration::ZERO),
                recorded_protocol: None,
                recorded_tls: false,
                ..PageHost::default()
            })
            .collect();
        let page = Page {
            name: name.to_owned(),
            origin: origin.to_owned(),
            hosts,
            objects: Vec::new(),
            skipped: Vec::new(),
            cautions: Vec::new(),
            recorded_network: None,
            recording: None,
        };
        let mut builder = Builder { page, document: ObjectId(0) };
        builder.push(HostId(0), path, Kind::Document, bytes, Vec::new());
        builder
    }

    /// Adds a document to which the reader navigates `pause` after everything so far has arrived.
    pub fn follow(&mut self, path: &str, bytes: u64, pause: Duration) {
        let known = 0..self.page.objects.len() as u32;
        let edge = |object| Edge {
            object: ObjectId(object),
            after: After::End,
            compute: SizeEstimate::defaulted(pause),
            provenance: Provenance::Measured,
        };
        self.document = ObjectId(known.end);
        self.push(HostId(0), path, Kind::Document, bytes, known.map(edge).collect());
    }

    /// Adds a reference of the latest document.
    pub fn refer(&mut self, reference: Reference) {
        let Reference { host, path, kind, body_bytes, at } = reference;
        let (by, after) = (self.document, After::Bytes(at));
        self.name(NamedObject { host, path, kind, body_bytes, by, after });
    }

    /// Adds an object named by another.
    pub fn name(&mut self, named: NamedObject) {
        let NamedObject { host, path, kind, body_bytes, by, after } = named;
        let edge = Edge {
            object: by,
            after,
            compute: SizeEstimate::defaulted(Duration::ZERO),
            // The generator is the source, and it states the place of the reference.
            provenance: Provenance::Measured,
        };
        self.push(host, &path, kind, body_bytes, vec![edge]);
    }

    fn push(&mut self, host: HostId, path: &str, kind: Kind, bytes: u64, waits_for: Vec<Edge>) {
        self.page.objects.push(Object {
            url: format!("http://{}{path}", self.page.hosts[host.0 as usize].name),
            host,
            path: path.to_owned(),
            method: "GET".to_owned(),
            kind,
            status: 200,
            request_header_bytes: REQUEST_HEAD_BYTES,
            request_fields: Vec::new(),
            request_body_bytes: 0,
            response_header_bytes: RESPONSE_HEAD_BYTES,
            header_provenance: Provenance::Defaulted,
            body_bytes: bytes,
            body_source: BodySource::Specified,
            coding: BodyCoding::Identity,
            think: SizeEstimate::defaulted(Duration::ZERO),
            waits_for,
            priority: kinds_by_default(kind),
            blocks_load: true,
            blocks_render: false,
            cacheable: true,
        });
    }

    /// The finished page.
    pub fn finish(mut self) -> Page {
        rendering::mark(&mut self.page, &[]);
        if let Err(problem) = self.page.check() {
            panic!("a generator made a page that breaks the graph's invariants: {problem}");
        }
        self.page
    }
}

/// A document of tags of equal length between a prologue and an epilogue, as generators write it.
#[derive(Clone, Copy, Debug)]
struct Markup {
    /// Doctype, head and the body's start tag.
    pub prologue: u64,
    /// One tag with its reference and line break.
    pub tag: u64,
    /// The closing tags.
    pub epilogue: u64,
}

impl Markup {
    /// A short head and tags such as `<img src="/o/0001.png" alt="" width=16 height=16>`.
    pub const PLAIN: Markup = Markup { prologue: 200, tag: 60, epilogue: 20 };

    /// Size of a document with `tags` tags.
    pub fn bytes(self, tags: u64) -> u64 {
        self.prologue + tags * self.tag + self.epilogue
    }

    /// Bytes up to and including tag `index`, counted from 0.
    pub fn end_of(self, index: u64) -> u64 {
        self.prologue + (index + 1) * self.tag
    }
}
