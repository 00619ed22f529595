//! Cost of a real browser's computing on this machine: a [`Device`] fitted to its loads of known pages over a
//! network that costs nothing.
//!
//! The loader's main thread is serial, so a load without a network takes about the sum of its costs. The costs of
//! one profile are therefore a linear fit: for each sample a sum of counts and kilobytes, each times its cost,
//! approximates the time measured. Costs are not negative; errors count relative to the time measured, so that
//! small pages weigh as much as large ones. Least squares under these bounds are found by coordinate descent on the
//! normal equations (Franc, Hlavac, Navara, "Sequential coordinate-wise algorithm for the non-negative least
//! squares problem", CAIP 2005).
//!
//! Left out: work of browsers beside the main thread (they decode images and compile scripts elsewhere) ends up in
//! the cost that it delays. The bytes are those of [`page::browsable()`], in which most of a file is a comment: a
//! real site's scripts cost more.

use std::time::Duration;

use page::{Kind, Page};

use crate::Device;
use crate::device::Costs;

/// One load over a network that costs nothing.
#[derive(Clone, Debug)]
pub struct CalibrationSample {
    features: Features,
    plt: Duration,
}

/// Navigation, objects, connections; kilobytes by kind, in the order of [`KINDS`].
type Features = [f64; 3 + KINDS.len()];

/// The kinds whose kilobytes have separate costs. All others share the last one's.
const KINDS: [Kind; 6] =
    [Kind::Document, Kind::Stylesheet, Kind::Script, Kind::Image, Kind::Font, Kind::Other];

impl CalibrationSample {
    /// A load of `page` over `connections` connections with TLS, which took `plt`.
    pub fn new(page: &Page, connections: usize, plt: Duration) -> CalibrationSample {
        let mut features = [0.0; 3 + KINDS.len()];
        features[0] = 1.0;
        features[1] = page.objects.len() as f64;
        features[2] = connections as f64;
        for object in &page.objects {
            let kind = KINDS.iter().position(|kind| *kind == object.kind);
            features[3 + kind.unwrap_or(KINDS.len() - 1)] += object.body_bytes as f64 / 1000.0;
        }
        CalibrationSample { features, plt }
    }
}

/// The device whose costs fit the samples best.
pub fn calibrate(samples: &[CalibrationSample], summary: &str) -> Device {
    let costs = fit(samples);
    let us = |index: usize| costs[index].round() as u64;
    Device::measured(Costs {
        summary: summary.to_owned(),
        navigation_us: us(0),
        object_us: us(1),
        tls_handshake_us: us(2),
        document_us_per_kb: us(3),
        stylesheet_us_per_kb: us(4),
        script_us_per_kb: us(5),
        image_us_per_kb: us(6),
        font_us_per_kb: us(7),
        other_us_per_kb: us(8),
    })
}

/// Cost per unit of each feature, in microseconds.
fn fit(samples: &[CalibrationSample]) -> Features {
    const SWEEPS: usize = 10_000;
    let (gram, moments) = normal_equations(samples);
    let mut costs = [0.0; 3 + KINDS.len()];
    for _ in 0..SWEEPS {
        for index in 0..costs.len() {
            if gram[index][index] > 0.0 {
                let explained: f64 = (0..costs.len()).map(|j| gram[index][j] * costs[j]).sum();
                let step = (moments[index] - explained) / gram[index][index];
                costs[index] = (costs[index] + step).max(0.0);
            }
        }
    }
    costs
}

/// Normal equations of the rows divided by their times: each row's target is one.
fn normal_equations(samples: &[CalibrationSample]) -> ([Features; 3 + KINDS.len()], Features) {
    let mut gram = [[0.0; 3 + KINDS.len()]; 3 + KINDS.len()];
    let mut moments = [0.0; 3 + KINDS.len()];
    for CalibrationSample { features, plt } in samples {
        let micros = plt.as_secs_f64() * 1e6;
        for (i, a) in features.iter().enumerate() {
            moments[i] += a / micros;
            for (j, b) in features.iter().enumerate() {
                gram[i][j] += a * b / (micros * micros);
            }
        }
    }
    (gram, moments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads that take exactly these costs, plus or minus some noise.
    fn loads(costs: &Features, noise: f64) -> Vec<CalibrationSample> {
        let mut sign = 1.0;
        let pages = page::calibration_pages();
        let loads = pages.iter().flat_map(|page| [(page, 1), (page, 6)]);
        loads
            .map(|(page, connections)| {
                let mut sample = CalibrationSample::new(page, connections, Duration::ZERO);
                let micros: f64 = sample.features.iter().zip(costs).map(|(a, b)| a * b).sum();
                sign = -sign;
                sample.plt = Duration::from_secs_f64(micros * (1.0 + sign * noise) / 1e6);
                sample
            })
            .collect()
    }

    #[test]
    fn costs_are_found_again() {
        let costs = [20_000.0, 900.0, 400.0, 50.0, 0.0, 30.0, 7.0, 11.0, 0.0];
        let found = fit(&loads(&costs, 0.0));
        for (found, cost) in found.iter().zip(costs) {
            assert!((found - cost).abs() < cost * 0.01 + 1.0, "{found} instead of {cost}");
        }
        let noisy = fit(&loads(&costs, 0.05));
        assert!(
            (noisy[0] - costs[0]).abs() < 4_000.0 && (noisy[1] - costs[1]).abs() < 200.0,
            "{noisy:?}"
        );
        assert!(noisy.iter().all(|cost| *cost >= 0.0));
    }
}
