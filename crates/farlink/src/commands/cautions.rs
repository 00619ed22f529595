//! Warnings about recordings that cannot answer the question asked, printed before the answer.

use std::collections::BTreeSet;

use scenario::Plan;
use testbed::worlds::Worlds;

use crate::failure::Failure;
use crate::show::terminal::wrapped;

/// Prints the cautions of all pages of a plan to standard error, each once.
pub fn warn(plan: &Plan, worlds: &Worlds) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for cell in plan.cells() {
        if !seen.insert(cell.page.spec.as_str()) {
            continue;
        }
        let page = worlds.library().page_of(cell).map_err(Failure::bad_input)?;
        for caution in &page.cautions {
            anstream::eprintln!("{}", wrapped(&format!("warning: {}: {caution}", page.name)));
        }
    }
    Ok(())
}
