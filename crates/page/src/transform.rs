//! Authors' optimisations of pages: inlining, sprites, sharding, compression. `bth2013~sprite~shard=4`.
//!
//! Steve Souders, "High Performance Web Sites" (2007) and "Even Faster Web Sites" (2009), describes all four. Each
//! takes a page's graph and yields one that loads the same content; the client's cost of processing it is up to its
//! device.

mod flat;
mod gzip;
mod inline;
mod removal;
mod shard;
mod sprite;

use units::pairs::{Pair, separated};

use crate::{Error, Page};

/// Separator between a page's name and its transforms.
const MARK: char = '~';

const EXAMPLE: &str = "`bth2013~inline=2KB`, `~sprite=10KB`, `~shard=4` or `~gzip=30%`";

/// Default sizes of [`inline`] and [`sprite`].
const SMALL_BYTES: u64 = 2_000;
const SPRITE_BYTES: u64 = 10_000;

const MOST_SHARDS: u64 = 64;

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
}

/// Name of a page without its transforms; `None` if there are none.
pub(crate) fn untransformed(spec: &str) -> Option<&str> {
    spec.split_once(MARK).map(|(page, _)| page)
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
            Transform::Inline(most) => inline::inline(&mut page, most),
            Transform::Sprite(most) => sprite::sprite(&mut page, most),
            Transform::Shard(hosts) => shard::shard(&mut page, hosts),
            Transform::Flat => flat::flat(&mut page),
            Transform::Gzip(share) => gzip::gzip(&mut page, share),
        };
        page.origin = format!("{}; {done}", page.origin);
        let value = pair.value.map_or_else(String::new, |value| format!("={value}"));
        page.name = format!("{}{MARK}{}{value}", page.name, pair.key);
    }
    Ok(page)
}

impl Transform {
    fn of(Pair { key: what, value }: Pair<'_>) -> Result<Transform, String> {
        let bytes = |default| match value {
            Some(value) => units::parse::size_bytes(value).map_err(|error| error.to_string()),
            None => Ok(default),
        };
        match what {
            "inline" => bytes(SMALL_BYTES).map(Transform::Inline),
            "sprite" => bytes(SPRITE_BYTES).map(Transform::Sprite),
            "shard" => read_hosts(value).map(Transform::Shard),
            "flat" if value.is_none() => Ok(Transform::Flat),
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
