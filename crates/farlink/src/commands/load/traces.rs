//! `farlink load --pcap`, `--trace`, `--screenshot` and `--film`: the median load of each arm, packet by packet and picture by picture.
//!
//! A simulated load is a pure function of scenario and seed, so the one that turns out to be the median is simply run again and
//! watched; emulated ones are all watched as they happen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lab::scenario::{Program, nearest};
use lab::tour::ObservedVisit;
use lab::traces::{Side, filmstrip, pcapng, tcp_lines};

use crate::args;
use crate::commands::files;
use crate::commands::watched::Watched;
use crate::failure::Failure;
use crate::show::arms::{Arm, Load};

/// The kinds of traces that there are.
const KINDS: [&str; 1] = ["tcp"];

/// What is to be written, and where.
#[derive(Debug, Default)]
pub struct Traces {
    pcap: Option<PathBuf>,
    tcp: Option<PathBuf>,
    screenshot: Option<PathBuf>,
    film: Option<PathBuf>,
}

impl Traces {
    /// What was asked for, if it can be written.
    pub fn parse(load: &args::Load) -> Result<Traces, Failure> {
        let tcp = load.trace.as_deref().map(kind_and_place).transpose()?;
        check_painted(load, "--screenshot", &load.screenshot)?;
        check_painted(load, "--film", &load.film)?;
        let (screenshot, film) = (load.screenshot.clone(), load.film.clone());
        let traces = Traces { pcap: load.pcap.clone(), tcp, screenshot, film };
        let mut places = BTreeSet::new();
        let Traces { pcap, tcp, screenshot, film } = &traces;
        let all = [pcap, tcp, screenshot, film, &load.har, &load.report];
        for place in all.into_iter().flatten() {
            files::check_place(place)?;
            if !places.insert(place) {
                let message = format!("{} is to hold two different things", place.display());
                return Err(Failure::bad_input(message).hint(
                    "give --har, --report, --pcap, --trace, --screenshot and --film a file each"
                        .to_owned(),
                ));
            }
        }
        Ok(traces)
    }

    /// Whether there is anything to write.
    pub fn are_wanted(&self) -> bool {
        self.pcap.is_some() || self.tcp.is_some() || self.screenshot.is_some() || self.films()
    }

    /// Whether loads are to be filmed.
    pub fn films(&self) -> bool {
        self.film.is_some()
    }

    /// Writes the median load of each arm; where none succeeded, the first.
    pub fn write(&self, arms: &[Arm], watched: &Watched<'_>) -> Result<(), Failure> {
        if !self.are_wanted() {
            return Ok(());
        }
        for arm in arms {
            let Some(load) = arm.median_load().or(arm.loads().first()) else { continue };
            let name = (arms.len() > 1).then(|| arm.name());
            self.write_load(name, arm, load, watched)?;
        }
        Ok(())
    }

    fn write_load(
        &self,
        name: Option<&str>,
        arm: &Arm,
        load: &Load,
        watched: &Watched<'_>,
    ) -> Result<(), Failure> {
        let observed = watched.observe(arm.scenario(), load.seed).map_err(Failure::machine)?;
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
        if let Some(path) = &self.tcp {
            files::write_whole(&place(path), tcp_lines(&visit).as_bytes())?;
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

/// Pictures are a real browser's.
fn check_painted(load: &args::Load, option: &str, place: &Option<PathBuf>) -> Result<(), Failure> {
    if place.is_none() || load.how.client == Program::Chromium.name() {
        return Ok(());
    }
    Err(Failure::bad_input(format!("{option}: farlink's own loader paints nothing"))
        .hint("add --world emu --client chromium".to_owned()))
}

/// The client's side where it was asked for, the servers' beside it.
fn write_packets(visit: &ObservedVisit<'_>, path: &Path) -> Result<(), Failure> {
    files::write_whole(path, &pcapng(visit, Side::Client))?;
    let servers = files::beside(path, Side::Servers.name());
    files::write_whole(&servers, &pcapng(visit, Side::Servers))
}

/// Where `tcp=OUT` wants its trace; `tcp` alone: in `tcp.jsonl`.
fn kind_and_place(text: &str) -> Result<PathBuf, Failure> {
    let (kind, place) = match text.split_once('=') {
        Some((kind, place)) => (kind, place.to_owned()),
        None => (text, format!("{text}.jsonl")),
    };
    if !KINDS.contains(&kind) {
        let hint = match nearest(kind, KINDS) {
            Some(near) => format!("did you mean `--trace {near}=OUT.jsonl`?"),
            None => "there is one kind: --trace tcp, or --trace tcp=OUT.jsonl".to_owned(),
        };
        return Err(
            Failure::bad_input(format!("--trace {text}: there is no trace `{kind}`")).hint(hint)
        );
    }
    if place.is_empty() {
        return Err(Failure::bad_input(format!("--trace {text}: it does not say where to"))
            .hint(format!("name a file: --trace {kind}=OUT.jsonl")));
    }
    Ok(PathBuf::from(place))
}
