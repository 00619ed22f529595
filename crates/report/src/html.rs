//! The document: its sections in order.

use super::causes;
use super::charts::Charts;
use super::escape::{html, script_json};
use super::frame::{PageFrame, frame};
use super::heat_map::heat_map;
use super::mechanism;
use super::methods;
use super::number::grouped;
use super::pages;
use super::pair_tests;
use super::summary::ReportSummary;
use super::tables;
use super::waterfall::Waterfall;
use crate::answer::Answers;
use crate::answer::SMALL;
use statistics::percent;

const SCRIPT: &str =
    concat!(include_str!("../assets/mechanism.js"), include_str!("../assets/report.js"));

/// Maximum number of conditions whose best arms are printed on paper.
const MOST_CONDITIONS_PRINTED: usize = 30;

/// The whole file.
pub fn document(summary: &ReportSummary, waterfalls: &[Waterfall]) -> String {
    let answers = Answers::of(summary);
    let sections = [
        header(summary),
        answer(summary, &answers),
        contents(),
        curves(summary),
        causes::section(summary),
        boxes(summary),
        figures(summary),
        pages::section(summary),
        crate::tables::section(summary),
        waterfall_section(waterfalls),
        what_was_run(summary),
        emulation(summary),
        notes(summary),
        methods::section(summary),
        again(summary),
    ]
    .concat();
    frame(&PageFrame {
        title: &summary.run.name,
        version: &summary.run.farlink_version,
        sections: &sections,
        data: &script_json(&Charts::of(summary, waterfalls)),
        script: SCRIPT,
    })
}

/// Answer and figures.
pub fn first_part(summary: &ReportSummary) -> String {
    answer(summary, &Answers::of(summary)) + &figures(summary)
}

fn header(summary: &ReportSummary) -> String {
    let run = &summary.run;
    format!(
        "<header><p class=\"kicker\">farlink {} · run {} · {}</p><h1>{}</h1></header>\n",
        html(&run.farlink_version),
        run.id.0,
        html(&run.started_at),
        html(&run.name),
    )
}

fn answer(summary: &ReportSummary, answers: &Answers) -> String {
    let class = |place| if place == 0 { "answer" } else { "reason" };
    let sentences = answers.sentences().into_iter().enumerate();
    let sentences: String = sentences
        .map(|(place, text)| format!("<p class=\"{}\">{}</p>", class(place), html(&text)))
        .collect();
    let fold = |title: &str, class: &str, table: String| {
        format!("<details class=\"{class}\"><summary>{title}</summary>{table}</details>")
    };
    let details = match answers.answers.as_slice() {
        [only] if summary.arms.len() > 1 => {
            fold("Every arm against every other", "print", tables::pairwise(summary, only))
        }
        [_] | [] => String::new(),
        several => {
            let class = if several.len() <= MOST_CONDITIONS_PRINTED { "print" } else { "" };
            let standings = tables::standings(summary, answers);
            let best = tables::best(summary, answers);
            fold("Every arm over all conditions", "print", standings)
                + &fold("The best arm under each condition", class, best)
        }
    };
    format!(
        "<section><h2>Answer</h2>{sentences}{}{details}\
         <details><summary>How arms are ranked</summary><p class=\"small\">Arms are ranked by median load time, and separately by \
         median first render. Leads are relative to the slower arm. Intervals are 95 % percentile bootstrap \
         intervals over paired repetitions: repetition <i>r</i> of every arm has the same seed. An arm leads if the interval excludes \
         zero and the lead is at least {}; smaller leads count as practically the same. Over the best: the geometric mean, over conditions, of the arm's \
         median to the least median of the condition. An arm that did not load the whole page is not ranked.</p></details></section>\n",
        heat_map(summary),
        percent(SMALL)
    )
}

/// The list of sections, filled by the script from their headings.
fn contents() -> String {
    "<nav id=\"contents\" aria-label=\"Contents\"></nav>\n".to_owned()
}

fn what_was_run(summary: &ReportSummary) -> String {
    let run = &summary.run;
    let journeys = format!("{} of {}", grouped(stored(summary)), grouped(run.journeys));
    let measured = [
        ("journeys stored", journeys),
        ("repetitions", run.repetitions.to_string()),
        ("seed", run.seed.to_string()),
        ("state", run.state.name().to_owned()),
    ];
    let varied = summary.varied.iter().map(|(name, values)| (name.as_str(), values.join(" · ")));
    let fixed = summary.fixed.iter().map(|(name, value)| (name.as_str(), value.clone()));
    format!(
        "<section><h2>What was run</h2>{}<h3>Varied</h3>{}\
         <details><summary>The same for all loads</summary>{}</details></section>\n",
        tables::facts(measured),
        tables::long_facts(varied),
        tables::facts(fixed),
    )
}

/// Section on the punctuality of the emulator.
fn emulation(summary: &ReportSummary) -> String {
    let facts = summary.punctuality.facts();
    if facts.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>Emulation</h2>{}\
         <p class=\"small\">A journey with late packets is discarded and \
         repeated; after too many attempts it counts as failed.</p></section>\n",
        tables::facts(facts),
    )
}

/// Journeys with a result, failed ones included.
fn stored(summary: &ReportSummary) -> u64 {
    let mut journeys = std::collections::BTreeSet::new();
    let mut failed = 0;
    for cell in &summary.cells {
        journeys.extend(cell.visits.iter().map(|(_, visit)| visit.key.journey));
        failed += cell.journeys_failed;
    }
    journeys.len() as u64 + failed
}

fn figures(summary: &ReportSummary) -> String {
    format!(
        "<section><h2>Figures</h2>{}\
         <p class=\"small\">PLT: page load time, from navigation start to the load event. Floor: the \
         least time in which this page can load over this network with any protocol (the client \
         discovers objects as here, with the same CPU costs). TTFB: time to first byte. First render: \
         first contentful paint in a browser, otherwise an estimate: when all render-blocking resources have arrived. \
         ByteIndex: mean arrival time of a byte. Medians over the loads, except p90 (type 7). Received \
         bytes include IP and TCP headers.</p>{}</section>\n",
        tables::cells(summary),
        pair_tests::section(summary)
    )
}

fn curves(summary: &ReportSummary) -> String {
    let Some(axis) = summary.axes.first() else { return String::new() };
    format!(
        "<section class=\"chart\"><h2>Page load time over {}</h2><div id=\"curves\" class=\"charts\"></div>\
         <p class=\"small\">Line: median. Band: 10th to 90th percentile of the repetitions. Dashed \
         grey: the floor. The figures are in the table below.</p>{}</section>\n",
        html(&axis.name),
        sql(&load_times_sql(summary))
    )
}

fn boxes(summary: &ReportSummary) -> String {
    format!(
        "<section class=\"chart\"><h2>Spread of the repetitions</h2><div id=\"boxes\" class=\"charts\"></div>\
     <p class=\"small\">Box: quartiles and median; whiskers: to the last value within 1.5 times the \
     box; each dot is one load. Dashed grey: the floor.</p>{}</section>\n",
        sql(&load_times_sql(summary))
    )
}

/// The query behind a figure, folded away.
pub fn sql(query: &str) -> String {
    format!(
        "<details><summary>The query behind this figure</summary><pre>{}</pre></details>",
        html(query)
    )
}

/// Load time and floor of each load.
fn load_times_sql(summary: &ReportSummary) -> String {
    format!(
        "SELECT j.cell, j.scenario, v.view, v.plt_ns / 1e6 AS plt_ms, v.floor_graph_ns / 1e6 AS floor_ms\n\
         FROM visit AS v JOIN journey AS j ON j.run_id = v.run_id AND j.position = v.journey\n\
         WHERE v.run_id = {} ORDER BY j.cell, j.repetition;",
        summary.run.id.0
    )
}

fn waterfall_section(waterfalls: &[Waterfall]) -> String {
    let figure = |(index, waterfall): (usize, &Waterfall)| {
        format!(
            "<figure class=\"waterfall\"><figcaption><b>{}</b><br><span class=\"small\">{}</span>\
             </figcaption><div id=\"waterfall-{index}\" class=\"charts\"></div>\
             <details><summary>The same as a table</summary>{}</details>{}</figure>",
            html(&waterfall.title),
            html(&waterfall.identity),
            tables::objects(waterfall),
            mechanism::section(index, &waterfall.record, &waterfall.mechanism),
        )
    };
    let beside = match waterfalls.len() {
        0 | 1 => "",
        _ => "<div id=\"beside\"></div>",
    };
    format!(
        "<section><h2>Waterfalls</h2>{beside}{}</section>\n",
        waterfalls.iter().enumerate().map(figure).collect::<String>()
    )
}

fn notes(summary: &ReportSummary) -> String {
    let mut notes: Vec<String> = Vec::new();
    for (reason, count) in &summary.failures {
        notes.push(format!("Failed, {}: {reason}", times(*count)));
    }
    let limited = summary.connections_flow_limited();
    if limited > 0 {
        notes.push(format!(
            "Flow control held back {} for over 1 % of the time it had data to send.",
            match limited {
                1 => "one connection".to_owned(),
                n => format!("{} connections", grouped(n)),
            }
        ));
    }
    for (note, count) in &summary.notes {
        notes.push(match *count == stored(summary) {
            true => note.clone(),
            false => format!("{note} ({})", times(*count)),
        });
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", html(note))).collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<section><h2>Notes</h2><ul>{items}</ul></section>\n"),
    }
}

fn times(count: u64) -> String {
    match count {
        1 => "in one journey".to_owned(),
        n => format!("in {} journeys", grouped(n)),
    }
}

fn again(summary: &ReportSummary) -> String {
    let run = &summary.run;
    let experiment = run.experiment.as_deref().map_or(String::new(), |text| {
        format!("<h3>The experiment</h3><pre>{}</pre>", html(text.trim_end()))
    });
    let mut identity = vec![
        ("farlink", run.farlink_version.clone()),
        ("machine", run.machine.clone()),
        ("workers", run.workers.to_string()),
        ("started", run.started_at.clone()),
        ("finished", run.finished_at.clone().unwrap_or("not yet".to_owned())),
        ("digest of the plan", run.plan_digest.clone()),
    ];
    identity.extend(run.digest.clone().map(|digest| ("digest of the results", digest)));
    let repeats = match summary.punctuality.facts().is_empty() {
        true => {
            "The same experiment, seed and version give the same digest of results on any machine, with \
             any number of workers."
        }
        false => {
            "Emulated journeys take real time: the same experiment, seed and version draw the same losses and think \
             times, but never bit-identical results."
        }
    };
    format!(
        "<section><h2>Run it again</h2><pre class=\"command\">{}</pre>{experiment}{}\
         <p class=\"small\">{repeats}</p></section>\n",
        html(&run.command),
        tables::facts(identity),
    )
}
