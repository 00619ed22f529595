//! `farlink load --har`: the median load of each arm as HAR 1.2.

use std::path::Path;

use store::har_export::HarVisit;
use testbed::worlds::Worlds;

use crate::commands::{files, har_text};
use crate::failure::Failure;
use crate::show::arms::Arm;

/// Writes the median visit of each arm; an arm without a successful load has none.
pub fn write(path: &Path, arms: &[Arm], worlds: &Worlds) -> Result<(), Failure> {
    for arm in arms {
        let Some(load) = arm.median_load() else { continue };
        let path = if arms.len() == 1 { path.to_owned() } else { files::beside(path, arm.label()) };
        let page = worlds
            .library()
            .visited(arm.scenario(), load.visit.record.page.as_deref())
            .map_err(Failure::bad_input)?;
        let visit = HarVisit {
            record: &load.visit.record,
            scenario: Some(arm.scenario()),
            seed: load.seed,
            page: Some(&page),
        };
        files::write_whole(&path, har_text(&[visit]).as_bytes())?;
    }
    Ok(())
}
