//! `farlink load --pcap`, `--trace`, `--screenshot` and `--film`: the median load of each arm, packet by packet and picture by picture.
//!
//! A simulated load is a pure function of scenario and seed, so the one that turns out to be the median is simply
//! run again and observed; emulated loads are all observed as they happen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use record::CriticalPath;
use report::traces::{Side, body_table, filmstrip, pcapng, perfetto, qlogs, tcp_lines};
use scenario::{Program, nearest};
use testbed::tour::ObservedVisit;

use crate::args;
use crate::commands::files;
use crate::commands::watched::ObservedJourneys;
use crate::failure::CliError;
use crate::show::arms::{Arm, Load};

/// Requested traces and their paths.
#[derive(Debug, Default)]
pub struct Traces {
    pcap: Option<PathBuf>,
    traces: Vec<(TraceKind, PathBuf)>,
    screenshot: Option<PathBuf>,
    film: Option<PathBuf>,
}

impl Traces {
    /// The requested traces, if they can be written.
    pub fn parse(load: &args::Load) -> Result<Traces, CliError> {
        let kinds = kinds(load)?;
        check_painted(load, "--screenshot", &load.screenshot)?;
        check_painted(load, "--film", &load.film)?;
        let (screenshot, film) = (load.screenshot.clone(), load.film.clone());
        let traces = Traces { pcap: load.pcap.clone(), traces: kinds, screenshot, film };
        let mut places = BTreeSet::new();
        let Traces { pcap, traces: kinds, screenshot, film } = &traces;
        let all = [pcap, screenshot, film, &load.har, &load.report].into_iter().flatten();
        for place in all.chain(kinds.iter().map(|(_, place)| place)) {
            files::check_place(place)?;
            if !places.insert(place) {
                let message = format!("{} is named by two options", place.display());
                return Err(CliError::bad_input(message).hint(
                    "use a different file for each of --har, --report, --pcap, --trace, --screenshot and --film"
                        .to_owned(),
                ));
            }
        }
        Ok(traces)
    }

    /// Returns true if there is anything to write.
    pub fn are_wanted(&self) -> bool {
        self.pcap.is_some() || !self.traces.is_empty() || self.screenshot.is_some() || self.films()
    }

    /// Returns true if loads are to be filmed.
    pub fn films(&self) -> bool {
        self.film.is_some()
    }

    /// Writes the median load of each arm; if none succeeded, the first.
    pub fn write(&self, arms: &[Arm], watched: &ObservedJourneys<'_>) -> Result<(), CliError> {
        if !self.are_wanted() {
            return Ok(());
        }
        for arm in arms {
            let Some(load) = arm.median_load().or(arm.loads().first()) else { continue };
            let name = (arms.len() > 1).then(|| arm.label());
            self.write_load(name, arm, load, watched)?;
        }
        Ok(())
    }

    fn write_load(
        &self,
        name: Option<&str>,
        arm: &Arm,
        load: &Load,
        watched: &ObservedJourneys<'_>,
    ) -> Result<(), CliError> {
        let observed = watched.observe(arm.scenario(), load.seed).map_err(CliError::machine)?;
        let mut visits = observed.visits();
        let visit = visits
            .find(|visit| visit.record.index == load.visit.record.index)
            .expect("a journey has the same visits each time it is run");
        let repeats = *visit.record == load.visit.record;
        assert!(repeats, "a load watched is not the load measured; seed {}", load.seed);
        let place = |path: &Path| name.map_or(path.to_owned(), |name| files::beside(path, name));
        if let Some(path) = &self.pcap {
            write_packets(&visit, &place(path))?;
        }
        for (kind, path) in &self.traces {
            for (which, contents) in kind.files(&visit, load) {
                let path = place(path);
                let path = which.map_or_else(|| path.clone(), |which| files::beside(&path, &which));
                files::write_whole(&path, &contents)?;
            }
        }
        let screenshot = visit.shown().and_then(|shown| shown.screenshot.as_ref());
        if let (Some(path), Some(png)) = (&self.screenshot, screenshot) {
            files::write_whole(&place(path), &png.0)?;
        }
        if let (Some(path), Some(strip)) = (&self.film, filmstrip(&visit)) {
            files::write_whole(&place(path), strip.as_bytes())?;
        }
        Ok(())
    }
}

/// Rejects pictures of anything but a real browser.
fn check_painted(load: &args::Load, option: &str, place: &Option<PathBuf>) -> Result<(), CliError> {
    if place.is_none() || load.how.settings.of("client.program").contains(&Program::Chromium.name())
    {
        return Ok(());
    }
    Err(CliError::bad_input(format!("{option}: farlink's own loader does not render pages"))
        .hint("add --world emu --client chromium".to_owned()))
}

/// Writes the client's side to `path`, the servers' beside it.
fn write_packets(visit: &ObservedVisit<'_>, path: &Path) -> Result<(), CliError> {
    files::write_whole(path, &pcapng(visit, Side::Client))?;
    let servers = files::beside(path, Side::Servers.name());
    files::write_whole(&servers, &pcapng(visit, Side::Servers))
}

/// The traces that `--trace` asks for.
fn kinds(load: &args::Load) -> Result<Vec<(TraceKind, PathBuf)>, CliError> {
    let mut kinds: Vec<(TraceKind, PathBuf)> = Vec::new();
    for text in &load.trace {
        let (kind, place) = TraceKind::parse(text)?;
        if kinds.iter().any(|(known, _)| *known == kind) {
            let message = format!("--trace {text}: `{}` is given twice", kind.name());
            return Err(CliError::bad_input(message).hint("use each kind once".to_owned()));
        }
        kinds.push((kind, place));
    }
    check_wanted(load, &kinds)?;
    Ok(kinds)
}

/// Rejects a trace that no arm could fill.
fn check_wanted(load: &args::Load, kinds: &[(TraceKind, PathBuf)]) -> Result<(), CliError> {
    let wants = |kind| kinds.iter().any(|(wanted, _)| *wanted == kind);
    let is_chromium = load.how.settings.of("client.program").contains(&Program::Chromium.name());
    if wants(TraceKind::Bodies) && is_chromium {
        return Err(CliError::bad_input("--trace bodies: not available with Chromium")
            .hint("use --client loader".to_owned()));
    }
    Ok(())
}

/// A kind of trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// TCP's connections as lines of JSON; HTTP/3's with the same keys.
    Tcp,
    /// Connections as qlog, one file per end.
    Qlog,
    /// The digests of the bodies that arrived, as CSV.
    Bodies,
    /// Page, critical path, connections, packets and radio, for ui.perfetto.dev.
    Perfetto,
}

/// A file of a trace: the part before the extension, if it is one of several, and the contents.
pub type TraceFile = (Option<String>, Vec<u8>);

impl TraceKind {
    const ALL: [TraceKind; 4] =
        [TraceKind::Tcp, TraceKind::Qlog, TraceKind::Bodies, TraceKind::Perfetto];

    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            TraceKind::Tcp => "tcp",
            TraceKind::Qlog => "qlog",
            TraceKind::Bodies => "bodies",
            TraceKind::Perfetto => "perfetto",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            TraceKind::Tcp => "jsonl",
            TraceKind::Qlog => "sqlog",
            TraceKind::Bodies => "csv",
            TraceKind::Perfetto => "perfetto-trace",
        }
    }

    /// The files of a load.
    pub fn files(self, visit: &ObservedVisit<'_>, load: &Load) -> Vec<TraceFile> {
        match self {
            TraceKind::Tcp => vec![(None, tcp_lines(visit).into_bytes())],
            TraceKind::Qlog => {
                let logs = qlogs(visit).into_iter();
                logs.map(|log| (Some(log.name), log.text.into_bytes())).collect()
            }
            TraceKind::Bodies => vec![(None, body_table(visit).into_bytes())],
            TraceKind::Perfetto => {
                let paths = [
                    ("critical path", load.visit.critical_path.as_ref()),
                    ("critical path to first render", load.visit.render_path.as_ref()),
                ];
                let paths: Vec<(&str, &CriticalPath)> =
                    paths.into_iter().filter_map(|(name, path)| Some((name, path?))).collect();
                vec![(None, perfetto(visit, &paths))]
            }
        }
    }

    /// Parses `KIND=OUT` to the trace and its path; `tcp` alone is written to `tcp.jsonl`.
    pub fn parse(text: &str) -> Result<(TraceKind, PathBuf), CliError> {
        let (name, place) = match text.split_once('=') {
            Some((name, place)) => (name, Some(place)),
            None => (text, None),
        };
        let Some(kind) = TraceKind::ALL.into_iter().find(|kind| kind.name() == name) else {
            let example = |kind: TraceKind| format!("{}=OUT.{}", kind.name(), kind.extension());
            let hint = match nearest(name, TraceKind::ALL.map(TraceKind::name)) {
                Some(near) => format!("did you mean `--trace {near}=OUT`?"),
                None => {
                    let all = TraceKind::ALL.map(example);
                    format!("available: --trace {}", all.join(", --trace "))
                }
            };
            let message = format!("--trace {text}: unknown trace kind `{name}`");
            return Err(CliError::bad_input(message).hint(hint));
        };
        match place {
            Some("") => {
                Err(CliError::bad_input(format!("--trace {text}: the file name is missing"))
                    .hint(format!("for example --trace {name}=OUT.{}", kind.extension())))
            }
            Some(place) => Ok((kind, PathBuf::from(place))),
            None => Ok((kind, PathBuf::from(format!("{name}.{}", kind.extension())))),
        }
    }
}
