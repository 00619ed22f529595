//! The components of an object's time, for each arm at each place.

use serde::Serialize;

use super::drawn::{Drawn, Shape, row};
use super::kind::Stacked;
use super::sources::{Evidence, Which};
use crate::judge::{Fault, Quantity};
use statistics::Sample;

/// The components, in order of time, each as the mean over a load's objects.
pub const PARTS: [(&str, Quantity); 4] = [
    ("init", Quantity::MeanInit),
    ("send", Quantity::MeanSend),
    ("wait", Quantity::MeanWait),
    ("receive", Quantity::MeanReceive),
];

/// A stack. Times are ms.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Stack {
    panel: String,
    line: String,
    place: String,
    init: f64,
    send: f64,
    wait: f64,
    receive: f64,
}

row!(Stack);

/// The figure.
pub fn drawn(evidence: &Evidence<'_>, show: &Stacked) -> Result<Drawn, Fault> {
    let mut rows = Vec::new();
    let several = show.scope.on.len() > 1;
    for grid in &show.scope.on {
        for arm in &show.lines {
            let which = Which { arm: &arm.arm, grid, narrowed: &show.scope.filter };
            let has_axis = evidence.grid(which)?.x.is_some();
            let panel = if has_axis && several { show.scope.called(grid) } else { String::new() };
            let cells = evidence.cells(which)?;
            for same in cells.chunk_by(|one, next| one.place == next.place) {
                let mean = |quantity| {
                    let values = same.iter().filter_map(|it| it.cell.values.get(&quantity));
                    let values = values.flat_map(|repeated| repeated.values().copied());
                    Sample::new(values).map(|sample| 1e3 * sample.mean())
                };
                let [init, send, wait, receive] = PARTS.map(|(_, quantity)| mean(quantity));
                let (Some(init), Some(send), Some(wait), Some(receive)) =
                    (init, send, wait, receive)
                else {
                    continue;
                };
                let (panel, line) = (panel.clone(), arm.name.clone());
                let place = show.scope.called(&same[0].place);
                rows.push(Stack { panel, line, place, init, send, wait, receive });
            }
        }
    }
    Ok(Drawn::new(Shape::Stacks, &show.x, "mean time of an object (ms)", &rows))
}
