//! The distribution of packet sizes, over all loads of an arm together.

use std::collections::BTreeMap;

use record::PacketSize;
use serde::Serialize;

use super::drawn::{Drawn, Shape, Undrawn, row};
use super::kind::{PacketSizes, Way};
use super::sources::{Evidence, Which};
use crate::judge::Fault;

/// Bin width in bytes: cardaci2015's tiny packets are smaller than one bin, its large ones at least 16 bins.
const STEP: u32 = 80;

/// A step of a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Step {
    panel: String,
    line: String,
    /// Lower bound in bytes, included; sizes count the IP header.
    x: u32,
    /// Upper bound, excluded.
    until: u32,
    /// The share of packets, in per cent.
    y: f64,
}

row!(Step);

/// The figure.
///
/// # Errors
/// A store that cannot be read, or that has no packet sizes.
pub fn drawn(evidence: &Evidence<'_>, show: &PacketSizes) -> Result<Drawn, Undrawn> {
    let mut rows = Vec::new();
    let several = show.scope.on.len() > 1;
    for grid in &show.scope.on {
        for arm in &show.lines {
            let which = Which { arm: &arm.arm, grid, narrowed: &show.scope.filter };
            evidence.grid(which)?;
            let mut counted = BTreeMap::new();
            for load in evidence.loads.all(|facts| evidence.is_meant(facts, which)) {
                let series = evidence.loads.series(load)?.unwrap_or_default();
                series.packets.iter().for_each(|packets| count(packets, show.of, &mut counted));
            }
            let panel = if several { show.scope.called(grid) } else { String::new() };
            let steps = shares(&counted)
                .ok_or_else(|| Fault::Nothing(format!("sizes of packets {}", show.of)))?;
            rows.extend(steps.into_iter().map(|(x, y)| {
                let (panel, line) = (panel.clone(), arm.name.clone());
                Step { panel, line, x, until: x + STEP, y }
            }));
        }
    }
    Ok(Drawn::new(Shape::Histogram, "size of packet (bytes)", "share of packets (%)", &rows))
}

fn count(packets: &PacketSize, way: Way, counted: &mut BTreeMap<u32, u64>) {
    let number = match way {
        Way::Down => packets.down,
        Way::Up => packets.up,
    };
    *counted.entry(packets.wire_bytes / STEP).or_default() += number;
}

/// The share of each bin from the first on, including empty ones; `None` if there are no packets.
fn shares(counted: &BTreeMap<u32, u64>) -> Option<Vec<(u32, f64)>> {
    let all: u64 = counted.values().sum();
    let (last, _) = counted.iter().rfind(|(_, number)| **number > 0)?;
    let share = |step: u32| 100.0 * counted.get(&step).copied().unwrap_or(0) as f64 / all as f64;
    Some((0..=*last).map(|step| (step * STEP, share(step))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_hand() {
        let mut counted = BTreeMap::new();
        let packets = |wire_bytes, down, up| PacketSize { wire_bytes, down, up };
        for packets in
            [packets(40, 0, 5), packets(79, 0, 1), packets(80, 0, 2), packets(1500, 9, 0)]
        {
            count(&packets, Way::Up, &mut counted);
        }
        assert_eq!(shares(&counted), Some(vec![(0, 75.0), (80, 25.0)]));
        assert_eq!(shares(&BTreeMap::new()), None);
    }
}
