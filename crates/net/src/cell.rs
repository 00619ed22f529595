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

use thiserror::Error;
use units::BitsPerSec;
use units::parse;

use crate::Direction;
use crate::error::ValueError;

mod cqi;
mod share;
mod transport_block;

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
        "`{part}` is no part of a share of an LTE cell; write `lte:10mhz`, `lte:10mhz/17prb/cqi12` or `lte:25prb/mcs20/1layer`"
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
    #[error("no LTE cell is {text} wide; there are {}", share::bandwidths())]
    Bandwidth {
        /// The input.
        text: String,
    },
    /// Beyond the end of the table.
    #[error("{blocks} resource blocks: a user has 1prb to 110prb")]
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
    #[error("an uplink has no CQI, for the cell itself measures it; write its scheme: mcs20")]
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Direction::{Down, Up};

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
            "no LTE cell is 7mhz wide; there are 1.4mhz, 3mhz, 5mhz, 10mhz, 15mhz, 20mhz"
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
        assert!(refused(Down, "lte:fast").contains("`fast` is no part"));
        assert!(refused(Down, "lte:+5prb").contains("`+5prb` is no part"));
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
}
