//! Freshness compared with an independent implementation: the crate http-cache-semantics, where both follow the same rules.
//!
//! Intended differences are not compared: the crate takes `proxy-revalidate` for a lifetime of zero and `no-cache="field"` for the whole response,
//! uses stale responses with `max-stale` after an invalid lifetime, gives `immutable` a day of its own, and has no limit for the heuristic.

use std::time::{Duration, SystemTime};

use farlink_cache::{
    CacheRequest, Date, DeltaSeconds, ExchangeTimes, Heuristic, Reuse, StoragePolicy, storable,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_cache_semantics::{CacheOptions, CachePolicy};
use proptest::prelude::*;

const NOW: u64 = 1_700_000_000;

fn response_directives() -> impl Strategy<Value = Vec<String>> {
    let directive = prop_oneof![
        (0..100u32).prop_map(|secs| format!("max-age={secs}")),
        (0..100u32).prop_map(|secs| format!("s-maxage={secs}")),
        Just("public".to_owned()),
        Just("private".to_owned()),
        Just("no-store".to_owned()),
        Just("no-cache".to_owned()),
        Just("must-revalidate".to_owned()),
    ];
    prop::collection::vec(directive, 0..3).prop_map(distinct)
}

/// The same directive twice with two numbers is stale to both, but in different ways.
fn distinct(mut directives: Vec<String>) -> Vec<String> {
    let name = |directive: &String| directive.split('=').next().unwrap_or_default().to_owned();
    directives.sort();
    directives.dedup_by_key(|directive| name(directive));
    directives
}

fn request_directives() -> impl Strategy<Value = Vec<String>> {
    let directive = prop_oneof![
        Just("no-cache".to_owned()),
        (1..100u32).prop_map(|secs| format!("min-fresh={secs}")),
        (0..100u32).prop_map(|secs| format!("max-age={secs}")),
    ];
    prop::collection::vec(directive, 0..2)
}

fn headers(lines: &[(&str, String)]) -> HeaderMap {
    let pair = |(name, value): &(&str, String)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    lines.iter().filter(|(_, value)| !value.is_empty()).map(pair).collect()
}

fn system(secs: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn both_agree_on_storing_and_freshness(
        stored in response_directives(),
        asked in request_directives(),
        status in prop::sample::select(vec![200u16, 203, 301, 302, 404, 410, 500]),
        age in prop::option::of(0..50u64),
        expires in prop::option::of(0..100u64),
        modified in prop::option::of(1..500u64),
        authorized: bool,
        later in 0..150u64,
    ) {
        let date = |secs: u64| Date::from_unix_secs(secs).to_string();
        let response = headers(&[
            ("date", date(NOW)),
            ("cache-control", stored.join(", ")),
            ("age", age.map_or(String::new(), |age| age.to_string())),
            ("expires", expires.map_or(String::new(), |secs| date(NOW + secs))),
            ("last-modified", modified.map_or(String::new(), |secs| date(NOW - secs))),
            ("etag", "\"a\"".to_owned()),
        ]);
        let credentials = if authorized { "Basic x".to_owned() } else { String::new() };
        let first = headers(&[("authorization", credentials)]);
        let status = StatusCode::from_u16(status).unwrap();
        let exchange = ExchangeTimes { sent: Date::from_unix_secs(NOW), received: Date::from_unix_secs(NOW) };
        let policy = StoragePolicy { heuristic: Heuristic { at_most: DeltaSeconds::MAX, ..Heuristic::default() }, ..StoragePolicy::default() };
        let ours = storable(&CacheRequest::new(&Method::GET, &first), status, &response, exchange, &policy);

        let request = |fields: &HeaderMap| {
            let mut request = http::Request::new(());
            *request.headers_mut() = fields.clone();
            request
        };
        let mut answer = http::Response::new(());
        (*answer.status_mut(), *answer.headers_mut()) = (status, response);
        let theirs = CachePolicy::new_options(&request(&first), &answer, system(NOW), CacheOptions::default());
        // That crate never stores 500; the standard lets a cache that understands the code.
        if status != StatusCode::INTERNAL_SERVER_ERROR {
            prop_assert_eq!(ours.is_ok(), theirs.is_storable(), "{:?}", ours);
        }
        if let (Ok(ours), true) = (ours, theirs.is_storable()) {
            let again = headers(&[("cache-control", asked.join(", "))]);
            let fresh = ours.terms.reuse(&CacheRequest::new(&Method::GET, &again), Date::from_unix_secs(NOW + later)) == Reuse::Fresh;
            let their_answer = theirs.before_request(&request(&again), system(NOW + later));
            prop_assert_eq!(fresh, their_answer.satisfies_without_revalidation());
            prop_assert_eq!(u64::from(ours.terms.age(Date::from_unix_secs(NOW + later)).get()), theirs.age(system(NOW + later)).as_secs());
        }
    }
}
