//! A hit allocates nothing: counted by the allocator itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use farlink_cache::{
    Date, Entry, Exchange, Key, Limits, Lookup, Memory, Partition, Policy, Request, Scheme, Stored,
    storable,
};
use http::{Method, StatusCode};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator; it counts each thread's allocations.
struct Counting;

// SAFETY: hands everything to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn hits_of_every_kind_allocate_nothing() {
    let memory: Memory<Stored> =
        Memory::new(Limits { bytes: 1 << 20, entry_bytes: 1 << 16 }, (1, 2));
    let now = Date::from_unix_secs(1_000_000_000);
    let key = Key::new(Partition(0), Scheme::Https, "www.example.com", "/style.css?v=3");
    let asked = [("Accept-Encoding", "gzip, br"), ("User-Agent", "x")];
    let fields = [("Cache-Control", "max-age=60"), ("Vary", "Accept-Encoding"), ("ETag", "\"a\"")];
    let exchange = Exchange { sent: now, received: now };
    let storable = storable(
        &Request::new(&Method::GET, &asked[..]),
        StatusCode::OK,
        &fields[..],
        exchange,
        &Policy::default(),
    )
    .unwrap();
    // The first clone of what was a vector allocates its count of references, once an entry.
    let body = Bytes::from(vec![7; 1_000]);
    let stored =
        Stored { status: StatusCode::OK, fields: storable.fields.clone(), body: body.clone() };
    memory.insert(memory.ticket(&key), Entry::new(&key, storable, stored)).unwrap();
    for more in [
        ("Accept", "*/*"),
        ("Range", "bytes=0-9"),
        ("If-None-Match", "\"a\""),
        ("Cache-Control", "max-age=10, max-stale"),
    ] {
        let asked = [("Accept-Encoding", "gzip,br"), more];
        let before = ALLOCATIONS.get();
        let key = Key::new(Partition(0), Scheme::Https, "WWW.example.com:443", "/style.css?v=3");
        let lookup = memory.lookup(&key, &Request::new(&Method::GET, &asked[..]), now);
        let Lookup::Hit(hit) = lookup else { panic!("{more:?}: {lookup:?}") };
        let body = hit.entry.value().body.clone();
        assert_eq!((ALLOCATIONS.get() - before, body.len()), (0, 1_000), "{more:?}");
    }
}
