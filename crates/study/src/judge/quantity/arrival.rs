//! Arrival rate of bodies, second by second.
//!
//! The store knows when each body began and ended to arrive, not when each of its bytes did: bytes are spread
//! evenly between. For interleaved responses the peak is therefore underestimated rather than overestimated.

use super::means::{of_page, since_start};
use super::{Load, span};

/// The peak rate of bodies in kbit/s over the seconds since the load began.
pub(super) fn peak(load: Load<'_>) -> Option<f64> {
    let mut seconds: Vec<f64> = Vec::new();
    for object in of_page(load) {
        let end = since_start(load, span(object).1);
        let begin = end - object.phases.receive_ns as f64 / 1e9;
        let kbits = object.body_bytes as f64 * 8.0 / 1e3;
        spread(&mut seconds, begin.max(0.0), end, kbits);
    }
    seconds.into_iter().reduce(f64::max)
}

/// Spreads an amount evenly from `begin` to `end` over whole seconds.
pub fn spread(seconds: &mut Vec<f64>, begin: f64, end: f64, amount: f64) {
    let (first, last) = (begin.floor() as usize, end.floor() as usize);
    if seconds.len() <= last {
        seconds.resize(last + 1, 0.0);
    }
    let span = end - begin;
    for (second, sum) in seconds.iter_mut().enumerate().take(last + 1).skip(first) {
        let from = begin.max(second as f64);
        let part = end.min(second as f64 + 1.0) - from;
        *sum += if span > 0.0 { amount * part / span } else { amount };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_spread_over_the_seconds_that_it_takes() {
        let mut seconds = Vec::new();
        spread(&mut seconds, 0.5, 2.5, 100.0);
        spread(&mut seconds, 2.25, 2.25, 7.0);
        assert_eq!(seconds, [25.0, 50.0, 32.0]);
    }
}
