//! `farlink advise`: the fastest configuration of a site for its users' networks, found by simulation, and how to set it.

mod knobs;
mod recipes;
mod search;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use scenario::{Plan, World};
use serde_json::json;
use store::batch::{Results, collect_rest};
use testbed::worlds::Worlds;

use self::knobs::{PROTOCOL, PROTOCOLS, ROUTE};
use self::search::{Configuration, ConfigurationStep, LoadBudget, Search, SearchSpace};
use super::compare::difference::Difference;
use super::load::{PageLoads, plan};
use super::shares::with_shares;
use super::{interrupt, output, refused, workers};
use crate::args::{Advise, How};
use crate::budget::metric;
use crate::failure::{CliError, ExitCode};
use crate::show::arms::Arm;
use crate::show::table::Table;
use crate::show::terminal::wrapped;
use crate::show::units::{counted, span_f64};

/// Carries out `farlink advise`.
pub fn run(args: &Advise) -> Result<ExitCode, CliError> {
    let how = single(&args.how)?;
    let worlds = super::worlds()?;
    let cancel = interrupt::flag()?;
    let adviser = Adviser::new(args, how, &worlds, &cancel)?;
    let most = args.loads.repetitions;
    if adviser.medians(&adviser.space.base(), most).is_none() {
        if cancel.load(Ordering::Relaxed) {
            return Ok(ExitCode::Interrupted);
        }
        return Err(CliError::machine("no load of the page as it is succeeded")
            .hint("`farlink load` says why".to_owned()));
    }
    let everything = adviser.space.all().len();
    let mut search =
        Search::new(&adviser.space, |it: &Configuration, loads| adviser.score(it, loads));
    let found = match args.exhaustive {
        true => search.exhaustive(most),
        false => search.search(&within_a_tenth(everything, most, adviser.is_calm())),
    };
    let tried = search.tried();
    let is_better = adviser.score(&found, most).is_some_and(|score| score < 0.0);
    let best = if is_better { found } else { adviser.space.base() };
    let best = adviser.simplified(best);
    let steps = adviser.measured_steps(&best);
    // Once interrupted, nothing loads any more, which is no error of the configurations.
    if cancel.load(Ordering::Relaxed) {
        return Ok(ExitCode::Interrupted);
    }
    let steps = steps?;
    let searched = SearchEffort {
        tried,
        everything,
        loads: adviser.loads_made(),
        all_loads: everything * most as usize * adviser.networks.len(),
    };
    match args.json {
        true => output::line(as_json(&adviser, &steps, &searched))?,
        false => print(args, &adviser, &steps, &searched)?,
    }
    Ok(ExitCode::Success)
}

/// Numbers of loads with which search and steps stay within a tenth of all. Where load times hardly scatter, one load says enough at first.
fn within_a_tenth(everything: usize, most: u32, is_calm: bool) -> LoadBudget {
    /// Configurations on the way to the best one, which are loaded as steps of the advice.
    const STEPS: usize = 4;
    let all = (everything * most as usize / 10).saturating_sub(STEPS * most as usize);
    let first = if is_calm { 1 } else { most.div_ceil(5) };
    LoadBudget { first, most, all }
}

/// The settings; those with several values are refused, except for networks and protocols.
fn single(how: &How) -> Result<How, CliError> {
    let several = how
        .settings
        .axes()
        .into_iter()
        .find(|axis| axis.values.len() > 1 && axis.key != "network" && axis.key != PROTOCOL);
    match several {
        None => Ok(how.clone()),
        Some(axis) => {
            let option = scenario::settings::setting(&axis.key).and_then(|setting| setting.option);
            let option = option.unwrap_or(&axis.key);
            Err(CliError::bad_input(format!("--{option}: several values; advice starts from one"))
                .hint(format!("give --{option} one value, or none to leave it open")))
        }
    }
}

/// Page and settings to advise on, the networks of its users, and the search space.
struct Adviser<'a> {
    args: &'a Advise,
    how: How,
    worlds: &'a Worlds,
    cancel: &'a AtomicBool,
    /// The networks with the shares of their users, which sum to 1.
    networks: Vec<(String, f64)>,
    space: SearchSpace,
    /// Loads of configurations, by network; none is made twice.
    loaded: RefCell<BTreeMap<Configuration, Vec<Results>>>,
}

impl<'a> Adviser<'a> {
    fn new(
        args: &'a Advise,
        how: How,
        worlds: &'a Worlds,
        cancel: &'a AtomicBool,
    ) -> Result<Adviser<'a>, CliError> {
        let names: Vec<String> =
            how.settings.of("network").into_iter().map(str::to_owned).collect();
        let networks = with_shares(names, &args.share)?;
        let protocols: Vec<String> = match how.settings.has(PROTOCOL) {
            true => how.settings.of(PROTOCOL).into_iter().map(str::to_owned).collect(),
            false => PROTOCOLS.map(str::to_owned).to_vec(),
        };
        if args.middleboxes && how.settings.has(ROUTE) {
            let message = "--middleboxes tries routes, but --route sets one: leave one of them out";
            return Err(CliError::bad_input(message));
        }
        let knobs = knobs::open(&how, args.middleboxes);
        let space = SearchSpace { protocols, knobs };
        let adviser =
            Adviser { args, how, worlds, cancel, networks, space, loaded: RefCell::default() };
        for (network, _) in &adviser.networks {
            let plan = adviser.plan(&adviser.space.base(), network, args.loads.repetitions)?;
            if plan.cells()[0].world != World::Sim {
                return Err(CliError::bad_input("--world emu: advice comes from simulations"));
            }
            worlds.prepare(&plan.cells()[0]).map_err(refused)?;
        }
        Ok(adviser)
    }

    /// The loads of a configuration over a network.
    fn plan(
        &self,
        configuration: &Configuration,
        network: &str,
        repetitions: u32,
    ) -> Result<Plan, CliError> {
        let (mut how, mut page) = (self.how.clone(), self.args.page.clone());
        how.settings.set("network", vec![network.to_owned()]);
        let protocol = self.space.protocols[configuration.protocol].clone();
        how.settings.set(PROTOCOL, vec![protocol]);
        for (knob, value) in self.space.knobs.iter().zip(&configuration.values) {
            if let Some(value) = value {
                knob.turn(knob.values[*value], &mut page, &mut how);
            }
        }
        let loads = PageLoads { page: &page, how: &how, repetitions, seed: self.args.loads.seed };
        let plan = plan(&loads, self.worlds)?;
        match plan.skipped().first() {
            Some(skipped) => Err(CliError::bad_input(skipped.sentence())),
            None => Ok(plan),
        }
    }

    /// The first loads of a configuration over each network; `None` if it is refused or one of them has no load time.
    fn arms(&self, configuration: &Configuration, repetitions: u32) -> Option<Vec<Arm>> {
        let mut loaded = self.loaded.borrow_mut();
        let of_networks = loaded.entry(configuration.clone()).or_default();
        of_networks.resize_with(self.networks.len(), Results::new);
        let of_network = |((network, _), known): (&(String, f64), &mut Results)| {
            if self.cancel.load(Ordering::Relaxed) {
                return None;
            }
            let plan = self.plan(configuration, network, repetitions).ok()?;
            self.worlds.prepare(&plan.cells()[0]).ok()?;
            let workers = workers(self.args.loads.jobs, &plan);
            let earlier = std::mem::take(known);
            *known = collect_rest(&plan, earlier, self.worlds, workers, self.cancel);
            let first = &known[..known.len().min(repetitions as usize)];
            let arm = Arm::of_cell(&plan.cells()[0], 0, first).into_iter().next()?;
            // One that loses objects or loads would win with another page.
            let is_whole = arm.failures().next().is_none()
                && arm
                    .loads()
                    .iter()
                    .all(|load| load.visit.record.objects.iter().all(|o| o.error.is_none()));
            is_whole.then_some(arm)
        };
        self.networks.iter().zip(of_networks).map(of_network).collect()
    }

    /// True if the load times of the page as it is hardly scatter over any network.
    fn is_calm(&self) -> bool {
        /// Of the range to the median.
        const HARDLY: f64 = 0.06;
        let arms = self.measured(&self.space.base()).unwrap_or_default();
        let mut samples = arms.iter().filter_map(Arm::plt);
        samples.all(|it| it.quantile(1.0) - it.quantile(0.0) < HARDLY * it.median())
    }

    /// Number of loads that were made.
    fn loads_made(&self) -> usize {
        self.loaded.borrow().values().flatten().map(Vec::len).sum()
    }

    fn medians(&self, configuration: &Configuration, repetitions: u32) -> Option<Vec<f64>> {
        let arms = self.arms(configuration, repetitions)?;
        arms.iter().map(|arm| Some(arm.plt()?.median())).collect()
    }

    /// Logarithm of the ratio of load times to the present ones, weighted by the shares of users; `None` if the configuration or the
    /// present one does not load.
    fn score(&self, configuration: &Configuration, repetitions: u32) -> Option<f64> {
        let before = self.medians(&self.space.base(), repetitions)?;
        let after = self.medians(configuration, repetitions)?;
        let ratios = before.iter().zip(&after).map(|(before, after)| (after / before).ln());
        Some(ratios.zip(&self.networks).map(|(ratio, (_, share))| ratio * share).sum())
    }

    /// The loads of a configuration with all repetitions.
    fn measured(&self, configuration: &Configuration) -> Option<Vec<Arm>> {
        self.arms(configuration, self.args.loads.repetitions)
    }

    fn measured_score(&self, configuration: &Configuration) -> Option<f64> {
        self.score(configuration, self.args.loads.repetitions)
    }

    /// The configuration without changes that bring next to nothing: nobody should set them.
    fn simplified(&self, mut best: Configuration) -> Configuration {
        let mut before = Some(0.0);
        for step in self.space.way_to(&best) {
            let after = self.measured_score(&step.to);
            let gain = before.zip(after).map(|(before, after)| before - after);
            before = after;
            if gain.is_none_or(|gain| gain > NEXT_TO_NOTHING) {
                continue;
            }
            let without = self.space.without(&best, step.key);
            let lost = self.measured_score(&without).zip(self.measured_score(&best));
            if lost.is_some_and(|(without, with)| without - with < NEXT_TO_NOTHING) {
                best = without;
            }
        }
        best
    }

    /// The steps to a configuration, each measured with all repetitions against the one before.
    fn measured_steps(&self, to: &Configuration) -> Result<Vec<AdviceStep>, CliError> {
        let lost =
            || CliError::machine("a configuration that loaded in the search does not load again");
        let arms = |it: &Configuration| self.measured(it).ok_or_else(lost);
        let first = arms(&self.space.base())?;
        let mut before = first.clone();
        let mut steps = Vec::new();
        for ConfigurationStep { to, key, value } in self.space.way_to(to) {
            let after = arms(&to)?;
            let of_step = self.differences(&before, &after).ok_or_else(lost)?;
            let in_all = self.differences(&first, &after).ok_or_else(lost)?;
            steps.push(AdviceStep { key, value, of_step, in_all });
            before = after;
        }
        Ok(steps)
    }

    /// Differences in load time over each network.
    fn differences(&self, before: &[Arm], after: &[Arm]) -> Option<Vec<Difference>> {
        let pairs = before.iter().zip(after);
        pairs
            .map(|(one, other)| Difference::of(one, other, metric("plt")?, self.args.loads.seed))
            .collect()
    }
}

/// Logarithm of the ratio of load times below which a change is left out of the advice.
const NEXT_TO_NOTHING: f64 = 0.004;

/// A step of the advice.
struct AdviceStep {
    key: &'static str,
    value: String,
    /// Its effect, by network.
    of_step: Vec<Difference>,
    /// Effect of it and all steps before it, by network.
    in_all: Vec<Difference>,
}

/// Configurations and loads of the search.
struct SearchEffort {
    tried: usize,
    everything: usize,
    loads: usize,
    all_loads: usize,
}

fn print(
    args: &Advise,
    adviser: &Adviser<'_>,
    steps: &[AdviceStep],
    searched: &SearchEffort,
) -> Result<(), CliError> {
    let (page, protocol) = (&args.page, &adviser.space.protocols[0]);
    match steps.last() {
        None => output::line(wrapped(&format!(
            "{page} by {protocol}: no change of the server was found that makes it faster."
        )))?,
        Some(last) => {
            let each = adviser.networks.iter().zip(&last.in_all).map(|((network, _), it)| {
                format!(
                    "{network} {} instead of {}, {}",
                    span_f64(it.after),
                    span_f64(it.before),
                    it.shown_change().trim()
                )
            });
            let each: Vec<String> = each.collect();
            output::line(wrapped(&format!(
                "{page} by {protocol} could load faster: {}.",
                each.join("; ")
            )))?;
            output::line("")?;
            output::line(table(adviser, steps))?;
            output::line("")?;
            for step in steps {
                output::line(format!("{}:", knobs::words(step.key, &step.value)))?;
                for (place, line) in recipes::recipes(step.key, &step.value) {
                    output::line(format!("  {place:8} {line}"))?;
                }
            }
        }
    }
    output::line("")?;
    output::line(wrapped(&format!(
        "Tried {} of {} configurations, {} instead of {}. Load times are simulated medians; intervals are of paired loads.",
        searched.tried,
        searched.everything,
        counted(searched.loads, "load"),
        searched.all_loads,
    )))?;
    Ok(())
}

fn table(adviser: &Adviser<'_>, steps: &[AdviceStep]) -> Table {
    let mut table = Table::new(&[
        "step",
        "network",
        "share",
        "load time",
        "change",
        "95 % interval",
        "in all",
        "as",
    ]);
    table.left(0);
    table.left(1);
    table.left(7);
    for step in steps {
        for (index, (network, share)) in adviser.networks.iter().enumerate() {
            let is_first = index == 0;
            let (own, all) = (&step.of_step[index], &step.in_all[index]);
            table.row([
                if is_first { knobs::words(step.key, &step.value) } else { String::new() },
                network.clone(),
                format!("{:.0} %", share * 100.0),
                own.shown_after(),
                own.shown_change(),
                own.shown_interval(),
                all.shown_change(),
                if is_first { option_of(adviser, step) } else { String::new() },
            ]);
        }
    }
    table
}

fn option_of(adviser: &Adviser<'_>, step: &AdviceStep) -> String {
    let knob = adviser.space.knobs.iter().find(|knob| knob.key() == step.key);
    knob.map_or_else(|| knobs::option(step.key, &step.value), |knob| knob.option(&step.value))
}

fn as_json(
    adviser: &Adviser<'_>,
    steps: &[AdviceStep],
    searched: &SearchEffort,
) -> serde_json::Value {
    let step = |step: &AdviceStep| {
        let networks = adviser.networks.iter().zip(step.of_step.iter().zip(&step.in_all));
        let networks = networks.map(|((network, share), (own, all))| {
            json!({ "network": network, "share": share, "step": own.as_json(), "in_all": all.as_json() })
        });
        json!({
            "step": knobs::words(step.key, &step.value),
            "option": option_of(adviser, step),
            "networks": networks.collect::<Vec<_>>(),
            "configuration": recipes::recipes(step.key, &step.value),
        })
    };
    json!({
        "page": adviser.args.page,
        "protocol": adviser.space.protocols[0],
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "configurations": { "tried": searched.tried, "all": searched.everything },
        "loads": { "made": searched.loads, "all": searched.all_loads },
    })
}
