//! No schedule beats the floor, and Jackson's schedule is optimal for its jobs.

use std::collections::BTreeSet;
use std::time::Duration;

use page::{After, HostId, Page};
use proptest::prelude::*;
use units::{BitsPerSec, Time};

use super::{after, object, page};
use crate::bound::{Job, makespan};
use crate::load::prefix_bytes;
use crate::{ConstantRate, Floors, Origins, PageLoad, Path, Work};

/// One byte per microsecond, and packets without headers, so that all times are whole microseconds.
const PATH: Path<ConstantRate> = Path {
    up_delay: Duration::from_micros(30),
    down_delay: Duration::from_micros(20),
    curve: ConstantRate(BitsPerSec::mbit(8)),
    mtu_bytes: 1500,
    header_bytes: 0,
    origins: Origins::Recorded,
    beyond: Duration::ZERO,
};

const UP_US: u64 = 30;
const DOWN_US: u64 = 20;

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Policy by which a server with several objects to send picks the next bytes.
#[derive(Clone, Copy, Debug)]
enum Policy {
    /// Anything, or nothing.
    Any,
    /// Any available object.
    WorkConserving,
    /// The object that came first.
    FirstCome,
    /// The object that is shortest to send.
    Shortest,
    /// The object that reveals the most.
    MostFollowers,
}

/// A page load played byte by byte, written independently of the bound.
struct Play<'a> {
    page: &'a Page,
    work_us: &'a [u64],
    /// Time at which each object's response is ready at the bottleneck.
    ready_us: Vec<Option<u64>>,
    /// Time at which each byte of each object was served.
    served_us: Vec<Vec<u64>>,
}

impl Play<'_> {
    fn load_event_us(mut self, policy: Policy, mut choices: impl Iterator<Item = u64>) -> u64 {
        let mut now = 0;
        loop {
            self.discover();
            if let Some(end) = self.end() {
                return end;
            }
            let candidates = self.candidates(now);
            let chosen = self.choose(policy, &candidates, choices.next().unwrap_or(0));
            now += 1;
            assert!(now < 100_000, "the page never loads");
            if let Some(index) = chosen {
                self.served_us[index].push(now);
            }
        }
    }

    /// Determines which responses will be ready, and when.
    fn discover(&mut self) {
        for (index, object) in self.page.objects.iter().enumerate() {
            let extra = self.page.host_of(object).extra_rtt.value;
            let request = UP_US + (extra + object.think.value).as_micros() as u64;
            let seen: Option<Vec<u64>> = object
                .waits_for
                .iter()
                .map(|edge| {
                    let leader = edge.object.0 as usize;
                    let bytes = prefix_bytes(edge, &self.page.objects[leader]);
                    let compute = edge.compute.value.as_micros() as u64;
                    Some(self.arrival_us(leader, bytes)? + compute)
                })
                .collect();
            self.ready_us[index] = seen.map(|seen| seen.into_iter().max().unwrap_or(0) + request);
        }
    }

    fn arrival_us(&self, index: usize, bytes: u64) -> Option<u64> {
        match bytes {
            0 => Some(self.ready_us[index]? + DOWN_US),
            n => Some(self.served_us[index].get(n as usize - 1)? + DOWN_US),
        }
    }

    fn end(&self) -> Option<u64> {
        let mut end = 0;
        for (index, object) in self.page.objects.iter().enumerate() {
            if index == 0 || object.blocks_load {
                end = end.max(self.arrival_us(index, object.body_bytes)? + self.work_us[index]);
            }
        }
        Some(end)
    }

    fn candidates(&self, now: u64) -> Vec<usize> {
        (0..self.page.objects.len())
            .filter(|&index| {
                self.ready_us[index].is_some_and(|ready| ready <= now)
                    && (self.served_us[index].len() as u64) < self.page.objects[index].body_bytes
            })
            .collect()
    }

    fn choose(&self, policy: Policy, candidates: &[usize], choice: u64) -> Option<usize> {
        let pick = |n: u64| candidates.get(n as usize % candidates.len().max(1)).copied();
        match policy {
            Policy::Any => pick(choice).filter(|_| !choice.is_multiple_of(11)),
            Policy::WorkConserving => pick(choice),
            Policy::FirstCome => candidates.iter().copied().min_by_key(|&i| self.ready_us[i]),
            Policy::Shortest => {
                candidates.iter().copied().min_by_key(|&i| self.page.objects[i].body_bytes)
            }
            Policy::MostFollowers => candidates.iter().copied().max_by_key(|&i| {
                let waits = |o: &page::Object| o.waits_for.iter().any(|e| e.object.0 as usize == i);
                self.page.objects.iter().filter(|o| waits(o)).count()
            }),
        }
    }
}

/// A small page with few, short objects, so that all kinds of coincidence occur.
fn pages() -> impl Strategy<Value = (Page, Vec<u64>)> {
    let edge = (any::<prop::sample::Index>(), 0..3u8, 0..60u64, 0..50u64);
    let object_parts = (
        0..60u64,
        0..40u64,
        0..2u32,
        prop::bool::weighted(0.75),
        prop::collection::vec(edge, 1..3),
        0..80u64,
    );
    (prop::collection::vec(object_parts, 1..7), 0..50u64).prop_map(|(parts, extra)| {
        let mut objects = Vec::new();
        let mut work = Vec::new();
        for (index, (bytes, think, host, blocks, edges, own_work)) in parts.into_iter().enumerate()
        {
            let edges =
                edges.into_iter().filter(|_| index > 0).map(|(leader, kind, n, compute)| {
                    let kind = match kind {
                        0 => After::Head,
                        1 => After::Bytes(n),
                        _ => After::End,
                    };
                    after(leader.index(index) as u32, kind, us(compute))
                });
            let mut object = object(bytes, edges.collect());
            object.think.value = us(think);
            object.host = HostId(host);
            object.blocks_load = blocks;
            objects.push(object);
            work.push(own_work);
        }
        (page(objects, &[us(0), us(extra)]), work)
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Any),
        Just(Policy::WorkConserving),
        Just(Policy::FirstCome),
        Just(Policy::Shortest),
        Just(Policy::MostFollowers),
    ]
}

fn floors(page: &Page, work: &[Duration]) -> Floors {
    let none = BTreeSet::new();
    Floors::of(&PageLoad { page, object_work: work, from_cache: &none, at_proxy: &none }, &PATH)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_schedule_is_below_the_floor(
        (page, work_us) in pages(),
        policy in policies(),
        choices in prop::collection::vec(any::<u64>(), 400),
    ) {
        let work: Vec<_> = work_us.iter().map(|n| us(*n)).collect();
        let floors = floors(&page, &work);
        let count = page.objects.len();
        let play = Play {
            page: &page,
            work_us: &work_us,
            ready_us: vec![None; count],
            served_us: vec![Vec::new(); count],
        };
        let end = us(play.load_event_us(policy, choices.into_iter().cycle()));
        prop_assert!(floors.graph <= end, "floor {:?}, {policy:?} {:?}", floors.graph, end);
        prop_assert!(floors.oracle <= floors.graph);
        prop_assert!(floors.graph_without_compute <= floors.graph);
        prop_assert!(floors.oracle_without_compute <= floors.oracle);
        prop_assert!(floors.oracle_without_compute <= floors.graph_without_compute);
    }

    /// The length of the best preemptive schedule is the maximum, over all sets of jobs, of least head plus
    /// total work plus least tail (Carlier 1982, proposition 1).
    #[test]
    fn jacksons_schedule_is_the_best_for_its_jobs(
        parts in prop::collection::vec((0..100u64, 0..30u64, 0..100u64), 1..9)
    ) {
        let jobs = |keep: u32| {
            let kept = move |(index, _): &(usize, _)| keep & (1 << index) != 0;
            parts.iter().enumerate().filter(kept).map(|(_, part)| *part)
        };
        let bound = (1..1u32 << parts.len()).map(|set| {
            jobs(set).map(|j| j.0).min().unwrap_or(0)
                + jobs(set).map(|j| j.1).sum::<u64>()
                + jobs(set).map(|j| j.2).min().unwrap_or(0)
        });
        let expected = bound.max().unwrap_or(0);
        let jobs = parts.iter().map(|(head, work, tail)| Job {
            head: Time::from_micros(*head),
            work: Work(u128::from(*work) * 8_000_000_000),
            tail: us(*tail),
        });
        let curve = ConstantRate(BitsPerSec::mbit(8));
        prop_assert_eq!(makespan(jobs.collect(), &curve), Time::from_micros(expected));
    }
}
