//! Distribution of a site's bytes over its objects: random weights, scaled to the sum.

use chance::Stream;

use super::counts::Counts;
use super::priors::{DocumentIs, Sizes, Weight};

/// Bytes of each object by type; the document is not among the texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bytes {
    pub document: u64,
    pub text: Vec<u64>,
    pub js_css: Vec<u64>,
    pub images_other: Vec<u64>,
}

pub(super) fn draw(sizes: &Sizes, counts: &Counts, bytes: f64, stream: &mut Stream) -> Bytes {
    let types = [
        (sizes.text, counts.text),
        (sizes.js_css, counts.js_css),
        (sizes.images_other, counts.images_other),
    ];
    let weights: Vec<f64> =
        types.iter().flat_map(|(of, count)| weights(*of, *count, stream)).collect();
    let mut all = share_out(bytes.round() as u64, &weights, sizes.least_bytes);
    let images_other = all.split_off((counts.text + counts.js_css) as usize);
    let js_css = all.split_off(counts.text as usize);
    let DocumentIs::LargestText = sizes.document;
    let largest = all.iter().enumerate().max_by_key(|(_, bytes)| **bytes);
    let document = all.remove(largest.map_or(0, |(index, _)| index));
    Bytes { document, text: all, js_css, images_other }
}

/// Log-normal weights: the logarithm's mean is chosen such that the weights' mean is `mean`.
fn weights(of: Weight, count: u64, stream: &mut Stream) -> Vec<f64> {
    let Weight { mean, sigma_log } = of;
    let mut draw = || mean * libm::exp(sigma_log * stream.normal() - sigma_log * sigma_log / 2.0);
    (0..count).map(|_| draw()).collect()
}

/// Whole numbers in proportion to the weights, none below `least`, that sum to `total` if that suffices for the
/// minimum.
fn share_out(total: u64, weights: &[f64], least: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let share = |weight: &f64| ((total as f64 * weight / sum) as u64).max(least);
    let mut shares: Vec<u64> = weights.iter().map(share).collect();
    // The largest compensates for rounding and the minimum, as the change is relatively smallest there.
    let given: u64 = shares.iter().sum();
    if let Some(largest) = shares.iter_mut().max() {
        *largest = (*largest + total).saturating_sub(given).max(least);
    }
    shares
}
