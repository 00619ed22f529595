//! The experiment as typed: which keys there are, nothing about their values.

#![expect(missing_docs, reason = "fields are the keys that docs/experiment.md explains")]

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::axis::{Axis, Scalar};

/// A key that may be an axis.
pub type Varied = Option<Spanned<Axis>>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawExperiment {
    /// Read before everything else, from the untyped table.
    #[serde(rename = "format")]
    pub _format: Spanned<Scalar>,
    pub name: Option<Spanned<Scalar>>,
    pub seed: Option<Spanned<Scalar>>,
    pub repetitions: Option<Spanned<Scalar>>,
    pub order: Option<Spanned<Scalar>>,
    nuisance: Varied,
    world: Varied,
    release: Varied,
    clients: Varied,
    beside: Varied,
    start_spacing: Varied,
    traffic: Varied,
    dns: Varied,
    route: Varied,
    record: Varied,
    proxy_rtt: Varied,
    proxy_rate: Varied,
    #[serde(default)]
    page: RawPage,
    #[serde(default)]
    journey: RawJourney,
    #[serde(default)]
    network: RawNetwork,
    #[serde(default)]
    stack: RawStack,
    #[serde(default)]
    transport: RawTransport,
    #[serde(default)]
    client: RawClient,
    #[serde(default)]
    server: RawServer,
}

/// The keys that span the grid.
#[derive(Debug, Default)]
pub struct RawGrid {
    pub nuisance: Varied,
    pub world: Varied,
    pub release: Varied,
    pub clients: Varied,
    pub beside: Varied,
    pub start_spacing: Varied,
    pub traffic: Varied,
    pub dns: Varied,
    pub route: Varied,
    pub record: Varied,
    pub proxy_rtt: Varied,
    pub proxy_rate: Varied,
    pub page: RawPage,
    pub journey: RawJourney,
    pub network: RawNetwork,
    pub stack: RawStack,
    pub transport: RawTransport,
    pub client: RawClient,
    pub server: RawServer,
}

impl RawExperiment {
    /// What of it spans the grid. Two types rather than a nested one that serde flattens: flattened keys
    /// lose their places.
    pub fn into_grid(self) -> RawGrid {
        let RawExperiment {
            nuisance,
            world,
            release,
            clients,
            beside,
            start_spacing,
            traffic,
            dns,
            route,
            record,
            proxy_rtt,
            proxy_rate,
            page,
            journey,
            network,
            stack,
            transport,
            client,
            server,
            ..
        } = self;
        RawGrid {
            nuisance,
            world,
            release,
            clients,
            beside,
            start_spacing,
            traffic,
            dns,
            route,
            record,
            proxy_rtt,
            proxy_rate,
            page,
            journey,
            network,
            stack,
            transport,
            client,
            server,
        }
    }
}

/// `[page]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPage {
    pub name: Varied,
}

/// `[journey]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawJourney {
    pub times: Varied,
    pub order: Varied,
    pub pace: Varied,
    pub keeps: Varied,
}

/// `[network]`: `base`, and any setting of a network.
pub type RawNetwork = BTreeMap<Spanned<String>, Spanned<Axis>>;

/// `[stack]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawStack {
    pub protocol: Varied,
    pub tls: Varied,
    pub connections_per_host: Varied,
    pub connections_total: Varied,
    pub pipeline_depth: Varied,
    pub security: Varied,
    pub multiplexing: Varied,
    pub h3_discovery: Varied,
    pub udp: Varied,
}

/// `[transport]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTransport {
    pub tcp: Varied,
    pub client_tcp: Varied,
    pub congestion: Varied,
    pub initial_window_segments: Varied,
    pub slow_start_after_idle: Varied,
    pub quic: Varied,
}

/// `[client]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawClient {
    pub program: Varied,
    pub device: Varied,
    pub cpu: Varied,
    pub browser: Varied,
    pub view: Varied,
    pub request_heads: Varied,
    pub block: Varied,
    pub priorities: Varied,
}

/// `[server]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawServer {
    pub origins: Varied,
    pub workers: Varied,
    pub service_time: Varied,
    pub keep_alive: Varied,
    pub hosting: Varied,
    pub scheduler: Varied,
    pub frame: Varied,
    pub unsent: Varied,
    pub push: Varied,
}
