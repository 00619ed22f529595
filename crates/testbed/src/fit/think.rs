//! Think times and places of references, fitted by repeated simulation.

use std::collections::BTreeMap;
use std::time::Duration;

use page::{After, Page, RecordedNetwork};

use super::{Fit, SimulatedTimes, Times};

/// Differences below this, in microseconds, are the recording's resolution: a network that explains each response to within
/// it is the right one.
pub(super) const RESOLUTION: i64 = 1_000;

/// Differences below this share of a wait are no think time.
const RESOLUTION_PER_CENT: i64 = 2;

/// The same for a whole response, which depends on more than the wait does.
const ARRIVAL_PER_CENT: i64 = 5;

/// Think times are multiples of this, in microseconds.
const STEP: i64 = 100;

/// Rounds in which think times are shortened, each by up to half.
const HALVINGS: usize = 6;

/// Rounds in which references are moved: each halves the part of the document where they may be.
const ROUNDS: usize = 10;

/// Simulations without progress, with ever fewer objects changed at once, after which the fit ends.
const PATIENCE: u32 = 6;

/// A page with the simulation of its load.
pub(super) struct State {
    pub(super) page: Page,
    pub(super) simulated: Vec<SimulatedTimes>,
}

impl State {
    pub(super) fn of(fit: &Fit<'_>, page: Page, network: &RecordedNetwork) -> Option<State> {
        let simulated = fit.simulate(&page, network)?;
        Some(State { page, simulated })
    }

    /// Sum of the differences between recorded and simulated responses: to their first and to their last byte.
    fn responses_apart(&self, fit: &Fit<'_>) -> i64 {
        let apart = |(_, was, is): (usize, Times, Times)| {
            let late = fit.late(was, is);
            (was.wait + late - is.wait).abs() + (was.response() + late - is.response()).abs()
        };
        fit.pairs(&self.simulated).map(apart).sum()
    }

    /// Distance of the recorded times from those of servers that do not think. Think time would explain a wait that is
    /// too short in the simulation; nothing explains one that is too long, which counts twice.
    pub(super) fn misfit(&self, fit: &Fit<'_>) -> i64 {
        let receive = |times: Times| times.end_at - times.head_at;
        let apart = |(_, was, is): (usize, Times, Times)| {
            let missing = was.wait - is.wait;
            missing.max(-2 * missing) + (receive(was) - receive(is)).abs()
        };
        fit.pairs(&self.simulated).map(apart).sum::<i64>() + self.connects_apart(fit)
    }

    /// Cost of an explanation: the unexplained rest and all think times. Think times could explain any network, so the
    /// explanation with fewer is the likelier one.
    pub(super) fn cost(&self, fit: &Fit<'_>) -> i64 {
        let think = |object: &page::Object| object.think.value.as_micros() as i64;
        let thinks: i64 = self.page.objects.iter().map(think).sum();
        self.responses_apart(fit) + self.connects_apart(fit) + thinks
    }

    /// Sum of the differences between recorded and simulated handshakes.
    pub(super) fn connects_apart(&self, fit: &Fit<'_>) -> i64 {
        let apart =
            |was: Option<i64>, is: Option<i64>| was.zip(is).map_or(0, |(was, is)| (was - is).abs());
        let pairs = fit.pairs(&self.simulated);
        pairs.map(|(_, was, is)| apart(was.connect, is.connect) + apart(was.tls, is.tls)).sum()
    }

    /// Sum of the differences between recorded and simulated starts.
    pub(super) fn starts_apart(&self, fit: &Fit<'_>) -> i64 {
        fit.pairs(&self.simulated).map(|(_, was, is)| (was.started - is.started).abs()).sum()
    }
}

/// Fits `page`, whose servers do not think, by at most `budget` simulations; `None` if it does not load.
pub(super) fn fit(
    fit: &Fit<'_>,
    page: Page,
    network: &RecordedNetwork,
    budget: usize,
) -> Option<State> {
    let state = State::of(fit, page, network)?;
    let (mut best, mut used) = placed(fit, state, network, budget / 2)?;
    let (mut apart, mut part, mut idle) = (best.responses_apart(fit), 1, 0);
    while used < budget && idle < PATIENCE {
        let mut changes = changes(fit, &best);
        if changes.is_empty() {
            break;
        }
        // What comes first is not changed by what comes later: when a change of everything makes it worse, the
        // earliest part alone is changed.
        changes.sort_by_key(|change| change.at);
        changes.truncate(changes.len().div_ceil(part));
        let state = State::of(fit, with(&best.page, &changes), network)?;
        used += 1;
        let now = state.responses_apart(fit);
        if now < apart {
            (best, apart, idle) = (state, now, 0);
            part = (part / 2).max(1);
        } else if changes.len() == 1 {
            break;
        } else {
            part *= 2;
            idle += 1;
        }
    }
    least(fit, best, network)
}

/// The state with each think time as short as the recording allows: a response that has to wait for the next round trip
/// arrives at the same time whether its server thinks for a moment or for nearly a round trip.
fn least(fit: &Fit<'_>, best: State, network: &RecordedNetwork) -> Option<State> {
    let think = |page: &Page| -> Vec<Duration> {
        page.objects.iter().map(|object| object.think.value).collect()
    };
    let (mut low, mut high) = (vec![Duration::ZERO; best.page.objects.len()], think(&best.page));
    let explained: Vec<bool> = explained(fit, &best);
    let apart = best.responses_apart(fit);
    let mut shortest = best;
    for _ in 0..HALVINGS {
        let mut page = shortest.page.clone();
        let mut any = false;
        for (object, (low, high)) in page.objects.iter_mut().zip(low.iter().zip(&high)) {
            let span = high.saturating_sub(*low).as_micros() as i64;
            if span > 2 * RESOLUTION {
                object.think.value = *low + Duration::from_micros((span / 2 / STEP * STEP) as u64);
                any = true;
            }
        }
        if !any {
            break;
        }
        let state = State::of(fit, page, network)?;
        let now = self::explained(fit, &state);
        for (object, think) in think(&state.page).into_iter().enumerate() {
            match explained[object] && now[object] {
                true => high[object] = think,
                false => low[object] = think,
            }
        }
        if state.responses_apart(fit) <= apart + apart / 50 + RESOLUTION {
            shortest = state;
        }
    }
    Some(shortest)
}

/// True for each object of whose response the simulation lacks nothing.
fn explained(fit: &Fit<'_>, state: &State) -> Vec<bool> {
    let mut explained = vec![true; state.page.objects.len()];
    for (object, was, is) in fit.pairs(&state.simulated) {
        explained[object] = missing(fit, was, is).is_none_or(|missing| missing < 0);
    }
    explained
}

/// Gives the document, which nothing else keeps waiting, the think time that its wait shows. `shift` is what the round
/// trip changes by.
pub(super) fn of_document(fit: &Fit<'_>, state: &State, shift: i64, page: &mut Page) {
    if let Some((0, was, is)) = fit.pairs(&state.simulated).next() {
        let think = &mut page.objects[0].think.value;
        let missing = think.as_micros() as i64 + was.response() - is.response() - shift;
        *think = Duration::from_micros((missing.max(0) / STEP * STEP) as u64);
    }
}

/// A new think time.
struct Change {
    object: usize,
    think: Duration,
    /// When it first has an effect.
    at: i64,
}

/// Part of a response that the simulation lacks, unless it is noise. A wait may be as recorded whatever the server
/// thinks: if its first byte is TLS's, or HTTP/2's. Then the last byte tells.
fn missing(fit: &Fit<'_>, was: Times, is: Times) -> Option<i64> {
    let beyond = |was: i64, is: i64, percent: i64| {
        let missing = was - is;
        (missing.abs() > RESOLUTION.max(was * percent / 100)).then_some(missing)
    };
    let late = fit.late(was, is);
    beyond(was.wait + late, is.wait, RESOLUTION_PER_CENT)
        .or_else(|| beyond(was.response() + late, is.response(), ARRIVAL_PER_CENT))
}

fn changes(fit: &Fit<'_>, state: &State) -> Vec<Change> {
    let change = |(object, was, is): (usize, Times, Times)| {
        let think = state.page.objects[object].think.value.as_micros() as i64;
        let missing = missing(fit, was, is)?;
        if missing < 0 && think == 0 {
            return None;
        }
        let think = (think + missing * 9 / 10).max(0) / STEP * STEP;
        let think = Duration::from_micros(think as u64);
        Some(Change { object, think, at: was.head_at.min(is.head_at) })
    };
    fit.pairs(&state.simulated).filter_map(change).collect()
}

fn with(page: &Page, changes: &[Change]) -> Page {
    let mut page = page.clone();
    for change in changes {
        page.objects[change.object].think.value = change.think;
    }
    page
}

/// The page with its references where they are discovered at the recorded time, and the number of simulations.
pub(super) fn placed(
    fit: &Fit<'_>,
    first: State,
    network: &RecordedNetwork,
    budget: usize,
) -> Option<(State, usize)> {
    let (mut used, mut least) = (1, first.starts_apart(fit));
    let mut moved = moved(fit, &first);
    let mut best = first;
    for _ in 0..ROUNDS.min(budget) {
        let Some(page) = moved else { break };
        let state = State::of(fit, page, network)?;
        used += 1;
        moved = self::moved(fit, &state);
        let now = state.starts_apart(fit);
        if now < least {
            (best, least) = (state, now);
        }
    }
    Some((best, used))
}

/// The page with each reference nearer to where it belongs; `None` if all are there.
fn moved(fit: &Fit<'_>, state: &State) -> Option<Page> {
    let mut page = state.page.clone();
    let mut any = false;
    for (document, references) in references_by_rank(fit, &state.page) {
        let known = discoveries(fit, state, document, &references);
        let size = state.page.objects[document].body_bytes;
        for discovery in &known {
            if let Some(place) = discovery.better_place(&known, size) {
                page.objects[discovery.object].waits_for[0].after = After::Bytes(place);
                any = true;
            }
        }
    }
    any.then_some(page)
}

/// References of each document that are known by rank only, with their places in it.
fn references_by_rank(fit: &Fit<'_>, page: &Page) -> BTreeMap<usize, Vec<(usize, u64)>> {
    let mut by_document: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
    for (child, object) in page.objects.iter().enumerate() {
        let by_rank = fit.recording.objects[child].is_placed_by_rank;
        if let ([edge], true) = (&object.waits_for[..], by_rank)
            && let After::Bytes(at) = edge.after
        {
            by_document.entry(edge.object.0 as usize).or_default().push((child, at));
        }
    }
    by_document
}

/// Discoveries of a document's references, as far as both loads have them.
fn discoveries(
    fit: &Fit<'_>,
    state: &State,
    document: usize,
    references: &[(usize, u64)],
) -> Vec<Discovery> {
    let Some((was, is)) = fit.recorded(document).zip(state.simulated[document]) else {
        return Vec::new();
    };
    let discovery = |&(object, place): &(usize, u64)| {
        let (recorded, simulated) = (fit.recorded(object)?, state.simulated[object]?);
        let (recorded, simulated) =
            (recorded.started - was.head_at, simulated.started - is.head_at);
        Some(Discovery { object, place, recorded, simulated })
    };
    references.iter().filter_map(discovery).collect()
}

/// Discovery of a reference, in microseconds after the document's first byte.
struct Discovery {
    object: usize,
    /// Byte of the document where it is in the simulation.
    place: u64,
    recorded: i64,
    simulated: i64,
}

impl Discovery {
    /// A place nearer to the recorded discovery: that of a reference which is discovered then, else halfway between the
    /// last one before and the first one after. `None` if it is where it belongs.
    fn better_place(&self, known: &[Discovery], size: u64) -> Option<u64> {
        let recorded = self.recorded;
        if (recorded - self.simulated).abs() <= RESOLUTION {
            return None;
        }
        let is_before = |other: &&Discovery| other.simulated < recorded - RESOLUTION;
        let is_after = |other: &&Discovery| other.simulated > recorded + RESOLUTION;
        let places = known.iter().filter(is_before).map(|other| other.place);
        let low = places.max().unwrap_or(0);
        let places = known.iter().filter(is_after).map(|other| other.place);
        let high = places.min().unwrap_or(size);
        if high <= low {
            return None;
        }
        let is_there = |other: &&Discovery| {
            !is_before(other) && !is_after(other) && (low..=high).contains(&other.place)
        };
        let there = || known.iter().filter(is_there).map(|other| other.place);
        let place = match (there().min(), there().max()) {
            (Some(first), Some(last)) => self.place.clamp(first, last),
            _ => (low + high) / 2,
        };
        (place != self.place).then_some(place.max(1))
    }
}
