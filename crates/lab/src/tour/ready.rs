//! Pages made ready once, for all the journeys that load them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use browser::{Arm, Asking, Heads, LoadPlan, Typical};
use http_stack::alt_svc::{AltSvc, Alternative};
use http_stack::spdy::Version;
use http_stack::tls::{self, Security};
use page::{Host, Page};
use proxy::Site;

use super::security;
use crate::scenario::{H3Discovery, Program, Protocol, RequestHeads, Scenario};

/// Where servers listen with TLS, over TCP and QUIC.
const SECURE_PORT: u16 = 443;

/// A page with everything that does not depend on the scenario.
pub(crate) struct Ready {
    pub(crate) page: Arc<Page>,
    site: Arc<Site>,
    /// The same, whose replies say that there is HTTP/3, once somebody has asked for it.
    advertising: OnceLock<Arc<Site>>,
    pub(crate) notes: Vec<String>,
    /// The page as clients load it, one for each way in which its hosts were spoken to so far.
    load_plans: Mutex<Vec<Arc<LoadPlan>>>,
}

/// Pages by the names that scenarios give them, and by who loads them.
#[derive(Default)]
pub(super) struct Pages(Mutex<BTreeMap<(String, Program), Arc<Ready>>>);

impl Pages {
    /// A page as `program` loads it: a real browser finds what it is to load in the bytes, so the page is made to have such.
    pub(super) fn open(&self, spec: &str, program: Program) -> Result<Arc<Ready>, String> {
        let key = (spec.to_owned(), program);
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = pages.get(&key) {
            return Ok(Arc::clone(ready));
        }
        let page = page::open(spec).map_err(|error| error.to_string())?;
        page.check()?;
        let ready = Arc::new(match program {
            Program::Loader => Ready::for_loader(page),
            Program::Chromium => Ready::for_chromium(&page)?,
        });
        LoadPlan::check(&ready.page)?;
        pages.insert(key, Arc::clone(&ready));
        Ok(ready)
    }
}

fn page_notes(page: &Page) -> Vec<String> {
    let skipped = page.skipped.len();
    let entries = page.objects.len() + skipped;
    match skipped {
        0 => Vec::new(),
        _ => vec![format!("{}: {skipped} of {entries} recorded entries are not loaded", page.name)],
    }
}

impl Ready {
    fn for_loader(page: Page) -> Ready {
        let (site, notes) = (Arc::new(Site::new(&page)), page_notes(&page));
        Ready::new(page, site, notes)
    }

    fn for_chromium(page: &Page) -> Result<Ready, String> {
        let browsable = page::browsable(page).map_err(|error| error.to_string())?;
        let own = browsable.notes.iter().map(|note| format!("{}: {note}", page.name));
        let notes = page_notes(page).into_iter().chain(own).collect();
        let site = Arc::new(Site::browsable(&browsable));
        Ok(Ready::new(browsable.page, site, notes))
    }

    fn new(page: Page, site: Arc<Site>, notes: Vec<String>) -> Ready {
        let (advertising, load_plans) = (OnceLock::new(), Mutex::default());
        Ready { page: Arc::new(page), site, advertising, notes, load_plans }
    }

    /// What this scenario's servers answer.
    pub(crate) fn site(&self, scenario: &Scenario) -> Arc<Site> {
        if scenario.discovery.h3 == H3Discovery::Straight {
            return Arc::clone(&self.site);
        }
        let alternatives = AltSvc::Services(vec![Alternative::h3(SECURE_PORT)]);
        let site = || Arc::new(Site::advertising(&self.page, &alternatives));
        Arc::clone(self.advertising.get_or_init(site))
    }

    /// The page as this scenario's client loads it.
    ///
    /// # Errors
    /// If its priorities cannot be read.
    pub(crate) fn load_plan(&self, scenario: &Scenario) -> Result<Arc<LoadPlan>, String> {
        let arms = self.arms(scenario);
        let priorities = super::serving::priorities(scenario)?;
        let asking = Asking { heads: heads(scenario), priorities };
        let mut plans = self.load_plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) =
            plans.iter().find(|plan| plan.arms() == arms && *plan.manner() == asking)
        {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(LoadPlan::asking(Arc::clone(&self.page), arms, asking));
        plans.push(Arc::clone(&plan));
        Ok(plan)
    }

    /// How each host is spoken to.
    fn arms(&self, scenario: &Scenario) -> Vec<Arm> {
        let security = security::security(scenario);
        let hosts = self.page.hosts.iter();
        hosts
            .map(|host| Arm {
                protocol: protocol(scenario.stack.protocol, host),
                pipelined: scenario.stack.protocol == Protocol::H1Pipelined,
                security,
                port: if security == Security::None { 80 } else { SECURE_PORT },
                blocked: scenario.client.blocked_hosts.contains(&host.name),
            })
            .collect()
    }
}

/// What fills requests' heads. (A browser that does not exist is refused when the scenario is prepared.)
fn heads(scenario: &Scenario) -> Heads {
    match scenario.request_heads {
        RequestHeads::Sized => Heads::Sized,
        RequestHeads::Recorded => {
            Typical::named(&scenario.client.browser).map_or(Heads::Sized, Heads::Recorded)
        }
    }
}

/// What a host is spoken to by. A recorded protocol that is not spoken here yet gives way to the one
/// that serves a page in the same manner: what multiplexes to HTTP/2, the rest to HTTP/1.1.
fn protocol(stack: Protocol, host: &Host) -> tls::Protocol {
    match (stack, host.recorded_protocol.as_deref()) {
        (Protocol::H10, _) => tls::Protocol::H10,
        (Protocol::Spdy, _) => tls::Protocol::Spdy(Version::V31),
        (Protocol::Spdy3, _) => tls::Protocol::Spdy(Version::V3),
        (Protocol::Spdy2, _) => tls::Protocol::Spdy(Version::V2),
        (Protocol::H3Deployed | Protocol::H3Matched, _) => tls::Protocol::H3,
        (Protocol::H2, _) | (Protocol::Recorded, Some("h2" | "h3" | "spdy")) => tls::Protocol::H2,
        (Protocol::H1 | Protocol::H1Pipelined, _) | (Protocol::Recorded, _) => tls::Protocol::H1,
    }
}
