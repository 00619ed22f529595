//! The rate of an LTE cell's user, from the share of the cell that he has.
//!
//! `lte:17prb/mcs20/2layers`: so many physical resource blocks in each subframe of a millisecond, a modulation and coding scheme, so many
//! spatial layers. A subframe carries a transport block a layer; its size is 3GPP TS 36.213's table 7.1.7.2.1-1 at the block count and the
//! index that table 7.1.7.1-1 gives the scheme. That is what the physical layer carries: headers of the layers between (about 1 %)
//! are not taken off, and repetitions cost time ([`Lte`](crate::Lte)), not rate.

use std::sync::LazyLock;

use units::BitsPerSec;
use units::parse;

use crate::error::ValueError;

const TABLE: &str = include_str!("../data/lte-tbs.txt");

/// The largest cell: 20 MHz have 100 blocks, the table 110.
const MOST_BLOCKS: usize = 110;
const MOST_MCS: usize = 28;
const MOST_LAYERS: u64 = 4;

/// Bits of a transport block, by index and count of blocks less one.
static BLOCK_BITS: LazyLock<Vec<Vec<u64>>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let numbers = |line: &str| line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    lines.map(numbers).collect()
});

/// A rate as typed: `10mbit`, `384kbit`, or a share of an LTE cell, `lte:25prb/mcs28/2layers`, of which all but the blocks may be left out.
///
/// # Errors
/// If it is neither.
pub fn parse_rate(text: &str) -> Result<BitsPerSec, ValueError> {
    match text.trim().strip_prefix("lte:") {
        Some(share) => share_of_cell(text, share),
        None => Ok(parse::rate(text)?),
    }
}

fn share_of_cell(text: &str, share: &str) -> Result<BitsPerSec, ValueError> {
    let form = |expected| ValueError::Form { text: text.to_owned(), expected };
    let (mut blocks, mut mcs, mut layers) = (None, MOST_MCS, 2);
    for part in share.split('/') {
        let part = part.trim();
        let number = |digits: &str| digits.parse::<usize>().ok();
        if let Some(count) = part.strip_suffix("prb").and_then(number) {
            blocks = Some(count).filter(|count| (1..=MOST_BLOCKS).contains(count));
            if blocks.is_none() {
                return Err(form("1prb to 110prb"));
            }
        } else if let Some(scheme) = part.strip_prefix("mcs").and_then(number) {
            mcs = scheme;
        } else if let Some(count) =
            part.strip_suffix("layers").or(part.strip_suffix("layer")).and_then(number)
        {
            layers = count as u64;
        } else {
            return Err(form(
                "a share of an LTE cell: write `lte:25prb` or `lte:25prb/mcs20/1layer`",
            ));
        }
    }
    let blocks = blocks.ok_or_else(|| form("resource blocks: write `lte:25prb`"))?;
    if mcs > MOST_MCS {
        return Err(form("a modulation and coding scheme from mcs0 to mcs28"));
    }
    if !(1..=MOST_LAYERS).contains(&layers) {
        return Err(form("1layer to 4layers"));
    }
    let bits = BLOCK_BITS[block_index(mcs)][blocks - 1];
    Ok(BitsPerSec(bits * layers * 1000))
}

/// TS 36.213 table 7.1.7.1-1: QPSK up to 9, 16QAM up to 16, then 64QAM; the first scheme of a modulation has the index of the last of the one before.
fn block_index(mcs: usize) -> usize {
    match mcs {
        0..=9 => mcs,
        10..=16 => mcs - 1,
        _ => mcs - 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(BLOCK_BITS.len(), 27);
        assert!(BLOCK_BITS.iter().all(|row| row.len() == MOST_BLOCKS));
    }

    /// The studies' cell of 25 blocks and its limits of 17 and 4, 2x2: Mbit/s.
    #[test]
    fn shares_of_a_cell_have_the_tables_rates() {
        let rate = |text: &str| parse_rate(text).unwrap().0 as f64 / 1e6;
        for (mcs, rates) in [
            (28, [5.968, 25.152, 36.672]),
            (26, [4.816, 20.592, 30.528]),
            (22, [3.728, 15.984, 22.896]),
            (10, [1.232, 5.328, 8.016]),
            (0, [0.176, 0.912, 1.36]),
        ] {
            for (blocks, expected) in [4, 17, 25].into_iter().zip(rates) {
                let got = rate(&format!("lte:{blocks}prb/mcs{mcs}"));
                assert!((got - expected).abs() < 1e-9, "{blocks} blocks, mcs{mcs}: {got}");
            }
        }
        assert_eq!(rate("lte:25prb/1layer"), 18.336);
        assert_eq!(rate("10mbit"), 10.0);
    }

    #[test]
    fn what_no_cell_has_is_refused() {
        let refused = |text: &str| parse_rate(text).unwrap_err().to_string();
        assert!(refused("lte:111prb").contains("1prb to 110prb"));
        assert!(refused("lte:25prb/mcs29").contains("mcs28"));
        assert!(refused("lte:mcs20").contains("lte:25prb"));
        assert!(refused("lte:25prb/9layers").contains("4layers"));
        assert!(refused("lte:fast").contains("a share of an LTE cell"));
    }
}
