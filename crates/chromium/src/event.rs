//! The protocol's events, restricted to those that a visit uses.
//!
//! Timestamps are seconds of `CLOCK_MONOTONIC` (the protocol's `MonotonicTime`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ChromiumError;
use super::pipe::DevToolsMessage;

pub(super) enum Event {
    RequestWillBeSent(Box<RequestWillBeSent>),
    RequestExtraInfo(RequestExtraInfo),
    ResponseReceived(Box<ResponseReceived>),
    ResponseExtraInfo(ResponseExtraInfo),
    DataReceived(DataReceived),
    LoadingFinished(LoadingFinished),
    LoadingFailed(LoadingFailed),
    ServedFromCache(RequestIdOnly),
    LifecycleEvent(LifecycleEvent),
    ScreencastFrame(ScreencastFrame),
    ConsoleCalled(ConsoleCalled),
    ExceptionThrown(ExceptionThrown),
    EntryAdded(EntryAdded),
    /// `alert` and the like: the page stands still until somebody answers.
    DialogOpening,
    /// The page's process crashed.
    TargetCrashed,
    /// Ignored events.
    Other,
}

/// `Network.requestWillBeSent`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestWillBeSent {
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) loader_id: String,
    pub(super) frame_id: Option<String>,
    pub(super) request: ProtocolRequest,
    pub(super) timestamp: f64,
    /// The same instant in seconds since 1970.
    pub(super) wall_time: f64,
    /// The response that redirected to this request.
    pub(super) redirect_response: Option<ProtocolResponse>,
    /// True if a [`ResponseExtraInfo`] belongs to that response.
    #[serde(default)]
    pub(super) redirect_has_extra_info: bool,
    /// `Document`, `Stylesheet`, ...
    #[serde(default, rename = "type")]
    pub(super) resource_type: String,
    /// Its cause.
    #[serde(default)]
    pub(super) initiator: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProtocolRequest {
    pub(super) url: String,
    pub(super) method: String,
    pub(super) initial_priority: String,
    /// The page's own fields; the network adds others ([`RequestExtraInfo`]).
    #[serde(default)]
    pub(super) headers: ProtocolFields,
    #[serde(default)]
    pub(super) post_data_entries: Vec<PostData>,
}

/// Header fields by name; several values of one name are lines of one text.
pub(super) type ProtocolFields = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
pub(super) struct PostData {
    /// Base64.
    #[serde(default)]
    pub(super) bytes: String,
}

/// `Network.requestWillBeSentExtraInfo`: the fields as sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestExtraInfo {
    pub(super) request_id: String,
    pub(super) headers: ProtocolFields,
}

/// `Network.responseReceived`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseReceived {
    pub(super) request_id: String,
    pub(super) response: ProtocolResponse,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProtocolResponse {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) status_text: String,
    #[serde(default)]
    pub(super) headers: ProtocolFields,
    #[serde(default)]
    pub(super) mime_type: String,
    /// Bytes received so far: the head with its framing.
    #[serde(default)]
    pub(super) encoded_data_length: f64,
    pub(super) protocol: Option<String>,
    #[serde(default)]
    pub(super) connection_reused: bool,
    /// An integer; 0: none.
    #[serde(default)]
    pub(super) connection_id: f64,
    #[serde(default)]
    pub(super) from_disk_cache: bool,
    #[serde(default)]
    pub(super) from_prefetch_cache: bool,
    /// Address of the host, or of the proxy in front of it; an IPv6 address is in brackets.
    #[serde(default, rename = "remoteIPAddress")]
    pub(super) remote_address: Option<String>,
    pub(super) security_details: Option<SecurityDetails>,
    pub(super) timing: Option<ResourceTiming>,
}

/// `Network.SecurityDetails`: of these the certificate's names alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecurityDetails {
    #[serde(default)]
    pub(super) san_list: Vec<String>,
}

/// `Network.ResourceTiming`: milliseconds after `request_time`, -1 for phases that did not occur.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceTiming {
    /// Seconds.
    pub(super) request_time: f64,
    pub(super) dns_start: f64,
    pub(super) dns_end: f64,
    pub(super) connect_start: f64,
    pub(super) connect_end: f64,
    pub(super) ssl_start: f64,
    pub(super) ssl_end: f64,
    pub(super) send_start: f64,
    pub(super) send_end: f64,
    pub(super) receive_headers_start: f64,
}

/// `Network.responseReceivedExtraInfo`: the head as received.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseExtraInfo {
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) headers: ProtocolFields,
    /// HTTP/1 only.
    pub(super) headers_text: Option<String>,
}

/// `Network.dataReceived`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataReceived {
    pub(super) request_id: String,
    /// Length of the body, decoded; our origins use no content coding.
    pub(super) data_length: u64,
}

/// `Network.loadingFinished`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadingFinished {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    /// The whole response as received, framing included.
    pub(super) encoded_data_length: f64,
}

/// `Network.loadingFailed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadingFailed {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    pub(super) error_text: String,
    pub(super) blocked_reason: Option<String>,
}

/// An event of which only the request's id matters.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestIdOnly {
    pub(super) request_id: String,
}

/// `Page.lifecycleEvent`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LifecycleEvent {
    pub(super) loader_id: String,
    pub(super) name: String,
    pub(super) timestamp: f64,
}

/// `Page.screencastFrame`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScreencastFrame {
    /// Base64.
    pub(super) data: String,
    pub(super) metadata: ScreencastMetadata,
    /// Id to acknowledge it by.
    pub(super) session_id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct ScreencastMetadata {
    /// Seconds since 1970.
    pub(super) timestamp: Option<f64>,
}

/// `Runtime.consoleAPICalled`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConsoleCalled {
    #[serde(rename = "type")]
    pub(super) level: String,
    #[serde(default)]
    pub(super) args: Vec<RemoteObject>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RemoteObject {
    pub(super) value: Option<Value>,
    pub(super) description: Option<String>,
}

/// `Runtime.exceptionThrown`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExceptionThrown {
    pub(super) exception_details: ExceptionDetails,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExceptionDetails {
    pub(super) text: String,
    pub(super) exception: Option<RemoteObject>,
}

/// `Log.entryAdded`.
#[derive(Debug, Deserialize)]
pub(super) struct EntryAdded {
    pub(super) entry: LogEntry,
}

#[derive(Debug, Deserialize)]
pub(super) struct LogEntry {
    pub(super) level: String,
    pub(super) text: String,
    pub(super) url: Option<String>,
}

impl Event {
    /// # Errors
    /// If the event's format is not the expected one.
    pub(super) fn read(message: DevToolsMessage) -> Result<Event, ChromiumError> {
        let method = message.method;
        let params = message.params;
        Ok(match method.as_str() {
            "Network.requestWillBeSent" => Event::RequestWillBeSent(parse(&method, params)?),
            "Network.requestWillBeSentExtraInfo" => {
                Event::RequestExtraInfo(parse(&method, params)?)
            }
            "Network.responseReceived" => Event::ResponseReceived(parse(&method, params)?),
            "Network.responseReceivedExtraInfo" => {
                Event::ResponseExtraInfo(parse(&method, params)?)
            }
            "Network.dataReceived" => Event::DataReceived(parse(&method, params)?),
            "Network.loadingFinished" => Event::LoadingFinished(parse(&method, params)?),
            "Network.loadingFailed" => Event::LoadingFailed(parse(&method, params)?),
            "Network.requestServedFromCache" => Event::ServedFromCache(parse(&method, params)?),
            "Page.lifecycleEvent" => Event::LifecycleEvent(parse(&method, params)?),
            "Page.screencastFrame" => Event::ScreencastFrame(parse(&method, params)?),
            "Runtime.consoleAPICalled" => Event::ConsoleCalled(parse(&method, params)?),
            "Runtime.exceptionThrown" => Event::ExceptionThrown(parse(&method, params)?),
            "Log.entryAdded" => Event::EntryAdded(parse(&method, params)?),
            "Page.javascriptDialogOpening" => Event::DialogOpening,
            "Inspector.targetCrashed" => Event::TargetCrashed,
            _ => Event::Other,
        })
    }
}

fn parse<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, ChromiumError> {
    serde_json::from_value(params).map_err(|error| ChromiumError::NotUnderstood {
        method: method.to_owned(),
        problem: error.to_string(),
    })
}
