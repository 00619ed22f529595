//! One page of the browser: opened in a fresh context, prepared, driven, queried at the end of its visit, closed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use archive::RecordedLoad;
use base64::Engine;
use browser::LoadPlan;
use serde_json::{Value, json};

use super::event::Event;
use super::pipe::Waited;
use super::visit::{self, ChromiumSettings, ChromiumVisit};
use super::{ChromiumError, Running};
use crate::capture::{self, CaptureSettings};

/// An open tab.
pub(super) struct Tab<'a> {
    pub(super) running: &'a mut Running,
    /// The target, which is also the main frame.
    pub(super) frame: String,
    session: String,
}

/// Settings of a tab.
pub(super) struct TabSettings {
    /// Width and height in pixels.
    pub(super) viewport: (u32, u32),
    /// Slowdown of the page's main thread.
    pub(super) slowdown: f64,
    /// Patterns of URLs that are not requested.
    pub(super) blocked: Vec<String>,
    /// Bytes of bodies that the browser keeps for `Network.getResponseBody`; its own default if `None`.
    pub(super) kept_body_bytes: Option<u64>,
}

/// A page without a network, so that the renderer's process exists before the visit begins.
const WARM_UP: &str = "data:text/html,<!doctype html><title>farlink</title><p>farlink";

/// Time limit for it to be painted.
const WARM_UP_LIMIT: Duration = Duration::from_secs(30);

impl<'a> Tab<'a> {
    /// Opens a tab and makes it ready to navigate.
    pub(super) fn open(
        context: &'a mut BrowserContext<'_>,
        settings: &TabSettings,
    ) -> Result<Tab<'a>, ChromiumError> {
        let running = &mut *context.running;
        let mut target = json!({ "url": "about:blank" });
        if let Some(id) = &context.id {
            target["browserContextId"] = id.as_str().into();
        }
        let answer = running.call(None, "Target.createTarget", target)?;
        let frame = text(&answer, "Target.createTarget", "targetId")?;
        let attach = json!({ "targetId": frame, "flatten": true });
        let answer = running.call(None, "Target.attachToTarget", attach)?;
        let session = text(&answer, "Target.attachToTarget", "sessionId")?;
        let mut tab = Tab { running, frame, session };
        tab.prepare(settings)?;
        tab.warm_up()?;
        Ok(tab)
    }

    fn prepare(&mut self, settings: &TabSettings) -> Result<(), ChromiumError> {
        for domain in ["Page", "Runtime", "Log", "Inspector", "Performance"] {
            self.call(&format!("{domain}.enable"), json!({}))?;
        }
        let bodies = settings.kept_body_bytes.map(|bytes| {
            json!({ "maxTotalBufferSize": bytes, "maxResourceBufferSize": bytes,
                "maxPostDataSize": bytes })
        });
        self.call("Network.enable", bodies.unwrap_or_else(|| json!({})))?;
        self.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }))?;
        let (width, height) = settings.viewport;
        let viewport =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", viewport)?;
        if settings.slowdown > 1.0 {
            self.call("Emulation.setCPUThrottlingRate", json!({ "rate": settings.slowdown }))?;
        }
        if !settings.blocked.is_empty() {
            self.call("Network.setBlockedURLs", json!({ "urls": settings.blocked }))?;
        }
        Ok(())
    }

    fn warm_up(&mut self) -> Result<(), ChromiumError> {
        let answer = self.call("Page.navigate", json!({ "url": WARM_UP }))?;
        let loader = text(&answer, "Page.navigate", "loaderId")?;
        let alarm = self.running.pipe.alarm(WARM_UP_LIMIT);
        // If an invisible page is never painted, it is warm enough by then.
        while let Waited::Event(message) = self.next(WARM_UP_LIMIT)? {
            match Event::read(*message)? {
                Event::LifecycleEvent(e) if e.loader_id == loader && e.name == "firstPaint" => {
                    break;
                }
                Event::TargetCrashed => return Err(ChromiumError::Crashed),
                _ => {}
            }
        }
        drop(alarm);
        self.running.pipe.forget_events();
        Ok(())
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Result<Value, ChromiumError> {
        self.running.call(Some(&self.session), method, params)
    }

    /// Sends a command, and ignores the answer.
    pub(super) fn send(&mut self, method: &str, params: Value) {
        // The next call that waits for a browser reports that it is gone.
        let _ = self.running.pipe.send(Some(&self.session), method, params);
    }

    /// The next event of this tab.
    pub(super) fn next(&mut self, patience: Duration) -> Result<Waited, ChromiumError> {
        loop {
            let awaited = self.running.pipe.next(patience);
            match awaited.map_err(|error| self.running.blame(error))? {
                Waited::Event(message) if message.session_id.as_ref() != Some(&self.session) => {}
                other => return Ok(other),
            }
        }
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let target = json!({ "targetId": self.frame });
        let _ = self.running.pipe.send(None, "Target.closeTarget", target);
    }
}

/// A browser context: its cache, cookies, connections and TLS sessions are its own, empty at first. Visits of one
/// context share them like those of one user; dropped, it discards all of them.
pub struct BrowserContext<'a> {
    pub(super) running: &'a mut Running,
    /// `None` for the browser's own context.
    pub(super) id: Option<String>,
}

impl BrowserContext<'_> {
    pub(super) fn new(running: &mut Running) -> Result<BrowserContext<'_>, ChromiumError> {
        let answer = running.call(
            None,
            "Target.createBrowserContext",
            json!({ "disposeOnDetach": true }),
        )?;
        let id = text(&answer, "Target.createBrowserContext", "browserContextId")?;
        Ok(BrowserContext { running, id: Some(id) })
    }

    /// Loads `plan`'s page in a new tab.
    ///
    /// # Errors
    /// If Chromium cannot load such a page, or fails. A page that does not load is an outcome, not an error.
    pub fn visit(
        &mut self,
        plan: &LoadPlan,
        settings: &ChromiumSettings,
    ) -> Result<ChromiumVisit, ChromiumError> {
        visit::check(plan)?;
        visit::visit(self, plan, settings)
    }

    /// Loads `url` in a new tab and records everything.
    ///
    /// # Errors
    /// If the document does not arrive, or Chromium fails.
    pub fn capture(
        &mut self,
        url: &str,
        settings: &CaptureSettings,
    ) -> Result<RecordedLoad, ChromiumError> {
        capture::capture(self, url, settings)
    }
}

impl Drop for BrowserContext<'_> {
    fn drop(&mut self) {
        let Some(id) = &self.id else { return };
        let id = json!({ "browserContextId": id });
        // A browser that is gone has no contexts either.
        let _ = self.running.pipe.send(None, "Target.disposeBrowserContext", id);
    }
}

/// A text in an answer.
pub(super) fn text(
    answer: &serde_json::Value,
    method: &str,
    key: &str,
) -> Result<String, ChromiumError> {
    answer[key].as_str().map(str::to_owned).ok_or_else(|| ChromiumError::NotUnderstood {
        method: method.to_owned(),
        problem: format!("it has no `{key}`"),
    })
}

/// Results of the queries to a loaded page. They come after the load event and the last object, so that they
/// disturb nothing.
pub(super) struct FinalQueries {
    /// Seconds.
    pub(super) navigation: Option<f64>,
    /// Time of the query, in seconds.
    pub(super) asked: f64,
    pub(super) largest_contentful_paint: Option<Duration>,
    pub(super) screenshot: Option<Vec<u8>>,
    /// Local addresses of connections.
    pub(super) locals: BTreeMap<u64, SocketAddr>,
}

/// Time of the latest LCP candidate in milliseconds since navigation start; null if there is none.
const LARGEST_CONTENTFUL_PAINT: &str = "new Promise(done => {
    const late = setTimeout(() => done(null), 250);
    new PerformanceObserver(list => {
        clearTimeout(late);
        done(list.getEntries().pop().startTime);
    }).observe({ type: 'largest-contentful-paint', buffered: true });
})";

impl FinalQueries {
    pub(super) fn ask(tab: &mut Tab<'_>, screenshot: bool) -> Result<FinalQueries, ChromiumError> {
        let answer = tab.call("Performance.getMetrics", json!({}))?;
        let metric = |name: &str| {
            let metrics = answer["metrics"].as_array()?;
            metrics.iter().find(|metric| metric["name"] == name)?["value"].as_f64()
        };
        let (navigation, asked) = (metric("NavigationStart"), metric("Timestamp"));
        let evaluate = json!({
            "expression": LARGEST_CONTENTFUL_PAINT, "awaitPromise": true, "returnByValue": true,
        });
        let answer = tab.call("Runtime.evaluate", evaluate)?;
        let largest = answer["result"]["value"].as_f64();
        let screenshot = match screenshot {
            true => Some(photograph(tab)?),
            false => None,
        };
        Ok(FinalQueries {
            navigation: navigation.filter(|seconds| *seconds > 0.0),
            asked: asked.unwrap_or_default(),
            largest_contentful_paint: largest
                .and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()),
            screenshot,
            locals: tab
                .running
                .net_log
                .as_mut()
                .map(|log| log.locals().clone())
                .unwrap_or_default(),
        })
    }
}

fn photograph(tab: &mut Tab<'_>) -> Result<Vec<u8>, ChromiumError> {
    const METHOD: &str = "Page.captureScreenshot";
    let answer = tab.call(METHOD, json!({ "format": "png" }))?;
    let data = text(&answer, METHOD, "data")?;
    base64::engine::general_purpose::STANDARD.decode(data).map_err(|error| {
        ChromiumError::NotUnderstood { method: METHOD.to_owned(), problem: error.to_string() }
    })
}
