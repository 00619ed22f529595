//! Queries to a page at the end of its visit.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use serde_json::json;

use super::context::text;
use super::tab::Tab;
use super::{ChromiumError, Settings};

/// Results of the queries to a loaded page. They come after the load event and the last object, so that they
/// disturb nothing.
pub(super) struct After {
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

impl After {
    pub(super) fn ask(tab: &mut Tab<'_>, settings: &Settings) -> Result<After, ChromiumError> {
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
        let screenshot = match settings.look.screenshot {
            true => Some(photograph(tab)?),
            false => None,
        };
        Ok(After {
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
