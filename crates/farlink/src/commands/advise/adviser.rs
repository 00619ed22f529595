//! Loads of configurations over the networks of a site's users, and what they say.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use scenario::{Plan, View, World};
use store::batch::{Results, collect_rest};
use testbed::worlds::Worlds;

use super::knobs::{self, KnobScope, PROTOCOL, PROTOCOLS, ROUTE};
use super::search::{Configuration, ConfigurationStep, SearchSpace};
use crate::args::{Advise, How};
use crate::budget::metric;
use crate::commands::compare::difference::Difference;
use crate::commands::load::{PageLoads, plan};
use crate::commands::shares::with_shares;
use crate::commands::{refused, workers};
use crate::failure::CliError;
use crate::show::arms::Arm;

/// Visits over a network that are judged together.
pub struct Condition {
    /// Index of the network.
    network: usize,
    /// `cold` or `warm`.
    pub view: &'static str,
    /// The network, with the view where there are both.
    pub name: String,
    /// Share of all visits.
    pub share: f64,
}

/// Conditions of networks with the shares of their users.
fn conditions(networks: &[(String, f64)], view: View) -> Vec<Condition> {
    let views: &[View] = match view {
        View::Both => &[View::Cold, View::Warm],
        View::Cold => &[View::Cold],
        View::Warm => &[View::Warm],
    };
    let of_network = |(network, (name, share)): (usize, &(String, f64))| {
        let condition = |view: &View| Condition {
            network,
            view: view.name(),
            name: match views {
                [_] => name.clone(),
                _ => format!("{name}, {}", view.name()),
            },
            share: share / views.len() as f64,
        };
        views.iter().map(condition).collect::<Vec<Condition>>()
    };
    networks.iter().enumerate().flat_map(of_network).collect()
}

/// Page and settings to advise on, the networks of its users, and the search space.
pub struct Adviser<'a> {
    pub args: &'a Advise,
    how: How,
    worlds: &'a Worlds,
    cancel: &'a AtomicBool,
    networks: Vec<String>,
    /// Visits over the networks, and their shares, which sum to 1.
    pub conditions: Vec<Condition>,
    pub space: SearchSpace,
    /// Loads of configurations, by network; none is made twice.
    loaded: RefCell<BTreeMap<Configuration, Vec<Results>>>,
}

impl<'a> Adviser<'a> {
    /// An adviser on the page and settings of `args`, whose base must load in simulation.
    pub fn new(
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
        let view = match how.settings.of("client.view").first() {
            Some(&"warm") => View::Warm,
            Some(&"both") => View::Both,
            _ => View::Cold,
        };
        let knobs = knobs::open(&how, KnobScope { view, middleboxes: args.middleboxes });
        let adviser = Adviser {
            args,
            how,
            worlds,
            cancel,
            conditions: conditions(&networks, view),
            networks: networks.into_iter().map(|(name, _)| name).collect(),
            space: SearchSpace { protocols, knobs },
            loaded: RefCell::default(),
        };
        for network in &adviser.networks {
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

    /// The first loads of a configuration under each condition; `None` if it is refused or one of them has no load time.
    fn arms(&self, configuration: &Configuration, repetitions: u32) -> Option<Vec<Arm>> {
        let mut loaded = self.loaded.borrow_mut();
        let of_networks = loaded.entry(configuration.clone()).or_default();
        of_networks.resize_with(self.networks.len(), Results::new);
        let mut arms: Vec<Vec<Arm>> = Vec::new();
        for (network, known) in self.networks.iter().zip(of_networks) {
            arms.push(self.arms_over(network, configuration, repetitions, known)?);
        }
        let of_condition = |condition: &Condition| {
            arms[condition.network].iter().find(|arm| arm.view() == condition.view).cloned()
        };
        self.conditions.iter().map(of_condition).collect()
    }

    /// The first loads over one network, by view, with those that are known.
    fn arms_over(
        &self,
        network: &str,
        configuration: &Configuration,
        repetitions: u32,
        known: &mut Results,
    ) -> Option<Vec<Arm>> {
        if self.cancel.load(Ordering::Relaxed) {
            return None;
        }
        let plan = self.plan(configuration, network, repetitions).ok()?;
        self.worlds.prepare(&plan.cells()[0]).ok()?;
        let workers = workers(self.args.loads.jobs, &plan);
        let earlier = std::mem::take(known);
        *known = collect_rest(&plan, earlier, self.worlds, workers, self.cancel);
        let first = &known[..known.len().min(repetitions as usize)];
        let arms = Arm::of_cell(&plan.cells()[0], 0, first);
        // One that loses objects or loads would win with another page.
        let is_whole = |arm: &Arm| {
            let mut objects = arm.loads().iter().flat_map(|load| &load.visit.record.objects);
            arm.failures().next().is_none() && objects.all(|object| object.error.is_none())
        };
        arms.iter().all(is_whole).then_some(arms)
    }

    /// True if the load times of the page as it is hardly scatter over any network.
    pub fn is_calm(&self) -> bool {
        /// Of the range to the median.
        const HARDLY: f64 = 0.06;
        let arms = self.measured(&self.space.base()).unwrap_or_default();
        let mut samples = arms.iter().filter_map(Arm::plt);
        samples.all(|it| it.quantile(1.0) - it.quantile(0.0) < HARDLY * it.median())
    }

    /// Number of networks.
    pub fn networks(&self) -> usize {
        self.networks.len()
    }

    /// Network of a condition.
    pub fn network(&self, of: &Condition) -> &str {
        &self.networks[of.network]
    }

    /// Number of loads that were made.
    pub fn loads_made(&self) -> usize {
        self.loaded.borrow().values().flatten().map(Vec::len).sum()
    }

    /// Median load times under each condition, in nanoseconds.
    pub fn medians(&self, configuration: &Configuration, repetitions: u32) -> Option<Vec<f64>> {
        let arms = self.arms(configuration, repetitions)?;
        arms.iter().map(|arm| Some(arm.plt()?.median())).collect()
    }

    /// Logarithm of the ratio of load times to the present ones, weighted by the shares of users; `None` if the configuration or the
    /// present one does not load.
    pub fn score(&self, configuration: &Configuration, repetitions: u32) -> Option<f64> {
        let before = self.medians(&self.space.base(), repetitions)?;
        let after = self.medians(configuration, repetitions)?;
        let ratios = before.iter().zip(&after).map(|(before, after)| (after / before).ln());
        Some(ratios.zip(&self.conditions).map(|(ratio, it)| ratio * it.share).sum())
    }

    /// The loads of a configuration with all repetitions.
    fn measured(&self, configuration: &Configuration) -> Option<Vec<Arm>> {
        self.arms(configuration, self.args.loads.repetitions)
    }

    fn measured_score(&self, configuration: &Configuration) -> Option<f64> {
        self.score(configuration, self.args.loads.repetitions)
    }

    /// The configuration without changes that bring next to nothing: nobody should set them.
    pub fn simplified(&self, mut best: Configuration) -> Configuration {
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
    pub fn measured_steps(&self, to: &Configuration) -> Result<Vec<AdviceStep>, CliError> {
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

    /// Differences in load time under each condition.
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
pub struct AdviceStep {
    pub key: &'static str,
    pub value: String,
    /// Its effect, by condition.
    pub of_step: Vec<Difference>,
    /// Effect of it and all steps before it, by condition.
    pub in_all: Vec<Difference>,
}

/// The settings; those with several values are refused, except for networks and protocols.
pub fn single(how: &How) -> Result<How, CliError> {
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
