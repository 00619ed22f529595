//! Radio timers, inferred from state changes.

use record::{RadioStep, Series};

use super::{Load, mean};

const IDLE: &str = "IDLE";
const FACH: &str = "CELL_FACH";
const DCH: &str = "CELL_DCH";

fn steps(series: &Series) -> impl Iterator<Item = &RadioStep> {
    series.radio.iter().filter(|step| !step.by_packet)
}

/// The mean time from idle to connected, in s.
pub(super) fn promotion(load: Load<'_>) -> Option<f64> {
    let pairs = load.series?.radio.windows(2);
    let promotions = pairs.filter(|pair| pair[0].from == IDLE && pair[1].from == pair[0].to);
    mean(promotions.map(|pair| pair[1].at_ns - pair[0].at_ns))
}

/// The mean time from the last packet until the radio left `CELL_DCH` for `CELL_FACH`.
pub(super) fn quiet_before_fach(load: Load<'_>) -> Option<f64> {
    let left = steps(load.series?).filter(|step| step.from == DCH && step.to == FACH);
    mean(left.filter_map(|step| step.quiet_ns))
}

/// The mean time in `CELL_FACH` until the radio became idle: since entering the state, or since the last packet
/// there.
pub(super) fn quiet_in_fach(load: Load<'_>) -> Option<f64> {
    let pairs = load.series?.radio.windows(2);
    let left =
        pairs.filter(|pair| pair[0].to == FACH && pair[1].from == FACH && pair[1].to == IDLE);
    mean(left.map(|pair| {
        let stay = pair[1].at_ns - pair[0].at_ns;
        pair[1].quiet_ns.map_or(stay, |quiet| quiet.min(stay))
    }))
}

/// The mean time from the last packet until the radio became idle.
pub(super) fn quiet_before_idle(load: Load<'_>) -> Option<f64> {
    let left = steps(load.series?).filter(|step| step.to == IDLE);
    mean(left.filter_map(|step| step.quiet_ns))
}
