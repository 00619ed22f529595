//! `farlink study`.

mod emulated;
mod export;
mod import;
mod report;
mod run;

use std::collections::BTreeMap;

use scenario::World;
use study::{
    Claim, DEEP, Depth, Laboratory, LaboratoryKind, NAMES, RunMode, Strength, StudyError, shipped,
};

use super::output;
use crate::args::{Study, Which};
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::terminal::wrapped;

pub fn run(study: &Study) -> Result<ExitCode, CliError> {
    match study {
        Study::List => list()?,
        Study::Claims { name, strength } => claims(name, *strength)?,
        Study::Laboratories => laboratories()?,
        Study::Run(args) => return run::run(args),
        Study::Report(args) if args.which.world == World::Emu => emulated::report(args)?,
        Study::Report(args) => report::run(args)?,
        Study::Import(args) => import::run(args)?,
        Study::Export(args) => export::run(args)?,
    }
    Ok(ExitCode::Success)
}

impl Which {
    /// The selected studies.
    fn studies(&self) -> Result<Vec<study::Study>, CliError> {
        let names = match &self.name {
            Some(name) => vec![name.as_str()],
            None => NAMES.to_vec(),
        };
        names.into_iter().map(|name| shipped(name).map_err(refused)).collect()
    }

    fn mode(&self) -> RunMode {
        RunMode { depth: self.depth(), world: self.world }
    }

    fn depth(&self) -> Depth {
        match (self.quick, self.deep, self.loads) {
            (true, _, _) => Depth::Quick,
            (_, true, loads) => Depth::Deep(loads.unwrap_or(DEEP)),
            (_, _, Some(loads)) => Depth::Loads(loads),
            _ => Depth::Usual,
        }
    }

    /// The equivalent command-line arguments.
    fn typed(&self) -> String {
        self.typed_at(self.depth())
    }

    /// The arguments that select the same studies at another depth.
    fn typed_at(&self, depth: Depth) -> String {
        let name = self.name.as_deref().unwrap_or("--all");
        let depth = match depth {
            Depth::Usual => String::new(),
            other => format!(" {other}"),
        };
        let world = match self.world {
            World::Sim => String::new(),
            other => format!(" --world {other}"),
        };
        format!("{name}{depth}{world}{}", super::shell::store_option(&self.store))
    }
}

fn list() -> Result<(), CliError> {
    let mut table = Table::new(&["study", "year", "claims", "facts", "strong", "experiments"]);
    for name in NAMES {
        let study = shipped(name).map_err(refused)?;
        let experiments = &study.setup.experiments;
        let written = experiments.iter().filter(|experiment| experiment.file.is_some()).count();
        table.row([
            study.name.clone(),
            study.setup.year.to_string(),
            study.claims.len().to_string(),
            study.facts(None).to_string(),
            study.facts(Some(Strength::Strong)).to_string(),
            format!("{written} of {}", experiments.len()),
        ]);
    }
    output::line(table)?;
    output::line(wrapped(
        "\nfacts: claims of one fact stand or fall together. strong: facts with a claim that the study \
         supports strongly. experiments: those that are written; the others wait for features \
         (docs/coverage.md).",
    ))
}

fn laboratories() -> Result<(), CliError> {
    let mut table = Table::new(&["laboratory", "kind", "what is otherwise"]);
    let kinds = [(LaboratoryKind::Wrong, "wrong"), (LaboratoryKind::Unstated, "unstated")];
    for (kind, title) in kinds {
        for laboratory in Laboratory::of_kind(kind) {
            table.row([laboratory.name(), title, laboratory.what()].map(str::to_owned));
        }
    }
    output::line(table)
}

fn claims(name: &str, strength: Option<Strength>) -> Result<(), CliError> {
    let study = shipped(name).map_err(refused)?;
    let setup = &study.setup;
    output::line(wrapped(&format!("{} ({}, {})", setup.title, setup.authors, setup.year)))?;
    output::line(wrapped(&setup.question))?;
    let asked = study.claims.iter().filter(|claim| strength.is_none_or(|s| claim.strength == s));
    let mut shown = 0;
    for (fact, claims) in by_fact(asked) {
        output::line(format!("\n{fact}"))?;
        shown += claims.len();
        claims.into_iter().try_for_each(show)?;
    }
    let all = study.claims.len();
    output::line(format!("\n{shown} of {all} claims, {} facts in all", study.facts(None)))
}

/// The claims of each fact, facts in the order of their first claims.
fn by_fact<'a>(claims: impl Iterator<Item = &'a Claim>) -> Vec<(&'a str, Vec<&'a Claim>)> {
    let mut places = BTreeMap::new();
    let mut facts: Vec<(&str, Vec<&Claim>)> = Vec::new();
    for claim in claims {
        let place = *places.entry(claim.fact.as_str()).or_insert(facts.len());
        if place == facts.len() {
            facts.push((&claim.fact, Vec::new()));
        }
        facts[place].1.push(claim);
    }
    facts
}

fn show(claim: &Claim) -> Result<(), CliError> {
    let restated = if claim.restates_inputs { ", restates inputs" } else { "" };
    let Claim { id, kind, strength, place, .. } = claim;
    output::line(format!("  {id}: {strength} {kind}, {place}{restated}"))?;
    let mut lines = vec![("claims", claim.statement.as_str())];
    lines.extend(claim.conditions.iter().map(|(key, value)| (*key, value.as_str())));
    lines.extend([
        ("metric", claim.metric.as_str()),
        ("published", claim.published.as_str()),
        ("holds if", claim.criterion.as_str()),
    ]);
    lines.extend(claim.conflict.as_deref().map(|conflict| ("but", conflict)));
    lines.extend(claim.note.as_deref().map(|note| ("note", note)));
    lines
        .into_iter()
        .try_for_each(|(key, text)| output::line(wrapped(&format!("    {key}: {text}"))))
}

fn refused(error: StudyError) -> CliError {
    let hint = error.hint();
    CliError::bad_input(error).hint(hint)
}
