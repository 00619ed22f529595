//! The search space: what the operator of a site can change, and the values that are tried.

use scenario::View;
use scenario::settings::setting;

use crate::args::How;

/// A knob and its values; the first is "as it is".
pub struct Knob {
    /// Part of a load that has the values.
    kind: KnobKind,
    /// The values beyond the present one.
    pub values: Vec<&'static str>,
    /// Protocols that it concerns; empty: all.
    protocols: &'static [&'static str],
    /// True if clients signal no priorities, which some schedulers read, unless the knob makes them.
    is_unsignalled: bool,
}

/// The setting of the priorities that clients signal, and what browsers do.
const PRIORITIES: (&str, &str) = ("client.priorities", "chrome");

/// Part of a load that a knob changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnobKind {
    /// A setting has the value.
    Setting(&'static str),
    /// The page is transformed; the name tells the knobs that do so apart.
    Page(&'static str),
}

/// The protocols that are tried unless some are typed; the first is the present one.
pub const PROTOCOLS: [&str; 3] = ["h2", "h1", "h3-deployed"];

/// The setting of TLS.
const SECURITY: &str = "stack.security";

/// The setting of the route.
pub const ROUTE: &str = "route";

/// Proxies that `--middleboxes` tries.
pub const PROXY: &str = "proxy";
pub const COMPRESSING: &str = "proxy,compress=on";
pub const CACHING: &str = "caching-proxy,cache=primed";
pub const ACCELERATING: &str = "caching-proxy,cache=primed,compress=on";

/// The setting of the protocol.
pub const PROTOCOL: &str = "stack.protocol";

/// Scope of the search beyond settings that concern every site.
#[derive(Clone, Copy)]
pub struct KnobScope {
    /// The visits that are judged.
    pub view: View,
    /// Proxies and PEPs, too, which the network's operator can place.
    pub middleboxes: bool,
}

/// The knobs that the settings leave open: one that was typed stays as it is.
pub fn open(how: &How, scope: KnobScope) -> Vec<Knob> {
    let is_open = |knob: &Knob| match knob.kind {
        KnobKind::Setting(key) => !how.settings.has(key),
        KnobKind::Page(_) => true,
    };
    let is_unsignalled = !how.settings.has(PRIORITIES.0);
    let knobs = all(scope).into_iter().filter(is_open);
    knobs.map(|knob| Knob { is_unsignalled, ..knob }).collect()
}

/// All knobs besides the protocol.
pub fn all(scope: KnobScope) -> Vec<Knob> {
    const OVER_TCP: &[&str] = &["h1", "h2"];
    const MULTIPLEXED: &[&str] = &["h2", "h3-deployed"];
    let knob = |kind, values: &[&'static str], protocols| Knob {
        kind,
        values: values.to_vec(),
        protocols,
        is_unsignalled: true,
    };
    let setting = |key, values, protocols| knob(KnobKind::Setting(key), values, protocols);
    let page = |name, values, protocols| knob(KnobKind::Page(name), values, protocols);
    let mut all = vec![
        setting("transport.congestion", &["bbr"], OVER_TCP),
        setting("transport.initial_window_segments", &["20", "40"], OVER_TCP),
        setting(
            "transport.quic",
            &["cc=cubic-hystart", "iw=32", "cc=cubic-hystart,iw=32"],
            &["h3-deployed"],
        ),
        setting("server.scheduler", &["fifo", "strict", "rfc9218"], MULTIPLEXED),
        // A resumed connection sends no certificate; QUIC's sends early data anyway.
        match scope.view {
            View::Warm => setting(SECURITY, &["resume=0rtt"], OVER_TCP),
            View::Cold | View::Both => setting(SECURITY, &["key=ecdsa-p256"], &[]),
        },
        page("hosts", &["one-host"], &[]),
        page("shards", &["shard=2", "shard=4"], &["h1"]),
        page("hints", &["preload"], &[]),
    ];
    if scope.view != View::Cold {
        all.push(page("cache", &["cached"], &[]));
    }
    // Routes that a protocol cannot take are refused, and left out.
    if scope.middleboxes {
        all.push(setting(ROUTE, &["pep", PROXY, COMPRESSING, CACHING, ACCELERATING], &[]));
    }
    all
}

impl Knob {
    /// True if it can change anything over this protocol.
    pub fn concerns(&self, protocol: &str) -> bool {
        self.protocols.is_empty() || self.protocols.contains(&protocol)
    }

    /// The key of its setting, or its name.
    pub fn key(&self) -> &'static str {
        match self.kind {
            KnobKind::Setting(key) | KnobKind::Page(key) => key,
        }
    }

    /// The option of `farlink load` for one of its values.
    pub fn option(&self, value: &str) -> String {
        match self.kind {
            KnobKind::Setting(key) => match self.signalled(value) {
                None => option(key, value),
                Some((signal, by)) => format!("{} {}", option(key, value), option(signal, by)),
            },
            KnobKind::Page(_) => format!("PAGE~{value}"),
        }
    }

    /// Turns it to a value.
    pub fn turn(&self, value: &str, page: &mut String, how: &mut How) {
        match self.kind {
            KnobKind::Setting(key) => {
                how.settings.set(key, vec![value.to_owned()]);
                if let Some((signal, by)) = self.signalled(value) {
                    how.settings.set(signal, vec![by.to_owned()]);
                }
            }
            KnobKind::Page(_) => *page = format!("{page}~{value}"),
        }
    }

    /// The priorities that clients must signal for a scheduler that reads them.
    fn signalled(&self, value: &str) -> Option<(&'static str, &'static str)> {
        let reads = self.key() == "server.scheduler" && value != "fifo";
        (reads && self.is_unsignalled).then_some(PRIORITIES)
    }
}

/// The option that gives a setting a value.
pub fn option(key: &'static str, value: &str) -> String {
    let option = setting(key).and_then(|setting| setting.option).unwrap_or(key);
    format!("--{option} {value}")
}

/// Description of a step of the advice.
pub fn words(key: &str, value: &str) -> String {
    match (key, value) {
        (PROTOCOL, "h1") => "HTTP/1.1".to_owned(),
        (PROTOCOL, "h2") => "HTTP/2".to_owned(),
        (PROTOCOL, _) => "HTTP/3".to_owned(),
        ("transport.congestion", value) => format!("congestion control {value}"),
        ("transport.initial_window_segments", value) => {
            format!("initial window of {value} segments")
        }
        ("transport.quic", value) => format!("QUIC with {value}"),
        ("server.scheduler", value) => format!("responses scheduled {value}"),
        (ROUTE, "pep") => "PEP on both sides of the network".to_owned(),
        (ROUTE, PROXY) => "proxy at the network's far end".to_owned(),
        (ROUTE, COMPRESSING) => "proxy at the network's far end that compresses".to_owned(),
        (ROUTE, CACHING) => {
            "proxy at the network's far end that has the page in its cache".to_owned()
        }
        (ROUTE, _) => {
            "proxy at the network's far end that has the page in its cache and compresses"
                .to_owned()
        }
        (SECURITY, "resume=0rtt") => "TLS early data (0-RTT)".to_owned(),
        (SECURITY, _) => "ECDSA certificate".to_owned(),
        (_, "preload") => "late style sheets, scripts and fonts named in the head".to_owned(),
        (_, "cached") => "the site's static objects kept by browsers".to_owned(),
        (_, "shard=2") => "the site's objects from two hosts".to_owned(),
        (_, "shard=4") => "the site's objects from four hosts".to_owned(),
        _ => "all from one host".to_owned(),
    }
}
