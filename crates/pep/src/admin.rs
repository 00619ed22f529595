//! The operator's port: `/metrics` for Prometheus, `/health`; and the counters behind the metrics. Not for clients: access is not authenticated.

use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::server::Acceptor;
use http_stack::{Answer, Handler, Reply, RequestHead};
use quic::bare::FecCounts;
use tls::Security;
use world::TcpListener;

use crate::leg;

/// Serves the operator on `listener`, without end. `is_well` returns true if the other end seems to be up.
pub async fn tell(
    listener: TcpListener,
    counters: Rc<Counters>,
    is_well: impl Fn() -> bool + 'static,
) {
    let (acceptor, admin) =
        (Acceptor::new(Security::None), Rc::new(MetricsHandler { counters, is_well }));
    loop {
        if let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, admin) = (acceptor.clone(), Rc::clone(&admin));
            drop(world::spawn(async move { drop(acceptor.serve(tcp, admin).await) }));
        }
    }
}

struct MetricsHandler<W> {
    counters: Rc<Counters>,
    is_well: W,
}

impl<W: Fn() -> bool + 'static> Handler for MetricsHandler<W> {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        Answer::Ready(match (request.method, request.target) {
            ("GET", "/metrics") => text(StatusCode::OK, self.counters.text()),
            ("GET", "/health") if (self.is_well)() => text(StatusCode::OK, "ok\n".to_owned()),
            // Clients are still served, past the proxy.
            ("GET", "/health") => {
                text(StatusCode::SERVICE_UNAVAILABLE, "the far end is gone\n".to_owned())
            }
            _ => text(StatusCode::NOT_FOUND, "not found: try /metrics or /health\n".to_owned()),
        })
    }
}

fn text(status: StatusCode, text: String) -> Reply {
    let mut fields = HeaderMap::new();
    let plain = "text/plain; version=0.0.4; charset=utf-8";
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(plain));
    Reply::new(status, fields, Bytes::from(text))
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(Cell<u64>);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.set(self.0.get() + more);
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

/// Counters of one end. The far end counts its part of the same: counters of things that it does not do stay 0.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that were split.
    pub split: Count,
    /// Connections that went past the proxy because of a rule.
    pub bypassed: Count,
    /// Connections that went past the proxy because the far end was gone or full.
    pub failed_open: Count,
    /// Split connections that did not come to an orderly end.
    pub broken: Count,
    /// Refusals: addresses out of reach, malformed requests.
    pub refused: Count,
    /// Payload handed to the leg.
    pub sent_bytes: Count,
    /// Payload received over the leg.
    pub received_bytes: Count,
    /// Requests of clear-text HTTP that were answered through the far end.
    pub fetched: Count,
    /// Fetched requests whose answer was there, or on its way, before the request.
    pub answered_early: Count,
    /// Promises of the far end: objects sent unasked.
    pub promised: Count,
    /// Promised objects that were not requested in time.
    pub wasted: Count,
    /// Body bytes that compression kept off the leg.
    pub saved_bytes: Count,
    /// Round trips over the leg that clients did not wait for, times the duration of one: a handshake answered here, a response
    /// that was there already. An estimate, and a sum over connections: pages overlap them.
    pub saved_ms: Count,
    /// Counters of forward error correction; zero if the leg has none.
    pub fec: Arc<FecCounts>,
}

impl Counters {
    /// Counters of an end with this leg.
    pub(crate) fn of(leg: &leg::LegSettings) -> Counters {
        let fec = leg.over.fec().map(|fec| Arc::clone(&fec.counts)).unwrap_or_default();
        Counters { fec, ..Counters::default() }
    }

    /// Records `trips` round trips of `rtt` that were not waited for.
    pub(crate) fn save_trips(&self, trips: u32, rtt: Duration) {
        self.saved_ms.add((trips * rtt).as_millis() as u64);
    }

    fn all(&self) -> [(&'static str, &'static str, u64); 15] {
        [
            ("connections_split_total", "Connections that were split.", self.split.get()),
            (
                "connections_bypassed_total",
                "Connections past the proxy by rule.",
                self.bypassed.get(),
            ),
            (
                "connections_failed_open_total",
                "Past it for want of a far end.",
                self.failed_open.get(),
            ),
            ("connections_broken_total", "Split connections that broke.", self.broken.get()),
            ("refused_total", "Streams that were refused.", self.refused.get()),
            ("leg_sent_bytes_total", "Payload handed to the leg.", self.sent_bytes.get()),
            (
                "leg_received_bytes_total",
                "Payload that came by the leg.",
                self.received_bytes.get(),
            ),
            ("http_fetched_total", "Requests answered by the far end.", self.fetched.get()),
            (
                "http_answered_early_total",
                "Answers sent unasked and used.",
                self.answered_early.get(),
            ),
            ("http_promised_total", "Answers sent unasked.", self.promised.get()),
            ("http_wasted_total", "Answers sent unasked and not used.", self.wasted.get()),
            ("http_saved_bytes_total", "Bytes that compression saved.", self.saved_bytes.get()),
            (
                "saved_milliseconds_total",
                "Round trips not waited for (estimate).",
                self.saved_ms.get(),
            ),
            (
                "fec_parity_sent_total",
                "Datagrams of parity that were sent.",
                self.fec.parity_sent(),
            ),
            ("fec_restored_total", "Datagrams that parity restored.", self.fec.restored()),
        ]
    }

    /// The metrics in Prometheus's text format (exposition format 0.0.4).
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, help, value) in self.all() {
            let name = format!("farlink_pep_{name}");
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}")
                .expect("a String takes any write");
        }
        text
    }
}
