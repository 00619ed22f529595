//! CPU cost of the memory tier on one core, compared with third-party caches.
//!
//! A *hit* goes from a request's key and its eight fields, as a browser sends them, to a judged answer; a *miss* finds nothing, inserts the object
//! and evicts another. The peers find a value by a whole URL and judge nothing: no freshness, no `Vary`, no conditions. Objects have 1 KiB and are
//! requested in a shuffled order. Time is the thread's CPU time; the caches take turns within a round. The result is the best round of each cache,
//! and the median of the rounds for ratios.
//!
//! ```text
//! lookups [ROUNDS]     by default 10
//! ```

mod peers;
mod tier;

use std::time::Duration;

use chance::Source;
use rustix::time::{ClockId, clock_gettime};

use peers::{Lru, Moka, QuickCache};
use tier::{Object, Ours, Tier, objects};

/// Requests per round.
const REQUESTS: usize = 100_000;
/// Objects held while misses are measured.
const HELD: usize = 10_000;

fn main() {
    let rounds = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(10);
    println!(
        "{:<24} {:<14} {:>6} {:>10} {:>14}",
        "what", "cache", "ns", "M a second", "ours beside it"
    );
    let all = objects("", REQUESTS);
    hits("a hit, 100,000 objects", &all, &full(&all), rounds);
    hits("a hit, 1,000 objects", &all[..1_000], &full(&all), rounds);
    hits("a hit with Vary", &all[..1_000], &[filled(Ours::varied(), &all)], rounds);
    misses("a miss and its insert", rounds);
}

/// All caches, with more room than all objects need: caches with shards do not fill evenly.
fn full(objects: &[Object]) -> [Box<dyn Tier>; 4] {
    let room = 2 * objects.len();
    [
        filled(Ours::roomy(), objects),
        filled(Lru::new(room), objects),
        filled(QuickCache::new(room), objects),
        filled(Moka::new(room), objects),
    ]
}

fn filled(tier: impl Tier + 'static, objects: &[Object]) -> Box<dyn Tier> {
    objects.iter().for_each(|object| tier.store(object));
    assert!(objects.iter().all(|object| tier.find(object)), "{} holds all", tier.name());
    Box::new(tier)
}

fn hits(what: &str, objects: &[Object], tiers: &[Box<dyn Tier>], rounds: usize) {
    let mut stream = Source::new(1, 0).stream("bench/order");
    let order: Vec<&Object> =
        (0..REQUESTS).map(|_| &objects[stream.below(objects.len() as u64) as usize]).collect();
    compare(what, tiers, rounds, |tier, _| {
        timed(|| order.iter().for_each(|object| assert!(tier.find(object))))
    });
}

fn misses(what: &str, rounds: usize) {
    let ours = Ours::holding(HELD);
    let tiers: [Box<dyn Tier>; 4] = [
        Box::new(ours),
        Box::new(Lru::new(HELD)),
        Box::new(QuickCache::new(HELD)),
        Box::new(Moka::new(HELD)),
    ];
    // The first round fills them.
    for tier in &tiers {
        miss_all(&**tier, &objects("first", REQUESTS));
    }
    compare(what, &tiers, rounds, |tier, round| {
        let news = objects(&round.to_string(), REQUESTS);
        timed(|| miss_all(tier, &news))
    });
}

fn miss_all(tier: &dyn Tier, objects: &[Object]) {
    for object in objects {
        assert!(!tier.find(object));
        tier.store(object);
    }
}

/// Measures all in turn and prints the results; the first is the baseline for the others.
fn compare(
    what: &str,
    tiers: &[Box<dyn Tier>],
    rounds: usize,
    mut measure: impl FnMut(&dyn Tier, usize) -> Duration,
) {
    let times: Vec<Vec<f64>> = (0..rounds)
        .map(|round| tiers.iter().map(|tier| measure(&**tier, round).as_secs_f64()).collect())
        .collect();
    for (at, tier) in tiers.iter().enumerate() {
        let best = times.iter().map(|round| round[at]).fold(f64::INFINITY, f64::min);
        let ratio = median(times.iter().map(|round| round[0] / round[at]).collect());
        let each = best * 1e9 / REQUESTS as f64;
        println!("{what:<24} {:<14} {each:>6.0} {:>10.2} {ratio:>14.2}", tier.name(), 1e3 / each);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
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
