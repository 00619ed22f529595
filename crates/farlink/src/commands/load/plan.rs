//! Plan of the loads, from the command line.

use scenario::grid::{Axis, Grid, GridError, GridFault};
use scenario::settings::setting;
use scenario::{Order, Plan};
use testbed::worlds::Worlds;

use crate::args::Load;
use crate::failure::Failure;

/// The plan: the product of all settings with several values.
pub fn plan(load: &Load, worlds: &Worlds) -> Result<Plan, Failure> {
    if load.seed >= 1 << 63 {
        return Err(Failure::bad_input(format!("--seed {} is too large", load.seed))
            .hint("a seed is at most 9223372036854775807".to_owned()));
    }
    let axes = axes(load);
    let grid = Grid::of(&axes, worlds.library()).map_err(|error| refusal(&axes, error))?;
    let name = format!("{} over {}", load.page, load.how.settings.of("network").join(", "));
    let plan = Plan::new(&name, load.seed, load.repetitions, Order::Alternated, grid.cells);
    Ok(plan.without(grid.skipped))
}

/// The page, and all settings that were given.
fn axes(load: &Load) -> Vec<Axis> {
    let axis =
        |key: &str, value: &str| Axis { key: key.to_owned(), values: vec![value.to_owned()] };
    let mut axes = vec![axis("page.name", &load.page)];
    axes.extend(load.how.settings.axes());
    axes.extend(load.how.no_nuisance.then(|| axis("nuisance", "off")));
    axes.extend(load.how.block_udp.then(|| axis("stack.udp", "blocked")));
    axes.sort_by_key(|axis| scenario::grid::position(&axis.key));
    axes
}

/// The error of a grid, attributed to the option that it comes from.
fn refusal(axes: &[Axis], error: GridError) -> Failure {
    let GridError { axis, value, fault } = error;
    let Axis { key, values } = &axes[axis];
    let option = setting(key).and_then(|setting| setting.option);
    let named = |message: &str| match (option, value) {
        (None, _) => message.to_owned(),
        (Some(option), Some(value)) => format!("--{option} {}: {message}", values[value]),
        (Some(option), None) => format!("--{option}: {message}"),
    };
    match fault {
        GridFault::Refused(refusal) => {
            Failure::bad_input(named(&refusal.message)).hint(refusal.hint)
        }
        GridFault::Twice => Failure::bad_input(named("the same value stands there twice"))
            .hint("name each once; -n says how often it is loaded".to_owned()),
        GridFault::Empty => Failure::bad_input(named("there is no value")),
        GridFault::TooLarge(cells) => {
            Failure::bad_input(named(&format!("{cells} combinations are too many")))
        }
    }
}
