//! `--queue-sweep`: the same arms over the same network with other queues.
//!
//! Many sources state no queue, and the queue often decides: a short one drops packets that a long one delays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scenario::Plan;
use scenario::{Queue, Scenario};
use testbed::worlds::Worlds;

use super::json;
use crate::args::Load;
use crate::commands::{output, workers};
use crate::failure::Failure;
use crate::show::arms::{self, Arm};
use crate::show::conditions;
use crate::show::table::Table;
use crate::show::units::span_f64;

/// The arms with one queue.
pub struct Row {
    name: String,
    arms: Vec<Arm>,
}

/// The queues beside the network's own, in thousandths of the bandwidth-delay product.
const QUEUES: [u64; 2] = [1000, 4000];

/// Loads the arms of `plan` with each of the other queues; prints the visits if JSON was requested.
pub fn run(
    load: &Load,
    plan: &Plan,
    worlds: &Worlds,
    cancel: &AtomicBool,
) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for queue in QUEUES.map(Queue::BdpThousandths) {
        let with_queue = |cell: &Arc<Scenario>| {
            let mut scenario = Scenario::clone(cell);
            scenario.network.queue = Some(queue);
            scenario
        };
        let cells = plan.cells().iter().map(with_queue).collect();
        let plan = Plan::new("load", plan.seed(), plan.repetitions(), plan.order(), cells);
        let results = store::batch::collect(&plan, worlds, workers(load.jobs, &plan), cancel);
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        if load.json {
            json::print(&results, worlds)?;
        }
        rows.push(Row {
            name: queue.to_string().replace("bdp", " BDP"),
            arms: arms::group(&plan, results),
        });
    }
    Ok(rows)
}

/// Prints the medians of all arms with each queue, and whether the same arm is always fastest.
pub fn print(own: &[Arm], rows: &[Row], worlds: &Worlds) -> Result<(), Failure> {
    let Some(first) = own.first() else { return Ok(()) };
    let names: Vec<&str> = own.iter().map(Arm::name).collect();
    let mut columns = vec!["median PLT by queue", "packets or bytes down"];
    columns.extend(&names);
    columns.push("fastest");
    let mut table = Table::new(&columns);
    let mut winners = Vec::new();
    let own = ("as the network says", own);
    let others = rows.iter().map(|row| (row.name.as_str(), row.arms.as_slice()));
    for (name, arms) in std::iter::once(own).chain(others) {
        let scenario = arms.first().unwrap_or(first).scenario();
        let network = worlds.library().network_of(scenario).map_err(Failure::bad_input)?;
        let fastest = arms::fastest(arms).map_or("-", Arm::name);
        winners.push(fastest);
        let medians =
            arms.iter().map(|arm| arm.plt().map_or("-".to_owned(), |plt| span_f64(plt.median())));
        let cells = [name.to_owned(), conditions::queue(network.down.queue)];
        table.row(cells.into_iter().chain(medians).chain([fastest.to_owned()]));
    }
    output::line("")?;
    output::line(table)?;
    let same = winners.windows(2).all(|pair| pair[0] == pair[1]);
    output::line(match same {
        true => "The fastest is the same with every queue.",
        false => "Which is fastest depends on the queue.",
    })
}
