//! The recorder behind a proxy: exchanges are spooled as they pass and written by a thread of their own.
//!
//! Bodies wait in files without names beside the recording; the queue to the writer is short, so that a slow disk slows the
//! proxy instead of filling the memory.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ::archive::recorder::{FinishedRecording, Recording, SpooledBody};
use ::archive::{
    Exchange, ExchangePhases, Fields, RecordedCertificate, RecordedRequest, RecordedResponse,
    redact,
};
use http::{HeaderMap, Request, Version};
use proxy::observation::{ExchangeObserver, ObservedExchange, ObservedResponse};
use proxy::upstream::OpenedConnection;

/// Exchanges that wait to be written.
const QUEUE: usize = 16;

/// The file of a recording under way.
pub type RecordingFile = BufWriter<File>;

/// An exchange that has ended.
struct EndedExchange {
    began: Duration,
    exchange: Exchange,
    /// The kind of content that the client wants (`Sec-Fetch-Dest`), if it tells.
    destination: Option<String>,
    certificate: Option<RecordedCertificate>,
    request: Option<SpooledBody>,
    response: Option<SpooledBody>,
    /// Why its bodies could not be kept: the recording ends.
    failure: Option<io::Error>,
}

/// Observer of a proxy's exchanges.
pub struct ProxyRecorder {
    queue: SyncSender<EndedExchange>,
    /// Directory of the bodies that wait.
    folder: PathBuf,
    keeps_credentials: bool,
}

impl fmt::Debug for ProxyRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyRecorder").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The writer's thread; its result is the finished file, or why it gave up.
pub type RecordWriter = JoinHandle<io::Result<FinishedRecording<RecordingFile>>>;

/// Starts a recorder and its writer. `failed` is called if the recording cannot go on.
pub fn start(
    recording: Recording<RecordingFile>,
    folder: &Path,
    keeps_credentials: bool,
    failed: impl FnOnce() + Send + 'static,
) -> (ProxyRecorder, RecordWriter) {
    let (queue, ended) = sync_channel(QUEUE);
    let writer = thread::spawn(move || {
        let written = write_all(recording, &ended);
        if written.is_err() {
            failed();
        }
        written
    });
    (ProxyRecorder { queue, folder: folder.to_owned(), keeps_credentials }, writer)
}

fn write_all(
    mut recording: Recording<RecordingFile>,
    ended: &Receiver<EndedExchange>,
) -> io::Result<FinishedRecording<RecordingFile>> {
    for mut ended in ended {
        if let Some(failure) = ended.failure {
            return Err(failure);
        }
        if let Some(certificate) = ended.certificate.take() {
            recording.certificate(certificate);
        }
        // Without word from the client, the first HTML is the page.
        let is_first = recording.loads().is_empty();
        let kind = ended.destination.as_deref();
        ended.exchange.resource_type = resource_type(kind, is_first).to_owned();
        recording.add(ended.began, &ended.exchange, ended.request, ended.response)?;
    }
    recording.finish()
}

/// DevTools' name of a destination (<https://fetch.spec.whatwg.org/#concept-request-destination>).
fn resource_type(destination: Option<&str>, is_first: bool) -> &'static str {
    match destination {
        Some("document") => "Document",
        Some("script") => "Script",
        Some("style") => "Stylesheet",
        Some("image") => "Image",
        Some("font") => "Font",
        Some("audio" | "video" | "track") => "Media",
        Some("empty") => "Fetch",
        None if is_first => "Document",
        _ => "Other",
    }
}

impl ExchangeObserver for ProxyRecorder {
    fn begin(&self, at: Duration, request: &Request<()>) -> Box<dyn ObservedExchange> {
        let destination = request.headers().get("sec-fetch-dest");
        let exchange = Exchange {
            request: RecordedRequest {
                method: request.method().to_string(),
                url: request.uri().to_string(),
                fields: fields(request.headers()),
                body: Vec::new(),
            },
            initiator: serde_json::json!({"type": "other"}),
            ..Exchange::default()
        };
        Box::new(SpooledExchange {
            queue: self.queue.clone(),
            folder: self.folder.clone(),
            keeps_credentials: self.keeps_credentials,
            response_at: at,
            ended: Some(EndedExchange {
                began: at,
                exchange,
                destination: destination.and_then(|it| it.to_str().ok()).map(str::to_owned),
                certificate: None,
                request: None,
                response: None,
                failure: None,
            }),
        })
    }
}

/// An exchange under way.
struct SpooledExchange {
    queue: SyncSender<EndedExchange>,
    folder: PathBuf,
    keeps_credentials: bool,
    response_at: Duration,
    /// `None` once it was handed over.
    ended: Option<EndedExchange>,
}

impl SpooledExchange {
    fn spool(&mut self, body: fn(&mut EndedExchange) -> &mut Option<SpooledBody>, piece: &[u8]) {
        let Some(ended) = self.ended.as_mut().filter(|ended| ended.failure.is_none()) else {
            return;
        };
        let spool = body(ended).get_or_insert_with(|| SpooledBody::new(&self.folder));
        ended.failure = spool.add(piece).err();
    }

    /// Hands the exchange over to the writer. An incomplete response is left out: `problem` stands for it.
    fn hand_over(&mut self, at: Duration, problem: Option<&str>) {
        let Some(mut ended) = self.ended.take() else { return };
        ended.exchange.error = problem.map(str::to_owned);
        if ended.exchange.error.is_some() {
            (ended.exchange.response, ended.response) = (None, None);
        }
        if let Some(response) = &mut ended.exchange.response {
            ended.exchange.phases.receive = at.saturating_sub(self.response_at);
            let body = ended.response.as_ref().map_or(0, SpooledBody::bytes);
            response.transferred_bytes = response.head_bytes.unwrap_or_default() + body;
            ended.response.get_or_insert_with(|| SpooledBody::new(&self.folder));
        }
        if !self.keeps_credentials {
            redact::exchange(&mut ended.exchange);
        }
        // Without a writer the recording has failed, which was told.
        let _ = self.queue.send(ended);
    }
}

impl ObservedExchange for SpooledExchange {
    fn request_piece(&mut self, piece: &[u8]) {
        self.spool(|ended| &mut ended.request, piece);
    }

    fn response(&mut self, response: &ObservedResponse<'_>) {
        let Some(ended) = &mut self.ended else { return };
        let ObservedResponse { head, connected, at, opened } = *response;
        self.response_at = at;
        ended.exchange.phases = phases(ended.began, response);
        ended.certificate =
            opened.and_then(|opened| certificate(&ended.exchange.request.url, opened));
        let fields = fields(head.headers());
        let media_type = head.headers().get(http::header::CONTENT_TYPE);
        let media_type = media_type.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let head_bytes = fields.iter().map(|(name, value)| name.len() + value.len() + 4);
        let status_line = "HTTP/1.1 200 OK\r\n\r\n".len();
        ended.exchange.response = Some(RecordedResponse {
            status: head.status().as_u16(),
            reason: head.status().canonical_reason().unwrap_or_default().to_owned(),
            protocol: protocol(head.version()).to_owned(),
            media_type: media_type.split(';').next().unwrap_or_default().trim().to_lowercase(),
            head_bytes: Some((head_bytes.sum::<usize>() + status_line) as u64),
            server: opened.map(|opened| opened.address.ip().to_canonical().to_string()),
            fields,
            ..RecordedResponse::default()
        });
        debug_assert!(connected <= at, "a response comes over a connection");
    }

    fn response_piece(&mut self, piece: &[u8]) {
        self.spool(|ended| &mut ended.response, piece);
    }

    fn end(&mut self, at: Duration, problem: Option<&str>) {
        self.hand_over(at, problem);
    }
}

impl Drop for SpooledExchange {
    fn drop(&mut self) {
        self.hand_over(self.response_at, Some("the client gave up"));
    }
}

/// The spans of an exchange up to its response.
fn phases(began: Duration, response: &ObservedResponse<'_>) -> ExchangePhases {
    let ObservedResponse { connected, at, opened, .. } = *response;
    let tls = opened.and_then(|opened| Some(opened.tls.as_ref()?.took));
    let connecting = opened.map(|it| it.dns + it.tcp + tls.unwrap_or_default());
    let waited = connected.saturating_sub(began);
    ExchangePhases {
        blocked: waited.saturating_sub(connecting.unwrap_or_default()),
        dns: opened.map(|opened| opened.dns),
        connect: opened.map(|opened| opened.tcp),
        tls,
        wait: at.saturating_sub(connected),
        ..ExchangePhases::default()
    }
}

/// The certificate that the host of `url` sent on a new connection.
fn certificate(url: &str, opened: &OpenedConnection) -> Option<RecordedCertificate> {
    let sent = &opened.tls.as_ref()?.certificates;
    let host = super::host(url).strip_suffix(":443").unwrap_or(super::host(url));
    Some(RecordedCertificate {
        host: host.to_owned(),
        names: tls::certificate_names(sent.first()?),
        chain_bytes: sent.iter().map(|certificate| certificate.len() as u64).sum(),
    })
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_2 => "h2",
        Version::HTTP_10 => "http/1.0",
        _ => "http/1.1",
    }
}

fn fields(fields: &HeaderMap) -> Fields {
    let value = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    fields.iter().map(|(name, it)| (name.to_string(), value(it.as_bytes()))).collect()
}
