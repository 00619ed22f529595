//! A recording of any page: everything that the browser reports of a load, bodies included.
//!
//! The browser loads the page over its own connections, so that times and protocols are those of any visitor. Bodies are
//! fetched from the browser once the page is still, so that fetching them delays nothing.
//!
//! Limits of DevTools: bodies come without their content coding, header fields in alphabetical order.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::{
    Exchange, ExchangePhases, Fields, RecordedCertificate, RecordedLoad, RecordedRequest,
    RecordedResponse,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::event::{Event, ProtocolFields, ProtocolResponse};
use crate::film::Milestones;
use crate::pipe::Waited;
use crate::request::{DevToolsRequest, MonotonicClock, Requests};
use crate::tab::{FinalQueries, Tab, TabSettings};
use crate::{BrowserContext, ChromiumError};

/// Settings of a recording.
#[derive(Clone, Copy, Debug)]
pub struct CaptureSettings {
    /// Time limit: past it the recording ends as it stands.
    pub limit: Duration,
    /// Time without requests after the load event, after which the page is taken for complete.
    pub quiet: Duration,
    /// The viewport's width and height in pixels.
    pub viewport: (u32, u32),
}

/// Time from the load event to the end of the recording of a page that never rests, in spans of `quiet`.
const LONGEST_REST: u32 = 5;

/// Bytes of bodies that the browser keeps until they are fetched.
const KEPT_BODY_BYTES: u64 = 512 << 20;

pub(super) fn capture(
    context: &mut BrowserContext<'_>,
    url: &str,
    settings: &CaptureSettings,
) -> Result<RecordedLoad, ChromiumError> {
    let tab_settings = TabSettings {
        viewport: settings.viewport,
        slowdown: 1.0,
        blocked: Vec::new(),
        kept_body_bytes: Some(KEPT_BODY_BYTES),
    };
    let mut tab = Tab::open(context, &tab_settings)?;
    // A service worker's requests are another session's.
    tab.call("Network.setBypassServiceWorker", json!({ "bypass": true }))?;
    let mut seen = CaptureProgress::new(&tab.frame);
    // The answer comes with the response; an invalid URL is refused at once, and never requested.
    tab.send("Page.navigate", json!({ "url": url }));
    seen.watch(&mut tab, settings)?;
    if let Some(problem) = seen.problem(settings) {
        return Err(ChromiumError::NoDocument { url: url.to_owned(), problem });
    }
    if seen.milestones.loaded.is_none() {
        // A page that is still loading would not answer.
        tab.call("Page.stopLoading", json!({}))?;
    }
    let after = FinalQueries::ask(&mut tab, false)?;
    let title = title(&mut tab)?;
    let bodies = bodies(&mut tab, &seen.requests)?;
    let certificates = certificates(&mut tab, &seen.requests)?;
    let browser = tab.running.version().to_owned();
    let url = url.to_owned();
    Ok(RecordedLoad { url, browser, title, certificates, ..seen.load(&after, bodies) })
}

/// State of a recording, from the events so far.
struct CaptureProgress {
    frame: String,
    /// The document's navigation, once it has begun.
    loader: Option<String>,
    requests: Requests,
    milestones: Milestones,
    /// The document's request, in seconds of the browser's clock and since 1970.
    dated: Option<(f64, f64)>,
}

impl CaptureProgress {
    fn new(frame: &str) -> CaptureProgress {
        CaptureProgress {
            frame: frame.to_owned(),
            loader: None,
            requests: Requests::default(),
            milestones: Milestones::default(),
            dated: None,
        }
    }

    /// Processes events until the page has loaded and been quiet for a while, or a time limit is over.
    fn watch(
        &mut self,
        tab: &mut Tab<'_>,
        settings: &CaptureSettings,
    ) -> Result<(), ChromiumError> {
        let mut alarm = Some(tab.running.pipe.alarm(settings.limit));
        let mut was_loaded = false;
        loop {
            if self.milestones.loaded.is_some() && !was_loaded {
                was_loaded = true;
                drop(alarm.take());
                alarm = Some(tab.running.pipe.alarm(settings.quiet * LONGEST_REST));
            }
            if self.document().is_some_and(|document| document.error.is_some()) {
                return Ok(());
            }
            match tab.next(settings.quiet)? {
                Waited::Event(message) => self.note(tab, &Event::read(*message)?)?,
                Waited::Alarm => return Ok(()),
                Waited::Quiet => {
                    if self.milestones.loaded.is_some() && self.requests.in_flight == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn note(&mut self, tab: &mut Tab<'_>, event: &Event) -> Result<(), ChromiumError> {
        self.requests.note(event);
        match event {
            Event::RequestWillBeSent(requested)
                if requested.request_id == requested.loader_id
                    && requested.frame_id.as_ref() == Some(&self.frame)
                    && self.loader.is_none() =>
            {
                self.loader = Some(requested.loader_id.clone());
                self.dated = Some((requested.timestamp, requested.wall_time));
            }
            Event::LifecycleEvent(lifecycle)
                if Some(&lifecycle.loader_id) == self.loader.as_ref() =>
            {
                self.milestones.note(lifecycle);
            }
            Event::DialogOpening => {
                tab.send("Page.handleJavaScriptDialog", json!({ "accept": false }));
            }
            Event::TargetCrashed => return Err(ChromiumError::Crashed),
            _ => {}
        }
        Ok(())
    }

    /// The document's latest request.
    fn document(&self) -> Option<&DevToolsRequest> {
        self.requests.named(self.loader.as_ref()?)
    }

    /// The reason why there is no document, if there is none.
    fn problem(&self, settings: &CaptureSettings) -> Option<String> {
        match self.document() {
            None => Some("the browser did not navigate there".to_owned()),
            Some(DevToolsRequest { error: Some(error), .. }) => Some(error.clone()),
            Some(DevToolsRequest { response: None, .. }) => {
                Some(format!("no response within {} s", settings.limit.as_secs()))
            }
            Some(_) => None,
        }
    }

    /// The recording, without what the page as a whole tells.
    fn load(&self, after: &FinalQueries, mut bodies: BTreeMap<String, Vec<u8>>) -> RecordedLoad {
        let (requested, wall) = self.dated.unwrap_or_default();
        let navigation = after.navigation.filter(|start| *start <= requested).unwrap_or(requested);
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let clock = MonotonicClock { began: seconds(navigation) };
        let paint = self.milestones.paint(clock, navigation);
        let nanos = |nanos: Option<u64>| nanos.map(Duration::from_nanos);
        let exchange = |request: &DevToolsRequest| {
            // A redirected request has the id of its successor, whose body it is.
            let id = &request.detail.id;
            let is_last = self.requests.named(id).is_some_and(|last| std::ptr::eq(last, request));
            let body = if is_last { bodies.remove(id) } else { Some(Vec::new()) };
            exchange(request, clock, after.asked, body)
        };
        RecordedLoad {
            began: seconds(wall - (requested - navigation)),
            content_loaded: nanos(paint.dom_content_loaded_ns),
            loaded: self.milestones.loaded.map(|at| seconds(at - navigation)),
            first_contentful_paint: nanos(paint.first_contentful_paint_ns),
            largest_contentful_paint: after.largest_contentful_paint,
            exchanges: self.requests.all.iter().map(exchange).collect(),
            ..RecordedLoad::default()
        }
    }
}

/// The exchange of a request; `end` is the recording's end, for one that did not end.
fn exchange(
    request: &DevToolsRequest,
    clock: MonotonicClock,
    end: f64,
    body: Option<Vec<u8>>,
) -> Exchange {
    let detail = &request.detail;
    let ended = request.ended.unwrap_or(end).max(request.discovered);
    let phases = request.phases(clock, ended);
    let span = |nanos: u64| Duration::from_nanos(nanos);
    let optional = |nanos: u64| (nanos > 0).then_some(span(nanos));
    let url = request.url.split('#').next().unwrap_or_default();
    let unfinished =
        request.ended.is_none().then(|| "the recording ended before it did".to_owned());
    Exchange {
        request: RecordedRequest {
            method: request.method.clone(),
            url: url.to_owned(),
            fields: fields(&detail.request_fields),
            body: detail.request_body.clone(),
        },
        response: request.response.as_ref().map(|response| self::response(request, response, body)),
        started: span(clock.time(request.discovered).as_nanos()),
        phases: ExchangePhases {
            blocked: span(phases.blocked_ns),
            dns: optional(phases.dns_ns),
            connect: optional(phases.connect_ns),
            tls: optional(phases.tls_ns),
            send: span(phases.send_ns),
            wait: span(phases.wait_ns),
            receive: span(phases.receive_ns),
        },
        resource_type: detail.resource_type.clone(),
        priority: request.priority.clone(),
        initiator: detail.initiator.clone(),
        connection: request.connection(),
        from_cache: request.is_cached(),
        error: request.error.clone().or(unfinished),
    }
}

fn response(
    request: &DevToolsRequest,
    response: &ProtocolResponse,
    body: Option<Vec<u8>>,
) -> RecordedResponse {
    let received = request.detail.response_fields.as_ref().unwrap_or(&response.headers);
    let protocol = if request.is_cached() { None } else { response.protocol.clone() };
    let head = response.encoded_data_length as u64;
    RecordedResponse {
        status: response.status,
        reason: response.status_text.clone(),
        protocol: protocol.unwrap_or_default(),
        fields: fields(received),
        media_type: response.mime_type.clone(),
        body,
        head_bytes: (head > 0).then_some(head),
        transferred_bytes: if request.is_cached() { 0 } else { request.wire_bytes },
        server: request.answered_by().map(|address| address.to_string()),
    }
}

/// Fields with one value each.
fn fields(fields: &ProtocolFields) -> Fields {
    let values = fields.iter().flat_map(|(name, values)| {
        values.split('\n').map(move |value| (name.clone(), value.to_owned()))
    });
    values.filter(|(name, _)| !name.starts_with(':')).collect()
}

/// Bodies of all responses, by their request's id. The browser lacks those that it did not keep.
fn bodies(
    tab: &mut Tab<'_>,
    requests: &Requests,
) -> Result<BTreeMap<String, Vec<u8>>, ChromiumError> {
    const METHOD: &str = "Network.getResponseBody";
    let mut bodies = BTreeMap::new();
    let answered = requests.all.iter().filter(|request| request.response.is_some());
    for request in answered {
        let id = &request.detail.id;
        if bodies.contains_key(id) {
            continue;
        }
        let answer = match tab.call(METHOD, json!({ "requestId": id })) {
            Ok(answer) => answer,
            Err(ChromiumError::Refused { .. }) => continue,
            Err(error) => return Err(error),
        };
        let text = answer["body"].as_str().unwrap_or_default();
        let body = match answer["base64Encoded"].as_bool() {
            Some(true) => STANDARD.decode(text).map_err(|error| ChromiumError::NotUnderstood {
                method: METHOD.to_owned(),
                problem: error.to_string(),
            })?,
            _ => text.as_bytes().to_vec(),
        };
        bodies.insert(id.clone(), body);
    }
    Ok(bodies)
}

/// Certificates of all hosts reached over TLS.
fn certificates(
    tab: &mut Tab<'_>,
    requests: &Requests,
) -> Result<Vec<RecordedCertificate>, ChromiumError> {
    let mut certificates: Vec<RecordedCertificate> = Vec::new();
    for request in &requests.all {
        let place = request.url.strip_prefix("https://");
        let host = place.and_then(|place| place.split(['/', '?', '#']).next());
        let details = request.response.as_ref().and_then(|it| it.security_details.as_ref());
        let (Some(host), Some(details)) = (host, details) else { continue };
        if certificates.iter().any(|known| known.host == host) {
            continue;
        }
        let asked = json!({ "origin": format!("https://{host}") });
        // DER as base64; an empty list if it is no longer known.
        let chain_bytes = match tab.call("Network.getCertificate", asked) {
            Ok(answer) => base64_bytes(&answer["tableNames"]),
            Err(ChromiumError::Refused { .. }) => 0,
            Err(error) => return Err(error),
        };
        let (host, names) = (host.to_owned(), details.san_list.clone());
        certificates.push(RecordedCertificate { host, names, chain_bytes });
    }
    Ok(certificates)
}

/// Bytes of a list of base64 texts.
fn base64_bytes(texts: &Value) -> u64 {
    let texts = texts.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.filter_map(|text| STANDARD.decode(text).ok()).map(|der| der.len() as u64).sum()
}

fn title(tab: &mut Tab<'_>) -> Result<String, ChromiumError> {
    let evaluate = json!({ "expression": "document.title", "returnByValue": true });
    let answer = tab.call("Runtime.evaluate", evaluate)?;
    Ok(answer["result"]["value"].as_str().unwrap_or_default().to_owned())
}
