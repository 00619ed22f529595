//! Rate of an LTE cell's user, from its share of the cell.
//!
//! `lte:10mhz/17prb/cqi12/2layers`: bandwidth of the cell, physical resource blocks in each subframe of a
//! millisecond, channel quality (or a modulation and coding scheme: `mcs20`), spatial layers. A subframe carries one
//! transport block per layer; its size is 3GPP TS 36.213's table 7.1.7.2.1-1 at the number of blocks and the scheme's
//! index. The index comes from table 7.1.7.1-1 on the downlink and from table 8.6.1-1 on the uplink, where a device
//! has one layer and blocks come in products of 2, 3 and 5 (SC-FDMA).
//!
//! This is the physical layer's rate. Headers of the layers between (about 1 %), control channels of the uplink and the
//! limits of device categories are not subtracted; repetitions cost time ([`Harq`](crate::Harq)), not rate. With
//! three or four layers, two share a codeword, whose block has a size of its own (7.1.7.2.2), approximated by two
//! blocks' (the same to about a hundredth).

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use thiserror::Error;
use units::{BitsPerSec, parse};

use crate::Direction;
use crate::error::ValueError;

mod share;

pub use share::CellShare;

/// Prefix of a share of a cell.
const PREFIX: &str = "lte:";

/// Parses a rate in one direction: `10mbit`, `384kbit`, or a share of an LTE cell.
///
/// # Errors
/// If it is neither.
pub fn parse_rate(direction: Direction, text: &str) -> Result<BitsPerSec, ValueError> {
    match text.trim().strip_prefix(PREFIX) {
        Some(share) => Ok(CellShare::parse(direction, share)?.rate()),
        None => Ok(parse::rate(text)?),
    }
}

/// Reasons why a text is not a share of an LTE cell.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CellError {
    /// An unknown part.
    #[error(
        "`{part}` is not a valid part of an LTE cell share; write `lte:10mhz`, `lte:10mhz/17prb/cqi12` or `lte:25prb/mcs20/1layer`"
    )]
    Part {
        /// The part.
        part: String,
    },
    /// A quantity stated twice.
    #[error("a share of an LTE cell states its {what} once")]
    Twice {
        /// The quantity.
        what: &'static str,
    },
    /// Neither bandwidth nor blocks given.
    #[error(
        "a share of an LTE cell states a bandwidth or resource blocks: write `lte:10mhz` or `lte:25prb`"
    )]
    NoBlocks,
    /// No cell has this bandwidth (TS 36.104 section 5.6).
    #[error("unknown LTE bandwidth `{text}`; known: {}", share::bandwidths())]
    Bandwidth {
        /// The input.
        text: String,
    },
    /// Beyond the end of the table.
    #[error("{blocks} resource blocks are out of range: 1prb to 110prb")]
    Blocks {
        /// Number requested.
        blocks: u32,
    },
    /// More blocks than the cell has.
    #[error("a cell of {bandwidth} has {all} resource blocks, no {blocks}")]
    OverCell {
        /// The cell.
        bandwidth: &'static str,
        /// Number of blocks that it has.
        all: u32,
        /// Number requested.
        blocks: u32,
    },
    /// A number of blocks that SC-FDMA does not allow (TS 36.211 section 5.3.3).
    #[error(
        "an uplink's resource blocks come in products of 2, 3 and 5: {less}prb or {more}prb, not {blocks}"
    )]
    UplinkBlocks {
        /// Number requested.
        blocks: u32,
        /// The next allowed number below,
        less: u32,
        /// and above.
        more: u32,
    },
    /// Unknown modulation and coding scheme.
    #[error("mcs{mcs}: modulation and coding schemes are mcs0 to mcs28")]
    Mcs {
        /// Scheme requested.
        mcs: u32,
    },
    /// Unknown channel quality; at 0 nothing can be sent.
    #[error("cqi{cqi}: channel qualities are cqi1 to cqi15")]
    Cqi {
        /// Quality requested.
        cqi: u32,
    },
    /// A CQI for the uplink: devices report the quality of their downlink only.
    #[error("an uplink has no CQI (the cell measures it); write its scheme: mcs20")]
    UplinkCqi,
    /// Unsupported number of layers.
    #[error("{layers} layers: a downlink has 1layer to 4layers")]
    Layers {
        /// Number requested.
        layers: u32,
    },
    /// Several layers for the uplink, where one antenna sends.
    #[error("{layers} layers: an uplink has 1layer")]
    UplinkLayers {
        /// Number requested.
        layers: u32,
    },
}

// Mapping of channel quality (CQI) to a modulation and coding scheme.
//
// TS 36.213 section 7.2.3 defines the transport blocks that correspond to a quality: those of its modulation whose
// effective code rate is closest to its own, the smaller of two that are equally close; one such block fails at most
// once in ten times. The rate is taken in the reference resource: three symbols of a subframe for control, reference
// signals for as many antenna ports as there are layers. It includes checksums (CRC): one of 24 bits per transport
// block and, if the block is segmented (TS 36.212 section 5.1.2), one per segment.

/// The best quality.
const MOST: u32 = 15;

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
fn mcs(cqi: u32, blocks: u32, layers: u32) -> u32 {
    let (modulation, rate) = QUALITIES[cqi as usize - 1];
    let channel_bits = modulation.bits * blocks * resource_elements(layers);
    let distance = |mcs: &u32| {
        let coded = with_checksums(down(*mcs, blocks));
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

// Sizes of transport blocks.

/// Table 7.1.7.2.1-1.
const TABLE: &str = include_str!("../data/lte-tbs.txt");

/// Largest number of resource blocks in the table; the largest cell, of 20 MHz, has 100.
const MOST_BLOCKS: u32 = 110;
/// Last modulation and coding scheme; those beyond are for retransmissions.
const MOST_MCS: u32 = 28;

/// Bits, by index and number of resource blocks less one.
static BITS: LazyLock<Vec<Vec<u32>>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let numbers = |line: &str| line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    lines.map(numbers).collect()
});

/// Bits of a downlink transport block of one layer, in 1 to [`MOST_BLOCKS`] resource blocks.
fn down(mcs: u32, blocks: u32) -> u32 {
    bits(down_index(mcs), blocks)
}

/// Bits of an uplink transport block.
fn up(mcs: u32, blocks: u32) -> u32 {
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
    use Direction::{Down, Up};
    use proptest::prelude::*;

    use super::*;

    fn mbit(direction: Direction, text: &str) -> f64 {
        parse_rate(direction, text).unwrap().0 as f64 / 1e6
    }

    fn refused(direction: Direction, text: &str) -> String {
        parse_rate(direction, text).unwrap_err().to_string()
    }

    /// The studies' cell of 25 blocks and its limits of 17 and 4 blocks, 2x2.
    #[test]
    fn shares_of_a_cell_have_the_tables_rates() {
        for (mcs, rates) in [
            (28, [5.968, 25.152, 36.672]),
            (26, [4.816, 20.592, 30.528]),
            (22, [3.728, 15.984, 22.896]),
            (10, [1.232, 5.328, 8.016]),
            (0, [0.176, 0.912, 1.36]),
        ] {
            for (blocks, expected) in [4, 17, 25].into_iter().zip(rates) {
                let got = mbit(Down, &format!("lte:{blocks}prb/mcs{mcs}"));
                assert!((got - expected).abs() < 1e-9, "{blocks} blocks, mcs{mcs}: {got}");
            }
        }
        assert_eq!(mbit(Down, "lte:25prb/1layer"), 18.336);
        assert_eq!((mbit(Down, "10mbit"), mbit(Up, "384kbit")), (10.0, 0.384));
    }

    #[test]
    fn a_cell_is_known_by_its_bandwidth_and_a_user_by_his_limit() {
        for (bandwidth, blocks) in [
            ("1.4mhz", 6),
            ("3mhz", 15),
            ("5mhz", 25),
            ("10mhz", 50),
            ("15mhz", 75),
            ("20mhz", 100),
        ] {
            let (cell, share) = (format!("lte:{bandwidth}"), format!("lte:{blocks}prb"));
            for direction in [Down, Up] {
                assert_eq!(mbit(direction, &cell), mbit(direction, &share), "{cell}");
            }
        }
        assert_eq!(mbit(Down, "lte:10mhz/17prb/mcs20"), mbit(Down, "lte:17prb/mcs20/2layers"));
        // Category 4's largest: 150,752 bits a subframe.
        assert_eq!(mbit(Down, "lte:20mhz"), 150.752);
        assert_eq!(refused(Down, "lte:3mhz/17prb"), "a cell of 3mhz has 15 resource blocks, no 17");
        assert_eq!(
            refused(Down, "lte:7mhz"),
            "unknown LTE bandwidth `7mhz`; known: 1.4mhz, 3mhz, 5mhz, 10mhz, 15mhz, 20mhz"
        );
    }

    /// One layer, up to 16QAM unless said otherwise.
    #[test]
    fn an_uplink_has_its_own_rules() {
        assert_eq!(mbit(Up, "lte:5mhz"), 10.68);
        assert_eq!(mbit(Up, "lte:25prb/mcs20/1layer"), 10.68);
        assert_eq!(mbit(Up, "lte:20prb"), 8.504);
        // Table 8.6.1-1 keeps QPSK for one more scheme: index 10 is mcs10 on the uplink, mcs11 on the downlink.
        assert_eq!(mbit(Up, "lte:25prb/mcs10"), 4.392);
        assert_eq!(mbit(Down, "lte:25prb/mcs10/1layer"), 4.008);
        // Category 3's largest block, 51,024 bits.
        assert_eq!(mbit(Up, "lte:20mhz/mcs23"), 51.024);
        assert_eq!(
            refused(Up, "lte:17prb"),
            "an uplink's resource blocks come in products of 2, 3 and 5: 16prb or 18prb, not 17"
        );
        assert!(refused(Up, "lte:25prb/2layers").contains("an uplink has 1layer"));
        assert!(refused(Up, "lte:25prb/cqi9").contains("an uplink has no CQI"));
    }

    #[test]
    fn what_no_cell_has_is_refused() {
        assert!(refused(Down, "lte:111prb").contains("1prb to 110prb"));
        assert!(refused(Down, "lte:0prb").contains("1prb to 110prb"));
        assert!(refused(Down, "lte:25prb/mcs29").contains("mcs28"));
        assert!(refused(Down, "lte:25prb/cqi16").contains("cqi1 to cqi15"));
        assert!(refused(Down, "lte:25prb/cqi0").contains("cqi1 to cqi15"));
        assert!(refused(Down, "lte:mcs20").contains("write `lte:10mhz`"));
        assert!(refused(Down, "lte:25prb/9layers").contains("4layers"));
        assert!(refused(Down, "lte:25prb/0layers").contains("4layers"));
        assert!(refused(Down, "lte:fast").contains("`fast` is not a valid part"));
        assert!(refused(Down, "lte:+5prb").contains("`+5prb` is not a valid part"));
        assert!(refused(Down, "lte:25prb/4prb").contains("resource blocks once"));
        assert!(refused(Down, "lte:25prb/cqi9/mcs9").contains("coding once"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(([0-9]{1,11}|1\\.4)(prb|mhz|layers?)|(mcs|cqi)[0-9]{1,11}|\\PC{0,4}|/){0,5}") {
            for direction in [Down, Up] {
                let _ = parse_rate(direction, &format!("lte:{text}"));
            }
        }
    }

    #[test]
    fn a_better_channel_never_carries_less() {
        for (blocks, layers) in (1..=110).flat_map(|blocks| [(blocks, 1), (blocks, 2), (blocks, 4)])
        {
            let rate = |cqi| mbit(Down, &format!("lte:{blocks}prb/cqi{cqi}/{layers}layers"));
            assert!((1..=15).map(rate).is_sorted(), "{blocks} blocks, {layers} layers");
        }
    }

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
