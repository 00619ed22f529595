//! Methods of a run in a paragraph, for the paper that cites it: versions, seeds, what is real and what is a model.

use std::collections::BTreeSet;

use scenario::{Program, Scenario, World};
use statistics::{LEVEL, RESAMPLES, percent};

use super::answer::SMALL;
use super::escape::html;
use super::number::grouped;
use super::summary::ReportSummary;

/// The section.
pub fn section(summary: &ReportSummary) -> String {
    format!(
        "<section><h2>Methods</h2><p class=\"small\">For the paper that uses these results.</p><p class=\"reason\" id=\"methods\">{}</p></section>\n",
        html(&paragraph(summary))
    )
}

/// The paragraph, as plain text.
pub fn paragraph(summary: &ReportSummary) -> String {
    let scenarios: Vec<&Scenario> = summary.cells.iter().map(|cell| &*cell.scenario).collect();
    let sentences = [
        world(summary, &scenarios),
        stack(&scenarios),
        conditions(summary),
        repetitions(summary),
        statistics_used(summary),
        reproduction(summary),
    ];
    sentences.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The values of a quantity, each once.
fn each<T: Into<String>>(values: impl Iterator<Item = T>) -> String {
    let values: BTreeSet<String> = values.map(Into::into).collect();
    enumeration(&values.into_iter().collect::<Vec<_>>())
}

fn enumeration(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn world(summary: &ReportSummary, scenarios: &[&Scenario]) -> String {
    let version = &summary.run.farlink_version;
    let is_emulated = |it: &&&Scenario| it.world == World::Emu;
    let emulated = scenarios.iter().filter(is_emulated).count();
    let browser = match scenarios.iter().any(|it| it.client.program == Program::Chromium) {
        true => "a real Chromium",
        false => "farlink's page loader",
    };
    let machine = &summary.run.machine;
    match emulated {
        0 => format!(
            "Pages were loaded in simulation (farlink {version}), in virtual time, by a model of a browser."
        ),
        all if all == scenarios.len() => format!(
            "Pages were loaded by {browser} over emulated links (farlink {version}) in real time, with the TCP of {} ({machine}).",
            summary.punctuality.kernels()
        ),
        _ => format!(
            "Pages were loaded with farlink {version}: in part in simulation, in virtual time, and in part by {browser} over emulated links in real time \
             with the TCP of {} ({machine}).",
            summary.punctuality.kernels()
        ),
    }
}

/// Real code and models.
fn stack(scenarios: &[&Scenario]) -> String {
    let simulated: Vec<&&Scenario> = scenarios.iter().filter(|it| it.world == World::Sim).collect();
    let is_quic = scenarios.iter().any(|it| it.stack.protocol.to_string().starts_with("h3"));
    let mut real = vec!["HTTP and TLS (rustls)"];
    real.extend(is_quic.then_some("QUIC (quinn)"));
    let mut told =
        format!("{} are real implementations that exchange real bytes", real.join(" and "));
    match simulated.is_empty() {
        true => told += "; links and queues are models",
        false => {
            let generations = each(simulated.iter().map(|it| it.transport.server.to_string()));
            told += &format!(
                "; TCP ({generations} at the servers), links, queues, losses, radios, the browser (policy {}) and its device ({}) are models",
                each(simulated.iter().map(|it| it.client.browser.clone())),
                each(simulated.iter().map(|it| it.client.device.clone())),
            );
        }
    }
    told + "."
}

/// Axes of the run.
fn conditions(summary: &ReportSummary) -> String {
    if summary.varied.is_empty() {
        return String::new();
    }
    let axis = |(name, values): &(String, Vec<String>)| format!("{name} ({})", values.join(", "));
    let axes: Vec<String> = summary.varied.iter().map(axis).collect();
    let cells = summary.cells.len() as u64;
    format!("Varied: {}; {} configurations.", axes.join("; "), grouped(cells))
}

fn repetitions(summary: &ReportSummary) -> String {
    let run = &summary.run;
    let until = match run.until_ppm {
        Some(width) => format!(
            ", as many as make the interval of every median load time at most {} % wide",
            f64::from(width) / 1e4
        ),
        None => String::new(),
    };
    format!(
        "Each configuration was loaded {} times{until}, with seeds derived from {}; repetition r has the same seed in all configurations, so that loads are paired.",
        grouped(run.repetitions.into()),
        run.seed
    )
}

fn statistics_used(summary: &ReportSummary) -> String {
    let level = LEVEL * 100.0;
    let plain = format!(
        "Load time lasts from navigation start to the load event; medians are given, with {level} % intervals by order statistics."
    );
    match summary.arms.len() {
        0 | 1 => plain,
        _ => format!(
            "{plain} Differences of medians have {level} % percentile bootstrap intervals over pairs ({} resamples), not adjusted for the number of comparisons; \
             differences below {} count as none.",
            grouped(RESAMPLES as u64),
            percent(SMALL)
        ),
    }
}

fn reproduction(summary: &ReportSummary) -> String {
    let run = &summary.run;
    match (&run.digest, summary.punctuality.facts().is_empty()) {
        (Some(digest), true) => format!(
            "Experiment file, seed and version reproduce every load to the bit (digest of the results: {}).",
            &digest[..digest.len().min(16)]
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use store::toy;

    use super::*;

    #[test]
    fn a_paragraph_says_what_was_done() {
        let filled = toy::filled_store(&toy::plan(3));
        let summary = ReportSummary::gather(&filled.store, filled.run).unwrap();
        let text = paragraph(&summary);
        for part in [
            "in simulation",
            "linux-6",
            "Varied: ",
            "was loaded 3 times",
            "95 % intervals",
            "2 000 resamples",
        ] {
            let spaced = text.replace('\u{202f}', " ");
            assert!(spaced.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("  ") && text.ends_with('.'), "{text}");
    }
}
