//! Rules of the operator: access by URL, method, client and time, and changes of header fields. The first access rule that matches decides;
//! of header rules all apply, in their order.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use ipnet::IpNet;
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use percent_encoding::percent_decode_str;

use crate::access::{matches, within};

/// Part of the URLs that a rule is about.
#[derive(Clone, Debug, Default)]
pub struct UrlScope {
    /// Hosts; empty for all.
    pub hosts: Vec<String>,
    /// Beginnings of paths; empty for all.
    pub paths: Vec<String>,
}

impl UrlScope {
    /// True if it covers this host and path. A tunnel has no path: only a scope without paths covers it.
    pub fn covers(&self, host: &str, path: Option<&str>) -> bool {
        let has_host =
            self.hosts.is_empty() || self.hosts.iter().any(|pattern| matches(pattern, host));
        let has_path = || match path {
            None => false,
            Some(path) => self.paths.iter().any(|begin| begins(path, begin)),
        };
        has_host && (self.paths.is_empty() || has_path())
    }
}

/// True if the path begins with `begin`, which is [`resolved`], segment by segment: `/api` begins `/api/x` and `/api?x`, not `/apis`. Compared is the path that
/// origins take it for: `//api`, `/%61pi` and `/x/../api` begin with `/api`, too, lest a rule be evaded.
pub fn begins(path: &str, begin: &str) -> bool {
    let path = resolved(path);
    path.strip_prefix(begin)
        .is_some_and(|rest| begin.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

/// A path without its query, decoded, without empty segments and without `.` and `..` (RFC 3986 section 5.2.4).
pub fn resolved(path: &str) -> Cow<'_, str> {
    let path = path.split('?').next().unwrap_or_default();
    if !(path.contains('%') || path.contains("//") || path.contains("/.")) {
        return Cow::Borrowed(path);
    }
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            other => segments.push(other),
        }
    }
    let is_folder = ["/", "/.", "/.."].iter().any(|end| decoded.ends_with(end));
    let end = if is_folder && !segments.is_empty() { "/" } else { "" };
    Cow::Owned(format!("/{}{end}", segments.join("/")))
}

/// A rule of access.
#[derive(Clone, Debug)]
pub struct AccessRule {
    /// True if it allows what it matches, false if it denies it.
    pub allows: bool,
    /// The URLs.
    pub scope: UrlScope,
    /// Methods; empty for all.
    pub methods: Vec<Method>,
    /// Networks of clients; empty for all.
    pub clients: Vec<IpNet>,
    /// Days and hours; `None` for always.
    pub times: Option<RuleTimes>,
}

/// Days and hours of a rule.
#[derive(Clone, Debug)]
pub struct RuleTimes {
    /// Days on which the hours begin; empty for all.
    pub days: Vec<Weekday>,
    /// The first moment, and the first that is outside; past midnight if that is earlier. `None` for the whole day.
    pub hours: Option<(Time, Time)>,
    /// The zone of both.
    pub zone: TimeZone,
}

impl RuleTimes {
    /// True if `now`, a Unix time, is among them.
    pub fn contain(&self, now: Duration) -> bool {
        let at = jiff::Timestamp::UNIX_EPOCH.saturating_add(now).unwrap_or(jiff::Timestamp::MAX);
        let at = self.zone.to_datetime(at);
        let is_day = |day: Weekday| self.days.is_empty() || self.days.contains(&day);
        let (today, time) = (at.weekday(), at.time());
        match self.hours {
            None => is_day(today),
            Some((from, to)) if from < to => is_day(today) && (from..to).contains(&time),
            Some((from, to)) => {
                (is_day(today) && time >= from) || (is_day(today.previous()) && time < to)
            }
        }
    }
}

/// A request as access rules see it.
#[derive(Clone, Copy, Debug)]
pub struct RuleSubject<'a> {
    /// Host of its URL.
    pub host: &'a str,
    /// Path and query; `None` for a tunnel.
    pub path: Option<&'a str>,
    /// Its method.
    pub method: &'a str,
    /// Address of its client.
    pub client: Option<IpAddr>,
}

impl AccessRule {
    /// True if the rule is about this request. `now` is the Unix time.
    fn is_about(&self, subject: &RuleSubject<'_>, now: impl Fn() -> Duration) -> bool {
        let has_method = || {
            self.methods.is_empty() || self.methods.iter().any(|own| own.as_str() == subject.method)
        };
        let has_client = || {
            self.clients.is_empty() || subject.client.is_some_and(|it| within(&self.clients, it))
        };
        self.scope.covers(subject.host, subject.path)
            && has_method()
            && has_client()
            && self.times.as_ref().is_none_or(|times| times.contain(now()))
    }
}

/// True if the first rule that is about the request allows it, or none is.
pub fn permit(rules: &[AccessRule], subject: &RuleSubject<'_>, now: impl Fn() -> Duration) -> bool {
    let first = rules.iter().find(|rule| rule.is_about(subject, &now));
    first.is_none_or(|rule| rule.allows)
}

/// A rule that changes fields.
#[derive(Clone, Debug)]
pub struct HeaderRule {
    /// The URLs.
    pub scope: UrlScope,
    /// Changes of requests to origins.
    pub request: FieldChanges,
    /// Changes of origins' responses, before they are stored.
    pub response: FieldChanges,
    /// Status codes of the responses; empty for all.
    pub statuses: Vec<StatusCode>,
}

impl HeaderRule {
    /// Changes a response with this status. 304 renews what is stored, and has the fields of that.
    pub fn change_response(&self, status: StatusCode, fields: &mut HeaderMap) {
        let is_renewal = status == StatusCode::NOT_MODIFIED;
        if self.statuses.is_empty() || self.statuses.contains(&status) || is_renewal {
            self.response.apply(fields);
        }
    }
}

/// Changes of header fields.
#[derive(Clone, Debug, Default)]
pub struct FieldChanges {
    /// Fields that are removed.
    pub remove: Vec<HeaderName>,
    /// Fields that have these values instead of their own.
    pub set: Vec<(HeaderName, HeaderValue)>,
}

impl FieldChanges {
    /// Carries them out.
    pub fn apply(&self, fields: &mut HeaderMap) {
        for name in &self.remove {
            fields.remove(name);
        }
        for (name, value) in &self.set {
            fields.insert(name, value.clone());
        }
    }
}

/// Fields that no rule may change: they frame messages, belong to one connection, or name the host that was judged (RFC 9110 section 7.6.1,
/// RFC 9112 section 6).
pub const UNCHANGEABLE: [&str; 12] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn denying(scope: UrlScope) -> AccessRule {
        AccessRule { allows: false, scope, methods: Vec::new(), clients: Vec::new(), times: None }
    }

    fn scope(hosts: &[&str], paths: &[&str]) -> UrlScope {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        UrlScope { hosts: owned(hosts), paths: owned(paths) }
    }

    const SUBJECT: RuleSubject<'_> =
        RuleSubject { host: "www.a.test", path: Some("/x/y?z"), method: "GET", client: None };

    #[test]
    fn the_first_rule_that_matches_decides() {
        let at = || Duration::ZERO;
        let allowed = AccessRule { allows: true, ..denying(scope(&[], &["/x/y"])) };
        let rules = [allowed, denying(scope(&[".a.test"], &[]))];
        assert!(permit(&rules, &SUBJECT, at));
        assert!(!permit(&rules, &RuleSubject { path: Some("/x"), ..SUBJECT }, at));
        assert!(!permit(&rules, &RuleSubject { path: None, ..SUBJECT }, at), "a tunnel");
        assert!(permit(&rules, &RuleSubject { host: "b.test", path: Some("/x"), ..SUBJECT }, at));
        let posts = AccessRule { methods: vec![Method::POST], ..denying(scope(&[], &[])) };
        let posts = [posts];
        assert!(permit(&posts, &SUBJECT, at));
        assert!(!permit(&posts, &RuleSubject { method: "POST", ..SUBJECT }, at));
        let clients = vec!["10.0.0.0/8".parse().unwrap()];
        let near = [AccessRule { clients, ..denying(scope(&[], &[])) }];
        let from = |text: &str| RuleSubject { client: text.parse().ok(), ..SUBJECT };
        assert!(!permit(&near, &from("10.1.1.1"), at) && permit(&near, &from("11.1.1.1"), at));
    }

    #[test]
    fn hours_may_run_past_midnight() {
        // 2026-11-28 is a Saturday: `date -u -d 2026-11-28 +%s`.
        let saturday = 1_795_824_000;
        let at = |hours: u64| Duration::from_secs(saturday + hours * 3_600);
        let times = |days: &[Weekday], from: i8, to: i8| RuleTimes {
            days: days.to_vec(),
            hours: Some((Time::constant(from, 0, 0, 0), Time::constant(to, 0, 0, 0))),
            zone: TimeZone::UTC,
        };
        let office = times(&[], 8, 17);
        assert!(office.contain(at(8)) && office.contain(at(16)) && !office.contain(at(17)));
        let night = times(&[Weekday::Saturday], 22, 6);
        let within: Vec<u64> = (0..48).filter(|hours| night.contain(at(*hours))).collect();
        assert_eq!(within, (22..30).collect::<Vec<u64>>());
        let day = RuleTimes { hours: None, ..times(&[Weekday::Sunday], 0, 0) };
        assert!(!day.contain(at(23)) && day.contain(at(24)) && !day.contain(at(48)));
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert!(RuleTimes { zone, ..office }.contain(at(6)));
    }

    #[test]
    fn paths_are_those_that_origins_understand() {
        for path in [
            "/api",
            "/api/",
            "/api/x",
            "/api?x",
            "//api/x",
            "/%61pi",
            "/./api",
            "/x/../api?y",
            "/x%2F..%2Fapi",
            "/../api",
            "/api%2Fx",
            "/api/.",
        ] {
            assert!(begins(path, "/api"), "{path}");
        }
        for path in ["/apis", "/", "", "/x?/api", "/api/..", "/api/../x", "/%2561pi", "*"] {
            assert!(!begins(path, "/api"), "{path}");
        }
        assert!(begins("/api//x", "/api/") && begins("/api/x/..", "/api/"));
        assert!(!begins("/api", "/api/") && begins("/%ff", "/"));
    }

    #[test]
    fn responses_are_changed_by_status() {
        let set = vec![(HeaderName::from_static("x"), HeaderValue::from_static("1"))];
        let response = FieldChanges { set, ..FieldChanges::default() };
        let (scope, request) = (UrlScope::default(), FieldChanges::default());
        let rule = HeaderRule { scope, request, response, statuses: vec![StatusCode::OK] };
        let changed = |status: u16| {
            let mut fields = HeaderMap::new();
            rule.change_response(StatusCode::from_u16(status).unwrap(), &mut fields);
            !fields.is_empty()
        };
        assert_eq!([200, 304, 404, 500].map(changed), [true, true, false, false]);
    }

    #[test]
    fn fields_are_removed_and_set() {
        let mut fields = HeaderMap::new();
        for (name, value) in [("server", "x"), ("age", "1"), ("age", "2")] {
            fields.append(name, value.parse().unwrap());
        }
        let set = vec![(HeaderName::from_static("age"), HeaderValue::from_static("3"))];
        FieldChanges { remove: vec![http::header::SERVER], set }.apply(&mut fields);
        assert_eq!(fields.len(), 1);
        assert_eq!(fields["age"], "3");
    }
}
