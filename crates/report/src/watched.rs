//! Repeated observation of a stored visit.

use std::sync::Arc;

use record::VisitRecord;

use scenario::{Scenario, World};
use store::JourneyRow;
use testbed::tour::{Observed, ObservedVisit};

/// Observes the journey of a scenario and seed with everything that crossed its wires; or states why it cannot.
pub type Observe<'a> = dyn Fn(&Scenario, u64) -> Result<Arc<Observed>, String> + 'a;

/// Observes the journey behind a row once more.
///
/// # Errors
/// The reason why it cannot be observed, for people.
pub fn again(journey: &JourneyRow, observe: &Observe<'_>) -> Result<Arc<Observed>, String> {
    observe(&journey.scenario, journey.seed).map_err(|why| match journey.scenario.world {
        World::Sim => format!("Window traces are not available: the visit cannot be simulated again ({why})."),
        World::Emu => "Window traces are not available: an emulated visit is not exactly repeatable. `farlink \
                       load --report` records them while measuring."
            .to_owned(),
    })
}

/// The visit that left `record`.
///
/// # Errors
/// If the journey's visit differs from the stored one.
pub fn visit<'a>(
    journey: &JourneyRow,
    observed: &'a Observed,
    record: &VisitRecord,
) -> Result<ObservedVisit<'a>, String> {
    let mut visits = observed.visits();
    visits.find(|visit| visit.record == record).ok_or_else(|| {
        format!(
            "Window traces are not available: the visit was measured by farlink {}, and this version, or the page as it is now, \
             gives a different result.",
            journey.farlink_version
        )
    })
}
