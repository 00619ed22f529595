//! A visit by Chromium: from navigation to the load event and the rest of the objects.

use std::time::Duration;

use http_stack::client::Protocol;
use page::Kind;
use record::Paint;
use serde_json::json;
use tls::Security;
use units::Time;

use super::event::{Event, RemoteObject};
use super::film::{self, Film, FilmFrame};
use super::pipe::Waited;
use super::request::{DevToolsRequest, MonotonicClock, Requests};
use super::tab::Tab;
use super::{BrowserContext, ChromiumError};
use crate::film::Milestones;
use crate::request::{UnmatchedObjects, VisitConnections};
use crate::tab::{FinalQueries, TabSettings};
use browser::{LoadPlan, Visited};

/// Settings of a visit.
#[derive(Clone, Debug)]
pub struct ChromiumSettings {
    /// Time on `CLOCK_MONOTONIC` at which the world began.
    pub began: Duration,
    /// Time limit: past it the visit ends as it stands.
    pub limit: Duration,
    /// Slowdown of the page's main thread (`--cpu 4x`).
    pub slowdown: f64,
    /// Appearance and pictures.
    pub look: Viewport,
}

/// Appearance and pictures of a visit.
#[derive(Clone, Copy, Debug)]
pub struct Viewport {
    /// The viewport's width and height in pixels.
    pub viewport: (u32, u32),
    /// True if a screenshot is taken at the end.
    pub screenshot: bool,
    /// True if the visit is filmed, which its Speed Index needs and which costs the browser time.
    pub film: bool,
}

impl Default for Viewport {
    /// WebPageTest's desktop viewport.
    fn default() -> Viewport {
        Viewport { viewport: (1366, 768), screenshot: true, film: false }
    }
}

/// A visit, with additional data that only a real browser has.
pub struct ChromiumVisit {
    /// The visit in the loader's format.
    pub visited: Visited,
    /// Paint times.
    pub paint: Paint,
    /// Objects of the page that were never requested, as indices.
    pub missing: Vec<usize>,
    /// Requests that are not the page's.
    pub unexpected: Vec<UnexpectedRequest>,
    /// Console output of page and browser: messages, exceptions, failed requests.
    pub console: Vec<Console>,
    /// The page at the end, PNG.
    pub screenshot: Option<Vec<u8>>,
    /// Filmstrip until then, if it was filmed.
    pub film: Vec<FilmFrame>,
}

/// A request that the page's graph does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedRequest {
    /// `GET`, ...
    pub method: String,
    /// The full URL.
    pub url: String,
    /// Outcome: a status, or the browser's error.
    pub outcome: String,
}

/// A line on the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// `error`, `warning`, `log`, ...; `exception` for an uncaught one.
    pub level: String,
    /// The message.
    pub text: String,
}

/// Time without events after the load event, in addition to the longest compute of the page, after which
/// unrequested objects are considered missing.
const QUIET: Duration = Duration::from_secs(2);

/// Time limit of one wait for an event while the page has not loaded.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Rejects pages that Chromium cannot load.
pub(super) fn check(plan: &LoadPlan) -> Result<(), ChromiumError> {
    let secure = plan.arms()[0].security != Security::None;
    for (host, arm) in plan.page().hosts.iter().zip(plan.arms()) {
        let reason = if matches!(arm.protocol, Protocol::Spdy(_)) {
            "it speaks SPDY no more since version 51; choose h1 or h2, or farlink's own loader"
        } else if arm.protocol == Protocol::H2 && arm.security == Security::None {
            "it speaks HTTP/2 over TLS only; choose tls12 or tls13"
        } else if (arm.security != Security::None) != secure {
            "it loads a page either over TLS or in clear text; give all hosts the same"
        } else {
            continue;
        };
        let host = host.name.clone();
        return Err(ChromiumError::Unsupported { host, reason: reason.to_owned() });
    }
    Ok(())
}

pub(super) fn visit(
    context: &mut BrowserContext<'_>,
    plan: &LoadPlan,
    settings: &ChromiumSettings,
) -> Result<ChromiumVisit, ChromiumError> {
    let mut tab = Tab::open(context, &tab_settings(plan, settings))?;
    let mut seen = VisitProgress::new(plan, &tab.frame);
    let alarm = tab.running.pipe.alarm(settings.limit);
    if settings.look.film {
        let film = json!({ "format": "png", "maxWidth": film::WIDTH, "everyNthFrame": 1 });
        tab.call("Page.startScreencast", film)?;
    }
    tab.send("Page.navigate", json!({ "url": plan.requests()[0].uri().to_string() }));
    seen.watch(&mut tab)?;
    drop(alarm);
    if settings.look.film {
        seen.watch_until_still(&mut tab)?;
    }
    if seen.milestones.loaded.is_none() {
        // A page that is still loading would not answer.
        tab.call("Page.stopLoading", json!({}))?;
    }
    let after = FinalQueries::ask(&mut tab, settings.look.screenshot)?;
    Ok(seen.account(plan, settings, after))
}

fn tab_settings(plan: &LoadPlan, settings: &ChromiumSettings) -> TabSettings {
    let hosts = plan.page().hosts.iter().zip(plan.arms()).filter(|(_, arm)| arm.blocked);
    TabSettings {
        viewport: settings.look.viewport,
        slowdown: settings.slowdown,
        blocked: hosts.map(|(host, _)| format!("*://{}/*", host.name)).collect(),
        kept_body_bytes: None,
    }
}

/// State of a visit, from the events so far.
struct VisitProgress {
    frame: String,
    /// The document's navigation, once it has begun.
    loader: Option<String>,
    requests: Requests,
    /// The page's object of each request, if it has one.
    objects: Vec<Option<usize>>,
    expected: UnmatchedObjects,
    milestones: Milestones,
    console: Vec<Console>,
    film: Film,
    /// The document's request, in seconds of the browser's clock and since 1970.
    dated: Option<(f64, f64)>,
    quiet: Duration,
}

impl VisitProgress {
    fn new(plan: &LoadPlan, frame: &str) -> VisitProgress {
        let edges = plan.page().objects.iter().flat_map(|object| &object.waits_for);
        let longest = edges.map(|edge| edge.compute.value).max().unwrap_or_default();
        VisitProgress {
            frame: frame.to_owned(),
            loader: None,
            requests: Requests::default(),
            objects: Vec::new(),
            expected: UnmatchedObjects::new(plan),
            milestones: Milestones::default(),
            console: Vec::new(),
            film: Film::default(),
            dated: None,
            quiet: QUIET + longest,
        }
    }

    /// Processes events until everything has arrived and been painted, or nothing more will come, or the alarm rings.
    fn watch(&mut self, tab: &mut Tab<'_>) -> Result<(), ChromiumError> {
        loop {
            let loaded = self.milestones.loaded.is_some();
            let complete = self.requests.in_flight == 0 && self.expected.left() == 0;
            if loaded && complete && self.milestones.is_painted() {
                return Ok(());
            }
            if self.has_no_document() {
                return Ok(());
            }
            match tab.next(if loaded { self.quiet } else { PATIENCE })? {
                Waited::Event(message) => self.note(tab, &Event::read(*message)?)?,
                Waited::Alarm => return Ok(()),
                Waited::Quiet if loaded && self.requests.in_flight == 0 => return Ok(()),
                Waited::Quiet => {}
            }
        }
    }

    /// Processes events until nothing changes any more.
    fn watch_until_still(&mut self, tab: &mut Tab<'_>) -> Result<(), ChromiumError> {
        while let Waited::Event(message) = tab.next(film::STILL)? {
            self.note(tab, &Event::read(*message)?)?;
        }
        tab.call("Page.stopScreencast", json!({}))?;
        Ok(())
    }

    fn note(&mut self, tab: &mut Tab<'_>, event: &Event) -> Result<(), ChromiumError> {
        self.requests.note(event);
        for request in &self.requests.all[self.objects.len()..] {
            self.objects.push(self.expected.take(&request.method, &request.url));
        }
        match event {
            Event::RequestWillBeSent(requested)
                if requested.request_id == requested.loader_id
                    && requested.frame_id.as_ref() == Some(&self.frame) =>
            {
                self.loader = Some(requested.loader_id.clone());
                self.dated = Some((requested.timestamp, requested.wall_time));
            }
            Event::LifecycleEvent(lifecycle)
                if Some(&lifecycle.loader_id) == self.loader.as_ref() =>
            {
                self.milestones.note(lifecycle);
            }
            Event::ScreencastFrame(frame) => {
                self.film.take(frame);
                tab.send("Page.screencastFrameAck", json!({ "sessionId": frame.session_id }));
            }
            Event::ConsoleCalled(said) => self.say(&said.level, texts(&said.args)),
            Event::ExceptionThrown(threw) => {
                let thrown = &threw.exception_details;
                let what = thrown.exception.as_ref().and_then(|e| e.description.as_deref());
                self.say("exception", format!("{} {}", thrown.text, what.unwrap_or_default()));
            }
            Event::EntryAdded(logged) => {
                let url = logged.entry.url.as_deref().unwrap_or_default();
                self.say(&logged.entry.level, format!("{} {url}", logged.entry.text));
            }
            Event::TargetCrashed => return Err(ChromiumError::Crashed),
            _ => {}
        }
        Ok(())
    }

    fn say(&mut self, level: &str, text: String) {
        self.console.push(Console { level: level.to_owned(), text: text.trim_end().to_owned() });
    }

    /// Returns true if the document, redirects included, has failed.
    fn has_no_document(&self) -> bool {
        self.document().is_some_and(|document| document.error.is_some())
    }

    /// The document's latest request.
    fn document(&self) -> Option<&DevToolsRequest> {
        self.requests.named(self.loader.as_ref()?)
    }

    fn account(
        mut self,
        plan: &LoadPlan,
        settings: &ChromiumSettings,
        after: FinalQueries,
    ) -> ChromiumVisit {
        let clock = MonotonicClock { began: settings.began };
        let requested = self.requests.all.first().map_or(after.asked, |first| first.discovered);
        // An error page in place of the document has its own start.
        let navigation = match self.milestones.loaded {
            Some(_) => after.navigation.unwrap_or(requested),
            None => requested,
        };
        let started = clock.time(navigation);
        let largest = after.largest_contentful_paint;
        let film = self.strip(navigation);
        let paint = Paint {
            speed_index_ns: film::speed_index(&film).map(|index| index.as_nanos() as u64),
            largest_contentful_paint_ns: largest.map(|span| span.as_nanos() as u64),
            ..self.milestones.paint(clock, navigation)
        };
        let visited = Visited {
            started,
            plt: self.outcome(plan, clock, started, settings.limit),
            ttfb: self.first_byte(plan, clock, started),
            objects: Vec::new(),
            connections: Vec::new(),
        };
        let mut visit = ChromiumVisit {
            visited,
            paint,
            missing: Vec::new(),
            unexpected: Vec::new(),
            console: self.console,
            screenshot: after.screenshot,
            film,
        };
        let connections = VisitConnections::new(after.locals);
        let requests = self.requests.all.iter().zip(&self.objects);
        visit.take_requests(requests, connections, plan, clock, after.asked);
        visit.missing = self.expected.missing().collect();
        visit
    }

    /// The film since navigation.
    fn strip(&mut self, navigation: f64) -> Vec<FilmFrame> {
        let film = std::mem::take(&mut self.film);
        let (Some((seconds, date)), Some(painted)) = (self.dated, self.milestones.first_paint)
        else {
            return Vec::new();
        };
        let first_paint = Duration::try_from_secs_f64(painted - navigation).unwrap_or_default();
        film.strip(date + (navigation - seconds), first_paint)
    }

    /// The time to the load event, or why there was none that counts.
    fn outcome(
        &self,
        plan: &LoadPlan,
        clock: MonotonicClock,
        started: Time,
        limit: Duration,
    ) -> Result<Duration, String> {
        if let Some(error) = self.document().and_then(|document| document.error.as_ref()) {
            return Err(format!("the document did not arrive: {error}"));
        }
        for (request, object) in self.requests.all.iter().zip(&self.objects) {
            let Some(object) = object else { continue };
            let wanted = plan.arm(*object).protocol.name();
            let spoken = request.protocol();
            if !["", "cache", wanted].contains(&spoken) {
                return Err(format!(
                    "{} was spoken where {wanted} was wanted: {}",
                    spoken, request.url
                ));
            }
        }
        let loaded = self
            .milestones
            .loaded
            .ok_or_else(|| format!("the page had not loaded after {limit:?}"))?;
        match self.unasked(plan) {
            Some(url) => Err(format!("the page loaded without having asked for {url}")),
            None => Ok(clock.time(loaded).since(started)),
        }
    }

    /// An object that the load event should have waited for and that was never requested, although nothing failed:
    /// then another page was loaded.
    fn unasked<'a>(&self, plan: &'a LoadPlan) -> Option<&'a str> {
        if self.requests.all.iter().any(|request| request.error.is_some()) {
            return None;
        }
        let mut missing = self.expected.missing();
        let blocking = missing.find(|object| plan.page().objects[*object].blocks_load)?;
        Some(&plan.page().objects[blocking].url)
    }

    /// The time to the first byte of the first response that is not a redirect.
    fn first_byte(
        &self,
        plan: &LoadPlan,
        clock: MonotonicClock,
        started: Time,
    ) -> Option<Duration> {
        let requests = self.requests.all.iter().zip(&self.objects);
        let mut answers = requests.filter(|(_, object)| {
            object.is_some_and(|object| plan.page().objects[object].kind != Kind::Redirect)
        });
        answers.find_map(|(request, _)| Some(clock.time(request.first_byte()?).since(started)))
    }
}

impl ChromiumVisit {
    /// Splits requests into objects, connections, and unexpected requests.
    fn take_requests<'a>(
        &mut self,
        requests: impl Iterator<Item = (&'a DevToolsRequest, &'a Option<usize>)>,
        mut connections: VisitConnections,
        plan: &LoadPlan,
        clock: MonotonicClock,
        end: f64,
    ) {
        for (request, object) in requests {
            let Some(index) = *object else {
                self.unexpected.push(UnexpectedRequest::from(request));
                continue;
            };
            let object = &plan.page().objects[index];
            let host = &plan.page().host_of(object).name;
            let mut record = request.record(index, object, clock, end);
            let arm = plan.arm_from(index, request.answered_by());
            record.connection = connections.count(request, host, arm, clock);
            self.visited.objects.push(record);
        }
        self.visited.objects.sort_by_key(|record| record.object);
        self.visited.connections = connections.used;
    }
}

impl From<&DevToolsRequest> for UnexpectedRequest {
    fn from(request: &DevToolsRequest) -> UnexpectedRequest {
        let status = request.response.as_ref().map(|response| response.status.to_string());
        let failure = request.error.clone().or(status);
        UnexpectedRequest {
            method: request.method.clone(),
            url: request.url.clone(),
            outcome: failure.unwrap_or_else(|| "unanswered".to_owned()),
        }
    }
}

fn texts(arguments: &[RemoteObject]) -> String {
    let text = |argument: &RemoteObject| match (&argument.value, &argument.description) {
        (Some(serde_json::Value::String(text)), _) => text.clone(),
        (_, Some(description)) => description.clone(),
        (Some(value), None) => value.to_string(),
        (None, None) => String::new(),
    };
    arguments.iter().map(text).collect::<Vec<_>>().join(" ")
}
