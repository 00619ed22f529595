//! Result documents: `run.py`'s record of a call, one line of JSON each, as it wrote them to `results.json` and
//! as mongoimport takes them.

use std::io::{self, Write};

use net::{LossModel, Network, Rate};
use serde::Serialize;
use thiserror::Error;

use super::{NetType, Protocol};
use scenario::{self, Route, Scenario, Tls, View};
use store::{JourneyRow, RunId, RunRow, Store, StoreError, VisitRow};

/// Failed to write the documents.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A scenario that a document cannot express.
    #[error("cell {cell} of run {run}: {what}: bth2013's documents have no words for it")]
    Unstatable {
        /// The run.
        run: i64,
        /// Index of the scenario in the run's plan.
        cell: u32,
        /// The property in question, and the values that a document can express.
        what: String,
    },
    /// The name of the network is unknown.
    #[error(
        "run {run} is called `{name}`, which does not end in what its network is called: EDGE, 3G, 4G or ALL"
    )]
    NoNetType {
        /// The run.
        run: i64,
        /// Its name.
        name: String,
    },
    /// The documents cannot be written.
    #[error("the documents cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Documents.
    pub documents: u64,
    /// Loads that failed; documents cannot express them.
    pub failed: u64,
}

/// A call of `run.py`. Network parameters are text there, as they were typed.
#[derive(Serialize)]
struct Document {
    when: u64,
    protocol: &'static str,
    ssl: bool,
    net_type: &'static str,
    net_up_bw: String,
    net_dw_bw: String,
    net_rtt: String,
    net_loss: String,
    /// Page load times, in seconds.
    results: Vec<f64>,
    /// Their mean.
    load_time: f64,
    /// Always 0: `run.py` never computed it.
    deviation: u32,
}

/// Writes a document for each scenario of `run`, in the plan's order. Without `net_type` the name of the
/// network is taken from the run's name, which ends in it for imported experiments.
///
/// # Errors
/// If a scenario is one that the study's programs could not have measured.
pub fn documents(
    store: &Store,
    run: RunId,
    net_type: Option<NetType>,
    mut out: impl Write,
) -> Result<Written, DocumentError> {
    let row = store.run(run)?;
    let net_type = net_type.map_or_else(|| named(&row), Ok)?;
    let when = row.started_at.parse::<jiff::Timestamp>();
    let when = when.map_or(0, |at| u64::try_from(at.as_second()).unwrap_or(0));
    let (mut journeys, visits) = (store.journeys(run)?, store.visits(run)?);
    journeys.sort_by_key(|journey| (journey.cell, journey.repetition));
    let mut written = Written::default();
    for cell in journeys.chunk_by(|one, next| one.cell == next.cell) {
        let stated = StatedScenario::of(&cell[0].scenario)
            .map_err(|what| DocumentError::Unstatable { run: run.0, cell: cell[0].cell, what })?;
        let (results, failed) = results(cell, &visits);
        written.failed += failed;
        if results.is_empty() {
            continue;
        }
        let load_time = results.iter().sum::<f64>() / results.len() as f64;
        let document = stated.document(when, net_type, results, load_time);
        serde_json::to_writer(&mut out, &document).map_err(io::Error::from)?;
        writeln!(out)?;
        written.documents += 1;
    }
    Ok(written)
}

/// The name of the network, taken from the run's name.
fn named(run: &RunRow) -> Result<NetType, DocumentError> {
    let last = run.name.rsplit(' ').next().and_then(|word| word.parse().ok());
    last.ok_or_else(|| DocumentError::NoNetType { run: run.id.0, name: run.name.clone() })
}

/// The load times of a scenario's journeys in seconds, and the number of failed loads.
fn results(cell: &[JourneyRow], visits: &[VisitRow]) -> (Vec<f64>, u64) {
    let of = |journey: &JourneyRow| {
        let position = journey.position;
        visits.iter().filter(move |visit| visit.key.journey == position)
    };
    let loads = cell.iter().flat_map(of).map(|visit| visit.plt_ns);
    let (came, failed): (Vec<_>, Vec<_>) = loads.partition(Option::is_some);
    (came.into_iter().flatten().map(|plt| plt as f64 / 1e9).collect(), failed.len() as u64)
}

/// The scenario as a document states it.
struct StatedScenario {
    protocol: Protocol,
    ssl: bool,
    up_kbit: f64,
    down_kbit: f64,
    rtt_ms: f64,
    loss: f64,
}

impl StatedScenario {
    fn of(scenario: &Scenario) -> Result<StatedScenario, String> {
        let spoken = scenario.stack.protocol;
        let protocol = match spoken {
            scenario::Protocol::H1 => Protocol::Http,
            scenario::Protocol::H1Pipelined => Protocol::HttpPipelining,
            _ if spoken.is_spdy() => Protocol::Spdy,
            _ => {
                return Err(format!(
                    "the protocol `{spoken}` is neither h1, h1-pipelined nor spdy"
                ));
            }
        };
        if scenario.route != Route::default() {
            return Err(format!("the route `{}` is not `direct`", scenario.route));
        }
        if scenario.visits_each() != 1 || scenario.clients.count != 1 {
            return Err("a load was not a new browser's only one".to_owned());
        }
        if scenario.client.view != View::Cold {
            return Err(format!("the view `{}` is not `cold`", scenario.client.view));
        }
        let network = Network::parse(&scenario.network.to_string()).map_err(|e| e.to_string())?;
        if network.radio.is_some() || !network.beyond.is_empty() {
            return Err("the network has a radio, or farther hops".to_owned());
        }
        let [up, down] = [&network.up, &network.down].map(|link| match (&link.rate, &link.loss) {
            (Rate::Constant(rate), LossModel::Random(loss)) => Ok((rate.0 as f64 / 1e3, *loss)),
            _ => Err("the network has a recorded rate, or losses that are not each for itself"
                .to_owned()),
        });
        let ((up_kbit, up_loss), (down_kbit, down_loss)) = (up?, down?);
        let rtt_ms = network.rtt().as_secs_f64() * 1e3;
        let loss = up_loss + down_loss;
        let ssl = scenario.stack.tls != Tls::None;
        Ok(StatedScenario { protocol, ssl, up_kbit, down_kbit, rtt_ms, loss })
    }

    fn document(self, when: u64, net_type: NetType, results: Vec<f64>, load_time: f64) -> Document {
        // Without the rounding errors of binary fractions.
        let typed = |number: f64| ((number * 1e9).round() / 1e9).to_string();
        Document {
            when,
            protocol: self.protocol.name(),
            ssl: self.ssl,
            net_type: net_type.name(),
            net_up_bw: typed(self.up_kbit),
            net_dw_bw: typed(self.down_kbit),
            net_rtt: typed(self.rtt_ms),
            net_loss: typed(self.loss),
            results,
            load_time,
            deviation: 0,
        }
    }
}
