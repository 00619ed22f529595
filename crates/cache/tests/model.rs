//! The memory tier against a naive model: its answer is the last response stored, and its bound holds at every step.

use std::collections::BTreeMap;

use bytes::Bytes;
use farlink_cache::{
    CacheEntry, CacheKey, CacheRequest, Date, ExchangeTimes, Lookup, Memory, MemoryLimits,
    Partition, Purge, Scheme, StoragePolicy, StoredResponse, storable,
};
use http::{Method, StatusCode};
use proptest::prelude::*;

const LIMIT: u64 = 20_000;

/// Operations applied to both.
#[derive(Clone, Debug)]
enum Step {
    /// Stores a body of that size; the number tells bodies apart.
    Put {
        page: u8,
        language: u8,
        size: usize,
    },
    Get {
        page: u8,
        language: u8,
    },
    Invalidate {
        page: u8,
    },
    PurgePrefix {
        digit: u8,
    },
    PurgeAll,
}

fn step() -> impl Strategy<Value = Step> {
    let (page, language) = (0..30u8, 0..3u8);
    prop_oneof![
        8 => (page.clone(), language.clone(), prop_oneof![0..300usize, 0..6_000usize])
            .prop_map(|(page, language, size)| Step::Put { page, language, size }),
        8 => (page.clone(), language).prop_map(|(page, language)| Step::Get { page, language }),
        1 => page.prop_map(|page| Step::Invalidate { page }),
        1 => (0..3u8).prop_map(|digit| Step::PurgePrefix { digit }),
        1 => Just(Step::PurgeAll),
    ]
}

fn target(page: u8) -> String {
    format!("/{page}")
}

/// Bodies by page and language; pages under 20 vary by language, the others do not.
#[derive(Default)]
struct Model {
    bodies: BTreeMap<(u8, u8), Bytes>,
    stored: u8,
}

fn varied(page: u8, language: u8) -> u8 {
    if page < 20 { language } else { 0 }
}

fn key(target: &str) -> CacheKey<'_> {
    CacheKey::new(Partition(3), Scheme::Https, "a.test", target)
}

fn apply(
    memory: &Memory<StoredResponse>,
    model: &mut Model,
    step: &Step,
) -> Result<(), TestCaseError> {
    let now = Date::from_unix_secs(1_000_000_000);
    match *step {
        Step::Put { page, language, size } => {
            let target = target(page);
            let key = key(&target);
            model.stored = model.stored.wrapping_add(1);
            let body = Bytes::from(vec![model.stored; size]);
            let asked = [("accept-language", language.to_string())];
            let vary = if page < 20 { "accept-language" } else { "" };
            let fields = [("cache-control", "max-age=60"), ("vary", vary)];
            let exchange = ExchangeTimes { sent: now, received: now };
            let request = CacheRequest::new(&Method::GET, &asked[..]);
            let storable = storable(
                &request,
                StatusCode::OK,
                &fields[..],
                exchange,
                &StoragePolicy::default(),
            )
            .unwrap();
            let stored = StoredResponse {
                status: StatusCode::OK,
                fields: storable.fields.clone(),
                body: body.clone(),
            };
            match memory.insert(memory.ticket(&key), CacheEntry::new(&key, storable, stored)) {
                // A refusal changes nothing.
                Err(_) => {}
                Ok(_) => {
                    model.bodies.insert((page, varied(page, language)), body);
                }
            }
        }
        Step::Get { page, language } => {
            let target = target(page);
            let asked = [("accept-language", language.to_string())];
            let found =
                memory.lookup(&key(&target), &CacheRequest::new(&Method::GET, &asked[..]), now);
            if let Lookup::Hit(hit) = found {
                // It may have been evicted, but a hit is right.
                let expected = model.bodies.get(&(page, varied(page, language)));
                prop_assert_eq!(Some(&hit.entry.value().body), expected);
            }
        }
        Step::Invalidate { page } => {
            memory.invalidate(&key(&target(page)));
            model.bodies.retain(|(other, _), _| *other != page);
        }
        Step::PurgePrefix { digit } => {
            memory.purge(&Purge::Prefix(Partition(3), &format!("https://a.test/{digit}")));
            model.bodies.retain(|(page, _), _| !page.to_string().starts_with(&digit.to_string()));
        }
        Step::PurgeAll => {
            memory.purge(&Purge::All);
            model.bodies.clear();
            prop_assert_eq!(memory.tally().bytes, 0, "an empty cache holds nothing");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_the_last_stored_and_the_bound_holds(steps in prop::collection::vec(step(), 1..300)) {
        let memory = Memory::new(MemoryLimits { bytes: LIMIT, entry_bytes: 5_000 }, (1, 2));
        let mut model = Model::default();
        for step in &steps {
            apply(&memory, &mut model, step)?;
            let tally = memory.tally();
            prop_assert!(tally.bytes <= LIMIT, "{tally:?}");
            prop_assert!(tally.entries as usize <= model.bodies.len(), "{tally:?}");
            let (entered, left) = (tally.inserted, tally.evicted + tally.removed);
            prop_assert!(entered >= left + tally.entries, "entries are accounted for: {tally:?}");
        }
        memory.purge(&Purge::All);
        let tally = memory.tally();
        prop_assert_eq!((tally.bytes, tally.entries), (0, 0));
    }

    /// Without pressure nothing is evicted: then the tier equals the naive map.
    #[test]
    fn with_room_it_is_a_map(steps in prop::collection::vec(step(), 1..200)) {
        let memory = Memory::new(MemoryLimits { bytes: 10_000_000, entry_bytes: 10_000_000 }, (1, 2));
        let mut model = Model::default();
        for step in &steps {
            apply(&memory, &mut model, step)?;
            prop_assert_eq!(memory.tally().entries as usize, model.bodies.len());
        }
    }
}
