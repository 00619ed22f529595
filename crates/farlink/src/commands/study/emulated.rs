//! `farlink study run` and `report` in the emulated world: a study's reduced grid with the kernel's TCP, and once more with the simulator's.

use scenario::World;
use store::Store;
use study::judge::{
    Agreement, AgreementCounts, ClaimResult, ComparedClaim, WorldComparison, compare,
    comparison_tables, percentage,
};
use study::{ReducedGrid, RunMode, Study};
use testbed::worlds::Worlds;

use super::run::carry;
use crate::args::{StudyReport, StudyRun};
use crate::commands::run::{RunOptions, experiment_failure};
use crate::commands::{output, shell, stores};
use crate::failure::CliError;
use crate::show::table::Table;
use crate::show::terminal::wrapped;

/// Runs the reduced grid of a study in both worlds, the simulated one first, which is soon done; returns the number
/// of journeys, or none if interrupted.
pub fn run(
    args: &StudyRun,
    study: &Study,
    store: &mut Store,
    worlds: &Worlds,
    how: RunOptions<'_>,
) -> Result<Option<u64>, CliError> {
    if !args.laboratory.is_empty() || args.causes {
        let why = "a reduced grid has a laboratory of its own, whose TCP a kernel has";
        let hint = "leave --laboratory and --causes out, or run the study in the world sim";
        return Err(CliError::bad_input(why).hint(hint.to_owned()));
    }
    let grid = ReducedGrid::of_study(study).map_err(super::refused)?;
    let depth = args.which.depth();
    let mut ran = 0;
    for world in [World::Sim, World::Emu] {
        let experiments = grid
            .experiments(study, RunMode { depth, world }, worlds.library())
            .map_err(|error| experiment_failure(&error))?;
        for experiment in experiments {
            let place = format!("{}/{} in {world}", study.name, experiment.id);
            match carry(&place, &experiment.plan, &experiment.source, store, worlds, how)? {
                Some(journeys) => ran += journeys,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(ran))
}

/// Reports the agreement between the verdicts of both worlds.
pub fn report(args: &StudyReport) -> Result<(), CliError> {
    let which = &args.which;
    if let Some(option) = of_simulation(args) {
        let why = format!("{option} is for studies in the world sim");
        let hint = "`farlink runs` lists the runs, `farlink report` shows one of them";
        return Err(CliError::bad_input(why).hint(hint.to_owned()));
    }
    let store = stores::open(&which.store)?;
    let worlds = crate::commands::worlds()?;
    let compared: Result<Vec<WorldComparison>, CliError> = which
        .studies()?
        .into_iter()
        .map(|study| {
            compare(study, &store, which.depth(), worlds.library()).map_err(super::report::refused)
        })
        .collect();
    let comparisons = compared?;
    summary(&comparisons)?;
    match args.claims {
        true => comparisons.iter().try_for_each(tell)?,
        false => output::line("The verdicts of each claim in both worlds: --claims")?,
    }
    let Some(folder) = &args.tables else { return Ok(()) };
    let commands = format!("farlink study run {}\n{}", which.typed(), shell::this_command());
    comparisons.iter().try_for_each(|comparison| {
        let folder = folder.join(&comparison.study.name);
        super::report::write_tables(&folder, &comparison_tables(comparison), &commands)
    })
}

/// The first given option that does not apply to reduced grids.
fn of_simulation(args: &StudyReport) -> Option<&'static str> {
    let given = [
        ("--output", args.output.is_some()),
        ("--html", args.html.is_some()),
        ("--summary", args.summary.is_some()),
        ("--laboratory-loads", args.laboratory_loads.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}

/// Prints the claims that the grid covers, with the findings where the worlds differ.
fn tell(comparison: &WorldComparison) -> Result<(), CliError> {
    comparison.claims.iter().try_for_each(|claim| {
        let ComparedClaim { simulated, emulated } = claim;
        let (id, here, there) = (&simulated.id, &simulated.verdict, &emulated.verdict);
        match claim.agreement() {
            Agreement::NotCovered => Ok(()),
            Agreement::Decided | Agreement::Inconclusive => {
                output::line(format!("{id}: {here} in both"))
            }
            Agreement::Undecided | Agreement::Opposite => {
                output::line(format!("{id}: {here} in simulation, {there} with the kernel's TCP"))?;
                tell_findings("sim", simulated)?;
                tell_findings("emu", emulated)
            }
        }
    })?;
    output::line("")
}

fn tell_findings(world: &str, judged: &ClaimResult) -> Result<(), CliError> {
    judged.findings.iter().try_for_each(|found| {
        output::line(wrapped(&format!("    {world}: {}: {}", found.clause, found.finding)))
    })
}

fn summary(comparisons: &[WorldComparison]) -> Result<(), CliError> {
    let mut table = Table::new(&[
        "study",
        "cells",
        "covered",
        "same",
        "undecided",
        "opposite",
        "agreement",
        "among decided",
    ]);
    let mut all = AgreementCounts::default();
    for comparison in comparisons {
        let agreements = comparison.agreements();
        all += agreements;
        table.row(row(&comparison.study.name, comparison.size().0, &agreements));
    }
    if comparisons.len() > 1 {
        table.row(row("all", comparisons.iter().map(|it| it.size().0).sum(), &all));
    }
    output::line(table)?;
    output::line(wrapped(
        "\ncovered: claims that the reduced grid has cells for. undecided: one world is inconclusive. opposite: one confirms what the other \
         refutes. agreement: the same among the covered; among decided: among those that both worlds decide.\n",
    ))
}

fn row(name: &str, cells: usize, agreements: &AgreementCounts) -> [String; 8] {
    [
        name.to_owned(),
        cells.to_string(),
        agreements.covered().to_string(),
        agreements.same().to_string(),
        agreements.of(Agreement::Undecided).to_string(),
        agreements.of(Agreement::Opposite).to_string(),
        percentage(agreements.share()),
        percentage(agreements.decided_share()),
    ]
}
