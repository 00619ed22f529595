//! The memory tier itself, with bodies that are sizes only.

use farlink_cache::{
    Date, Entry, Exchange, Key, Limits, Lookup, Memory, Partition, Policy as Storing, Request,
    Scheme, Value, storable,
};
use http::{Method, StatusCode};

use crate::policy::Policy;

/// A body of this many bytes, none of which is stored.
struct Size(u64);

impl Value for Size {
    fn body_length(&self) -> u64 {
        self.0
    }

    fn weight(&self) -> usize {
        self.0 as usize
    }
}

pub struct Ours {
    memory: Memory<Size>,
}

const NOW: Date = Date::from_unix_secs(1_700_000_000);

impl Ours {
    pub fn new(limit: u64) -> Ours {
        Ours { memory: Memory::new(Limits { bytes: limit, entry_bytes: limit }, (1, 2)) }
    }

    /// Weight of an entry beside its body.
    pub fn overhead() -> u64 {
        let mut alone = Ours::new(1 << 20);
        alone.request(0, 0);
        alone.memory.tally().bytes
    }
}

impl Policy for Ours {
    /// `weight` is that of the body alone: the tier adds its own.
    fn request(&mut self, object: u32, weight: u64) -> bool {
        let target = format!("/{object:08}");
        let key = Key::new(Partition(0), Scheme::Http, "www.example.com", &target);
        let fields: &[(&str, &str)] = &[];
        let request = Request::new(&Method::GET, fields);
        if let Lookup::Hit(_) = self.memory.lookup(&key, &request, NOW) {
            return true;
        }
        let response = [("cache-control", "max-age=1000000")];
        let exchange = Exchange { sent: NOW, received: NOW };
        if let Ok(storable) =
            storable(&request, StatusCode::OK, &response[..], exchange, &Storing::default())
        {
            // An object that is too large is refused, and then not held.
            let _refused = self
                .memory
                .insert(self.memory.ticket(&key), Entry::new(&key, storable, Size(weight)))
                .is_err();
        }
        false
    }
}
