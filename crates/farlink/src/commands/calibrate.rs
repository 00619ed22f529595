//! `farlink calibrate`: a device that computes as Chromium does on this machine.

use std::sync::atomic::Ordering;

use scenario::{JourneyPlan, JourneyResult};
use statistics::Sample;
use store::batch::collect;
use validate::calibration::{self, CalibrationError};

use super::{files, interrupt, output, refused, workers};
use crate::args::Calibrate;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::units::span;

/// The device's name in its file.
const NAME: &str = "calibrated";

/// The profile to compare with.
const USUAL: &str = "desktop";

pub fn run(args: &Calibrate) -> Result<ExitCode, CliError> {
    files::check_place(&args.output)?;
    let path = args.output.to_str().filter(|path| path.ends_with(".toml"));
    let Some(path) = path else {
        let message = format!("--output {}: device files end in .toml", args.output.display());
        return Err(CliError::bad_input(message));
    };
    let worlds = super::worlds()?;
    let plan = calibration::plan(args.repetitions);
    for cell in plan.cells() {
        worlds.prepare(cell).map_err(refused)?;
    }
    let cancel = interrupt::flag()?;
    anstream::eprintln!("loading {} pages in Chromium, one at a time", plan.journey_count());
    let results = collect(&plan, &worlds, workers(None, &plan), &cancel);
    if cancel.load(Ordering::Relaxed) {
        anstream::eprintln!("interrupted: nothing was written");
        return Ok(ExitCode::Interrupted);
    }
    let summary = "Chromium on the machine that it was measured on";
    let device = calibration::device(&results, worlds.library(), summary).map_err(failed)?;
    files::write_whole(&args.output, device.to_toml(NAME).as_bytes())?;
    let simulated = |device| {
        let plan = calibration::check(device);
        collect(&plan, &worlds, workers(None, &plan), &cancel)
    };
    tell(&results, &simulated(path), &simulated(USUAL))?;
    output::line(format!("\nfarlink validate full --device {path}"))?;
    Ok(ExitCode::Success)
}

type Results = [(JourneyPlan, JourneyResult)];

/// Reports the fit: measured times beside those of the calibrated device and of the usual profile.
fn tell(measured: &Results, fitted: &Results, usual: &Results) -> Result<(), CliError> {
    let times = |results| calibration::page_load_times(results).map_err(failed);
    let (measured, fitted, usual) = (times(measured)?, times(fitted)?, times(usual)?);
    let mut table = Table::new(&["page", "protocol", "Chromium", "calibrated", USUAL]);
    table.left(1);
    let mut errors = [Vec::new(), Vec::new()];
    for ((measured, fitted), usual) in measured.iter().zip(&fitted).zip(&usual) {
        let (scenario, plt) = measured;
        let error =
            |other: &std::time::Duration| (other.as_secs_f64() / plt.as_secs_f64() - 1.0).abs();
        errors[0].push(error(&fitted.1));
        errors[1].push(error(&usual.1));
        let spans = [plt, &fitted.1, &usual.1].map(|plt| span(plt.as_nanos() as u64));
        let named = [scenario.page.spec.clone(), scenario.stack.protocol.to_string()];
        table.row(named.into_iter().chain(spans));
    }
    output::line(table)?;
    for (name, errors) in [NAME, USUAL].into_iter().zip(errors) {
        let errors = Sample::new(errors).expect("pages were loaded");
        let percent = |q| format!("{:.0} %", errors.quantile(q) * 100.0);
        output::line(format!("{name}: median error {}, p90 {}", percent(0.5), percent(0.9)))?;
    }
    Ok(())
}

fn failed(error: CalibrationError) -> CliError {
    CliError::machine(error)
}
