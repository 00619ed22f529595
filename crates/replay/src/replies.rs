//! Recorded responses as replies.

use std::time::{Duration, SystemTime};

use archive::{Exchange, RecordedLoad, RecordedResponse, coding};
use bytes::Bytes;
use http::header::{
    ALT_SVC, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, DATE, EXPIRES, LAST_MODIFIED,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_stack::alt_svc::{AltSvc, Alternative};
use http_stack::server::Reply;

use crate::{ReplayedSite, deterministic};

/// Differences of replies from the recorded responses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyOptions<'a> {
    /// Time since the recording: dates are moved by as much, so that a browser's cache finds responses as fresh as they were.
    pub(crate) age: Duration,
    /// The script that makes documents repeatable.
    pub(crate) script: Option<&'a str>,
}

/// The replies of a load, by its exchanges; none for those without a response.
pub(crate) fn of_load(
    load: &RecordedLoad,
    site: &ReplayedSite,
    options: ReplyOptions<'_>,
) -> Vec<Option<Reply>> {
    let exchanges = load.exchanges.iter();
    exchanges.map(|it| of_exchange(it, site.h3_port(&it.request.url), options)).collect()
}

fn of_exchange(
    exchange: &Exchange,
    h3_port: Option<u16>,
    options: ReplyOptions<'_>,
) -> Option<Reply> {
    let response = exchange.response.as_ref()?;
    let status = StatusCode::from_u16(response.status).ok()?;
    let mut fields = fields(response);
    if let Some(port) = h3_port {
        let field = AltSvc::Services(vec![Alternative::h3(port)]).to_string();
        fields.insert(ALT_SVC, HeaderValue::try_from(field).expect("the field is ASCII"));
    }
    for name in [DATE, EXPIRES, LAST_MODIFIED] {
        move_date(&mut fields, &name, options.age);
    }
    let decoded = response.body.as_deref().unwrap_or_default();
    let with_script = options.script.filter(|_| is_document(exchange, response));
    let injected = with_script.map(|script| {
        allow(&mut fields, script);
        deterministic::injected(decoded, script)
    });
    let decoded = injected.as_deref().unwrap_or(decoded);
    let body = match fields.get(CONTENT_ENCODING).and_then(|field| field.to_str().ok()) {
        None => Some(decoded.to_vec()),
        Some(_) if decoded.is_empty() => Some(Vec::new()),
        Some(field) => coding::encoded(decoded, field, body_bytes(response)),
    };
    let body = body.unwrap_or_else(|| {
        // Sent as it is: its coding cannot be made.
        fields.remove(CONTENT_ENCODING);
        decoded.to_vec()
    });
    Some(Reply::new(status, fields, Bytes::from(body)))
}

/// Bytes of the body as recorded on the wire.
fn body_bytes(response: &RecordedResponse) -> u64 {
    response.transferred_bytes.saturating_sub(response.head_bytes.unwrap_or_default())
}

fn is_document(exchange: &Exchange, response: &RecordedResponse) -> bool {
    let is_asked = exchange.resource_type.is_empty()
        || exchange.resource_type.eq_ignore_ascii_case("document");
    is_asked && response.status == 200 && response.media_type.contains("html")
}

/// Its fields, without alternatives: those of the recording lead elsewhere.
fn fields(response: &RecordedResponse) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in &response.fields {
        let name = HeaderName::try_from(name.as_str());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value)
            && name != ALT_SVC
        {
            fields.append(name, value);
        }
    }
    fields
}

fn move_date(fields: &mut HeaderMap, name: &HeaderName, age: Duration) {
    let value = fields.get(name).and_then(|value| value.to_str().ok());
    let date = value.and_then(|value| httpdate::parse_http_date(value).ok());
    let moved = date.and_then(|date: SystemTime| date.checked_add(age));
    // Four digits of a year are all that the format has.
    let moved =
        moved.filter(|date| *date < SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799));
    if let Some(date) = moved {
        let value = HeaderValue::try_from(httpdate::fmt_http_date(date));
        fields.insert(name, value.expect("a date is ASCII"));
    }
}

fn allow(fields: &mut HeaderMap, script: &str) {
    let policies = fields.get_all(CONTENT_SECURITY_POLICY).iter();
    let policies: Vec<HeaderValue> = policies
        .filter_map(|policy| {
            HeaderValue::try_from(deterministic::allowing(policy.to_str().ok()?, script)).ok()
        })
        .collect();
    fields.remove(CONTENT_SECURITY_POLICY);
    for policy in policies {
        fields.append(CONTENT_SECURITY_POLICY, policy);
    }
}

#[cfg(test)]
mod tests {
    use archive::RecordedRequest;

    use super::*;

    const NOTHING: ReplyOptions<'_> = ReplyOptions { age: Duration::ZERO, script: None };

    fn exchange(fields: &[(&str, &str)], body: &[u8]) -> Exchange {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let response = RecordedResponse {
            status: 200,
            fields: fields.iter().map(own).collect(),
            media_type: "text/html".to_owned(),
            body: Some(body.to_vec()),
            transferred_bytes: 100,
            ..RecordedResponse::default()
        };
        let request =
            RecordedRequest { url: "http://a.test/".to_owned(), ..RecordedRequest::default() };
        Exchange { request, response: Some(response), ..Exchange::default() }
    }

    fn field(reply: &Reply, name: &str) -> Option<String> {
        reply.head.parts.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_reply_is_coded_as_recorded_and_as_fresh() {
        let body = b"hello ".repeat(100);
        let exchange = exchange(
            &[
                ("Date", "Mon, 01 Jan 2024 00:00:00 GMT"),
                ("Content-Encoding", "gzip"),
                ("Content-Length", "12345"),
                ("Transfer-Encoding", "chunked"),
                ("Alt-Svc", "h3=\":443\""),
            ],
            &body,
        );
        let age = Duration::from_secs(3600);
        let reply = of_exchange(&exchange, None, ReplyOptions { age, ..NOTHING }).unwrap();
        assert_eq!(field(&reply, "date").as_deref(), Some("Mon, 01 Jan 2024 01:00:00 GMT"));
        assert_eq!(field(&reply, "content-encoding").as_deref(), Some("gzip"));
        assert_eq!(field(&reply, "content-length"), Some(reply.body.len().to_string()));
        assert!(reply.body.starts_with(&[0x1f, 0x8b]) && reply.body.len() < 100);
        assert_eq!((field(&reply, "alt-svc"), field(&reply, "transfer-encoding")), (None, None));
    }

    #[test]
    fn a_coding_that_cannot_be_made_is_left_out() {
        let reply = of_exchange(&exchange(&[("content-encoding", "dcb")], b"hello"), None, NOTHING)
            .unwrap();
        assert_eq!((field(&reply, "content-encoding"), &reply.body[..]), (None, &b"hello"[..]));
    }

    #[test]
    fn documents_alone_get_the_script() {
        let options = ReplyOptions { script: Some("x"), ..NOTHING };
        let mut document = exchange(&[("content-security-policy", "script-src 'self'")], b"<p>");
        let reply = of_exchange(&document, None, options).unwrap();
        assert_eq!(&reply.body[..], b"<script>x</script><p>");
        assert!(field(&reply, "content-security-policy").unwrap().contains("'sha256-"));
        document.resource_type = "Fetch".to_owned();
        assert_eq!(&of_exchange(&document, None, options).unwrap().body[..], b"<p>");
    }
}
