//! A user's share of a cell: its parser and its rate.

use units::BitsPerSec;

use super::{CellError, MOST_BLOCKS, MOST_MCS};
use crate::Direction;

/// Share of an LTE cell that one user has in each subframe of a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellShare {
    direction: Direction,
    blocks: u32,
    mcs: u32,
    layers: u32,
}

/// Bandwidths of cells and their resource blocks (TS 36.104 table 5.6-1).
const BANDWIDTHS: [(&str, u32); 6] =
    [("1.4mhz", 6), ("3mhz", 15), ("5mhz", 25), ("10mhz", 50), ("15mhz", 75), ("20mhz", 100)];

const MOST_LAYERS: u32 = 4;
/// 2x2 antennas.
const USUAL_LAYERS: u32 = 2;
/// The last scheme with 16QAM: devices of categories 1 to 4 support no more on the uplink.
const LAST_16QAM_UP: u32 = 20;
const SUBFRAMES_PER_SECOND: u64 = 1000;

/// Channel quality, as typed.
#[derive(Clone, Copy)]
enum Coding {
    Mcs(u32),
    Cqi(u32),
}

/// The parts as typed.
#[derive(Default)]
struct Parts {
    bandwidth: Option<(&'static str, u32)>,
    blocks: Option<u32>,
    coding: Option<Coding>,
    layers: Option<u32>,
}

impl CellShare {
    /// Parses `10mhz/17prb/cqi12/2layers`. A bandwidth or resource blocks are required; the default is two layers and
    /// the highest scheme, on the uplink one layer and the highest with 16QAM.
    ///
    /// # Errors
    /// If no cell has such a share.
    pub fn parse(direction: Direction, text: &str) -> Result<CellShare, CellError> {
        let mut parts = Parts::default();
        for part in text.split('/') {
            parts.take(part.trim())?;
        }
        parts.resolve(direction)
    }

    /// Bits per subframe, over all layers.
    pub fn bits(&self) -> u64 {
        let block = match self.direction {
            Direction::Down => super::down(self.mcs, self.blocks),
            Direction::Up => super::up(self.mcs, self.blocks),
        };
        u64::from(block) * u64::from(self.layers)
    }

    /// Rate of a user that has this share in every subframe.
    pub fn rate(&self) -> BitsPerSec {
        BitsPerSec(self.bits() * SUBFRAMES_PER_SECOND)
    }
}

impl Parts {
    fn take(&mut self, part: &str) -> Result<(), CellError> {
        if part.ends_with("mhz") {
            let known = BANDWIDTHS.into_iter().find(|(name, _)| *name == part);
            let known = known.ok_or_else(|| CellError::Bandwidth { text: part.to_owned() })?;
            return once("bandwidth", &mut self.bandwidth, known);
        }
        if let Some(blocks) = part.strip_suffix("prb").and_then(number) {
            return once("resource blocks", &mut self.blocks, blocks);
        }
        if let Some(mcs) = part.strip_prefix("mcs").and_then(number) {
            return once("coding", &mut self.coding, Coding::Mcs(mcs));
        }
        if let Some(cqi) = part.strip_prefix("cqi").and_then(number) {
            return once("coding", &mut self.coding, Coding::Cqi(cqi));
        }
        let layers = part.strip_suffix("layers").or(part.strip_suffix("layer"));
        match layers.and_then(number) {
            Some(layers) => once("layers", &mut self.layers, layers),
            None => Err(CellError::Part { part: part.to_owned() }),
        }
    }

    fn resolve(&self, direction: Direction) -> Result<CellShare, CellError> {
        let blocks = self.blocks(direction)?;
        let layers = self.layers(direction)?;
        let mcs = self.mcs(direction, blocks, layers)?;
        Ok(CellShare { direction, blocks, mcs, layers })
    }

    fn blocks(&self, direction: Direction) -> Result<u32, CellError> {
        let blocks = match (self.bandwidth, self.blocks) {
            (None, None) => return Err(CellError::NoBlocks),
            (Some((_, all)), None) => all,
            (None, Some(blocks)) => blocks,
            (Some((bandwidth, all)), Some(blocks)) if blocks > all => {
                return Err(CellError::OverCell { bandwidth, all, blocks });
            }
            (Some(_), Some(blocks)) => blocks,
        };
        if !(1..=MOST_BLOCKS).contains(&blocks) {
            return Err(CellError::Blocks { blocks });
        }
        if direction == Direction::Up && !is_product(blocks) {
            let less = (1..blocks).rev().find(|count| is_product(*count)).unwrap_or(1);
            let more = (blocks..).find(|count| is_product(*count)).unwrap_or(blocks);
            return Err(CellError::UplinkBlocks { blocks, less, more });
        }
        Ok(blocks)
    }

    fn layers(&self, direction: Direction) -> Result<u32, CellError> {
        match (direction, self.layers) {
            (Direction::Down, None) => Ok(USUAL_LAYERS),
            (Direction::Down, Some(layers @ 1..=MOST_LAYERS)) => Ok(layers),
            (Direction::Down, Some(layers)) => Err(CellError::Layers { layers }),
            (Direction::Up, None | Some(1)) => Ok(1),
            (Direction::Up, Some(layers)) => Err(CellError::UplinkLayers { layers }),
        }
    }

    fn mcs(&self, direction: Direction, blocks: u32, layers: u32) -> Result<u32, CellError> {
        match (direction, self.coding) {
            (Direction::Down, None) => Ok(MOST_MCS),
            (Direction::Up, None) => Ok(LAST_16QAM_UP),
            (_, Some(Coding::Mcs(mcs @ 0..=MOST_MCS))) => Ok(mcs),
            (_, Some(Coding::Mcs(mcs))) => Err(CellError::Mcs { mcs }),
            (Direction::Up, Some(Coding::Cqi(_))) => Err(CellError::UplinkCqi),
            (Direction::Down, Some(Coding::Cqi(cqi @ 1..=super::MOST))) => {
                Ok(super::mcs(cqi, blocks, layers))
            }
            (Direction::Down, Some(Coding::Cqi(cqi))) => Err(CellError::Cqi { cqi }),
        }
    }
}

/// List of the known bandwidths, for messages.
pub(super) fn bandwidths() -> String {
    BANDWIDTHS.map(|(name, _)| name).join(", ")
}

fn once<T>(what: &'static str, slot: &mut Option<T>, value: T) -> Result<(), CellError> {
    match slot.replace(value) {
        Some(_) => Err(CellError::Twice { what }),
        None => Ok(()),
    }
}

/// Parses an unsigned whole number.
fn number(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Returns true if `count` has no prime factor above 5.
fn is_product(mut count: u32) -> bool {
    for factor in [2, 3, 5] {
        while count.is_multiple_of(factor) {
            count /= factor;
        }
    }
    count == 1
}
