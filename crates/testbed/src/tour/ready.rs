//! Prepared pages, shared by all the journeys that load them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use browser::{
    HostStack, LoadPlan, Policy, Proxy, ProxyMode, RequestHeaders, RequestSettings, TunnelProtocol,
    Typical,
};
use http_stack::alt_svc::{AltSvc, Alternative};
use http_stack::spdy::Version;
use page::{List, Page, PageHost, Union};
use proxy::SiteReplies;
use tls::Security;

use super::pac::{self, PacInputs, Surveyed, Surveys};
use super::route;
use scenario::{
    H3Discovery, OriginAddresses, Program, Protocol, RequestHeaderMode, Scenario, Sight, Tls,
};

/// Port of servers in clear text.
const CLEAR_PORT: u16 = 80;
/// Port of servers with TLS, over TCP and QUIC.
const SECURE_PORT: u16 = 443;
/// First of the ports that URLs are unlikely to name.
pub(super) const OTHER_PORTS: u16 = 10_000;

/// Prepared pages of a journey, with everything that does not depend on the scenario.
pub(crate) struct Ready {
    /// Content of its servers: the page, or all pages of a list together.
    pub(crate) page: Arc<Page>,
    /// The page, or those of the list in order.
    members: Vec<JourneyPage>,
    site: Arc<SiteReplies>,
    /// The same site with replies that advertise HTTP/3, built on first use.
    advertising: OnceLock<Arc<SiteReplies>>,
    /// The same site with replies that carry caching headers, built on first use.
    for_caches: OnceLock<Arc<SiteReplies>>,
    /// The same for a compressing proxy, built on first use.
    for_compression: OnceLock<Arc<SiteReplies>>,
    /// Least bytes to which such a proxy compresses each of the servers' objects, found on first use.
    least_compressed: OnceLock<Vec<Option<u64>>>,
    surveys: Surveys,
    pub(crate) notes: Vec<String>,
    /// Digest of the files that it was read from; `None` if there are none.
    pub(super) digest: Option<String>,
}

/// One page of a journey.
pub(crate) struct JourneyPage {
    /// Name in the list; `None` for the only page.
    pub(crate) name: Option<String>,
    pub(crate) page: Arc<Page>,
    /// Indices of its hosts among the servers'.
    hosts: Vec<usize>,
    /// Indices of its objects among the servers'.
    pub(crate) objects: Vec<usize>,
    /// The page as loaded by clients, one plan for each set of arms used so far.
    load_plans: Mutex<Vec<Arc<LoadPlan>>>,
}

/// Contents of a page's bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Contents {
    /// Arbitrary: farlink's own loader uses the page's graph.
    Any,
    /// Contents that reference the page's objects: for a real browser, or a proxy that parses pages.
    Readable,
}

impl Contents {
    /// Contents that a scenario needs.
    pub(super) fn of(scenario: &Scenario) -> Contents {
        match reads_pages(scenario) || scenario.client.program == Program::Chromium {
            true => Contents::Readable,
            false => Contents::Any,
        }
    }
}

/// True if a PEP parses the scenario's page.
pub(super) fn reads_pages(scenario: &Scenario) -> bool {
    let route = &scenario.route;
    route.has_pep() && route.pep.sight(scenario) == Sight::Requests
}

/// A page as visited by a scenario's clients.
#[derive(Clone)]
pub(crate) struct Visitable {
    /// Name in the list; `None` for the only page.
    pub(crate) name: Option<String>,
    pub(crate) plan: Arc<LoadPlan>,
}

/// Pages that are kept prepared: a campaign over thousands reads each when its turn comes.
const MOST_PREPARED: usize = 64;

/// Pages, keyed by the names that scenarios give them and by their contents. Those in use last are kept.
#[derive(Default)]
pub(super) struct PreparedPages(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    pages: BTreeMap<(String, Contents), KeptPage>,
    uses: u64,
}

/// A page that is prepared, or being prepared by one worker while others wait for it.
type Slot = Arc<OnceLock<Result<Arc<Ready>, String>>>;

struct KeptPage {
    slot: Slot,
    /// Number of its last use; `None` if it is not from a file and stays.
    used: Option<u64>,
}

impl Kept {
    /// The slot of a page; the least used of too many is dropped.
    fn slot(&mut self, key: (String, Contents)) -> Slot {
        self.uses += 1;
        let used = Some(self.uses);
        let fresh = || KeptPage { slot: Slot::default(), used };
        let kept = self.pages.entry(key).or_insert_with(fresh);
        kept.used = kept.used.and(used);
        let slot = Arc::clone(&kept.slot);
        if self.pages.len() > MOST_PREPARED {
            let used = self.pages.iter().filter_map(|(key, kept)| Some((kept.used?, key)));
            if let Some(key) = used.min().map(|(_, key)| key.clone()) {
                self.pages.remove(&key);
            }
        }
        slot
    }
}

impl PreparedPages {
    /// The page or list that `spec` names, with such contents: readable ones are generated.
    pub(super) fn open(&self, spec: &str, contents: Contents) -> Result<Arc<Ready>, String> {
        let slot = self.kept().slot((spec.to_owned(), contents));
        slot.get_or_init(|| prepare(spec, contents).map(Arc::new)).clone()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes `spec` the name of this page.
    pub(super) fn insert(&self, spec: &str, page: Page) -> Result<(), String> {
        LoadPlan::check(&page)?;
        let slot = Arc::new(OnceLock::from(Ok(Arc::new(Ready::of_anything(page)))));
        let kept = KeptPage { slot, used: None };
        self.kept().pages.insert((spec.to_owned(), Contents::Any), kept);
        Ok(())
    }
}

fn prepare(spec: &str, contents: Contents) -> Result<Ready, String> {
    let mut ready = match (page::is_list(spec), contents) {
        (true, Contents::Any) => Ready::of_list(spec)?,
        (true, Contents::Readable) => {
            return Err(format!(
                "{spec}: pages of a list cannot be made readable: load one page, or by a client and a route that go by its graph"
            ));
        }
        (false, Contents::Any) => Ready::of_anything(open(spec)?),
        (false, Contents::Readable) => Ready::readable(&open(spec)?)?,
    };
    ready.digest = super::library::page_ref(spec).digest;
    for member in &ready.members {
        LoadPlan::check(&member.page)?;
    }
    Ok(ready)
}

fn open(spec: &str) -> Result<Page, String> {
    let page = crate::fit::open(spec).map_err(|error| error.to_string())?;
    page.check()?;
    Ok(page)
}

/// Notes on entries of a recording that are not loaded, with the reasons.
fn page_notes(page: &Page) -> Vec<String> {
    let skipped = page.skipped.len();
    let entries = page.objects.len() + skipped;
    let reasons = page.summary().skipped;
    let reasons: Vec<String> = reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    match skipped {
        0 => Vec::new(),
        _ => vec![format!(
            "{}: {skipped} of {entries} recorded entries are not loaded: {} (`farlink pages show` names them)",
            page.name,
            reasons.join("; ")
        )],
    }
}

impl Ready {
    fn of_anything(page: Page) -> Ready {
        let (site, notes) = (Arc::new(SiteReplies::new(&page)), page_notes(&page));
        Ready::of_one(page, site, notes)
    }

    fn readable(page: &Page) -> Result<Ready, String> {
        let browsable = page::browsable(page).map_err(|error| error.to_string())?;
        let own = browsable.notes.iter().map(|note| format!("{}: {note}", page.name));
        let notes = page_notes(page).into_iter().chain(own).collect();
        let site = Arc::new(SiteReplies::browsable(&browsable));
        // A browser has a cache of its own: caching headers are needed in any case.
        let for_caches = OnceLock::from(Arc::clone(&site));
        Ok(Ready { for_caches, ..Ready::of_one(browsable.page, site, notes) })
    }

    fn of_one(page: Page, site: Arc<SiteReplies>, notes: Vec<String>) -> Ready {
        let page = Arc::new(page);
        let member = JourneyPage {
            name: None,
            hosts: (0..page.hosts.len()).collect(),
            objects: (0..page.objects.len()).collect(),
            page: Arc::clone(&page),
            load_plans: Mutex::default(),
        };
        Ready::new(page, vec![member], site, notes)
    }

    fn of_list(spec: &str) -> Result<Ready, String> {
        let list = List::open(spec).map_err(|error| error.to_string())?;
        let opened = list.pages.iter().map(|listed| {
            open(&listed.spec).map_err(|error| format!("{spec}: page `{}`: {error}", listed.name))
        });
        let Union { whole, members, notes } = Union::of(spec, opened.collect::<Result<_, _>>()?);
        let members = list.pages.into_iter().zip(members);
        let members = members.map(|(listed, member)| JourneyPage {
            name: Some(listed.name),
            page: Arc::new(member.page),
            hosts: member.hosts,
            objects: member.objects,
            load_plans: Mutex::default(),
        });
        let members: Vec<JourneyPage> = members.collect();
        let cautions = |page: &Page| -> Vec<String> {
            page.cautions.iter().map(|caution| format!("{}: {caution}", page.name)).collect()
        };
        let skipped = members
            .iter()
            .flat_map(|member| cautions(&member.page).into_iter().chain(page_notes(&member.page)));
        let notes = skipped.chain(notes).collect();
        let site = Arc::new(SiteReplies::new(&whole));
        Ok(Ready::new(Arc::new(whole), members, site, notes))
    }

    fn new(
        page: Arc<Page>,
        members: Vec<JourneyPage>,
        site: Arc<SiteReplies>,
        notes: Vec<String>,
    ) -> Ready {
        Ready {
            page,
            members,
            site,
            advertising: OnceLock::new(),
            for_caches: OnceLock::new(),
            for_compression: OnceLock::new(),
            least_compressed: OnceLock::new(),
            surveys: Surveys::default(),
            notes,
            digest: None,
        }
    }

    /// The page, or those of the list in order.
    pub(crate) fn members(&self) -> &[JourneyPage] {
        &self.members
    }

    /// The page of this name in the list; the only one if there is no list.
    pub(crate) fn member(&self, name: Option<&str>) -> Option<&JourneyPage> {
        self.members.iter().find(|member| member.name.as_deref() == name)
    }

    /// Names of the pages in a list; nothing for a single page.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|member| member.name.as_deref())
    }

    /// A note on objects that are loaded in clear text though the scenario has TLS.
    pub(super) fn clear_note(&self, scenario: &Scenario) -> Option<String> {
        let page = &self.page;
        let secured = scenario.stack.tls != Tls::None && !scenario.route.asks_proxy();
        let clear = page.objects.iter().filter(|object| page.host_of(object).in_clear).count();
        let of = page.objects.len();
        (secured && clear > 0).then(|| {
            format!("{}: {clear} of {of} objects are http: and loaded in clear", page.name)
        })
    }

    /// Responses of this scenario's servers.
    pub(crate) fn site(&self, scenario: &Scenario) -> Arc<SiteReplies> {
        if scenario.route.compresses() {
            let site = || Arc::new(SiteReplies::for_compression(&self.page));
            return Arc::clone(self.for_compression.get_or_init(site));
        }
        if scenario.route.has_cache() {
            let site = || Arc::new(SiteReplies::for_caches(&self.page));
            return Arc::clone(self.for_caches.get_or_init(site));
        }
        if scenario.discovery.h3 != H3Discovery::AltSvc {
            return Arc::clone(&self.site);
        }
        let alternatives = AltSvc::Services(vec![Alternative::h3(SECURE_PORT)]);
        let site = || Arc::new(SiteReplies::advertising(&self.page, &alternatives));
        Arc::clone(self.advertising.get_or_init(site))
    }

    /// Lower bounds of the bytes to which the scenario's proxies compress each of the servers' objects; `None` if they compress nothing.
    pub(super) fn least_compressed(&self, scenario: &Scenario) -> Option<&[Option<u64>]> {
        let find = || SiteReplies::least_compressed_bytes(&self.page);
        scenario.route.compresses().then(|| &self.least_compressed.get_or_init(find)[..])
    }

    /// The pages as visited by this scenario's clients.
    ///
    /// # Errors
    /// If its priorities cannot be read, or its browser is unknown.
    pub(crate) fn visitable(&self, scenario: &Scenario) -> Result<Vec<Visitable>, String> {
        let arms = self.arms(scenario)?;
        let priorities = super::protocols::priorities(scenario)?;
        let policy = Policy::named(&scenario.client.browser).map_err(|error| error.to_string())?;
        let images_by_parser = policy.images_by_parser;
        let asking = RequestSettings {
            heads: heads(scenario),
            priorities,
            images_by_parser,
            accepts_new_codings: scenario.route.compresses(),
        };
        let visitable = |member: &JourneyPage| Visitable {
            name: member.name.clone(),
            plan: member.load_plan(&arms, &asking),
        };
        Ok(self.members.iter().map(visitable).collect())
    }

    /// The page of a scenario with a single page, as loaded by its client.
    ///
    /// # Errors
    /// If its priorities cannot be read, or its browser is unknown.
    pub(crate) fn load_plan(&self, scenario: &Scenario) -> Result<Arc<LoadPlan>, String> {
        Ok(self.visitable(scenario)?.remove(0).plan)
    }

    /// Arms of the clients' requests to each host.
    ///
    /// # Errors
    /// If the scenario's browser is unknown, or its PAC file gives no answer.
    pub(crate) fn arms(&self, scenario: &Scenario) -> Result<Arms, String> {
        let surveyed = self.pac(scenario)?;
        let usual = self.arms_by(scenario, route::way(scenario, surveyed.as_deref())?);
        let goes_past = surveyed.is_some_and(|surveyed| surveyed.goes_past);
        let past = goes_past.then(|| {
            let mut past = self.arms_by(scenario, ProxyMode::Direct);
            if scenario.route.asks_proxy() {
                let machines = super::machines(&self.page, scenario.origin_addresses);
                let last = scenario.route.tiers().pop();
                let asks_once = last.is_some_and(|it| !it.keeps_alive(scenario.stack.protocol));
                let are_alike = scenario.keep_alive.is_usual() && !asks_once;
                pac::make_way(&mut past, &usual, &machines, are_alike);
            }
            past
        });
        Ok(Arms { usual, past })
    }

    fn arms_by(&self, scenario: &Scenario, way: ProxyMode) -> Vec<HostStack> {
        let hosts = self.page.hosts.iter();
        let mut arms: Vec<HostStack> = hosts.map(|host| arm(scenario, host, way)).collect();
        give_ports(&mut arms, &self.page, scenario.origin_addresses);
        arms
    }

    /// The PAC file of this scenario's clients, if there is one, with the proxies that it names for this page.
    ///
    /// # Errors
    /// If it gives no answer for one of the page's objects.
    pub(crate) fn pac(&self, scenario: &Scenario) -> Result<Option<Arc<Surveyed>>, String> {
        self.surveys.of(scenario, || {
            let arms = self.arms_by(scenario, route::untold_way(scenario));
            let objects = self.page.objects.iter();
            let urls = objects.map(|object| {
                let host = self.page.host_of(object);
                (arms[object.host.0 as usize].url(host, object), host.name.clone())
            });
            let addresses = super::hosts(&self.page, scenario.origin_addresses).collect();
            PacInputs { urls: urls.collect(), addresses }
        })
    }
}

/// Arms of clients' requests to a page's hosts, in the page's order.
pub(crate) struct Arms {
    /// By the scenario's route.
    pub(crate) usual: Vec<HostStack>,
    /// Past the proxy, if a PAC file sends some requests there.
    pub(crate) past: Option<Vec<HostStack>>,
}

impl Arms {
    /// Arms of some of the hosts.
    fn of(&self, hosts: &[usize]) -> Arms {
        let of = |arms: &Vec<HostStack>| hosts.iter().map(|host| arms[*host]).collect();
        Arms { usual: of(&self.usual), past: self.past.as_ref().map(of) }
    }
}

impl JourneyPage {
    /// The page as loaded by clients that use these arms to the journey's hosts.
    fn load_plan(&self, arms: &Arms, asking: &RequestSettings) -> Arc<LoadPlan> {
        let Arms { usual, past } = arms.of(&self.hosts);
        let mut plans = self.load_plans.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |plan: &&Arc<LoadPlan>| {
            plan.arms() == usual && plan.past() == past.as_deref() && plan.manner() == asking
        };
        if let Some(plan) = plans.iter().find(is_it) {
            return Arc::clone(plan);
        }
        let plan = LoadPlan::asking(Arc::clone(&self.page), usual, asking.clone());
        let plan = Arc::new(plan.with_past(past));
        plans.push(Arc::clone(&plan));
        plan
    }
}

/// Arm of requests to `host`. `http:` origins of a page that is loaded over TLS are loaded in clear text, with
/// the protocol that browsers use there; but a proxy that takes requests for resources is used alike for all
/// hosts, and connects to them in clear text.
fn arm(scenario: &Scenario, host: &PageHost, way: ProxyMode) -> HostStack {
    let asks_proxy = matches!(way, ProxyMode::Through(Proxy { via: TunnelProtocol::Get, .. }));
    let in_clear = host.in_clear && !asks_proxy;
    let security = if in_clear { Security::None } else { super::protocols::security(scenario) };
    let usual = if asks_proxy || security == Security::None { CLEAR_PORT } else { SECURE_PORT };
    let protocol = match protocol(scenario.stack.protocol, host) {
        protocol @ (tls::Protocol::H10 | tls::Protocol::H1) => protocol,
        _ if in_clear => tls::Protocol::H1,
        protocol => protocol,
    };
    HostStack {
        protocol,
        pipelined: scenario.stack.protocol == Protocol::H1Pipelined,
        security,
        port: host.port.unwrap_or(usual),
        way,
        blocked: scenario.client.blocked_hosts.contains(&host.name),
    }
}

/// Assigns another port to the later of two distinct origins that would share a port of a machine (an `http:`
/// and an `https:` one if all is loaded in clear text).
fn give_ports(arms: &mut [HostStack], page: &Page, origin_addresses: OriginAddresses) {
    let (names, machines) = (page.machines(), super::machines(page, origin_addresses));
    let differ = |one: usize, other: usize| {
        names[one] == names[other] || page.hosts[one].in_clear != page.hosts[other].in_clear
    };
    let mut takers: BTreeMap<(usize, u16), Vec<usize>> = BTreeMap::new();
    for (host, arm) in arms.iter_mut().enumerate() {
        let own = std::iter::once(arm.port);
        let is_free = |port: &u16| {
            let takers = takers.get(&(machines[host], *port));
            takers.is_none_or(|takers| !takers.iter().any(|other| differ(*other, host)))
        };
        let mut ports = own.chain([SECURE_PORT]).chain(OTHER_PORTS..);
        arm.port = ports.find(is_free).unwrap_or(arm.port);
        takers.entry((machines[host], arm.port)).or_default().push(host);
    }
}

/// Contents of request headers. (An unknown browser is refused when the scenario is prepared.)
fn heads(scenario: &Scenario) -> RequestHeaders {
    match scenario.request_headers {
        // A PEP that answers for a host goes by its cookies, which a browser sends equally with every request.
        RequestHeaderMode::Sized if reads_pages(scenario) => RequestHeaders::Padded,
        RequestHeaderMode::Sized => RequestHeaders::Sized,
        RequestHeaderMode::Recorded => Typical::named(&scenario.client.browser)
            .map_or(RequestHeaders::Sized, RequestHeaders::Recorded),
    }
}

/// Protocol of a host. A recorded protocol without support here is replaced by the one that serves a page in
/// the same manner: multiplexed ones by HTTP/2, others by HTTP/1.1.
fn protocol(stack: Protocol, host: &PageHost) -> tls::Protocol {
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
