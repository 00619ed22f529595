//! Sizes of transport blocks.

use std::sync::LazyLock;

/// Table 7.1.7.2.1-1.
const TABLE: &str = include_str!("../../data/lte-tbs.txt");

/// Largest number of resource blocks in the table; the largest cell, of 20 MHz, has 100.
pub(super) const MOST_BLOCKS: u32 = 110;
/// Last modulation and coding scheme; those beyond are for retransmissions.
pub(super) const MOST_MCS: u32 = 28;

/// Bits, by index and number of resource blocks less one.
static BITS: LazyLock<Vec<Vec<u32>>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let numbers = |line: &str| line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    lines.map(numbers).collect()
});

/// Bits of a downlink transport block of one layer, in 1 to [`MOST_BLOCKS`] resource blocks.
pub(super) fn down(mcs: u32, blocks: u32) -> u32 {
    bits(down_index(mcs), blocks)
}

/// Bits of an uplink transport block.
pub(super) fn up(mcs: u32, blocks: u32) -> u32 {
    bits(up_index(mcs), blocks)
}

fn bits(index: u32, blocks: u32) -> u32 {
    BITS[index as usize][blocks as usize - 1]
}

/// TS 36.213 table 7.1.7.1-1: QPSK up to 9, 16QAM up to 16, then 64QAM; the first scheme of a modulation shares its
/// index with the last of the previous one.
fn down_index(mcs: u32) -> u32 {
    match mcs {
        0..=9 => mcs,
        10..=16 => mcs - 1,
        _ => mcs - 2,
    }
}

/// TS 36.213 table 8.6.1-1: QPSK up to 10, 16QAM up to 20, then 64QAM, sent as 16QAM by devices without it.
fn up_index(mcs: u32) -> u32 {
    match mcs {
        0..=10 => mcs,
        11..=20 => mcs - 1,
        _ => mcs - 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_grows() {
        assert_eq!(BITS.len(), 27);
        assert!(BITS.iter().all(|row| row.len() == MOST_BLOCKS as usize));
        // One well-known exception: index 6 at one block has 328 bits, more than index 7.
        let grows = |row: &Vec<u32>| row[1..].is_sorted();
        assert!(BITS.iter().all(grows));
        assert_eq!(BITS[6][0], 328);
    }

    #[test]
    fn both_tables_end_at_the_last_index() {
        assert_eq!((down_index(MOST_MCS), up_index(MOST_MCS)), (26, 26));
        let repeated = |index: fn(u32) -> u32| {
            (1..=MOST_MCS).filter(|mcs| index(*mcs) == index(mcs - 1)).collect::<Vec<_>>()
        };
        assert_eq!(repeated(down_index), [10, 17]);
        assert_eq!(repeated(up_index), [11, 21]);
    }
}
