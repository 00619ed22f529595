//! The memory tier: lookup, reuse, bounds and purges.

use bytes::Bytes;
use farlink_cache::{
    AnswerShape, CacheEntry, CacheKey, CacheRequest, Date, ExchangeTimes, FieldLines,
    ForwardReason, InsertError, Lookup, Memory, MemoryLimits, Partition, Purge, Scheme,
    StoragePolicy, StoredResponse, ValidationReason, storable,
};
use http::{Method, StatusCode};

const START: u64 = 1_000_000_000;
const NONE: &[(&str, &str)] = &[];

fn at(secs: u64) -> Date {
    Date::from_unix_secs(START + secs)
}

fn memory(bytes: u64) -> Memory<StoredResponse> {
    Memory::new(MemoryLimits { bytes, entry_bytes: bytes }, (1, 2))
}

fn key(target: &str) -> CacheKey<'_> {
    CacheKey::new(Partition(0), Scheme::Http, "a.test", target)
}

fn entry(
    key: &CacheKey<'_>,
    request: &[(&str, &str)],
    status: u16,
    fields: &[(&str, &str)],
    body: &'static str,
) -> CacheEntry<StoredResponse> {
    let status = StatusCode::from_u16(status).unwrap();
    let exchange = ExchangeTimes { sent: at(0), received: at(0) };
    let storable = storable(
        &CacheRequest::new(&Method::GET, request),
        status,
        fields,
        exchange,
        &StoragePolicy::default(),
    )
    .unwrap();
    let stored = StoredResponse {
        status,
        fields: storable.fields.clone(),
        body: Bytes::from_static(body.as_bytes()),
    };
    CacheEntry::new(key, storable, stored)
}

fn put(
    memory: &Memory<StoredResponse>,
    target: &str,
    request: &[(&str, &str)],
    fields: &[(&str, &str)],
    body: &'static str,
) {
    let key = key(target);
    memory.insert(memory.ticket(&key), entry(&key, request, 200, fields, body)).unwrap();
}

fn get(
    memory: &Memory<StoredResponse>,
    target: &str,
    request: &[(&str, &str)],
    secs: u64,
) -> Lookup<StoredResponse> {
    memory.lookup(&key(target), &CacheRequest::new(&Method::GET, request), at(secs))
}

fn body(lookup: Lookup<StoredResponse>) -> Bytes {
    match lookup {
        Lookup::Hit(hit) => hit.entry.value().body.clone(),
        other => panic!("no hit: {other:?}"),
    }
}

fn miss(lookup: Lookup<StoredResponse>) -> ForwardReason {
    match lookup {
        Lookup::Miss(why) => why,
        other => panic!("no miss: {other:?}"),
    }
}

const FRESH: (&str, &str) = ("cache-control", "max-age=60");

#[test]
fn what_is_stored_is_found_until_it_is_stale() {
    let memory = memory(100_000);
    put(&memory, "/", NONE, &[FRESH], "one");
    let Lookup::Hit(hit) = get(&memory, "/", NONE, 59) else { panic!("fresh for 60 s") };
    assert_eq!((hit.age.get(), hit.shape, hit.stale), (59, AnswerShape::Whole, None));
    assert_eq!(
        miss(get(&memory, "/", NONE, 60)),
        ForwardReason::Stale,
        "without a validator it is of no use"
    );
    assert_eq!(miss(get(&memory, "/other", NONE, 0)), ForwardReason::UriMiss);
    let elsewhere = CacheKey::new(Partition(1), Scheme::Http, "a.test", "/");
    let request = CacheRequest::new(&Method::GET, NONE);
    assert_eq!(
        miss(memory.lookup(&elsewhere, &request, at(0))),
        ForwardReason::UriMiss,
        "another tenant's"
    );
    let post = CacheRequest::new(&Method::POST, NONE);
    assert_eq!(miss(memory.lookup(&key("/"), &post, at(0))), ForwardReason::Method);
    let head = CacheRequest::new(&Method::HEAD, NONE);
    assert!(
        matches!(memory.lookup(&key("/"), &head, at(0)), Lookup::Hit(_)),
        "a GET's response answers HEAD"
    );
}

#[test]
fn stale_with_a_validator_is_validated() {
    let memory = memory(100_000);
    put(&memory, "/", NONE, &[FRESH, ("etag", "\"a\"")], "one");
    assert!(matches!(
        get(&memory, "/", NONE, 60),
        Lookup::Validate { reason: ValidationReason::Stale, .. }
    ));
    // RFC 9111 section 5.2.1.7.
    assert!(matches!(
        get(&memory, "/", &[("cache-control", "only-if-cached")], 60),
        Lookup::Unavailable
    ));
    assert!(matches!(
        get(&memory, "/x", &[("cache-control", "only-if-cached")], 0),
        Lookup::Unavailable
    ));
    assert!(matches!(get(&memory, "/", &[("cache-control", "only-if-cached")], 0), Lookup::Hit(_)));
}

/// RFC 9111 section 4.1.
#[test]
fn variants_are_chosen_by_their_fields() {
    let memory = memory(100_000);
    let fields = [FRESH, ("vary", "accept-language")];
    put(&memory, "/", &[("accept-language", "en")], &fields, "english");
    put(&memory, "/", &[("accept-language", "de")], &fields, "deutsch");
    assert_eq!(body(get(&memory, "/", &[("Accept-Language", "de")], 0)), "deutsch");
    assert_eq!(body(get(&memory, "/", &[("Accept-Language", "en")], 0)), "english");
    assert_eq!(miss(get(&memory, "/", &[("accept-language", "fr")], 0)), ForwardReason::VaryMiss);
    put(&memory, "/", &[("accept-language", "de")], &fields, "neu");
    assert_eq!(body(get(&memory, "/", &[("accept-language", "de")], 0)), "neu");
    assert_eq!(memory.tally().entries, 2, "a variant takes its own place only");
    assert_eq!(memory.invalidate(&key("/")), 2);
}

#[test]
fn one_resource_cannot_fill_a_cache_with_variants() {
    let memory = memory(10_000_000);
    for n in 0..1_000 {
        put(&memory, "/", &[("user-agent", &n.to_string())], &[FRESH, ("vary", "user-agent")], "x");
    }
    assert!(memory.tally().entries <= 32, "{:?}", memory.tally());
}

#[test]
fn a_request_cannot_poison_what_others_get() {
    let memory = memory(100_000);
    put(&memory, "/", NONE, &[FRESH], "good");
    for field in farlink_cache::UNKEYED {
        assert_eq!(body(get(&memory, "/", &[(field, "evil.test")], 0)), "good");
        let request = [(field, "evil.test")];
        let exchange = ExchangeTimes { sent: at(0), received: at(0) };
        let judged = storable(
            &CacheRequest::new(&Method::GET, &request[..]),
            StatusCode::OK,
            &[FRESH][..],
            exchange,
            &StoragePolicy::default(),
        );
        assert!(judged.is_err(), "{field}");
    }
}

#[test]
fn parts_answer_ranges_and_a_whole_supersedes_them() {
    let memory = memory(100_000);
    let fields = |range| [FRESH, ("etag", "\"a\""), ("content-range", range)];
    for (range, text) in [("bytes 0-3/10", "0123"), ("bytes 6-9/10", "6789")] {
        let entry = entry(&key("/"), NONE, 206, &fields(range), text);
        memory.insert(memory.ticket(&key("/")), entry).unwrap();
    }
    let shape = |range| match get(&memory, "/", &[("range", range)], 0) {
        Lookup::Hit(hit) => Ok((hit.shape, hit.entry.value().body.clone())),
        other => Err(miss(other)),
    };
    let (AnswerShape::Part { from: 1, .. }, text) = shape("bytes=7-8").unwrap() else {
        panic!("bytes 7 and 8 of the second part")
    };
    assert_eq!(text, "6789");
    assert_eq!(shape("bytes=2-7").unwrap_err(), ForwardReason::Partial);
    assert_eq!(miss(get(&memory, "/", NONE, 0)), ForwardReason::Partial);
    put(&memory, "/", NONE, &[FRESH, ("etag", "\"a\"")], "0123456789");
    assert_eq!(memory.tally().entries, 1);
    let (AnswerShape::Part { from: 2, .. }, _) = shape("bytes=2-7").unwrap() else {
        panic!("cut from the whole")
    };
}

#[test]
fn too_large_is_refused() {
    let memory = Memory::new(MemoryLimits { bytes: 100_000, entry_bytes: 1_000 }, (1, 2));
    let large = CacheEntry::new(
        &key("/"),
        storable(
            &CacheRequest::new(&Method::GET, NONE),
            StatusCode::OK,
            &[FRESH][..],
            ExchangeTimes { sent: at(0), received: at(0) },
            &StoragePolicy::default(),
        )
        .unwrap(),
        StoredResponse {
            status: StatusCode::OK,
            fields: Default::default(),
            body: vec![0; 1_000].into(),
        },
    );
    let refused = memory.insert(memory.ticket(&key("/")), large).unwrap_err();
    assert!(matches!(refused, InsertError::TooLarge { limit: 1_000, .. }), "{refused}");
}

#[test]
fn purges_remove_what_they_name_and_nothing_else() {
    let keys = [
        CacheKey::new(Partition(0), Scheme::Https, "a.test", "/img/1"),
        CacheKey::new(Partition(0), Scheme::Https, "a.test", "/img/2"),
        CacheKey::new(Partition(0), Scheme::Https, "a.test", "/x"),
        CacheKey::new(Partition(1), Scheme::Https, "a.test", "/img/1"),
    ];
    let left = |purge: Purge<'_>| {
        let memory = memory(100_000);
        for key in &keys {
            memory.insert(memory.ticket(key), entry(key, NONE, 200, &[FRESH], "x")).unwrap();
        }
        let removed = memory.purge(&purge);
        let request = CacheRequest::new(&Method::GET, NONE);
        let left: Vec<_> = keys
            .iter()
            .map(|key| matches!(memory.lookup(key, &request, at(0)), Lookup::Hit(_)))
            .collect();
        assert_eq!(removed, left.iter().filter(|left| !**left).count());
        left
    };
    assert_eq!(left(Purge::Key(keys[2])), [true, true, false, true]);
    assert_eq!(
        left(Purge::Prefix(Partition(0), "https://a.test/img/")),
        [false, false, true, true]
    );
    assert_eq!(left(Purge::Partition(Partition(0))), [false, false, false, true]);
    assert_eq!(left(Purge::All), [false; 4]);
}

#[test]
fn what_is_fetched_while_its_key_is_invalidated_is_not_stored() {
    let memory = memory(100_000);
    for spoil in [Purge::Key(key("/")), Purge::All, Purge::Partition(Partition(0))] {
        let ticket = memory.ticket(&key("/"));
        memory.purge(&spoil);
        let refused = memory.insert(ticket, entry(&key("/"), NONE, 200, &[FRESH], "old"));
        assert_eq!(refused.unwrap_err(), InsertError::Invalidated);
    }
    assert_eq!(memory.tally().entries, 0);
}

/// A 304, handled by a proxy as in the crate's documentation.
#[test]
fn a_confirmed_entry_is_fresh_again() {
    let memory = memory(100_000);
    put(&memory, "/", NONE, &[FRESH, ("etag", "\"a\""), ("x-version", "1")], "body");
    let Lookup::Validate { entry: old, .. } = get(&memory, "/", NONE, 100) else { panic!("stale") };
    let confirmation = [("etag", "\"a\""), ("x-version", "2"), FRESH];
    assert!(old.terms().confirmed_by(&confirmation[..]));
    let fields = farlink_cache::updated(&old.value().fields, &confirmation[..]);
    let exchange = ExchangeTimes { sent: at(100), received: at(100) };
    let request = CacheRequest::new(&Method::GET, NONE);
    let again =
        storable(&request, old.value().status, &fields, exchange, &StoragePolicy::default())
            .unwrap();
    let value = StoredResponse { fields: again.fields.clone(), ..old.value().clone() };
    memory.insert(memory.ticket(&key("/")), CacheEntry::new(&key("/"), again, value)).unwrap();
    let Lookup::Hit(hit) = get(&memory, "/", NONE, 159) else { panic!("fresh for 60 s more") };
    assert_eq!(
        (hit.entry.value().fields.value("x-version"), &hit.entry.value().body[..]),
        (Some(&b"2"[..]), &b"body"[..])
    );
    assert_eq!(memory.tally().entries, 1);
}
