//! Assignment of objects to hosts.

use chance::Stream;

use super::counts::Counts;
use super::priors::{Domains, Others};

/// Hosts of all objects except the document, which the first host serves. Each host serves at least one object.
pub(super) fn draw(domains: &Domains, counts: &Counts, stream: &mut Stream) -> Vec<u32> {
    let Others::Zipf = domains.others;
    let [least, most] = domains.own_share;
    let share = least + (most - least) * stream.unit();
    let objects = counts.objects();
    let others = counts.domains - 1;
    let elsewhere = match others {
        0 => 0,
        _ => (objects - (objects as f64 * share).round() as u64).clamp(others, objects - 1),
    };
    let mut hosts = vec![0; (objects - 1 - elsewhere) as usize];
    hosts.extend(1..=others as u32);
    hosts.extend((others..elsewhere).map(|_| zipf(others, stream)));
    shuffle(&mut hosts, stream);
    hosts
}

/// A rank of `1..=ranks`, with a probability in proportion to 1/rank.
fn zipf(ranks: u64, stream: &mut Stream) -> u32 {
    let harmonic: f64 = (1..=ranks).map(|rank| 1.0 / rank as f64).sum();
    let mut left = stream.unit() * harmonic;
    for rank in 1..ranks {
        left -= 1.0 / rank as f64;
        if left < 0.0 {
            return rank as u32;
        }
    }
    ranks as u32
}

/// Fisher-Yates shuffle.
fn shuffle(hosts: &mut [u32], stream: &mut Stream) {
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, stream.below(last as u64 + 1) as usize);
    }
}
