//! The suite as typed: which keys there are, nothing about their values.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use scenario::experiment::{
    RawClient, RawGrid, RawJourney, RawNetwork, RawPage, RawServer, RawStack, RawTransport, Scalar,
    Varied,
};

/// A key with its value.
pub type Typed = Option<Spanned<Scalar>>;

/// Limits by the names of figures.
pub type Limits = BTreeMap<Spanned<String>, Spanned<Scalar>>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSuite {
    /// Read before everything else, from the untyped table.
    #[serde(rename = "format")]
    pub _format: Spanned<Scalar>,
    pub name: Typed,
    pub seed: Typed,
    pub side_by_side: Typed,
    #[serde(default)]
    pub needs: RawNeeds,
    #[serde(default)]
    pub targets: Limits,
    #[serde(default)]
    pub better_than_toy: Limits,
    #[serde(default)]
    pub part: Vec<RawPart>,
}

/// `[needs]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNeeds {
    pub cells: Typed,
    pub emu_lossless: Typed,
    pub sim_lossy: Typed,
    pub emu_lossy: Typed,
    pub chromium: Typed,
}

/// `[[part]]`: how often, and the grid of an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPart {
    pub name: Typed,
    pub sim_loads: Typed,
    pub emu_loads: Typed,
    pub coalesced_loads: Typed,
    pub chromium_loads: Typed,
    pub nuisance: Varied,
    pub traffic: Varied,
    pub dns: Varied,
    pub route: Varied,
    pub proxy_rtt: Varied,
    pub proxy_rate: Varied,
    #[serde(default)]
    pub page: RawPage,
    #[serde(default)]
    pub network: RawNetwork,
    #[serde(default)]
    pub stack: RawStack,
    #[serde(default)]
    pub transport: RawTransport,
    #[serde(default)]
    pub client: RawClient,
    #[serde(default)]
    pub server: RawServer,
}

impl RawPart {
    /// What of it spans the grid; the world is not for a part to say.
    pub fn into_grid(self) -> RawGrid {
        let RawPart { nuisance, traffic, dns, route, proxy_rtt, proxy_rate, .. } = self;
        let RawPart { page, network, stack, transport, client, server, .. } = self;
        RawGrid {
            nuisance,
            world: None,
            release: None,
            record: None,
            clients: None,
            beside: None,
            start_spacing: None,
            traffic,
            dns,
            route,
            proxy_rtt,
            proxy_rate,
            page,
            journey: RawJourney::default(),
            network,
            stack,
            transport,
            client,
            server,
        }
    }
}
