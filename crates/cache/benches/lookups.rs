//! What a lookup costs: a request's key and fields to a judged hit, on one core.
//!
//! 100,000 small objects, asked for in a shuffled order with the eight fields of a browser's request. Time is the thread's CPU time; the best
//! of the rounds counts.
//!
//! ```text
//! lookups [ROUNDS]     by default 10
//! ```

use std::time::Duration;

use bytes::Bytes;
use chance::Source;
use farlink_cache::{
    Date, Entry, Exchange, Key, Limits, Lookup, Memory, Partition, Policy, Request, Scheme, Stored,
    storable,
};
use http::{Method, StatusCode};
use rustix::time::{ClockId, clock_gettime};

const OBJECTS: usize = 100_000;
const NOW: Date = Date::from_unix_secs(1_700_000_000);
const ASKED: [(&str, &str); 8] = [
    ("Host", "www.example.com"),
    (
        "User-Agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    ),
    ("Accept", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"),
    ("Referer", "https://www.example.com/"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Accept-Language", "en-GB,en;q=0.9"),
    ("Sec-Fetch-Dest", "image"),
    ("Connection", "keep-alive"),
];

fn main() {
    let rounds = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(10);
    let targets: Vec<String> =
        (0..OBJECTS).map(|n| format!("/static/images/{n:06}.webp")).collect();
    let (plain, varied) = (filled(&targets, ""), filled(&targets, "accept-encoding"));
    let hot = &targets[..1_000];
    for (name, memory, targets) in [
        ("100,000 objects", &plain, &targets[..]),
        ("1,000 objects", &plain, hot),
        ("1,000 with Vary", &varied, hot),
    ] {
        let order = shuffled(targets.len());
        let best = (0..rounds)
            .map(|_| timed(|| look_up(memory, targets, &order)))
            .min()
            .unwrap_or_default();
        let each = best.as_secs_f64() * 1e9 / OBJECTS as f64;
        println!("{name:<16} {each:>6.0} ns a hit {:>6.2} million a second", 1e3 / each);
    }
}

fn filled(targets: &[String], vary: &str) -> Memory<Stored> {
    let memory = Memory::new(Limits { bytes: 1 << 30, entry_bytes: 1 << 20 }, (1, 2));
    let exchange = Exchange { sent: NOW, received: NOW };
    let fields = [("cache-control", "max-age=600"), ("etag", "\"abc\""), ("vary", vary)];
    for target in targets {
        let (key, request) = (key(target), Request::new(&Method::GET, &ASKED[..]));
        let storable =
            storable(&request, StatusCode::OK, &fields[..], exchange, &Policy::default())
                .expect("it may be stored");
        let stored = Stored {
            status: StatusCode::OK,
            fields: storable.fields.clone(),
            body: Bytes::from_static(&[0; 1_024]),
        };
        memory
            .insert(memory.ticket(&key), Entry::new(&key, storable, stored))
            .expect("there is room");
    }
    memory
}

fn key(target: &str) -> Key<'_> {
    Key::new(Partition(0), Scheme::Https, "www.example.com", target)
}

fn shuffled(count: usize) -> Vec<usize> {
    let mut stream = Source::new(1, 0).stream("bench/order");
    (0..OBJECTS).map(|_| stream.below(count as u64) as usize).collect()
}

fn look_up(memory: &Memory<Stored>, targets: &[String], order: &[usize]) {
    for at in order {
        let found =
            memory.lookup(&key(&targets[*at]), &Request::new(&Method::GET, &ASKED[..]), NOW);
        assert!(matches!(std::hint::black_box(found), Lookup::Hit(_)));
    }
}

/// The CPU time of `work`.
fn timed(work: impl FnOnce()) -> Duration {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let before = now();
    work();
    now() - before
}
