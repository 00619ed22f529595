//! A page prepared for loading: requests built, edges inverted, once for all visits.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http_stack::client::Protocol;
use http_stack::h1::codec::encode::AbsoluteForm;
use http_stack::{Precedence, Priority};
use page::{After, Object, Page, PageHost};
use tls::{Security, server_name};

use crate::heads::{RequestHeaders, digits};
use crate::priorities::Priorities;
use crate::proxy::ProxyMode;

/// Protocol, security and path for one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStack {
    /// The protocol.
    pub protocol: Protocol,
    /// True if requests of HTTP/1.1 are pipelined.
    pub pipelined: bool,
    /// The security layer.
    pub security: Security,
    /// The server's port.
    pub port: u16,
    /// Route of requests.
    pub way: ProxyMode,
    /// True if requests to it are blocked (`--block HOST`).
    pub blocked: bool,
}

impl HostStack {
    /// The URL of an object of `host`.
    pub fn url(&self, host: &PageHost, object: &Object) -> String {
        let scheme = self.scheme();
        format!("{scheme}://{}{}", host.authority(scheme, self.port), object.path)
    }

    /// Beyond a proxy that is asked for resources, traffic is in clear text, whatever the connection to the proxy uses.
    fn scheme(&self) -> &'static str {
        let is_clear = self.security == Security::None || self.asks_proxy();
        if is_clear { "http" } else { "https" }
    }

    /// Returns true if one connection can carry any number of concurrent requests.
    pub(crate) fn multiplexes(&self) -> bool {
        matches!(self.protocol, Protocol::H2 | Protocol::Spdy(_) | Protocol::H3)
    }
}

/// A page prepared for loading.
pub struct LoadPlan {
    pub(crate) page: Arc<Page>,
    arms: Vec<HostStack>,
    asking: RequestSettings,
    pub(crate) requests: Vec<http::Request<Bytes>>,
    /// The bypass of the proxy, if some requests take it.
    past: Option<ProxyBypass>,
    /// Precedence of each object.
    pub(crate) precedences: Vec<Precedence>,
    pub(crate) reveals: Vec<Reveals>,
}

/// Requests to a page's hosts that bypass the proxy.
struct ProxyBypass {
    arms: Vec<HostStack>,
    requests: Vec<http::Request<Bytes>>,
}

/// A request, and its route.
pub(crate) struct RoutedRequest<'a> {
    pub(crate) arm: HostStack,
    pub(crate) request: &'a http::Request<Bytes>,
}

/// Objects revealed by the arrival of one object.
#[derive(Default)]
pub(crate) struct Reveals {
    /// By its head.
    pub(crate) head: Vec<Reveal>,
    /// By this many bytes of its body, in ascending order.
    pub(crate) bytes: Vec<(u64, Reveal)>,
    /// By its end.
    pub(crate) end: Vec<Reveal>,
}

#[derive(Clone, Copy)]
pub(crate) struct Reveal {
    pub(crate) object: usize,
    pub(crate) compute: Duration,
    /// Bytes of the document that the parser, which stopped at the revealing script or sheet, has to go through.
    pub(crate) parsed_bytes: u64,
}

impl LoadPlan {
    /// Checks that every object of `page` can be requested: that its method, host and path form a valid request,
    /// and that its host name is valid.
    ///
    /// # Errors
    /// One sentence, naming the object.
    pub fn check(page: &Page) -> Result<(), String> {
        for (index, object) in page.objects.iter().enumerate() {
            let host = page.host_of(object);
            let method = http::Method::from_bytes(object.method.as_bytes()).map(drop);
            let uri = format!("https://{}{}", host.name, object.path).parse::<http::Uri>();
            let problem = match (method, uri) {
                (Err(error), _) => format!("method `{}`: {error}", object.method),
                (_, Err(error)) => format!("`{}{}`: {error}", host.name, object.path),
                (Ok(()), Ok(uri)) => match server_name(uri.host().unwrap_or(&host.name)) {
                    Ok(_) => continue,
                    Err(error) => error.to_string(),
                },
            };
            return Err(format!("{}: object {index} cannot be requested: {problem}", page.name));
        }
        Ok(())
    }

    /// Prepares `page`, with one arm per host. Objects have the page's own priorities, which are not sent over
    /// HTTP/2 and HTTP/3; requests' heads have the page's sizes.
    ///
    /// # Panics
    /// If the number of arms differs from the number of hosts.
    pub fn new(page: Arc<Page>, arms: Vec<HostStack>) -> LoadPlan {
        LoadPlan::asking(page, arms, RequestSettings::default())
    }

    /// The same, with these request headers and priorities.
    ///
    /// # Panics
    /// If the number of arms differs from the number of hosts.
    pub fn asking(page: Arc<Page>, arms: Vec<HostStack>, asking: RequestSettings) -> LoadPlan {
        let page = match asking.images_by_parser {
            true => Arc::new(page.without_image_lookahead()),
            false => page,
        };
        let requests = requests(&page, &arms, &asking);
        let precedences = page.objects.iter().map(|object| asking.precedence(object)).collect();
        let reveals = reveals(&page, asking.images_by_parser);
        LoadPlan { page, arms, asking, requests, past: None, precedences, reveals }
    }

    /// The same plan, whose requests may also bypass the proxy, to hosts with these arms.
    ///
    /// # Panics
    /// If the number of arms differs from the number of hosts.
    #[must_use]
    pub fn with_past(self, arms: Option<Vec<HostStack>>) -> LoadPlan {
        let past = arms
            .map(|arms| ProxyBypass { requests: requests(&self.page, &arms, &self.asking), arms });
        LoadPlan { past, ..self }
    }

    /// The page.
    pub fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// The request for each object, in the page's order.
    pub fn requests(&self) -> &[http::Request<Bytes>] {
        &self.requests
    }

    /// Heads and priorities of its requests.
    pub fn manner(&self) -> &RequestSettings {
        &self.asking
    }

    /// Arm of each host, in the page's order.
    pub fn arms(&self) -> &[HostStack] {
        &self.arms
    }

    /// Arm of each host for requests that bypass the proxy, if there are any.
    pub fn past(&self) -> Option<&[HostStack]> {
        self.past.as_ref().map(|past| &past.arms[..])
    }

    /// The hosts of the objects that depend on this one.
    pub(crate) fn named_hosts(&self, object: usize) -> impl Iterator<Item = &str> {
        let reveals = &self.reveals[object];
        let bytes = reveals.bytes.iter().map(|(_, reveal)| reveal);
        let revealed = reveals.head.iter().chain(bytes).chain(&reveals.end);
        revealed.map(|reveal| self.page.host_of(&self.page.objects[reveal.object]).name.as_str())
    }

    /// Arm of this object's host.
    pub fn arm(&self, object: usize) -> HostStack {
        self.arms[self.page.objects[object].host.0 as usize]
    }

    /// Arm by which an object was requested, given the address that answered.
    pub fn arm_from(&self, object: usize, address: Option<IpAddr>) -> HostStack {
        let usual = self.arm(object);
        let is_proxy = |address: IpAddr| usual.proxy().is_none_or(|proxy| proxy.address == address);
        match self.past_proxy(object) {
            Some(past) if address.is_some_and(|address| !is_proxy(address)) => past.arm,
            _ => usual,
        }
    }

    /// Request for an object that bypasses the proxy, if that is possible.
    pub(crate) fn past_proxy(&self, object: usize) -> Option<RoutedRequest<'_>> {
        let past = self.past.as_ref()?;
        let host = self.page.objects[object].host.0 as usize;
        Some(RoutedRequest { arm: past.arms[host], request: &past.requests[object] })
    }
}

/// Heads and priorities of a browser's requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestSettings {
    /// Contents of requests' heads.
    pub heads: RequestHeaders,
    /// Priorities that override the page's own, and their signals to servers.
    pub priorities: Option<Priorities>,
    /// True if images are discovered by the parser alone, without lookahead.
    pub images_by_parser: bool,
    /// True if requests accept `br` and `zstd`, too.
    pub accepts_new_codings: bool,
}

impl RequestSettings {
    /// The value of the field `accept-encoding`, unless the page states it.
    fn codings(&self) -> &'static str {
        if self.accepts_new_codings { NEW_CODINGS } else { CODINGS }
    }

    /// The value of the field `priority`, if the server is sent one.
    fn priority(&self, arm: HostStack, object: &Object) -> Option<String> {
        let said = matches!(arm.protocol, Protocol::H2 | Protocol::H3);
        self.priorities.as_ref().filter(|_| said)?.field(object.kind)
    }

    fn precedence(&self, object: &Object) -> Precedence {
        match &self.priorities {
            None => urgency(object.priority).into(),
            Some(priorities) => priorities.precedence(object.kind),
        }
    }
}

/// One request per object, to hosts with these arms.
fn requests(
    page: &Page,
    arms: &[HostStack],
    asking: &RequestSettings,
) -> Vec<http::Request<Bytes>> {
    assert_eq!(arms.len(), page.hosts.len(), "one arm a host");
    let request = |object: &Object| {
        let arm = arms[object.host.0 as usize];
        let contents = match asking.heads.fields(page, object) {
            Some(fields) => HeadContents::Fields(fields),
            None => HeadContents::Size(asking.heads.padding()),
        };
        let (host, codings) = (page.host_of(object), asking.codings());
        let request = request(object, host, arm, contents, codings, asking.priority(arm, object));
        if arm.asks_proxy() && !arm.multiplexes() { to_proxy(request) } else { request }
    };
    page.objects.iter().map(request).collect()
}

fn urgency(priority: page::ObjectPriority) -> Priority {
    match priority {
        page::ObjectPriority::Highest => Priority::Highest,
        page::ObjectPriority::High => Priority::High,
        page::ObjectPriority::Medium => Priority::Medium,
        page::ObjectPriority::Low => Priority::Low,
        page::ObjectPriority::Lowest => Priority::Lowest,
    }
}

fn reveals(page: &Page, images_by_parser: bool) -> Vec<Reveals> {
    let mut all: Vec<Reveals> = page.objects.iter().map(|_| Reveals::default()).collect();
    for (index, object) in page.objects.iter().enumerate() {
        for edge in &object.waits_for {
            let reveal = Reveal {
                object: index,
                compute: edge.compute.value,
                parsed_bytes: if images_by_parser { page.parsed_after(object, edge) } else { 0 },
            };
            let parent = &mut all[edge.object.0 as usize];
            match edge.after {
                After::Head => parent.head.push(reveal),
                After::Bytes(bytes) => parent.bytes.push((bytes, reveal)),
                After::End => parent.end.push(reveal),
            }
        }
    }
    for parent in &mut all {
        parent.bytes.sort_by_key(|(bytes, _)| *bytes);
    }
    all
}

/// RFC 9218 section 5.
const PRIORITY: &str = "priority";

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

/// Content codings that browsers accepted before 2016, and those that they accept today.
const CODINGS: &str = "gzip, deflate";
const NEW_CODINGS: &str = "gzip, deflate, br, zstd";

/// Contents of a request's head.
enum HeadContents {
    /// These fields.
    Fields(HeaderMap),
    /// The fields that every browser sends, and this one, which fills up the page's size.
    Size(HeaderName),
}

/// Builds a request. A cookie that fills up a size is the same for all requests to a host, as cookies are, so that
/// header compression finds the usual repetitions.
fn request(
    object: &Object,
    host: &PageHost,
    arm: HostStack,
    contents: HeadContents,
    codings: &str,
    priority: Option<String>,
) -> http::Request<Bytes> {
    let authority = host.authority(arm.scheme(), arm.port);
    let uri = arm.url(host, object);
    let whole = |request: http::request::Builder| {
        request.body(body(object.request_body_bytes)).unwrap_or_else(|error| {
            panic!("a page that passed its check makes a request, but {}: {error}", object.url)
        })
    };
    let version = match arm.protocol {
        Protocol::H10 => http::Version::HTTP_10,
        _ => http::Version::HTTP_11,
    };
    let mut request =
        http::Request::builder().method(object.method.as_str()).uri(uri).version(version);
    let padding = match contents {
        HeadContents::Fields(fields) => {
            let mut request = whole(request);
            *request.headers_mut() = fields;
            if let Some(value) = priority {
                let value =
                    HeaderValue::from_str(&value).expect("a priority is a valid field value");
                request.headers_mut().insert(PRIORITY, value);
            }
            return request;
        }
        HeadContents::Size(padding) => padding,
    };
    let accept = match object.kind {
        page::Kind::Document => "text/html,application/xhtml+xml,*/*;q=0.8",
        page::Kind::Stylesheet => "text/css,*/*;q=0.1",
        page::Kind::Image => "image/webp,*/*;q=0.8",
        _ => "*/*",
    };
    let fields = [(USER_AGENT, AGENT), (ACCEPT, accept), (ACCEPT_ENCODING, codings)];
    let mut size = head_bytes(object, &authority);
    if let Some(value) = priority {
        size += PRIORITY.len() + value.len() + FIELD;
        request = request.header(PRIORITY, value);
    }
    let target = object.request_header_bytes as usize;
    for (name, value) in fields {
        let line = name.as_str().len() + value.len() + FIELD;
        // A browser that accepts the codings of today says so, however small its recorded heads are.
        let is_needed = name == ACCEPT_ENCODING && codings == NEW_CODINGS;
        if is_needed || size + line <= target {
            size += line;
            request = request.header(name, value);
        }
    }
    let padding_line = padding.as_str().len() + FIELD;
    if size + padding_line < target {
        request = request.header(padding, filler(target - size - padding_line));
    }
    whole(request)
}

/// Converts a request to HTTP/1's form for a proxy; Chromium's `HttpNetworkTransaction::BuildRequestHeaders` adds
/// the field.
fn to_proxy(mut request: http::Request<Bytes>) -> http::Request<Bytes> {
    request.extensions_mut().insert(AbsoluteForm);
    request.headers_mut().insert("proxy-connection", HeaderValue::from_static("keep-alive"));
    request
}

/// `: ` and the line's end.
const FIELD: usize = 4;

/// Request line (which has one length in HTTP/1.0 and HTTP/1.1), `Host` and the empty line.
fn head_bytes(object: &Object, authority: &str) -> usize {
    let request_line = object.method.len() + 1 + object.path.len() + " HTTP/1.1\r\n".len();
    request_line + "Host".len() + authority.len() + FIELD + "\r\n".len()
}

/// Text like a cookie's: hexadecimal, so that Huffman coding gains as much as on ids.
fn filler(len: usize) -> HeaderValue {
    HeaderValue::from_str(&digits(len)).expect("hexadecimal is a valid field value")
}

fn body(len: u64) -> Bytes {
    Bytes::from(vec![b'x'; usize::try_from(len).expect("a request's body fits memory")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_request_is_told_before_a_load() {
        let mut page = page::open("synthetic:2x1KB").unwrap();
        assert_eq!(LoadPlan::check(&page), Ok(()));
        page.objects[1].method = "GE T".to_owned();
        let error = LoadPlan::check(&page).unwrap_err();
        assert!(error.contains("object 1") && error.contains("`GE T`"), "{error}");
        page.objects[1].method = "GET".to_owned();
        page.objects[2].path = "/a b".to_owned();
        let error = LoadPlan::check(&page).unwrap_err();
        assert!(error.contains("object 2") && error.contains("/a b"), "{error}");
        page.objects[2].path = "/b".to_owned();
        let host = page.objects[2].host.0 as usize;
        page.hosts[host].name = "[2001:db8::7]".to_owned();
        assert_eq!(LoadPlan::check(&page), Ok(()));
        page.hosts[host].name = format!("{}.test", "a".repeat(70));
        let error = LoadPlan::check(&page).unwrap_err();
        assert!(error.contains("has 70 bytes, and DNS allows 63"), "{error}");
    }
}
