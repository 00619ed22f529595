//! Eviction policies, and the replay of one trace under each at a given part of the trace's footprint.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use farlink_cache::{
    CacheEntry, CacheKey, CacheRequest, Date, EntryValue, ExchangeTimes, Lookup, Memory,
    MemoryLimits, Partition, Scheme, StoragePolicy, storable,
};
use http::{Method, StatusCode};

use crate::traces::Trace;

/// Policies under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Fifo,
    Lru,
    S3Fifo,
    WTinyLfu,
    Gdsf,
    Ours,
}

impl Contender {
    pub const ALL: [Contender; 6] = [
        Contender::Fifo,
        Contender::Lru,
        Contender::S3Fifo,
        Contender::WTinyLfu,
        Contender::Gdsf,
        Contender::Ours,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Contender::Fifo => "FIFO",
            Contender::Lru => "LRU",
            Contender::S3Fifo => "S3-FIFO",
            Contender::WTinyLfu => "W-TinyLFU",
            Contender::Gdsf => "GDSF",
            Contender::Ours => "ours",
        }
    }

    fn make(self, limit: u64) -> Box<dyn EvictionPolicy> {
        match self {
            Contender::Fifo => Box::new(Fifo(Order::new(limit))),
            Contender::Lru => Box::new(Lru(Order::new(limit))),
            Contender::S3Fifo => Box::new(S3Fifo::new(limit)),
            Contender::WTinyLfu => Box::new(WTinyLfu::new(limit)),
            Contender::Gdsf => Box::new(Gdsf::new(limit)),
            Contender::Ours => Box::new(Ours::new(limit)),
        }
    }
}

/// Hit ratio by requests and by bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ratios {
    pub hits: f64,
    pub bytes: f64,
}

/// Replays a trace against a cache of `percent` of its footprint. Each object weighs what it does in the memory tier.
pub fn replay(contender: Contender, trace: &Trace, percent: u64) -> Ratios {
    let overhead = Ours::overhead();
    let mut cache = contender.make(trace.footprint(overhead).1 * percent / 100);
    let (mut hits, mut held, mut asked) = (0u64, 0u64, 0u64);
    for object in &trace.requests {
        let size = trace.sizes[*object as usize];
        // The tier adds its overhead itself.
        let weight = if contender == Contender::Ours { size } else { size + overhead };
        asked += size;
        if cache.request(*object, weight) {
            hits += 1;
            held += size;
        }
    }
    Ratios { hits: hits as f64 / trace.requests.len() as f64, bytes: held as f64 / asked as f64 }
}

/// A cache bounded in bytes.
trait EvictionPolicy {
    /// Requests an object of that weight. Returns true on a hit; on a miss the object is offered to the cache.
    fn request(&mut self, object: u32, weight: u64) -> bool;
}

/// Least recently used.
struct Lru(Order);

impl EvictionPolicy for Lru {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        let held = self.0.remove(object).is_some();
        self.0.push(object, weight);
        held
    }
}

/// First in, first out.
struct Fifo(Order);

impl EvictionPolicy for Fifo {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        let held = self.0.has(object);
        if !held {
            self.0.push(object, weight);
        }
        held
    }
}

/// Objects in order of arrival.
struct Order {
    limit: u64,
    bytes: u64,
    next: u64,
    by_time: BTreeMap<u64, u32>,
    objects: HashMap<u32, (u64, u64)>,
}

impl Order {
    fn new(limit: u64) -> Order {
        Order { limit, bytes: 0, next: 0, by_time: BTreeMap::new(), objects: HashMap::new() }
    }

    fn has(&self, object: u32) -> bool {
        self.objects.contains_key(&object)
    }

    fn remove(&mut self, object: u32) -> Option<u64> {
        let (time, weight) = self.objects.remove(&object)?;
        self.by_time.remove(&time);
        self.bytes -= weight;
        Some(weight)
    }

    /// Appends an object. Evicts from the front those that no longer fit.
    fn push(&mut self, object: u32, weight: u64) -> Vec<(u32, u64)> {
        self.append(object, weight);
        let mut gone = Vec::new();
        while self.bytes > self.limit {
            gone.extend(self.pop());
        }
        gone
    }

    fn append(&mut self, object: u32, weight: u64) {
        self.by_time.insert(self.next, object);
        self.objects.insert(object, (self.next, weight));
        self.next += 1;
        self.bytes += weight;
    }

    fn pop(&mut self) -> Option<(u32, u64)> {
        let object = *self.by_time.first_key_value()?.1;
        self.remove(object).map(|weight| (object, weight))
    }

    /// Iterates from the front.
    fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.by_time.values().map(|object| (*object, self.objects[object].1))
    }
}

/// S3-FIFO (Yang et al., SOSP 2023): a small queue on probation, a main queue with second chances, and a ghost queue of evicted keys.
struct S3Fifo {
    limit: u64,
    small: Order,
    main: Order,
    ghost: Order,
    finds: HashMap<u32, u8>,
}

impl S3Fifo {
    fn new(limit: u64) -> S3Fifo {
        let queue = || Order::new(u64::MAX);
        S3Fifo {
            limit,
            small: queue(),
            main: queue(),
            ghost: Order::new(limit / 10 * 9),
            finds: HashMap::new(),
        }
    }

    fn make_room(&mut self, weight: u64) {
        while self.small.bytes + self.main.bytes + weight > self.limit {
            if self.small.bytes >= self.limit / 10 || self.main.bytes == 0 {
                self.leave_small()
            } else {
                self.leave_main()
            }
        }
    }

    fn leave_small(&mut self) {
        let Some((object, weight)) = self.small.pop() else { return };
        // The paper's threshold: found more than once.
        if self.finds.insert(object, 0).is_some_and(|finds| finds > 1) {
            self.main.append(object, weight);
        } else {
            self.finds.remove(&object);
            self.ghost.push(object, weight);
        }
    }

    fn leave_main(&mut self) {
        let Some((object, weight)) = self.main.pop() else { return };
        match self.finds.get_mut(&object) {
            Some(finds) if *finds > 0 => {
                *finds -= 1;
                self.main.append(object, weight);
            }
            _ => {
                self.finds.remove(&object);
            }
        }
    }
}

impl EvictionPolicy for S3Fifo {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        if let Some(finds) = self.finds.get_mut(&object) {
            *finds = (*finds + 1).min(3);
            return true;
        }
        if weight > self.limit {
            return false;
        }
        let known = self.ghost.remove(object).is_some();
        self.make_room(weight);
        self.finds.insert(object, 0);
        if known {
            self.main.append(object, weight)
        } else {
            self.small.append(object, weight)
        }
        false
    }
}

/// W-TinyLFU (Einziger, Friedman, Manes, ACM TOS 2017) with admission by aggregated victims for objects of different sizes (Einziger et
/// al., ACM TOS 2022): a candidate is admitted if it was requested as often as all its victims together.
struct WTinyLfu {
    limit: u64,
    window: Order,
    probation: Order,
    protected: Order,
    counts: Counts,
}

impl WTinyLfu {
    fn new(limit: u64) -> WTinyLfu {
        WTinyLfu {
            limit,
            window: Order::new(limit / 100),
            probation: Order::new(u64::MAX),
            protected: Order::new(limit / 100 * 79),
            counts: Counts::default(),
        }
    }

    fn main_limit(&self) -> u64 {
        self.limit - self.limit / 100
    }

    fn offer(&mut self, object: u32, weight: u64) {
        let needed = (self.probation.bytes + self.protected.bytes + weight)
            .saturating_sub(self.main_limit());
        let (mut freed, mut worth, mut victims) = (0, 0, Vec::new());
        for (victim, weight) in self.probation.iter().chain(self.protected.iter()) {
            if freed >= needed {
                break;
            }
            freed += weight;
            worth += self.counts.of(victim);
            victims.push(victim);
        }
        if freed < needed || (!victims.is_empty() && self.counts.of(object) < worth) {
            // The victims get another turn, so that one popular object at the front does not keep all others out.
            for victim in victims {
                if let Some(weight) = self.probation.remove(victim) {
                    self.probation.append(victim, weight);
                }
            }
            return;
        }
        for victim in victims {
            self.probation.remove(victim);
            self.protected.remove(victim);
        }
        self.probation.append(object, weight);
    }
}

impl EvictionPolicy for WTinyLfu {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        self.counts.count(object);
        if self.window.remove(object).is_some() {
            self.window.push(object, weight);
            return true;
        }
        if self.probation.remove(object).is_some() || self.protected.remove(object).is_some() {
            for (object, weight) in self.protected.push(object, weight) {
                self.probation.append(object, weight);
            }
            return true;
        }
        if weight > self.limit {
            return false;
        }
        for (object, weight) in self.window.push(object, weight) {
            self.offer(object, weight);
        }
        false
    }
}

/// Recent request counts of objects, up to 15 each: exact, where an implementation would have a sketch. Halved from time to time.
#[derive(Default)]
struct Counts {
    counts: HashMap<u32, u64>,
    since: usize,
}

impl Counts {
    fn of(&self, object: u32) -> u64 {
        self.counts.get(&object).copied().unwrap_or_default()
    }

    fn count(&mut self, object: u32) {
        let count = self.counts.entry(object).or_default();
        *count = (*count + 1).min(15);
        self.since += 1;
        if self.since >= 10 * self.counts.len().max(1_000) {
            self.since = 0;
            self.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
    }
}

/// GreedyDual-Size-Frequency (Cherkasova, HP Labs 1998): evicts the object with the least finds times cost per byte, aged by a clock that
/// rises to the worth of each evicted object. The cost of a fetch is a round trip's worth of bytes plus the object's own.
struct Gdsf {
    limit: u64,
    bytes: u64,
    clock: u64,
    by_worth: BTreeSet<(u64, u32)>,
    objects: HashMap<u32, (u64, u64, u64)>,
}

impl Gdsf {
    fn new(limit: u64) -> Gdsf {
        Gdsf { limit, bytes: 0, clock: 0, by_worth: BTreeSet::new(), objects: HashMap::new() }
    }

    fn worth(&self, finds: u64, weight: u64) -> u64 {
        self.clock + finds * (16_384 + weight) * 256 / weight
    }
}

impl EvictionPolicy for Gdsf {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        if let Some((worth, finds, _)) = self.objects.get(&object).copied() {
            self.by_worth.remove(&(worth, object));
            let worth = self.worth(finds + 1, weight);
            self.by_worth.insert((worth, object));
            self.objects.insert(object, (worth, finds + 1, weight));
            return true;
        }
        if weight > self.limit {
            return false;
        }
        while self.bytes + weight > self.limit {
            let Some((worth, victim)) = self.by_worth.pop_first() else { break };
            self.clock = worth;
            self.bytes -= self.objects.remove(&victim).map_or(0, |(_, _, weight)| weight);
        }
        let worth = self.worth(1, weight);
        self.by_worth.insert((worth, object));
        self.objects.insert(object, (worth, 1, weight));
        self.bytes += weight;
        false
    }
}

/// A body of this many bytes, none of which is stored.
struct Size(u64);

impl EntryValue for Size {
    fn body_length(&self) -> u64 {
        self.0
    }

    fn weight(&self) -> usize {
        self.0 as usize
    }
}

/// The memory tier itself, with bodies that are sizes only.
pub struct Ours {
    memory: Memory<Size>,
}

const NOW: Date = Date::from_unix_secs(1_700_000_000);

impl Ours {
    fn new(limit: u64) -> Ours {
        Ours { memory: Memory::new(MemoryLimits { bytes: limit, entry_bytes: limit }, (1, 2)) }
    }

    /// Weight of an entry beside its body.
    pub fn overhead() -> u64 {
        let mut alone = Ours::new(1 << 20);
        alone.request(0, 0);
        alone.memory.tally().bytes
    }
}

impl EvictionPolicy for Ours {
    /// `weight` is that of the body alone: the tier adds its own.
    fn request(&mut self, object: u32, weight: u64) -> bool {
        let target = format!("/{object:08}");
        let key = CacheKey::new(Partition(0), Scheme::Http, "www.example.com", &target);
        let fields: &[(&str, &str)] = &[];
        let request = CacheRequest::new(&Method::GET, fields);
        if let Lookup::Hit(_) = self.memory.lookup(&key, &request, NOW) {
            return true;
        }
        let response = [("cache-control", "max-age=1000000")];
        let exchange = ExchangeTimes { sent: NOW, received: NOW };
        if let Ok(storable) =
            storable(&request, StatusCode::OK, &response[..], exchange, &StoragePolicy::default())
        {
            // An object that is too large is refused, and then not held.
            let _refused = self
                .memory
                .insert(self.memory.ticket(&key), CacheEntry::new(&key, storable, Size(weight)))
                .is_err();
        }
        false
    }
}
