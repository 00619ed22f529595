//! Log lines of requests, and the channel to their writer: no request waits for a disk.
//!
//! The Common Log Format is Apache's (`%h %l %u %t "%r" %>s %b`), and so is the combined one, which adds `"%{Referer}i" "%{User-Agent}i"`;
//! Squid's is its native one (`%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt`). JSON has all fields, with times in milliseconds since the
//! arrival of the request's head. Text from clients is escaped, so that one request is one line.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use http_stack::socks;
use serde::Serialize;
use tls::Protocol;
use units::Time;

use super::metrics::Metrics;
use super::{Journal, LogEntry, RequestOutcome};
use crate::config::LogFormat;

#[derive(Serialize)]
struct JsonLine<'a> {
    time: String,
    client: Option<String>,
    user: Option<&'a str>,
    method: &'a str,
    url: &'a str,
    protocol: &'static str,
    status: u16,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    sent_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncompressed_bytes: Option<u64>,
    received_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    connected_ms: Option<f64>,
    origin_first_ms: Option<f64>,
    origin_last_ms: Option<f64>,
    client_first_ms: Option<f64>,
    client_last_ms: Option<f64>,
}

/// One JSON object, without a line end. `start` is the Unix time at which the world's clock started.
pub fn json(entry: &LogEntry, start: Duration) -> String {
    let times = &entry.times;
    let since = |at: Option<Time>| at.map(|at| millis(at.since(times.request)));
    let line = JsonLine {
        time: date(start + times.request.since(Time::ZERO)).0,
        client: entry.client.map(|client| client.to_string()),
        user: entry.user.as_deref(),
        method: &entry.method,
        url: &entry.url,
        protocol: entry.spoken(),
        status: entry.status,
        outcome: entry.outcome.name(),
        reason: entry.outcome.reason(),
        sent_bytes: entry.sent_bytes,
        uncompressed_bytes: entry.uncompressed_bytes,
        received_bytes: entry.received_bytes,
        origin: entry.origin.map(|origin| origin.to_string()),
        connected_ms: since(times.connected),
        origin_first_ms: since(times.origin_first),
        origin_last_ms: since(times.origin_last),
        client_first_ms: since(times.client_first),
        client_last_ms: since(times.client_last),
    };
    serde_json::to_string(&line).expect("a line is plain data, so it serialises")
}

/// Rounded to the microsecond: anything finer is noise.
fn millis(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e3
}

/// One line of the Common Log Format, without a line end.
pub fn common(entry: &LogEntry, start: Duration) -> String {
    let client =
        entry.client.map_or("-".to_owned(), |client| client.ip().to_canonical().to_string());
    let version = match (entry.socks, entry.protocol) {
        (Some(socks::Version::V4), _) => "SOCKS/4",
        (Some(socks::Version::V5), _) => "SOCKS/5",
        (None, Protocol::H10) => "HTTP/1.0",
        (None, Protocol::H1) => "HTTP/1.1",
        (None, Protocol::H2) => "HTTP/2.0",
        (None, Protocol::H3) => "HTTP/3.0",
        (None, Protocol::Spdy(_)) => "SPDY/3.1",
    };
    let mut line = format!("{client} - ");
    escape(&mut line, entry.user.as_deref().unwrap_or("-"));
    let (_, date) = date(start + entry.times.request.since(Time::ZERO));
    let _ = write!(line, " [{date}] \"");
    escape(&mut line, &entry.method);
    line.push(' ');
    escape(&mut line, &entry.url);
    let bytes = match entry.sent_bytes {
        0 => "-".to_owned(),
        bytes => bytes.to_string(),
    };
    let _ = write!(line, " {version}\" {} {bytes}", entry.status);
    line
}

/// One line of the Combined Log Format, without a line end.
pub fn combined(entry: &LogEntry, start: Duration) -> String {
    let mut line = common(entry, start);
    for field in [&entry.fields.referer, &entry.fields.user_agent] {
        line.push_str(" \"");
        // In quotes spaces stay as they are.
        for (index, word) in field.as_deref().unwrap_or("-").split(' ').enumerate() {
            line.push_str(if index == 0 { "" } else { " " });
            escape(&mut line, word);
        }
        line.push('"');
    }
    line
}

/// One line of Squid's native format, without a line end. Its bytes are those of the body.
pub fn squid(entry: &LogEntry, start: Duration) -> String {
    let times = &entry.times;
    let end = times.client_last.or(times.origin_last).unwrap_or(times.request);
    let ended = start + end.since(Time::ZERO);
    let (seconds, millis) = (ended.as_secs(), ended.subsec_millis());
    let elapsed = end.since(times.request).as_millis();
    let client =
        entry.client.map_or("-".to_owned(), |client| client.ip().to_canonical().to_string());
    let (code, status, bytes) = (squid_code(entry), entry.status, entry.sent_bytes);
    let mut line =
        format!("{seconds}.{millis:03} {elapsed:6} {client} {code}/{status:03} {bytes} ");
    escape(&mut line, &entry.method);
    line.push(' ');
    escape(&mut line, &entry.url);
    line.push(' ');
    escape(&mut line, entry.user.as_deref().unwrap_or("-"));
    let _ = match (entry.origin, &entry.outcome) {
        (Some(origin), _) => write!(line, " HIER_DIRECT/{} ", origin.ip().to_canonical()),
        // By a connection that was open.
        (None, RequestOutcome::Passed | RequestOutcome::Validated) => {
            write!(line, " HIER_DIRECT/- ")
        }
        (None, _) => write!(line, " HIER_NONE/- "),
    };
    let content_type = entry.fields.content_type.as_deref().unwrap_or("-");
    escape(&mut line, content_type.split([';', ' ']).next().unwrap_or("-"));
    line
}

/// Squid's name of the outcome.
fn squid_code(entry: &LogEntry) -> &'static str {
    match entry.outcome {
        RequestOutcome::Hit => "TCP_HIT",
        RequestOutcome::Validated => "TCP_REFRESH_UNMODIFIED",
        RequestOutcome::Passed | RequestOutcome::Failed(_) => "TCP_MISS",
        RequestOutcome::Refused(_) => "TCP_DENIED",
        RequestOutcome::Tunnelled | RequestOutcome::Intercepted => "TCP_TUNNEL",
        RequestOutcome::Abandoned => "TCP_MISS_ABORTED",
        RequestOutcome::Own => "NONE_NONE",
    }
}

/// Escapes as Apache does: quotes, backslashes and invisible characters.
fn escape(line: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => line.extend(['\\', char::from(byte)]),
            0x21..=0x7e => line.push(char::from(byte)),
            _ => {
                let _ = write!(line, "\\x{byte:02x}");
            }
        }
    }
}

/// A Unix time in UTC, in ISO 8601 and in the Common Log Format.
fn date(since_1970: Duration) -> (String, String) {
    let at = jiff::Timestamp::UNIX_EPOCH.saturating_add(since_1970).unwrap_or(jiff::Timestamp::MAX);
    (format!("{at:.3}"), at.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string())
}

/// Maximum number of lines waiting for the writer; more are lost, and counted.
const WAITING: usize = 16 * 1024;

/// A message to the writer.
#[derive(Debug)]
pub enum LogMessage {
    /// Write a line, given without its end.
    Line(String),
    /// Reopen the file: it has been rotated.
    Reopen,
}

/// The sender to the writer. Clones share one channel.
pub type LogSender = SyncSender<LogMessage>;

/// The sender to a writer, and the writer's end.
pub fn log_channel() -> (LogSender, Receiver<LogMessage>) {
    sync_channel(WAITING)
}

/// A journal that writes each request as a line.
#[derive(Debug)]
pub struct LogLines {
    /// Format of the lines.
    pub format: LogFormat,
    /// Channel to the writer.
    pub sender: LogSender,
    /// Counter of lost lines.
    pub metrics: Arc<Metrics>,
    /// Unix time at which the world's clock started.
    pub start: Duration,
}

impl Journal for LogLines {
    fn done(&self, entry: &LogEntry) {
        let line = match self.format {
            LogFormat::Json => super::log::json(entry, self.start),
            LogFormat::Common => super::log::common(entry, self.start),
            LogFormat::Combined => combined(entry, self.start),
            LogFormat::Squid => squid(entry, self.start),
        };
        if let Err(TrySendError::Full(_)) = self.sender.try_send(LogMessage::Line(line)) {
            self.metrics.lost_line();
        }
    }

    fn wants_fields(&self) -> bool {
        matches!(self.format, LogFormat::Combined | LogFormat::Squid)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LoggedFields, RequestTimes};
    use super::*;

    /// 2026-11-22 05:06:07.089 UTC (`date -u -d '2026-11-22 05:06:07' +%s`).
    const START: Duration = Duration::from_millis(1_795_323_967_089);

    fn entry() -> LogEntry {
        LogEntry {
            client: Some("[::ffff:10.0.0.1]:99".parse().unwrap()),
            user: Some("an na".to_owned()),
            method: "GET".to_owned(),
            url: "http://a/\"\r\nx".to_owned(),
            protocol: Protocol::H2,
            socks: None,
            status: 200,
            outcome: RequestOutcome::Failed("dns_error"),
            sent_bytes: 1_024,
            uncompressed_bytes: None,
            received_bytes: 0,
            origin: None,
            fields: LoggedFields::default(),
            times: RequestTimes {
                origin_first: Some(Time::from_micros(2_500)),
                ..RequestTimes::default()
            },
        }
    }

    #[test]
    fn a_request_is_one_line() {
        assert_eq!(
            common(&entry(), START),
            "10.0.0.1 - an\\x20na [22/Nov/2026:05:06:07 +0000] \"GET http://a/\\\"\\x0d\\x0ax HTTP/2.0\" 200 1024"
        );
        let line = json(&entry(), START);
        assert!(!line.contains('\n'), "{line}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["time"], "2026-11-22T05:06:07.089Z");
        assert_eq!(value["url"], "http://a/\"\r\nx");
        assert_eq!(value["origin_first_ms"], 2.5);
        assert_eq!(value["reason"], "dns_error");
        let by_socks = LogEntry { socks: Some(socks::Version::V5), ..entry() };
        assert!(common(&by_socks, START).contains("SOCKS/5\" 200"));
        assert!(json(&by_socks, START).contains("\"protocol\":\"socks5\""));
    }

    #[test]
    fn combined_lines_end_with_referer_and_agent() {
        let fields = LoggedFields {
            referer: Some("http://a/?\"".to_owned()),
            user_agent: Some("Agent/1 (x y)\n".to_owned()),
            content_type: None,
        };
        let line = combined(&LogEntry { fields, ..entry() }, START);
        assert!(line.ends_with("\" 200 1024 \"http://a/?\\\"\" \"Agent/1 (x y)\\x0a\""), "{line}");
        assert!(combined(&entry(), START).ends_with("200 1024 \"-\" \"-\""));
    }

    #[test]
    fn squids_lines_are_squids() {
        let times = RequestTimes {
            client_last: Some(Time::from_micros(12_900)),
            ..RequestTimes::default()
        };
        let content_type = Some("text/html; charset=utf-8".to_owned());
        let passed = LogEntry {
            outcome: RequestOutcome::Passed,
            url: "http://a/".to_owned(),
            user: None,
            origin: Some("192.0.2.1:80".parse().unwrap()),
            fields: LoggedFields { content_type, ..LoggedFields::default() },
            times,
            ..entry()
        };
        assert_eq!(
            squid(&passed, START),
            "1795323967.101     12 10.0.0.1 TCP_MISS/200 1024 GET http://a/ - HIER_DIRECT/192.0.2.1 text/html"
        );
        let hit = LogEntry {
            outcome: RequestOutcome::Hit,
            origin: None,
            fields: LoggedFields::default(),
            ..passed
        };
        assert!(squid(&hit, START).ends_with("TCP_HIT/200 1024 GET http://a/ - HIER_NONE/- -"));
    }
}
