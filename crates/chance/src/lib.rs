//! Named, counted random streams.
//!
//! Randomness is keyed by (seed, visit, purpose) and counted by draw: one stream a purpose
//! (`"link/down/loss"`), so that a draw added in one place shifts nothing elsewhere, and two arms of
//! a comparison that share a seed share their losses. Not for cryptography.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014): its n-th output depends on the key and on n alone.

#![forbid(unsafe_code)]

use std::time::Duration;

/// Root of all random streams of one visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomSource {
    key: u64,
}

impl RandomSource {
    /// The source of visit `visit` of a plan with this `seed`.
    pub fn new(seed: u64, visit: u64) -> RandomSource {
        RandomSource { key: mix(mix(seed ^ 0x6661_726c_696e_6b00).wrapping_add(visit)) }
    }

    /// The stream for one purpose. The same name gives the same stream, from its beginning.
    pub fn stream(&self, purpose: &str) -> RandomStream {
        let mut key = self.key;
        for byte in purpose.bytes() {
            key = mix(key ^ u64::from(byte)).wrapping_add(GOLDEN);
        }
        RandomStream { key, drawn: 0 }
    }
}

/// A sequence of random numbers for one purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream {
    key: u64,
    drawn: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl RandomStream {
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.key.wrapping_add(self.drawn.wrapping_mul(GOLDEN)))
    }

    /// Count of numbers drawn so far.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Uniform in `[0, 1)`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`. Draws one number whatever `p` is, so that changing a probability
    /// does not shift later draws.
    pub fn happens(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform in `0..n`.
    ///
    /// # Panics
    /// If `n` is zero: there is nothing to choose from.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "cannot choose below zero");
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A span uniform in `[0, limit)`.
    pub fn span(&mut self, limit: Duration) -> Duration {
        limit.mul_f64(self.unit())
    }

    /// Standard normal, from the sum of twelve uniforms less six (good to about 3 sigma; no
    /// transcendental functions, so the same bits on every platform).
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Exponential with mean 1, from comparisons of uniforms alone (von Neumann, "Various Techniques Used in
    /// Connection with Random Digits", 1951): the same bits on every platform.
    pub fn exponential(&mut self) -> f64 {
        for whole in 0u32.. {
            let (first, length) = self.falling_run();
            if length % 2 == 1 {
                return f64::from(whole) + first;
            }
        }
        unreachable!("a run of odd length comes")
    }

    /// The first and the number of uniforms until one is larger than the one before.
    fn falling_run(&mut self) -> (f64, u32) {
        let first = self.unit();
        let (mut last, mut length) = (first, 1);
        loop {
            let next = self.unit();
            if next > last {
                return (first, length);
            }
            (last, length) = (next, length + 1);
        }
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_visit_and_purpose_alone() {
        let draw = |seed, visit, purpose| RandomSource::new(seed, visit).stream(purpose).next_u64();
        let base = draw(1, 0, "link/down/loss");
        assert_eq!(base, draw(1, 0, "link/down/loss"));
        assert_ne!(base, draw(2, 0, "link/down/loss"));
        assert_ne!(base, draw(1, 1, "link/down/loss"));
        assert_ne!(base, draw(1, 0, "link/up/loss"));
    }

    #[test]
    fn frequencies_are_fair() {
        let mut stream = RandomSource::new(7, 0).stream("test");
        let hits = (0..100_000).filter(|_| stream.happens(0.03)).count();
        assert!((2_850..3_150).contains(&hits), "{hits} of 100000 at 3 %");
        let mean = (0..100_000).map(|_| stream.below(10)).sum::<u64>() as f64 / 1e5;
        assert!((4.45..4.55).contains(&mean), "mean {mean} of 0..10");
    }

    /// Mean and deviation 1, and e^-x of the draws above x.
    #[test]
    fn exponential_draws_have_the_tail_of_their_distribution() {
        let mut stream = RandomSource::new(7, 0).stream("exponential");
        let draws: Vec<f64> = (0..200_000).map(|_| stream.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / 2e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2e5;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        for (above, share) in [(0.1, 0.904_837), (1.0, 0.367_879), (3.0, 0.049_787)] {
            let found = draws.iter().filter(|x| **x > above).count() as f64 / 2e5;
            assert!((found - share).abs() < 0.004, "{found} above {above}");
        }
    }

    #[test]
    fn normal_has_unit_variance() {
        let mut stream = RandomSource::new(7, 0).stream("normal");
        let draws: Vec<f64> = (0..50_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 5e4;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5e4;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
