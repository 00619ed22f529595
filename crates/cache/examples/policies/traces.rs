//! Sequences of requests: generated ones, published ones from files, and those of many users who load pages of recorded HAR files through
//! one cache.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chance::{RandomSource, RandomStream};
use farlink_cache::{CacheRequest, Date, ExchangeTimes, StoragePolicy, storable};
use http::{Method, StatusCode};
use serde_json::Value;

/// A sequence of requests: objects by number, and the size of each.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub name: String,
    pub requests: Vec<u32>,
    pub sizes: Vec<u64>,
}

impl Trace {
    /// Objects drawn by Zipf's law with exponent `alpha`, each independently; sizes log-normal with a median of 4 KiB and a mean of 12 KiB,
    /// as of a page's small objects, independent of popularity.
    pub fn zipf(alpha: f64, objects: usize, requests: usize, seed: u64) -> Trace {
        let source = RandomSource::new(seed, 0);
        let popularity = Zipf::new(alpha, objects);
        let mut draws = source.stream("trace/objects");
        let requests = (0..requests).map(|_| popularity.draw(&mut draws)).collect();
        let sizes = log_normal(objects, &mut source.stream("trace/sizes"));
        Trace { name: format!("Zipf {alpha}"), requests, sizes }
    }

    /// Like [`Trace::zipf`], but at regular intervals another tenth of the objects trades places with others in popularity, and every
    /// fifth request is for an object that is never requested again.
    pub fn drifting(alpha: f64, objects: usize, requests: usize, seed: u64) -> Trace {
        let source = RandomSource::new(seed, 0);
        let popularity = Zipf::new(alpha, objects);
        let (mut draws, mut swaps) = (source.stream("trace/objects"), source.stream("trace/drift"));
        let mut by_rank: Vec<u32> = (0..objects as u32).collect();
        let (mut found, mut once) = (Vec::with_capacity(requests), objects as u32);
        for at in 0..requests {
            if at % (requests / 20).max(1) == 0 {
                for _ in 0..objects / 20 {
                    by_rank.swap(
                        swaps.below(objects as u64) as usize,
                        swaps.below(objects as u64) as usize,
                    );
                }
            }
            if draws.happens(0.2) {
                found.push(once);
                once += 1;
            } else {
                found.push(by_rank[popularity.draw(&mut draws) as usize]);
            }
        }
        let sizes = log_normal(once as usize, &mut source.stream("trace/sizes"));
        Trace {
            name: format!("drifting Zipf {alpha}, a fifth asked for once"),
            requests: found,
            sizes,
        }
    }

    /// Reads lines of `time object size`, as in webcachesim's traces. The same object with another size is another object.
    pub fn read(path: &Path) -> io::Result<Trace> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut trace = Trace { name, ..Trace::default() };
        let mut numbers = BTreeMap::new();
        for line in std::fs::read_to_string(path)?.lines() {
            let mut words = line.split_whitespace().skip(1);
            let (Some(object), Some(size)) =
                (words.next(), words.next().and_then(|size| size.parse().ok()))
            else {
                return Err(io::Error::other(format!("`{line}` is not `time object size`")));
            };
            trace.ask(&mut numbers, (object.to_owned(), size), size);
        }
        Ok(trace)
    }

    /// Appends a request for the object known by `name`.
    fn ask<N: Ord>(&mut self, numbers: &mut BTreeMap<N, u32>, name: N, size: u64) {
        let number = *numbers.entry(name).or_insert_with(|| {
            self.sizes.push(size);
            self.sizes.len() as u32 - 1
        });
        self.requests.push(number);
    }

    /// The number of distinct objects requested, and their total weight if each weighs `overhead` beside its size.
    pub fn footprint(&self, overhead: u64) -> (usize, u64) {
        let mut seen = vec![false; self.sizes.len()];
        self.requests.iter().for_each(|at| seen[*at as usize] = true);
        let weights = seen
            .iter()
            .zip(&self.sizes)
            .filter(|(seen, _)| **seen)
            .map(|(_, size)| size + overhead);
        (weights.clone().count(), weights.sum())
    }
}

/// Numbers from 0 with probabilities proportional to 1 / (n + 1)^alpha.
struct Zipf {
    sums: Vec<f64>,
}

impl Zipf {
    fn new(alpha: f64, numbers: usize) -> Zipf {
        let mut sum = 0.0;
        let sums = (1..=numbers).map(|n| {
            sum += (n as f64).powf(-alpha);
            sum
        });
        Zipf { sums: sums.collect() }
    }

    fn draw(&self, stream: &mut RandomStream) -> u32 {
        let point = stream.unit() * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum <= point) as u32
    }
}

fn log_normal(count: usize, stream: &mut RandomStream) -> Vec<u64> {
    (0..count).map(|_| (4_096.0 * (1.5 * stream.normal()).exp()) as u64 + 1).collect()
}

/// The objects of a page that a shared cache may store.
struct Page {
    objects: Vec<(String, u64)>,
}

/// `visits` of the pages of all HAR files in a folder. Pages are popular by Zipf's law with exponent 0.8. Twenty users load at a time, and their
/// requests interleave; a user's browser holds three tenths of a page's objects already.
pub fn page_mix(folder: &Path, visits: usize, seed: u64) -> io::Result<Trace> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let pages = files.iter().map(|file| Page::read(file)).collect::<io::Result<Vec<_>>>()?;
    let source = RandomSource::new(seed, 0);
    let (mut choice, mut holds) = (source.stream("pages/choice"), source.stream("pages/browser"));
    let popularity = Zipf::new(0.8, pages.len());
    let mut trace =
        Trace { name: format!("{} pages, {visits} visits", pages.len()), ..Trace::default() };
    let mut numbers = BTreeMap::new();
    let mut left = visits;
    let mut users: Vec<VecDeque<&(String, u64)>> = (0..20).map(|_| VecDeque::new()).collect();
    while left > 0 {
        for user in &mut users {
            if user.is_empty() && left > 0 {
                left -= 1;
                let page = &pages[popularity.draw(&mut choice) as usize];
                user.extend(page.objects.iter().filter(|_| !holds.happens(0.3)));
            }
            // A burst of requests, as browsers send them.
            for (url, size) in user.drain(..user.len().min(6)) {
                trace.ask(&mut numbers, url, *size);
            }
        }
    }
    Ok(trace)
}

impl Page {
    fn read(path: &Path) -> io::Result<Page> {
        let bytes = std::fs::read(path)?;
        let mut text = String::new();
        match path.extension().is_some_and(|extension| extension == "gz") {
            true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text)?,
            false => bytes.as_slice().read_to_string(&mut text)?,
        };
        let har: Value = serde_json::from_str(&text)?;
        let entries = har["log"]["entries"].as_array().into_iter().flatten();
        Ok(Page { objects: entries.filter_map(cacheable).collect() })
    }
}

/// The URL and size of an exchange that a shared cache may store.
fn cacheable(entry: &Value) -> Option<(String, u64)> {
    let (request, response) = (&entry["request"], &entry["response"]);
    let method = Method::from_bytes(request["method"].as_str()?.as_bytes()).ok()?;
    let status = StatusCode::from_u16(u16::try_from(response["status"].as_u64()?).ok()?).ok()?;
    let fields = lines(&response["headers"]);
    let asked = lines(&request["headers"]);
    // HTTP/2's pseudo-fields are not fields.
    let asked: Vec<_> = asked.into_iter().filter(|(name, _)| !name.starts_with(':')).collect();
    let date = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"));
    let now = date
        .and_then(|(_, value)| Date::parse(value.as_bytes()))
        .unwrap_or(Date::from_unix_secs(1_700_000_000));
    let exchange = ExchangeTimes { sent: now, received: now };
    storable(
        &CacheRequest::new(&method, &asked[..]),
        status,
        &fields[..],
        exchange,
        &StoragePolicy::default(),
    )
    .ok()?;
    let size = ["_transferSize", "bodySize"]
        .iter()
        .filter_map(|name| response[*name].as_u64())
        .find(|size| *size > 0);
    Some((request["url"].as_str()?.to_owned(), size.or(response["content"]["size"].as_u64())?))
}

fn lines(fields: &Value) -> Vec<(String, String)> {
    let fields = fields.as_array().into_iter().flatten();
    fields
        .filter_map(|field| {
            Some((field["name"].as_str()?.to_owned(), field["value"].as_str()?.to_owned()))
        })
        .collect()
}
