//! A hit allocates nothing: counted by the allocator itself.

use allocations::{Counting, count};
use bytes::Bytes;
use farlink_cache::{
    CacheEntry, CacheKey, CacheRequest, Date, ExchangeTimes, Lookup, Memory, MemoryLimits,
    Partition, Scheme, StoragePolicy, StoredResponse, storable,
};
use http::{Method, StatusCode};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn hits_of_every_kind_allocate_nothing() {
    let memory: Memory<StoredResponse> =
        Memory::new(MemoryLimits { bytes: 1 << 20, entry_bytes: 1 << 16 }, (1, 2));
    let now = Date::from_unix_secs(1_000_000_000);
    let key = CacheKey::new(Partition(0), Scheme::Https, "www.example.com", "/style.css?v=3");
    let asked = [("Accept-Encoding", "gzip, br"), ("User-Agent", "x")];
    let fields = [("Cache-Control", "max-age=60"), ("Vary", "Accept-Encoding"), ("ETag", "\"a\"")];
    let exchange = ExchangeTimes { sent: now, received: now };
    let storable = storable(
        &CacheRequest::new(&Method::GET, &asked[..]),
        StatusCode::OK,
        &fields[..],
        exchange,
        &StoragePolicy::default(),
    )
    .unwrap();
    // The first clone of bytes made from a vector allocates its reference count, once per entry.
    let body = Bytes::from(vec![7; 1_000]);
    let stored = StoredResponse {
        status: StatusCode::OK,
        fields: storable.fields.clone(),
        body: body.clone(),
    };
    memory.insert(memory.ticket(&key), CacheEntry::new(&key, storable, stored)).unwrap();
    for more in [
        ("Accept", "*/*"),
        ("Range", "bytes=0-9"),
        ("If-None-Match", "\"a\""),
        ("Cache-Control", "max-age=10, max-stale"),
    ] {
        let asked = [("Accept-Encoding", "gzip,br"), more];
        let before = count();
        let key =
            CacheKey::new(Partition(0), Scheme::Https, "WWW.example.com:443", "/style.css?v=3");
        let lookup = memory.lookup(&key, &CacheRequest::new(&Method::GET, &asked[..]), now);
        let Lookup::Hit(hit) = lookup else { panic!("{more:?}: {lookup:?}") };
        let body = hit.entry.value().body.clone();
        assert_eq!((count() - before, body.len()), (0, 1_000), "{more:?}");
    }
}
