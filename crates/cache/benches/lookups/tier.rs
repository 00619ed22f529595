//! The objects requested, and the memory tier as a cache under test.

use bytes::Bytes;
use farlink_cache::{
    Date, Entry, Exchange, Key, Limits, Lookup, Memory, Partition, Policy, Request, Scheme,
    Storable, Stored, storable,
};
use http::{Method, StatusCode};

const NOW: Date = Date::from_unix_secs(1_700_000_000);
const HOST: &str = "www.example.com";
const ASKED: [(&str, &str); 8] = [
    ("Host", HOST),
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

/// A requested object.
pub struct Object {
    target: String,
    /// The whole URL, as the peers want it.
    pub url: String,
}

/// `count` objects; each family has its own names.
pub fn objects(family: &str, count: usize) -> Vec<Object> {
    let object = |number| {
        let target = format!("/static/{family}images/{number:06}.webp");
        let url = format!("https://{HOST}{target}");
        Object { target, url }
    };
    (0..count).map(object).collect()
}

/// A cache.
pub trait Tier {
    fn name(&self) -> &'static str;
    /// Returns true if it has the object, ready to be sent.
    fn find(&self, object: &Object) -> bool;
    fn store(&self, object: &Object);
}

/// The value that every cache holds for an object.
pub fn stored(storable: &Storable) -> Stored {
    let body = Bytes::from_static(&[0; 1_024]);
    Stored { status: StatusCode::OK, fields: storable.fields.clone(), body }
}

/// The storable parts of the answer to a request.
pub fn judged(vary: &str) -> Storable {
    let exchange = Exchange { sent: NOW, received: NOW };
    let fields = [("cache-control", "max-age=600"), ("etag", "\"abc\""), ("vary", vary)];
    let request = Request::new(&Method::GET, &ASKED[..]);
    storable(&request, StatusCode::OK, &fields[..], exchange, &Policy::default())
        .expect("it may be stored")
}

/// The memory tier.
pub struct Ours {
    memory: Memory<Stored>,
    storable: Storable,
    stored: Stored,
}

impl Ours {
    pub fn roomy() -> Ours {
        Ours::new(1 << 30, "")
    }

    /// The same, with responses that depend on a field of their request.
    pub fn varied() -> Ours {
        Ours::new(1 << 30, "accept-encoding")
    }

    /// A tier with room for about `count` objects, all of the weight of the first.
    pub fn holding(count: usize) -> Ours {
        let one = Ours::roomy();
        one.store(&objects("first", 1)[0]);
        Ours::new(one.memory.tally().bytes * count as u64, "")
    }

    fn new(bytes: u64, vary: &str) -> Ours {
        let storable = judged(vary);
        let stored = stored(&storable);
        let memory = Memory::new(Limits { bytes, entry_bytes: 1 << 20 }, (1, 2));
        Ours { memory, storable, stored }
    }
}

impl Tier for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn find(&self, object: &Object) -> bool {
        let request = Request::new(&Method::GET, &ASKED[..]);
        let found = self.memory.lookup(&key(object), &request, NOW);
        matches!(std::hint::black_box(found), Lookup::Hit(_))
    }

    fn store(&self, object: &Object) {
        let key = key(object);
        let entry = Entry::new(&key, self.storable.clone(), self.stored.clone());
        self.memory.insert(self.memory.ticket(&key), entry).expect("there is room");
    }
}

fn key(object: &Object) -> Key<'_> {
    Key::new(Partition(0), Scheme::Https, HOST, &object.target)
}
