//! Pages and networks, read once for all the journeys that use them.

use std::sync::Arc;

use net::Network;

use super::networks::Networks;
use super::ready::{Contents, Pages, Ready};
use scenario::experiment::{Catalogue, Refusal};
use scenario::{NetworkSpec, Scenario};

/// Resources that scenarios name. Prepared pages and networks are kept from journey to journey; nothing else is.
#[derive(Default)]
pub struct Library {
    pages: Pages,
    networks: Networks,
}

impl Library {
    /// Checks that a scenario can be run, and prepares its page.
    ///
    /// # Errors
    /// An unknown page, network, device or browser, with the likely intended name.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), Refusal> {
        self.page(&scenario.page.spec)?;
        self.ready(scenario).map_err(|message| Refusal { message, hint: None })?;
        Catalogue::network(self, &scenario.network)?;
        self.device(&scenario.client.device)?;
        self.browser(&scenario.client.browser)?;
        if let Some(priorities) = &scenario.priorities {
            self.priorities(&priorities.name)?;
        }
        let refuse = |message: String| Refusal { message, hint: None };
        let priorities = super::serving::priorities(scenario).map_err(refuse)?;
        let contradiction = priorities.and_then(|it| super::serving::contradiction(scenario, &it));
        contradiction.map_or(Ok(()), |message| Err(refuse(message.to_owned())))?;
        self.check_proxies(scenario).map_err(refuse)?;
        self.check_pep(scenario).map_err(refuse)
    }

    fn check_proxies(&self, scenario: &Scenario) -> Result<(), String> {
        if !scenario.route.has_proxy() {
            return Ok(());
        }
        let ready = self.ready(scenario)?;
        ready.arms(scenario)?;
        if let Some(surveyed) = ready.pac(scenario)? {
            surveyed.check(scenario)?;
        }
        super::route::check(scenario, &self.network_of(scenario)?)
    }

    fn check_pep(&self, scenario: &Scenario) -> Result<(), String> {
        if !scenario.route.has_pep() {
            return Ok(());
        }
        let (page, network) = (self.page_of(scenario)?, self.network_of(scenario)?);
        super::pep::check(scenario, &page, &network)
    }

    /// The network of a scenario, as simulated and emulated.
    ///
    /// # Errors
    /// If there is none of that name, or its description cannot be read.
    pub fn network_of(&self, scenario: &Scenario) -> Result<Network, String> {
        let network = self.open_network(&scenario.network).map_err(|error| error.to_string())?;
        Ok(super::varied((*network).clone(), scenario.nuisance))
    }

    /// The page of a scenario, read once; for a list all its pages together, as seen by their servers.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn page_of(&self, scenario: &Scenario) -> Result<Arc<page::Page>, String> {
        Ok(Arc::clone(&self.ready(scenario)?.page))
    }

    /// The page of one visit of the scenario: for a list, the one of this name.
    ///
    /// # Errors
    /// If it cannot be opened, or the list has no such page.
    pub fn visited(
        &self,
        scenario: &Scenario,
        name: Option<&str>,
    ) -> Result<Arc<page::Page>, String> {
        let (ready, spec) = (self.ready(scenario)?, &scenario.page.spec);
        let member = ready.member(name);
        let member =
            member.ok_or_else(|| format!("{spec} has no page `{}`", name.unwrap_or("")))?;
        Ok(Arc::clone(&member.page))
    }

    pub(crate) fn ready(&self, scenario: &Scenario) -> Result<Arc<Ready>, String> {
        let ready = self.pages.open(&scenario.page.spec, Contents::of(scenario))?;
        match ready.names().eq(scenario.page.pages.iter().map(String::as_str)) {
            true => Ok(ready),
            false => Err(format!(
                "{}: the list has other pages than when the journey was planned; run the experiment anew",
                scenario.page.spec
            )),
        }
    }

    pub(super) fn open_page(&self, spec: &str) -> Result<Arc<Ready>, String> {
        self.pages.open(spec, Contents::Any)
    }

    pub(super) fn open_network(&self, spec: &NetworkSpec) -> Result<Arc<Network>, net::SpecError> {
        self.networks.open(spec)
    }
}
