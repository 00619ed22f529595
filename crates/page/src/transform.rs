//! Authors' optimisations of pages: inlining, sprites, sharding, compression. `bth2013~sprite~shard=4`.
//!
//! Steve Souders, "High Performance Web Sites" (2007) and "Even Faster Web Sites" (2009), describes these four. Each
//! takes a page's graph and yields one that loads the same content; the client's cost of processing it is up to its
//! device.

mod compression;
mod headers;
mod hosts;
mod inline;
mod sprite;

use units::pairs::{KeyValue, separated};

use self::compression::{gzip, uncompress};
use self::headers::{cache_own_site, preload_own_site};
use self::hosts::{one_host, shard};
use self::inline::inline;
use self::sprite::sprite;
use crate::{After, Edge, Error, ObjectId, Page, Provenance};

/// Separator between a page's name and its transforms.
const MARK: char = '~';

const EXAMPLE: &str = "`bth2013~inline=2KB`, `~sprite=10KB`, `~shard=4` or `~gzip=30%`";

/// Default sizes of [`inline`] and [`sprite`].
const SMALL_BYTES: u64 = 2_000;
const SPRITE_BYTES: u64 = 10_000;

const MOST_SHARDS: u64 = 64;

/// Transform that keeps a recording's waits as think times.
const AS_RECORDED: &str = "as-recorded";

/// A transform of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Transform {
    /// Objects of at most this many bytes are inlined into their parents.
    Inline(u64),
    /// Images of at most this many bytes, of one host and named by one object, become one.
    Sprite(u64),
    /// The document's host is split into this many.
    Shard(u64),
    /// Text is compressed to this share of its bytes.
    Gzip(f64),
    /// Nothing is compressed.
    Uncompressed,
    /// Objects without a known parent are named by the document.
    Flat,
    /// All objects come from the document's host.
    OneHost,
    /// The document's head names what blocks rendering late.
    Preload,
    /// Browsers may keep the site's static objects.
    Cached,
    /// Servers answer at once.
    Instant,
    /// Think times stay as recorded, with the recorded network in them.
    AsRecorded,
}

/// Name of a page without its transforms; `None` if there are none.
pub(crate) fn untransformed(spec: &str) -> Option<&str> {
    spec.split_once(MARK).map(|(page, _)| page)
}

/// True if the think times of the page are to stay as recorded.
pub(crate) fn is_as_recorded(spec: &str) -> bool {
    spec.split(MARK).skip(1).any(|transform| transform == AS_RECORDED)
}

/// `spec` with one page of a multi-page HAR selected: `a.har~gzip` and `2` make `a.har#2~gzip`.
pub fn of_several(spec: &str, page: &str) -> String {
    match spec.split_once(MARK) {
        Some((file, done)) => format!("{file}#{page}{MARK}{done}"),
        None => format!("{spec}#{page}"),
    }
}

/// Applies the transforms in the name `spec` to `page`, from left to right.
pub(crate) fn apply(spec: &str, mut page: Page) -> Result<Page, Error> {
    let bad = |problem| Error::BadSpec { spec: spec.to_owned(), problem, example: EXAMPLE };
    let (_, typed) = spec.split_once(MARK).unwrap_or_default();
    for pair in separated(typed, MARK).map_err(|twice| bad(twice.to_string()))? {
        let done = match Transform::of(pair).map_err(bad)? {
            Transform::Inline(most) => inline(&mut page, most),
            Transform::Sprite(most) => sprite(&mut page, most),
            Transform::Shard(hosts) => shard(&mut page, hosts),
            Transform::Flat => flat(&mut page),
            Transform::OneHost => one_host(&mut page),
            Transform::Preload => preload_own_site(&mut page),
            Transform::Cached => cache_own_site(&mut page),
            Transform::Instant => instant(&mut page),
            Transform::AsRecorded => "think times as recorded".to_owned(),
            Transform::Gzip(share) => gzip(&mut page, share),
            Transform::Uncompressed => uncompress(&mut page),
        };
        page.origin = format!("{}; {done}", page.origin);
        let value = pair.value.map_or_else(String::new, |value| format!("={value}"));
        page.name = format!("{}{MARK}{}{value}", page.name, pair.key);
    }
    Ok(page)
}

impl Transform {
    fn of(KeyValue { key: what, value }: KeyValue<'_>) -> Result<Transform, String> {
        let bytes = |default| match value {
            Some(value) => units::parse::size_bytes(value).map_err(|error| error.to_string()),
            None => Ok(default),
        };
        match what {
            "inline" => bytes(SMALL_BYTES).map(Transform::Inline),
            "sprite" => bytes(SPRITE_BYTES).map(Transform::Sprite),
            "shard" => read_hosts(value).map(Transform::Shard),
            "flat" if value.is_none() => Ok(Transform::Flat),
            "one-host" if value.is_none() => Ok(Transform::OneHost),
            "preload" if value.is_none() => Ok(Transform::Preload),
            "cached" if value.is_none() => Ok(Transform::Cached),
            "uncompressed" if value.is_none() => Ok(Transform::Uncompressed),
            "instant" if value.is_none() => Ok(Transform::Instant),
            AS_RECORDED if value.is_none() => Ok(Transform::AsRecorded),
            "gzip" => read_share(value).map(Transform::Gzip),
            _ => Err(format!("`{what}` is nothing that is done to a page")),
        }
    }
}

fn read_hosts(value: Option<&str>) -> Result<u64, String> {
    let hosts = value.and_then(|value| value.parse().ok());
    hosts
        .filter(|hosts| (2..=MOST_SHARDS).contains(hosts))
        .ok_or_else(|| format!("`shard` needs a number of hosts from 2 to {MOST_SHARDS}"))
}

/// The compression ratio depends on the text, so there is no default.
fn read_share(value: Option<&str>) -> Result<f64, String> {
    let percent = value.and_then(|value| value.strip_suffix('%')?.parse().ok());
    percent
        .filter(|percent| 0.0 < *percent && *percent <= 100.0)
        .map(|percent: f64| percent / 100.0)
        .ok_or_else(|| {
            "`gzip` needs what it leaves of a text in per cent, above 0 % to 100 %".to_owned()
        })
}

#[cfg(test)]
mod tests;

/// Removes the marked objects. No object may wait for them any more.
fn remove(page: &mut Page, marked: &[bool]) {
    let mut next = 0;
    let ids: Vec<u32> = marked
        .iter()
        .map(|marked| {
            let id = next;
            next += u32::from(!marked);
            id
        })
        .collect();
    let mut index = 0;
    page.objects.retain(|_| {
        index += 1;
        !marked[index - 1]
    });
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        edge.object = ObjectId(ids[edge.object.0 as usize]);
    }
}

// Flattened pages: the document names all objects for which no source states who names them.

/// Makes objects with inferred or default dependencies wait for the document alone.
fn flat(page: &mut Page) -> String {
    let document = page.document();
    let mut count = 0;
    for (index, object) in page.objects.iter_mut().enumerate() {
        let is_guess =
            |edge: &Edge| matches!(edge.provenance, Provenance::Inferred | Provenance::Defaulted);
        let elsewhere = object.waits_for.iter().any(|edge| edge.object != document);
        let behind = index > document.0 as usize && elsewhere;
        if behind && object.waits_for.iter().all(is_guess) {
            let compute = object.waits_for[0].compute;
            let provenance = Provenance::Defaulted;
            object.waits_for =
                vec![Edge { object: document, after: After::End, compute, provenance }];
            count += 1;
        }
    }
    format!("{count} objects with guessed causes named by the document")
}

/// Lets servers answer without thinking.
fn instant(page: &mut Page) -> String {
    for object in &mut page.objects {
        object.think.value = std::time::Duration::ZERO;
    }
    "servers answer at once".to_owned()
}
