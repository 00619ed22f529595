//! The report of a validation: one HTML file, made from a judgement alone.
//!
//! It shares the frame and the look of an experiment's report (`report`); every figure stands in a table, and
//! charts are drawn from the same figures.

use std::collections::BTreeMap;

use report::escape::{html as escaped, script_json};
use report::frame::{PageFrame, frame};
use scenario::VERSION;

use crate::cell::percent;
use crate::cell::{Cell, Measured};
use crate::judge::{Judgement, NETWORK_RULES, SPLITS, coalesced_difference};
use crate::suite::MeasuredWorld;
use crate::suite::Suite;
use crate::target::TargetOutcome;

mod charts;
mod tables;

use charts::Charts;

const SCRIPT: &str = include_str!("../assets/validate.js");

/// Facts about the measurement that are not in the store.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The command that was typed.
    pub command: String,
    /// The machine that it ran on.
    pub machine: String,
    /// The period of measurement, from the first run to the last.
    pub when: String,
}

/// The whole file.
pub fn html(suite: &Suite, cells: &[Cell], judgement: &Judgement, facts: &Facts) -> String {
    let sections = [
        header(suite, facts),
        answer(judgement),
        figures(judgement),
        loads(judgement, cells),
        ratios(judgement, cells),
        errors(),
        browser(suite, judgement, cells),
        coalesced(judgement, cells),
        counts(cells),
        again(suite, facts),
    ]
    .concat();
    frame(&PageFrame {
        title: &format!("validation: {}", suite.name),
        version: VERSION,
        sections: &sections,
        data: &script_json(&Charts::of(judgement, cells)),
        script: SCRIPT,
    })
}

fn header(suite: &Suite, facts: &Facts) -> String {
    format!(
        "<header><p class=\"kicker\">farlink {} · {}</p><h1>Simulated against emulated: {}</h1></header>\n",
        escaped(VERSION),
        escaped(&facts.when),
        escaped(&suite.name),
    )
}

fn answer(judgement: &Judgement) -> String {
    let of = |outcome| judgement.verdicts.iter().filter(|v| v.outcome == outcome).count();
    let (met, missed, few) =
        (of(TargetOutcome::Met), of(TargetOutcome::Missed), of(TargetOutcome::TooFew));
    let few = match few {
        0 => String::new(),
        few => format!("; {few} cannot be told"),
    };
    format!(
        "<section><h2>Answer</h2><p class=\"answer\">{met} targets met, {missed} missed{few}.</p>{}\
         </section>\n",
        tables::verdicts(&judgement.verdicts),
    )
}

fn figures(judgement: &Judgement) -> String {
    format!(
        "<section><h2>Figures</h2>{}\
         <p class=\"small\">The emulation is the reference: the kernel's TCP over the same links in the \
         machine's time. <b>Emulation against itself</b>: one random half of each cell's loads against the \
         other, scaled to the numbers of loads that the simulation is compared with; the median over \
         {SPLITS} halvings. It is what a perfect model would show. <b>Net of chance</b>: that is \
         subtracted in squares, cell by cell and quartile by quartile. <b>Lantern-like model</b>: the page's \
         graph over connections that know slow start and an equal share of the rate; no queue, no loss, no \
         uplink.</p><h3>Bias</h3>{}\
         <p class=\"small\">Median of the logarithm of simulated over emulated PLT: + is too slow.</p>\
         </section>\n",
        tables::figures(&judgement.rows),
        tables::biases(&judgement.biases),
    )
}

fn loads(judgement: &Judgement, cells: &[Cell]) -> String {
    format!(
        "<section class=\"chart\"><h2>Page load times</h2><div id=\"loads\" class=\"charts\"></div>\
         <p class=\"small\">Median PLT of each cell. Line: equal; band: 10 % to both sides.</p></section>\n\
         <section><h3>Every cell, the worst first</h3>{}</section>\n",
        tables::cells(judgement, cells),
    )
}

fn ratios(judgement: &Judgement, cells: &[Cell]) -> String {
    format!(
        "<section class=\"chart\"><h2>Ratios of protocols</h2><div id=\"ratios\" class=\"charts\"></div>\
         <p class=\"small\">Logarithm of the ratio of median PLTs, same page, network and security. Line: \
         equal; band: 0.08 to both sides. In the upper left and the lower right the simulation names \
         the wrong winner.</p></section>\n\
         <section><h3>Every pair, the worst first</h3>{}</section>\n",
        tables::pairs(judgement, cells),
    )
}

fn errors() -> String {
    "<section class=\"chart\"><h2>Errors</h2><div id=\"errors\" class=\"charts\"></div>\
     <p class=\"small\">Share of the cells whose median PLT is off by at most so much.</p></section>\n"
        .to_owned()
}

fn browser(suite: &Suite, judgement: &Judgement, cells: &[Cell]) -> String {
    if judgement.browser.is_empty() {
        return String::new();
    }
    let loader = suite.calibrated.as_ref().map_or(String::new(), |calibrated| {
        format!("; the loader computes as {}", escaped(&calibrated.device))
    });
    format!(
        "<section class=\"chart\"><h2>farlink's loader against Chromium</h2>\
         <div id=\"browser\" class=\"charts\"></div>\
         <p class=\"small\">Both over the emulated network{}. A cell counts if the network's part is over {NETWORK_RULES} \
         times as long as the browser's own work: its load over a network that takes no time, less what the page replays. \
         Below that the browser is measured; its share is shown. Nor does a page count whose load event a browser fires before all that it \
         waited for in the recording: one that reloads itself, say.</p></section>\n<section>{}</section>\n",
        loader,
        tables::browser(&judgement.browser, cells),
    )
}

fn coalesced(judgement: &Judgement, cells: &[Cell]) -> String {
    let Some([median, p95]) = coalesced_difference(&judgement.coalesced) else {
        return String::new();
    };
    format!(
        "<section><h2>Packets released together</h2><p>An emulator that saves processor time by releasing \
         neighbouring packets together changes median PLTs by {} at the median and {} at the 95th percentile. \
         All other figures are of packets that left one by one.</p>{}</section>\n",
        percent(median),
        percent(p95),
        tables::coalesced(&judgement.coalesced, cells),
    )
}

/// Numbers of loads: measured, and not counted.
fn counts(cells: &[Cell]) -> String {
    let line = |way: MeasuredWorld| {
        let of = |count: fn(&Measured) -> u64| -> u64 {
            cells.iter().filter_map(|cell| cell.measured.get(&way)).map(count).sum()
        };
        let loads: usize = cells.iter().map(|cell| cell.loads(way)).sum();
        format!(
            "<li>{}: {loads} loads count, {} failed, {} are missing; {} attempts were thrown away because \
             the emulator was late, and repeated</li>",
            way.name(),
            of(Measured::failed),
            of(|measured| measured.missing),
            of(|measured| measured.repeated),
        )
    };
    let lines: String = MeasuredWorld::ALL.into_iter().map(line).chain(failures(cells)).collect();
    format!("<section><h2>What was measured</h2><ul>{lines}</ul></section>\n")
}

/// Reasons why loads failed, each with its number of loads.
fn failures(cells: &[Cell]) -> impl Iterator<Item = String> {
    let mut reasons: BTreeMap<(MeasuredWorld, &str), u64> = BTreeMap::new();
    for (way, measured) in cells.iter().flat_map(|cell| &cell.measured) {
        for (reason, count) in &measured.failures {
            *reasons.entry((*way, reason)).or_default() += count;
        }
    }
    let line = |((way, reason), count): ((MeasuredWorld, &str), u64)| {
        format!("<li>{} failed {count} times: {}</li>", way.name(), escaped(reason))
    };
    reasons.into_iter().map(line)
}

fn again(suite: &Suite, facts: &Facts) -> String {
    format!(
        "<section><h2>Run it again</h2><pre class=\"command\">{}</pre><p>{}</p>\
         <h3>The suite</h3><pre>{}</pre></section>\n",
        escaped(&facts.command),
        escaped(&facts.machine),
        escaped(suite.text.trim_end()),
    )
}
