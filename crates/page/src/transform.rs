//! Authors' optimisations of pages: inlining, sprites, sharding, compression. `bth2013~sprite~shard=4`.
//!
//! Steve Souders, "High Performance Web Sites" (2007) and "Even Faster Web Sites" (2009), describes all four. Each
//! takes a page's graph and yields one that loads the same content; the client's cost of processing it is up to its
//! device.

use std::collections::BTreeMap;

use units::pairs::{KeyValue, separated};
use url::Url;

use crate::{After, Edge, Error, HostId, Kind, Object, ObjectId, Page, Provenance};

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
    /// Objects without a known parent are named by the document.
    Flat,
    /// All objects come from the document's host.
    OneHost,
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
            Transform::Instant => instant(&mut page),
            Transform::AsRecorded => "think times as recorded".to_owned(),
            Transform::Gzip(share) => gzip(&mut page, share),
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

// Compression of text (RFC 9110 section 8.4.1.3).

/// Length of `Content-Encoding: gzip` with its line end.
const FIELD_BYTES: u32 = 24;

/// Reduces documents, sheets, scripts and data, and the places in them, to `share` of their bytes.
fn gzip(page: &mut Page, share: f64) -> String {
    let left = |bytes: u64| (bytes as f64 * share).ceil() as u64;
    let is_text: Vec<bool> = page
        .objects
        .iter()
        .map(|object| {
            let kind = object.kind;
            matches!(kind, Kind::Document | Kind::Stylesheet | Kind::Script | Kind::Data)
        })
        .collect();
    for (object, is_text) in page.objects.iter_mut().zip(&is_text) {
        if *is_text && object.body_bytes > 0 {
            object.body_bytes = left(object.body_bytes);
            object.response_header_bytes += FIELD_BYTES;
        }
    }
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        if let After::Bytes(at) = &mut edge.after
            && is_text[edge.object.0 as usize]
        {
            *at = left(*at);
        }
    }
    format!("text compressed to {} %", share * 100.0)
}

// Inlining of small objects into their parents: images as `data:` URLs (RFC 2397), sheets and scripts as elements.

/// Length of `data:image/png;base64,`.
const DATA_URL_BYTES: u64 = 22;

/// Inlines objects of at most `most` bytes, later ones first, so that an inlined sheet already contains its own
/// references.
fn inline(page: &mut Page, most: u64) -> String {
    let mut inlined = vec![false; page.objects.len()];
    for index in (1..page.objects.len()).rev() {
        if let Some(place) = inline_position(page, index, most) {
            write_into(page, index, place, &inlined);
            inlined[index] = true;
        }
    }
    remove(page, &inlined);
    let count = inlined.iter().filter(|inlined| **inlined).count();
    format!("{count} objects of at most {most} bytes inlined")
}

/// InlinePosition to write an object into: the parent, and the number of its bytes before.
#[derive(Clone, Copy)]
struct InlinePosition {
    parent: ObjectId,
    at: u64,
}

/// InlinePosition of an object that can be inlined.
fn inline_position(page: &Page, index: usize, most: u64) -> Option<InlinePosition> {
    let object = &page.objects[index];
    let [edge] = object.waits_for.as_slice() else { return None };
    let parent = &page.objects[edge.object.0 as usize];
    let fits = match parent.kind {
        Kind::Document => {
            matches!(object.kind, Kind::Image | Kind::Stylesheet | Kind::Script)
        }
        Kind::Stylesheet => object.kind == Kind::Image,
        _ => false,
    };
    let at = match edge.after {
        After::Head => return None,
        After::Bytes(at) => at.min(parent.body_bytes),
        After::End => parent.body_bytes,
    };
    let is_plain = object.method == "GET" && object.status == 200 && object.body_bytes <= most;
    (fits && is_plain).then_some(InlinePosition { parent: edge.object, at })
}

/// Bytes that it takes there.
fn written_bytes(object: &Object) -> u64 {
    match object.kind {
        Kind::Image => DATA_URL_BYTES + object.body_bytes.div_ceil(3) * 4,
        _ => object.body_bytes,
    }
}

/// Writes the object into its parent: references behind it move back; its own references are known once it has arrived.
fn write_into(page: &mut Page, index: usize, place: InlinePosition, gone: &[bool]) {
    let bytes = written_bytes(&page.objects[index]);
    page.objects[place.parent.0 as usize].body_bytes += bytes;
    for (other, object) in page.objects.iter_mut().enumerate() {
        if other == index || gone[other] {
            continue;
        }
        for edge in &mut object.waits_for {
            if edge.object.0 as usize == index {
                (edge.object, edge.after) = (place.parent, After::Bytes(place.at + bytes));
            } else if edge.object == place.parent
                && let After::Bytes(at) = &mut edge.after
                && (*at, other) > (place.at, index)
            {
                *at += bytes;
            }
        }
    }
}

// Domain sharding: the document's host is split into several, so that browsers open more connections.

/// Distributes the objects of the document's host, except the document, over `hosts` hosts in turn; the host itself
/// is the first.
fn shard(page: &mut Page, hosts: u64) -> String {
    let own = page.root().host;
    let first = page.hosts.len() as u32;
    let host = page.hosts[own.0 as usize].clone();
    for number in 1..hosts {
        let name = format!("shard{number}.{}", host.name);
        page.hosts.push(crate::PageHost { name, ..host.clone() });
    }
    let names: Vec<String> = page.hosts.iter().map(|host| host.name.clone()).collect();
    let mut turns = (0..hosts as u32).cycle();
    let dealt = page.objects.iter_mut().skip(1).filter(|object| object.host == own);
    for (object, turn) in dealt.zip(&mut turns).filter(|(_, turn)| *turn > 0) {
        object.host = HostId(first + turn - 1);
        object.url = moved(&object.url, &names[object.host.0 as usize]);
    }
    format!("{} over {hosts} hosts in turn", host.name)
}

/// The same URL on another host.
fn moved(url: &str, host: &str) -> String {
    let Ok(mut moved) = Url::parse(url) else { return url.to_owned() };
    match moved.set_host(Some(host)) {
        Ok(()) => moved.into(),
        Err(_) => url.to_owned(),
    }
}

// The reverse: everything from one host, as from a CDN in front of the site and its third parties.

/// Moves all objects to the document's host, each below the name of its own: `https://site/cdn.test/a.js`.
fn one_host(page: &mut Page) -> String {
    let hosts = std::mem::take(&mut page.hosts);
    let own = page.root().host;
    page.hosts = vec![hosts[own.0 as usize].clone()];
    let mut moved_count = 0;
    for object in &mut page.objects {
        if object.host != own {
            let host = &hosts[object.host.0 as usize].name;
            let below = moved(&object.url, &page.hosts[0].name);
            if let Ok(mut url) = Url::parse(&below) {
                url.set_path(&format!("/{host}{}", url.path()));
                object.url = url.into();
            }
            object.path = format!("/{host}{}", object.path);
            moved_count += 1;
        }
        object.host = HostId(0);
    }
    format!("{moved_count} objects moved to {}", page.hosts[0].name)
}

/// Lets servers answer without thinking.
fn instant(page: &mut Page) -> String {
    for object in &mut page.objects {
        object.think.value = std::time::Duration::ZERO;
    }
    "servers answer at once".to_owned()
}

// Sprites: small images of one host joined into one.

/// Joins images of at most `most` bytes that one host serves and one object names. The sprite takes the place of the
/// first and has the bytes of all.
fn sprite(page: &mut Page, most: u64) -> String {
    let mut joined = vec![false; page.objects.len()];
    let mut sprites = 0;
    for images in groups(page, most).into_values().filter(|images| images.len() > 1) {
        sprites += 1;
        join(page, &images, sprites);
        images[1..].iter().for_each(|image| joined[*image] = true);
    }
    let images = joined.iter().filter(|joined| **joined).count() + sprites;
    remove(page, &joined);
    format!("{images} images of at most {most} bytes joined into {sprites} sprites")
}

/// Images that can be joined, by host and by the object that names them.
fn groups(page: &Page, most: u64) -> BTreeMap<(HostId, ObjectId), Vec<usize>> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, object) in page.objects.iter().enumerate() {
        let is_plain = object.kind == Kind::Image && object.method == "GET" && object.status == 200;
        if let [edge] = object.waits_for.as_slice()
            && is_plain
            && object.body_bytes <= most
        {
            groups.entry((object.host, edge.object)).or_default().push(index);
        }
    }
    groups
}

fn join(page: &mut Page, images: &[usize], number: usize) {
    let bytes = images.iter().map(|image| page.objects[*image].body_bytes).sum();
    let is_cacheable = images.iter().all(|image| page.objects[*image].cacheable);
    let sprite = &mut page.objects[images[0]];
    sprite.path = format!("/sprite-{number}.png");
    sprite.url = Url::parse(&sprite.url)
        .and_then(|url| url.join(&sprite.path))
        .map_or_else(|_| sprite.path.clone(), String::from);
    (sprite.body_bytes, sprite.cacheable) = (bytes, is_cacheable);
    let first = ObjectId(images[0] as u32);
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        if images.contains(&(edge.object.0 as usize)) {
            (edge.object, edge.after) = (first, After::End);
        }
    }
}
