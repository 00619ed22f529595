//! Requests of many users who load pages of recorded HAR files through one cache.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chance::Source;
use farlink_cache::{Date, Exchange, Policy, Request, storable};
use http::{Method, StatusCode};
use serde_json::Value;

use crate::trace::{Trace, Zipf};

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
    let source = Source::new(seed, 0);
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
    let exchange = Exchange { sent: now, received: now };
    storable(&Request::new(&method, &asked[..]), status, &fields[..], exchange, &Policy::default())
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
