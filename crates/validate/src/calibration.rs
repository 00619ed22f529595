//! The calibration of a device: the cost of a real Chromium's computing on this machine, so that farlink's
//! loader can stand in for it.
//!
//! Chromium loads known pages (`calibration:1` and so on, by which nothing is judged) over an emulated network
//! that takes no time; [`browser::calibrate`] fits a device's costs to the times. The least of several loads
//! counts: disturbances only ever make a load longer.

use std::collections::BTreeMap;
use std::time::Duration;

use browser::Device;
use browser::calibrate::{CalibrationSample, calibrate};
use record::VisitOutcome;

use scenario::{JourneyPlan, JourneyResult};
use scenario::{NetworkSpec, Noise, Program, Protocol, Scenario, World};
use scenario::{Order, Plan};
use testbed::tour::Library;

/// A profile without delay and without limits.
const NETWORK: &str = "loopback";

/// The least time in which a page was loaded, and its number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LeastLoad {
    plt: Duration,
    connections: usize,
}

/// A load, or the reason why it failed.
type Attempt<'a> = (&'a Scenario, Result<LeastLoad, String>);

/// Reason why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// A load failed.
    #[error("{page} over {protocol} was not loaded: {why}")]
    NotLoaded {
        /// The page.
        page: String,
        /// The protocol.
        protocol: Protocol,
        /// The reason.
        why: String,
    },
    /// A page cannot be opened.
    #[error("{0}")]
    Page(String),
}

/// The plan for Chromium.
pub fn plan(repetitions: u32) -> Plan {
    let scenarios = scenarios().map(|mut scenario| {
        (scenario.world, scenario.client.program) = (World::Emu, Program::Chromium);
        scenario
    });
    Plan::new("calibration", 1, repetitions, Order::Alternated, scenarios.collect())
}

/// The same pages for farlink's loader as `device`, simulated: a check of the costs against the measurement.
pub fn check(device: &str) -> Plan {
    let scenarios = scenarios().map(|mut scenario| {
        scenario.client.device = device.to_owned();
        scenario.client.device_digest = testbed::tour::device_digest(device);
        scenario
    });
    Plan::new("calibration's check", 1, 1, Order::Blocked, scenarios.collect())
}

fn scenarios() -> impl Iterator<Item = Scenario> {
    let network = NetworkSpec::parse(NETWORK).expect("the profile exists");
    let pages = page::calibration_pages().into_iter().map(|page| page.name);
    pages.flat_map(move |page| {
        [Protocol::H1, Protocol::H2].map(|protocol| {
            let mut scenario = Scenario::new(page.clone(), network.clone());
            scenario.stack.protocol = protocol;
            scenario.noise = Noise::Off;
            scenario
        })
    })
}

/// The device that best explains the results of a [`plan`].
///
/// # Errors
/// If a page was not loaded.
pub fn device(
    results: &[(JourneyPlan, JourneyResult)],
    library: &Library,
    summary: &str,
) -> Result<Device, CalibrationError> {
    let mut samples = Vec::new();
    for (scenario, load) in least(results)? {
        let page = library.page_of(scenario).map_err(CalibrationError::Page)?;
        samples.push(CalibrationSample::new(&page, load.connections, load.plt));
    }
    Ok(calibrate(&samples, summary))
}

/// Page, protocol and least page load time, in the plan's order.
///
/// # Errors
/// If a page was not loaded.
pub fn page_load_times(
    results: &[(JourneyPlan, JourneyResult)],
) -> Result<Vec<(&Scenario, Duration)>, CalibrationError> {
    Ok(least(results)?.into_iter().map(|(scenario, load)| (scenario, load.plt)).collect())
}

fn least(
    results: &[(JourneyPlan, JourneyResult)],
) -> Result<Vec<(&Scenario, LeastLoad)>, CalibrationError> {
    let mut cells: BTreeMap<u32, Vec<Attempt<'_>>> = BTreeMap::new();
    for (journey, result) in results {
        cells.entry(journey.cell).or_default().push((&journey.scenario, load(result)));
    }
    cells.into_values().map(|loads| least_of_cell(&loads)).collect()
}

/// The least load of `loads`, which are all of one scenario.
fn least_of_cell<'a>(loads: &[Attempt<'a>]) -> Result<(&'a Scenario, LeastLoad), CalibrationError> {
    let (scenario, first) = &loads[0];
    let least = loads.iter().filter_map(|(_, load)| load.as_ref().ok()).min();
    least.map(|load| (*scenario, *load)).ok_or_else(|| CalibrationError::NotLoaded {
        page: scenario.page.spec.clone(),
        protocol: scenario.stack.protocol,
        why: first.clone().err().unwrap_or_default(),
    })
}

fn load(result: &JourneyResult) -> Result<LeastLoad, String> {
    let Some(visit) = result.visits.first() else {
        return Err(result.failure.clone().unwrap_or("nothing was measured".to_owned()));
    };
    match &visit.record.outcome {
        VisitOutcome::Loaded { plt_ns } => Ok(LeastLoad {
            plt: Duration::from_nanos(*plt_ns),
            connections: visit.record.connections.len(),
        }),
        VisitOutcome::Failed { reason } => Err(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed::worlds::Worlds;

    #[test]
    fn a_device_is_found_again_from_its_loads() {
        let nowhere = || Err("there is no browser here".to_owned());
        let worlds = Worlds::new("farlink".into(), nowhere());
        let cancel = false.into();
        let results = store::batch::collect(&check("desktop-2013"), &worlds, 2, &cancel);
        let found = device(&results, worlds.library(), "desktop-2013, as it was measured").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("found.toml");
        std::fs::write(&path, found.to_toml("found")).unwrap();
        let again = check(path.to_str().unwrap());
        let again = store::batch::collect(&again, &worlds, 2, &cancel);
        let (first, second) = (page_load_times(&results), page_load_times(&again));
        let mut errors: Vec<f64> = std::iter::zip(first.unwrap(), second.unwrap())
            .map(|(first, second)| (second.1.as_secs_f64() / first.1.as_secs_f64() - 1.0).abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        assert_eq!(errors.len(), 38);
        assert!(errors[19] < 0.10, "half of the errors are above {}", errors[19]);
    }

    #[test]
    fn a_page_that_never_loads_is_named() {
        let plan = plan(2);
        let failed =
            JourneyResult { failure: Some("no browser".to_owned()), ..JourneyResult::default() };
        let results: Vec<_> = (0..2).map(|at| (plan.journey(at), failed.clone())).collect();
        let error = page_load_times(&results).unwrap_err().to_string();
        assert_eq!(error, "calibration:1 over h1 was not loaded: no browser");
    }
}
