//! The changes that are tried.

use page::Page;
use scenario::settings::setting;

use crate::args::How;

/// A change, and how it is made.
pub struct WhatIfChange {
    /// Its name: what would be so.
    pub name: &'static str,
    /// The change.
    pub change: Change,
}

/// A change of a load.
pub enum Change {
    /// A setting has this value.
    Set(&'static str, String),
    /// A part of the network's description is replaced.
    Network(&'static str),
    /// The page is transformed.
    Page(&'static str),
    /// Nothing can be changed, for this reason.
    Nothing(String),
}

impl WhatIfChange {
    /// The option of `farlink load` that makes it.
    pub fn option(&self) -> String {
        match &self.change {
            Change::Set(key, value) => {
                let option = setting(key).and_then(|setting| setting.option).unwrap_or(key);
                format!("--{option} {value}")
            }
            Change::Network(part) => format!("--network ...,{part}"),
            Change::Page(transform) => format!("PAGE~{transform}"),
            Change::Nothing(_) => String::new(),
        }
    }
}

/// All changes of a load with these settings of this page.
pub fn all(how: &How, page: &Page) -> Vec<WhatIfChange> {
    let set =
        |name, key, value: &str| WhatIfChange { name, change: Change::Set(key, value.to_owned()) };
    let network = |name, part| WhatIfChange { name, change: Change::Network(part) };
    let transformed = |name, transform| WhatIfChange { name, change: Change::Page(transform) };
    let others = page.third_parties();
    let blocked = match others.is_empty() {
        true => Change::Nothing("the page has none".to_owned()),
        false => Change::Set("client.block", others.join(",")),
    };
    let mut changes = vec![
        network("bandwidth were infinite", "down=unlimited,up=unlimited"),
        network("servers were next door", "rtt=0ms"),
        network("no packet were lost", "loss=0"),
        network("queues were endless", "queue=unlimited"),
        set("there were no TLS", "stack.tls", "none"),
        set("the client were infinitely fast", "client.device", "zero"),
        set("servers pushed what blocks rendering", "server.push", "blocking"),
        set("servers began with 40 segments", "transport.initial_window_segments", "40"),
        set("the page were cached", "client.view", "warm"),
        transformed("servers answered at once", "instant"),
        transformed("everything came from one host", "one-host"),
        WhatIfChange { name: "third parties were blocked", change: blocked },
    ];
    let own = how.settings.of("stack.protocol").join(",");
    let protocols =
        [("it were HTTP/1.1", "h1"), ("it were HTTP/2", "h2"), ("it were HTTP/3", "h3-deployed")];
    let other = protocols.into_iter().filter(|(_, protocol)| *protocol != own);
    changes.extend(other.map(|(name, protocol)| set(name, "stack.protocol", protocol)));
    changes
}
