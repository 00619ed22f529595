//! The parts of the HAR 1.2 format that are written. Times are in milliseconds.

use serde::Serialize;

/// A HAR file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Har {
    pub(super) log: Log,
}

impl Har {
    /// The file's text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a HAR is plain data, so it serialises")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Log {
    pub version: &'static str,
    pub creator: Creator,
    pub pages: Vec<HarPage>,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Creator {
    pub name: &'static str,
    pub version: &'static str,
}

/// Resources that caused a request, in the form of Chrome's DevTools.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Initiator {
    /// `parser`, `script`, `redirect`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The resource that names the object, for a parser's request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The scripts that had to run first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
}

/// A call stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stack {
    /// Its frames.
    pub call_frames: Vec<CallFrame>,
}

/// A frame of a call stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallFrame {
    /// The script.
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarPage {
    pub started_date_time: String,
    pub id: String,
    pub title: String,
    pub page_timings: PageTimings,
    #[serde(rename = "_scenario")]
    pub scenario: Option<scenario::Scenario>,
    /// Seed as text: JavaScript's numbers have 53 bits.
    #[serde(rename = "_seed")]
    pub seed: String,
    #[serde(rename = "_view")]
    pub view: String,
    #[serde(rename = "_failure", skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(flatten)]
    pub measured: MeasuredPage,
}

/// Measures that HAR 1.2 lacks, by the names of WebPageTest and waterfall-tools. Times are milliseconds from navigation start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct MeasuredPage {
    #[serde(rename = "_TTFB", skip_serializing_if = "Option::is_none")]
    pub ttfb: Option<f64>,
    /// First render: painted, or as the loader estimates it.
    #[serde(rename = "_render", skip_serializing_if = "Option::is_none")]
    pub render: Option<f64>,
    #[serde(rename = "_firstContentfulPaint", skip_serializing_if = "Option::is_none")]
    pub first_contentful_paint: Option<f64>,
    #[serde(rename = "_LargestContentfulPaint", skip_serializing_if = "Option::is_none")]
    pub largest_contentful_paint: Option<f64>,
    #[serde(rename = "_SpeedIndex", skip_serializing_if = "Option::is_none")]
    pub speed_index: Option<f64>,
    #[serde(rename = "_loadTime", skip_serializing_if = "Option::is_none")]
    pub load_time: Option<f64>,
    /// Bytes that the client received and sent, with headers of IP and above.
    #[serde(rename = "_bytesIn")]
    pub bytes_in: u64,
    #[serde(rename = "_bytesOut")]
    pub bytes_out: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageTimings {
    pub on_content_load: f64,
    pub on_load: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub pageref: String,
    pub started_date_time: String,
    pub time: f64,
    pub request: HarRequest,
    pub response: Response,
    pub cache: HarCache,
    pub timings: Timings,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    #[serde(rename = "_priority")]
    pub priority: String,
    #[serde(rename = "_resourceType")]
    pub resource_type: String,
    #[serde(rename = "_initiator", skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Initiator>,
    /// True if the load event waits for the object; `None` without the page's description.
    #[serde(rename = "_delaysLoad", skip_serializing_if = "Option::is_none")]
    pub delays_load: Option<bool>,
    #[serde(rename = "_fromCache", skip_serializing_if = "Option::is_none")]
    pub from_cache: Option<&'static str>,
    /// `blocking` or `non_blocking`, as Chromium reports it.
    #[serde(rename = "_renderBlocking")]
    pub render_blocking: &'static str,
    /// Bytes of the response, before TLS.
    #[serde(rename = "_bytesIn")]
    pub bytes_in: u64,
    #[serde(rename = "_is_secure")]
    pub is_secure: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarRequest {
    pub method: String,
    pub url: String,
    pub http_version: &'static str,
    pub cookies: [(); 0],
    pub headers: [(); 0],
    pub query_string: Vec<HarPair>,
    pub headers_size: i64,
    /// Head as it crossed the wire, before TLS.
    #[serde(rename = "_headersTransferSize")]
    pub headers_transfer_size: u64,
    pub body_size: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HarPair {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    pub status: u16,
    pub status_text: &'static str,
    pub http_version: &'static str,
    pub cookies: [(); 0],
    pub headers: [(); 0],
    pub content: HarContent,
    #[serde(rename = "redirectURL")]
    pub redirect_url: String,
    pub headers_size: i64,
    /// Head as it crossed the wire, before TLS.
    #[serde(rename = "_headersTransferSize")]
    pub headers_transfer_size: u64,
    pub body_size: i64,
    #[serde(rename = "_transferSize")]
    pub transfer_size: i64,
    #[serde(rename = "_error", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarContent {
    pub size: u64,
    pub mime_type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct HarCache {}

/// -1 is "does not apply"; `connect` includes `ssl`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Timings {
    pub blocked: f64,
    pub dns: f64,
    pub connect: f64,
    pub ssl: f64,
    pub send: f64,
    pub wait: f64,
    pub receive: f64,
    /// Part of `wait` that a response spent behind others on a pipelined connection.
    #[serde(rename = "_behind", skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
}
