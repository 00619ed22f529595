//! Sequences of requests: generated ones, and published ones from files.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chance::{Source, Stream};

/// A sequence of requests: objects by number, and the size of each.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub name: String,
    pub requests: Vec<u32>,
    pub sizes: Vec<u64>,
}

impl Trace {
    /// Objects drawn by Zipf's law with exponent `alpha`, each independently; sizes log-normal with a median of 4 KiB and a mean of 12 KiB,
    /// as of a page's small objects, independent of popularity.
    pub fn zipf(alpha: f64, objects: usize, requests: usize, seed: u64) -> Trace {
        let source = Source::new(seed, 0);
        let popularity = Zipf::new(alpha, objects);
        let mut draws = source.stream("trace/objects");
        let requests = (0..requests).map(|_| popularity.draw(&mut draws)).collect();
        let sizes = log_normal(objects, &mut source.stream("trace/sizes"));
        Trace { name: format!("Zipf {alpha}"), requests, sizes }
    }

    /// Like [`Trace::zipf`], but at regular intervals another tenth of the objects trades places with others in popularity, and
    /// every
    /// fifth request is for an object that is never requested again.
    pub fn drifting(alpha: f64, objects: usize, requests: usize, seed: u64) -> Trace {
        let source = Source::new(seed, 0);
        let popularity = Zipf::new(alpha, objects);
        let (mut draws, mut swaps) = (source.stream("trace/objects"), source.stream("trace/drift"));
        let mut places: Vec<u32> = (0..objects as u32).collect();
        let (mut found, mut once) = (Vec::with_capacity(requests), objects as u32);
        for at in 0..requests {
            if at % (requests / 20).max(1) == 0 {
                for _ in 0..objects / 20 {
                    places.swap(
                        swaps.below(objects as u64) as usize,
                        swaps.below(objects as u64) as usize,
                    );
                }
            }
            if draws.happens(0.2) {
                found.push(once);
                once += 1;
            } else {
                found.push(places[popularity.draw(&mut draws) as usize]);
            }
        }
        let sizes = log_normal(once as usize, &mut source.stream("trace/sizes"));
        Trace {
            name: format!("drifting Zipf {alpha}, a fifth asked for once"),
            requests: found,
            sizes,
        }
    }

    /// Reads lines of `time object size`, as in webcachesim's traces. The same object with another size is another object.
    pub fn read(path: &Path) -> io::Result<Trace> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut trace = Trace { name, ..Trace::default() };
        let mut numbers = BTreeMap::new();
        for line in std::fs::read_to_string(path)?.lines() {
            let mut words = line.split_whitespace().skip(1);
            let (Some(object), Some(size)) =
                (words.next(), words.next().and_then(|size| size.parse().ok()))
            else {
                return Err(io::Error::other(format!("`{line}` is not `time object size`")));
            };
            trace.ask(&mut numbers, (object.to_owned(), size), size);
        }
        Ok(trace)
    }

    /// Appends a request for the object known by `name`.
    pub fn ask<N: Ord>(&mut self, numbers: &mut BTreeMap<N, u32>, name: N, size: u64) {
        let number = *numbers.entry(name).or_insert_with(|| {
            self.sizes.push(size);
            self.sizes.len() as u32 - 1
        });
        self.requests.push(number);
    }

    /// The number of distinct objects requested, and their total weight if each weighs `overhead` beside its size.
    pub fn footprint(&self, overhead: u64) -> (usize, u64) {
        let mut seen = vec![false; self.sizes.len()];
        self.requests.iter().for_each(|at| seen[*at as usize] = true);
        let weights = seen
            .iter()
            .zip(&self.sizes)
            .filter(|(seen, _)| **seen)
            .map(|(_, size)| size + overhead);
        (weights.clone().count(), weights.sum())
    }
}

/// Numbers from 0 with probabilities proportional to 1 / (n + 1)^alpha.
pub struct Zipf {
    sums: Vec<f64>,
}

impl Zipf {
    pub fn new(alpha: f64, numbers: usize) -> Zipf {
        let mut sum = 0.0;
        let sums = (1..=numbers).map(|n| {
            sum += (n as f64).powf(-alpha);
            sum
        });
        Zipf { sums: sums.collect() }
    }

    pub fn draw(&self, stream: &mut Stream) -> u32 {
        let point = stream.unit() * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum <= point) as u32
    }
}

fn log_normal(count: usize, stream: &mut Stream) -> Vec<u64> {
    (0..count).map(|_| (4_096.0 * (1.5 * stream.normal()).exp()) as u64 + 1).collect()
}
