//! Which recorded response answers a request: the exact one, else the most similar, else none.
//!
//! A page that is loaded again asks for URLs that no recording has: cache busters, times, random tokens. A request without
//! an exact response gets that of the most similar recorded request of the same method and origin. How they differ is stated,
//! so that a replay can list each. Requests too different from all others are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use url::{Position, Url};

use crate::load::first;
use crate::{Exchange, RecordedRequest};

/// Least similarity of two queries: half of their parameters agree. One parameter whose value alone differs reaches it.
const LEAST_SIMILARITY: f64 = 0.5;

/// Fewest characters of a token: a part of a path that is taken for a number or a hash.
const TOKEN_CHARS: usize = 6;

/// A request to be answered.
#[derive(Clone, Copy, Debug)]
pub struct AskedRequest<'a> {
    /// `GET`, ...
    pub method: &'a str,
    /// The full URL.
    pub url: &'a str,
    /// The `Range` field.
    pub range: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// The answer to a request: the number of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedMatch {
    /// The same request was recorded.
    Exact(usize),
    /// This is the most similar one.
    Inexact(usize, RequestDifference),
    /// None is similar.
    Missing,
}

impl RecordedMatch {
    /// The exchange, if there is one.
    pub fn exchange(self) -> Option<usize> {
        match self {
            RecordedMatch::Exact(at) | RecordedMatch::Inexact(at, _) => Some(at),
            RecordedMatch::Missing => None,
        }
    }
}

/// Difference between a request and the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestDifference {
    /// `http:` in place of `https:`, or the other way round: browsers upgrade requests of secure pages.
    Scheme,
    /// Its body.
    Body,
    /// The range that it asks for.
    Range,
    /// Parameters of its query.
    Query,
    /// Numbers or hashes in its path.
    PathToken,
}

impl fmt::Display for RequestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RequestDifference::Scheme => "other scheme",
            RequestDifference::Body => "other body",
            RequestDifference::Range => "other range",
            RequestDifference::Query => "other query",
            RequestDifference::PathToken => "other number or hash in the path",
        })
    }
}

/// The requests of a recording, searchable. Requests without a response are left out.
#[derive(Debug, Default)]
pub struct RecordedRequests {
    requests: Vec<IndexedRequest>,
    /// Requests by method, origin and path, in the order of recording.
    by_path: BTreeMap<String, Vec<usize>>,
    /// The same by the path without its tokens, where it has some.
    by_pattern: BTreeMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct IndexedRequest {
    exchange: usize,
    query: String,
    range: Option<String>,
    body: Vec<u8>,
    /// Number of times that it has been answered.
    answers: usize,
}

impl RecordedRequests {
    /// The requests of these exchanges.
    pub fn of(exchanges: &[Exchange]) -> RecordedRequests {
        let mut index = RecordedRequests::default();
        for (at, exchange) in exchanges.iter().enumerate() {
            let answered = exchange.response.is_some() && !exchange.from_cache;
            if let Some(place) = answered.then(|| RequestPlace::of(&exchange.request)).flatten() {
                index.add(at, &exchange.request, place);
            }
        }
        index
    }

    fn add(&mut self, exchange: usize, request: &RecordedRequest, place: RequestPlace) {
        let at = self.requests.len();
        self.requests.push(IndexedRequest {
            exchange,
            query: place.query,
            range: first(&request.fields, "range").map(str::to_owned),
            body: request.body.clone(),
            answers: 0,
        });
        self.by_path.entry(place.path).or_default().push(at);
        if let Some(pattern) = place.pattern {
            self.by_pattern.entry(pattern).or_default().push(at);
        }
    }

    /// The response to a request. Of several recorded for the same request each is given once, in order, and then the last.
    pub fn find(&mut self, asked: AskedRequest<'_>) -> RecordedMatch {
        let Some(place) = RequestPlace::new(asked.method, asked.url) else {
            return RecordedMatch::Missing;
        };
        let find = |place: &RequestPlace| {
            self.on_path(place, asked).or_else(|| self.on_pattern(place, asked))
        };
        let by_other_scheme = || {
            let place = RequestPlace::new(asked.method, &other_scheme(asked.url)?)?;
            let (at, difference) = find(&place)?;
            Some((at, difference.or(Some(RequestDifference::Scheme))))
        };
        let Some((at, difference)) = find(&place).or_else(by_other_scheme) else {
            return RecordedMatch::Missing;
        };
        self.requests[at].answers += 1;
        let exchange = self.requests[at].exchange;
        difference.map_or(RecordedMatch::Exact(exchange), |difference| {
            RecordedMatch::Inexact(exchange, difference)
        })
    }

    fn on_path(
        &self,
        place: &RequestPlace,
        asked: AskedRequest<'_>,
    ) -> Option<(usize, Option<RequestDifference>)> {
        let candidates = self.by_path.get(&place.path)?;
        let of = |at: usize| &self.requests[at];
        let same_query: Vec<usize> =
            candidates.iter().copied().filter(|at| of(*at).query == place.query).collect();
        let same_body = same_query.iter().copied().filter(|at| of(*at).body == asked.body);
        let exact = same_body.clone().filter(|at| of(*at).range.as_deref() == asked.range);
        if let Some(at) = self.next_of(exact) {
            return Some((at, None));
        }
        if let Some(at) = self.next_of(same_body) {
            return Some((at, Some(RequestDifference::Range)));
        }
        if !same_query.is_empty() {
            let likeness = |at: usize| body_similarity(&of(at).body, asked.body);
            return Some((self.best(&same_query, likeness)?, Some(RequestDifference::Body)));
        }
        let likeness = |at: usize| query_similarity(&of(at).query, &place.query);
        let at = self.best(candidates, likeness)?;
        (likeness(at) >= LEAST_SIMILARITY).then_some((at, Some(RequestDifference::Query)))
    }

    fn on_pattern(
        &self,
        place: &RequestPlace,
        asked: AskedRequest<'_>,
    ) -> Option<(usize, Option<RequestDifference>)> {
        let candidates = self.by_pattern.get(place.pattern.as_ref()?)?;
        let of = |at: usize| &self.requests[at];
        let likeness = |at: usize| {
            query_similarity(&of(at).query, &place.query)
                + body_similarity(&of(at).body, asked.body)
        };
        let alike = |at: &usize| query_similarity(&of(*at).query, &place.query) >= LEAST_SIMILARITY;
        let candidates: Vec<usize> = candidates.iter().copied().filter(alike).collect();
        Some((self.best(&candidates, likeness)?, Some(RequestDifference::PathToken)))
    }

    /// The first that has not been answered, else the last.
    fn next_of(&self, candidates: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let unanswered = candidates.clone().find(|at| self.requests[*at].answers == 0);
        unanswered.or_else(|| candidates.last())
    }

    /// The most similar one; of several the least answered, and of those the first.
    fn best(&self, candidates: &[usize], likeness: impl Fn(usize) -> f64) -> Option<usize> {
        let rank = |at: &usize| (likeness(*at), self.requests[*at].answers);
        let better = |one: &(f64, usize), other: &(f64, usize)| {
            one.0.total_cmp(&other.0).then(other.1.cmp(&one.1))
        };
        candidates.iter().rev().copied().max_by(|a, b| better(&rank(a), &rank(b)))
    }
}

/// Method, origin and path of a request, and what else identifies it.
struct RequestPlace {
    /// `GET https://a.test/x`.
    path: String,
    /// The path with placeholders for its tokens, if it has some.
    pattern: Option<String>,
    query: String,
}

impl RequestPlace {
    fn of(request: &RecordedRequest) -> Option<RequestPlace> {
        RequestPlace::new(&request.method, &request.url)
    }

    fn new(method: &str, url: &str) -> Option<RequestPlace> {
        let url = Url::parse(url).ok()?;
        // The head of a response is that of its GET (RFC 9110 section 9.3.2).
        let method = if method == "HEAD" { "GET" } else { method };
        let origin = &url[..Position::BeforePath];
        let pattern = pattern(url.path()).map(|path| format!("{method} {origin}{path}"));
        let path = format!("{method} {origin}{}", url.path());
        Some(RequestPlace { path, pattern, query: url.query().unwrap_or_default().to_owned() })
    }
}

/// The URL with the other scheme; `None` if it names a port.
fn other_scheme(url: &str) -> Option<String> {
    let mut url = Url::parse(url).ok().filter(|url| url.port().is_none())?;
    let other = if url.scheme() == "https" { "http" } else { "https" };
    url.set_scheme(other).ok()?;
    Some(url.into())
}

/// The path with `*` for each token: a run of digits, or hexadecimal digits with at least one decimal one.
fn pattern(path: &str) -> Option<String> {
    let is_token = |part: &str| {
        part.len() >= TOKEN_CHARS
            && part.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
            && part.chars().any(|c| c.is_ascii_digit())
    };
    let ends = |c: char| matches!(c, '/' | '.' | '_' | '=' | ',' | ';');
    let mut has_token = false;
    let parts = path.split_inclusive(ends).map(|part| {
        let word = part.trim_end_matches(ends);
        match is_token(word) {
            true => {
                has_token = true;
                format!("*{}", &part[word.len()..])
            }
            false => part.to_owned(),
        }
    });
    let pattern: String = parts.collect();
    has_token.then_some(pattern)
}

/// Parameters of a query. A bare number is a value without a name: a cache buster.
fn parameters(query: &str) -> BTreeSet<(&str, &str)> {
    let parameters = query.split('&').filter(|part| !part.is_empty());
    parameters
        .map(|part| match part.split_once('=') {
            Some(parameter) => parameter,
            None if part.starts_with(|c: char| c.is_ascii_digit()) => ("", part),
            None => (part, ""),
        })
        .collect()
}

/// From 0 to 1: a parameter that agrees counts as 1, one with another value as a half.
fn query_similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (parameters(one), parameters(other));
    let names = |parameters: &BTreeSet<(&str, &str)>| -> BTreeSet<String> {
        parameters.iter().map(|(name, _)| (*name).to_owned()).collect()
    };
    let (one_names, other_names) = (names(&one), names(&other));
    let all = one_names.union(&other_names).count();
    if all == 0 {
        return 1.0;
    }
    let agree: BTreeSet<&str> = one.intersection(&other).map(|(name, _)| *name).collect();
    let shared = one_names.intersection(&other_names).count();
    (agree.len() + shared) as f64 / (2 * all) as f64
}

/// From 0 to 1: the part of the longer body that agrees from its beginning.
fn body_similarity(one: &[u8], other: &[u8]) -> f64 {
    let longer = one.len().max(other.len());
    let agree = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    if longer == 0 { 1.0 } else { agree as f64 / longer as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RecordedResponse;

    fn recorded(method: &str, url: &str, body: &str) -> Exchange {
        let request = RecordedRequest {
            method: method.to_owned(),
            url: url.to_owned(),
            body: body.as_bytes().to_vec(),
            ..RecordedRequest::default()
        };
        let response = Some(RecordedResponse::default());
        Exchange { request, response, ..Exchange::default() }
    }

    fn asked<'a>(method: &'a str, url: &'a str, body: &'a str) -> AskedRequest<'a> {
        AskedRequest { method, url, range: None, body: body.as_bytes() }
    }

    fn gets(urls: &[&str]) -> RecordedRequests {
        let exchanges: Vec<Exchange> = urls.iter().map(|url| recorded("GET", url, "")).collect();
        RecordedRequests::of(&exchanges)
    }

    #[track_caller]
    fn finds(recording: &mut RecordedRequests, url: &str, expected: RecordedMatch) {
        assert_eq!(recording.find(asked("GET", url, "")), expected, "{url}");
    }

    #[test]
    fn the_same_request_is_found_whatever_its_url_looks_like() {
        let mut recording = gets(&["https://A.test:443/x?q=1", "http://a.test/x?q=1"]);
        finds(&mut recording, "https://a.test/x?q=1#there", RecordedMatch::Exact(0));
        finds(&mut recording, "http://a.test:80/x?q=1", RecordedMatch::Exact(1));
        finds(&mut recording, "https://b.test/x?q=1", RecordedMatch::Missing);
        assert_eq!(
            recording.find(asked("HEAD", "https://a.test/x?q=1", "")),
            RecordedMatch::Exact(0)
        );
        assert_eq!(
            recording.find(asked("POST", "https://a.test/x?q=1", "")),
            RecordedMatch::Missing
        );
    }

    #[test]
    fn upgraded_requests_are_survived_and_told() {
        let mut recording = gets(&["http://a.test/x?_=1", "http://a.test:8080/y"]);
        let inexact = |difference| RecordedMatch::Inexact(0, difference);
        finds(&mut recording, "https://a.test/x?_=1", inexact(RequestDifference::Scheme));
        finds(&mut recording, "https://a.test/x?_=2", inexact(RequestDifference::Query));
        finds(&mut recording, "https://a.test:8080/y", RecordedMatch::Missing);
    }

    #[test]
    fn several_responses_to_one_request_come_in_turn() {
        let mut recording = gets(&["http://a.test/n", "http://a.test/n"]);
        for expected in [0, 1, 1] {
            finds(&mut recording, "http://a.test/n", RecordedMatch::Exact(expected));
        }
    }

    #[test]
    fn cache_busters_are_survived_and_told() {
        let mut recording =
            gets(&["http://a.test/x?a=1&_=111", "http://a.test/x?a=2&_=222", "http://a.test/y?7"]);
        let inexact = |at| RecordedMatch::Inexact(at, RequestDifference::Query);
        finds(&mut recording, "http://a.test/x?_=999&a=2", inexact(1));
        finds(&mut recording, "http://a.test/x?a=1&_=999", inexact(0));
        finds(&mut recording, "http://a.test/y?1700000000", inexact(2));
        finds(&mut recording, "http://a.test/x?q=other", RecordedMatch::Missing);
        finds(&mut recording, "http://a.test/z?a=1", RecordedMatch::Missing);
    }

    #[test]
    fn tokens_in_paths_are_survived_and_told() {
        let mut recording = gets(&["http://a.test/hit/1700000000.gif?p=1", "http://a.test/about"]);
        let inexact = RecordedMatch::Inexact(0, RequestDifference::PathToken);
        finds(&mut recording, "http://a.test/hit/1800000001.gif?p=1", inexact);
        finds(&mut recording, "http://a.test/hit/face.gif?p=1", RecordedMatch::Missing);
        finds(&mut recording, "http://a.test/hits/1800000001.gif?p=1", RecordedMatch::Missing);
    }

    #[test]
    fn bodies_choose_among_posts() {
        let mut recording = RecordedRequests::of(&[
            recorded("POST", "http://a.test/api", "query=users&time=1"),
            recorded("POST", "http://a.test/api", "query=items&time=1"),
        ]);
        let post = |recording: &mut RecordedRequests, body| {
            recording.find(asked("POST", "http://a.test/api", body))
        };
        assert_eq!(post(&mut recording, "query=items&time=1"), RecordedMatch::Exact(1));
        let inexact = RecordedMatch::Inexact(0, RequestDifference::Body);
        assert_eq!(post(&mut recording, "query=users&time=2"), inexact);
    }

    #[test]
    fn ranges_are_told_apart() {
        let mut part = recorded("GET", "http://a.test/v", "");
        part.request.fields = vec![("Range".to_owned(), "bytes=0-9".to_owned())];
        let mut recording = RecordedRequests::of(&[part]);
        let with = |range| AskedRequest { range, ..asked("GET", "http://a.test/v", "") };
        assert_eq!(recording.find(with(Some("bytes=0-9"))), RecordedMatch::Exact(0));
        let inexact = RecordedMatch::Inexact(0, RequestDifference::Range);
        assert_eq!(recording.find(with(Some("bytes=5-"))), inexact);
    }

    #[test]
    fn requests_without_a_response_answer_nothing() {
        let mut failed = recorded("GET", "http://a.test/", "");
        failed.response = None;
        finds(&mut RecordedRequests::of(&[failed]), "http://a.test/", RecordedMatch::Missing);
    }

    proptest! {
        #[test]
        fn what_was_recorded_is_found(path in "[a-z0-9/_.-]{0,20}", query in "[a-z0-9=&]{0,12}") {
            let url = format!("http://a.test/{path}?{query}");
            finds(&mut gets(&["http://b.test/", &url]), &url, RecordedMatch::Exact(1));
        }

        #[test]
        fn any_request_is_survived(method in ".{0,8}", url in ".{0,60}", body in ".{0,20}") {
            let mut recording = gets(&["http://a.test/123456/x?a=1"]);
            recording.find(asked(&method, &url, &body));
            recording.find(asked(&method, &format!("http://a.test/{url}"), &body));
        }

        #[test]
        fn similarity_is_symmetric(one in "[ab=&1]{0,12}", other in "[ab=&1]{0,12}") {
            prop_assert_eq!(query_similarity(&one, &other), query_similarity(&other, &one));
            prop_assert!((0.0..=1.0).contains(&query_similarity(&one, &other)));
        }
    }
}
