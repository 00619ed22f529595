//! Mapping of channel quality (CQI) to a modulation and coding scheme.
//!
//! TS 36.213 section 7.2.3 defines the transport blocks that correspond to a quality: those of its modulation whose
//! effective code rate is closest to its own, the smaller of two that are equally close; one such block fails at most
//! once in ten times. The rate is taken in the reference resource: three symbols of a subframe for control, reference
//! signals for as many antenna ports as there are layers. It includes checksums (CRC): one of 24 bits per transport
//! block and, if the block is segmented (TS 36.212 section 5.1.2), one per segment.

use std::ops::RangeInclusive;

use super::transport_block;

/// The best quality.
pub(super) const MOST: u32 = 15;

/// A modulation: its bits per symbol and its schemes (table 7.1.7.1-1).
struct Modulation {
    bits: u32,
    schemes: RangeInclusive<u32>,
}

const QPSK: Modulation = Modulation { bits: 2, schemes: 0..=9 };
const QAM16: Modulation = Modulation { bits: 4, schemes: 10..=16 };
const QAM64: Modulation = Modulation { bits: 6, schemes: 17..=28 };

/// Table 7.2.3-1, from quality 1: the modulation, and the code rate times 1024.
const QUALITIES: [(&Modulation, u32); MOST as usize] = [
    (&QPSK, 78),
    (&QPSK, 120),
    (&QPSK, 193),
    (&QPSK, 308),
    (&QPSK, 449),
    (&QPSK, 602),
    (&QAM16, 378),
    (&QAM16, 490),
    (&QAM16, 616),
    (&QAM64, 466),
    (&QAM64, 567),
    (&QAM64, 666),
    (&QAM64, 772),
    (&QAM64, 873),
    (&QAM64, 948),
];

/// Scheme for a quality from 1 to [`MOST`] in `blocks` resource blocks.
pub(super) fn mcs(cqi: u32, blocks: u32, layers: u32) -> u32 {
    let (modulation, rate) = QUALITIES[cqi as usize - 1];
    let channel_bits = modulation.bits * blocks * resource_elements(layers);
    let distance = |mcs: &u32| {
        let coded = with_checksums(transport_block::down(*mcs, blocks));
        (1024 * coded).abs_diff(rate * channel_bits)
    };
    let schemes = modulation.schemes.clone();
    schemes.min_by_key(distance).expect("a modulation has schemes")
}

/// Symbols for data in a pair of resource blocks: 12 x 14, less three symbols' control and the reference signals
/// outside them (TS 36.211 section 6.10.1.2).
fn resource_elements(layers: u32) -> u32 {
    let references = match layers {
        1 => 6,
        2 => 12,
        _ => 16,
    };
    12 * (14 - 3) - references
}

fn with_checksums(bits: u32) -> u32 {
    const CHECKSUM: u32 = 24;
    const LARGEST_PIECE: u32 = 6144;
    let whole = bits + CHECKSUM;
    match whole.div_ceil(LARGEST_PIECE - CHECKSUM) {
        _ if whole <= LARGEST_PIECE => whole,
        pieces => whole + pieces * CHECKSUM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mapping that schedulers commonly use.
    #[test]
    fn qualities_have_the_usual_schemes() {
        let schemes = |blocks| (1..=MOST).map(|cqi| mcs(cqi, blocks, 2)).collect::<Vec<_>>();
        let usual = [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 27];
        for blocks in [17, 25, 50, 100] {
            assert_eq!(schemes(blocks), usual, "{blocks} blocks");
        }
        // In four blocks scheme 1 is nearer to quality 3 than scheme 2: 168 bits against 200, of 181.
        assert_eq!(schemes(4)[2], 1);
    }

    /// The efficiencies of table 7.2.3-1, in bits per symbol.
    #[test]
    fn the_table_is_the_standards() {
        let efficiency = |cqi: usize| {
            let (modulation, rate) = QUALITIES[cqi - 1];
            (f64::from(modulation.bits * rate) / 1024.0 * 1e4).round() / 1e4
        };
        assert_eq!(
            [1, 6, 7, 9, 10, 15].map(efficiency),
            [0.1523, 1.1758, 1.4766, 2.4063, 2.7305, 5.5547]
        );
    }

    #[test]
    fn a_large_block_has_a_checksum_a_piece() {
        // 15,840 bits and 24 are three segments; 6,120 and 24 just fit in one.
        assert_eq!(with_checksums(15_840), 15_840 + 24 + 3 * 24);
        assert_eq!(with_checksums(6120), 6144);
        assert_eq!(with_checksums(6121), 6145 + 2 * 24);
    }
}
