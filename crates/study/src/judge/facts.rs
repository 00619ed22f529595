//! Facts about a cell, in the terms of clauses: `protocol = "h1"`, `rtt_ms = 50`.
//!
//! Facts depend on a cell's scenario alone, not on its measurements.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use scenario::Scenario;

/// One value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum Fact {
    /// A number, in the unit that the fact's name states.
    Number(f64),
    /// A name.
    Text(String),
}

/// All facts of a cell, by name. The names are those of [`NAMES`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(BTreeMap<&'static str, Fact>);

/// A selection of cells: those with all of these facts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Filter(BTreeMap<String, Fact>);

/// All facts, by name and meaning.
pub const NAMES: [(&str, &str); 25] = [
    ("experiment", "the experiment's id within the study"),
    ("page", "the page as the experiment names it; of a list, the visited one as that names it"),
    ("site", "which site of a study's a drawn page is of, from 1"),
    ("draw", "which draw of it that is, from 1"),
    ("transfer", "`download` or `upload`, of bytes over connections"),
    ("bytes", "how many"),
    ("connections", "over how many"),
    ("objects", "how many objects a page `testN-OBJECTS-BYTES` has"),
    ("object_bytes", "how large each of them is"),
    ("network", "the profile"),
    ("rtt_ms", "the round trip, if the experiment states it"),
    ("down_kbit_s", "the downlink, likewise"),
    ("up_kbit_s", "the uplink, likewise"),
    ("loss_pct", "the loss, likewise"),
    ("down_loss", "the loss of the downlink by itself, as typed"),
    ("hop_down", "the downlink of the network's first further hop, as typed"),
    ("route", "the route without the stretch beyond it"),
    ("beyond_ms", "the round trip beyond the proxy's place"),
    ("beyond_loss_pct", "the loss there"),
    ("protocol", "the protocol"),
    ("tls", "the security"),
    ("tcp", "the servers' TCP"),
    ("browser", "the browser policy"),
    ("traffic", "what the client sends beside the page"),
    ("visit", "the visit's place in its journey, from 0"),
];

impl Facts {
    /// The facts of a cell of `experiment`: of each journey's `visit`-th visit, to `page` if the journey has
    /// several.
    pub fn of(experiment: &str, scenario: &Scenario, visit: u32, page: Option<&str>) -> Facts {
        let mut facts = Facts::default();
        let Scenario { network, stack, transport, route, .. } = scenario;
        facts.text("experiment", experiment);
        facts.of_page(page.unwrap_or(&scenario.page.spec));
        facts.text("network", network.base.as_deref().unwrap_or("custom"));
        let stated = [
            ("rtt_ms", network.rtt_ns.map(|ns| ns as f64 / 1e6)),
            ("down_kbit_s", network.down_bit_per_s.map(|rate| rate as f64 / 1e3)),
            ("up_kbit_s", network.up_bit_per_s.map(|rate| rate as f64 / 1e3)),
            ("loss_pct", network.loss_ratio.map(|ratio| ratio * 100.0)),
        ];
        stated.into_iter().for_each(|(name, value)| {
            value.into_iter().for_each(|value| facts.number(name, value));
        });
        let typed = [("hop_down", "hop.1.down"), ("down_loss", "down.loss")];
        for (name, setting) in typed {
            network.others.get(setting).into_iter().for_each(|value| facts.text(name, value));
        }
        facts.text("route", &route.without_stretch().to_string());
        facts.number("beyond_ms", route.stretch.rtt_ns.unwrap_or(0) as f64 / 1e6);
        facts.number("beyond_loss_pct", route.stretch.loss_ratio.unwrap_or(0.0) * 100.0);
        facts.text("protocol", stack.protocol.name());
        facts.text("tls", stack.tls.name());
        facts.text("tcp", &transport.server.to_string());
        facts.text("browser", &scenario.client.browser);
        facts.text("traffic", &scenario.traffic.to_string());
        facts.number("visit", f64::from(visit));
        facts
    }

    /// Facts that follow from a page's name.
    fn of_page(&mut self, page: &str) {
        self.text("page", page);
        if let Some((objects, bytes)) = counted(page) {
            self.number("objects", objects);
            self.number("object_bytes", bytes);
        }
        if let Some((site, draw)) = drawn(page) {
            self.number("site", site);
            self.number("draw", draw);
        }
        if let Some((way, bytes, connections)) = transferred(page) {
            self.text("transfer", way);
            self.number("bytes", bytes);
            self.number("connections", connections);
        }
    }

    /// The fact of that name, if the cell has one.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.0.get(name)
    }

    /// The names of facts that differ.
    pub(super) fn differences(&self, other: &Facts) -> Vec<&'static str> {
        let names = self.0.keys().chain(other.0.keys().filter(|name| !self.0.contains_key(*name)));
        names.copied().filter(|name| self.0.get(name) != other.0.get(name)).collect()
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.0.insert(name, Fact::Text(value.to_owned()));
    }

    fn number(&mut self, name: &'static str, value: f64) {
        self.0.insert(name, Fact::Number(value));
    }
}

/// Number and size of the objects of a generated page: `test2-350-5120`.
fn counted(page: &str) -> Option<(f64, f64)> {
    let (objects, bytes) = page.strip_prefix("test")?.split_once('-')?.1.split_once('-')?;
    Some((objects.parse().ok()?, bytes.parse().ok()?))
}

/// The draw of a page of a drawn site, or of all pages of a list of them: `erman2013-sites#*/3`.
pub(super) fn draw(page: &str) -> Option<u32> {
    page.rsplit_once('#')?.1.split_once('/')?.1.parse().ok()
}

/// Site and draw of a drawn page: `erman2013-sites#7/3`.
fn drawn(page: &str) -> Option<(f64, f64)> {
    let site = page.rsplit_once('#')?.1.split_once('/')?.0;
    Some((site.parse().ok()?, f64::from(draw(page)?)))
}

/// Direction, bytes and connections of a transfer: `download:16KiB/5`.
fn transferred(page: &str) -> Option<(&str, f64, f64)> {
    let (way, rest) =
        page.split_once(':').filter(|(way, _)| ["download", "upload"].contains(way))?;
    let (size, connections) = rest.split_once('/').unwrap_or((rest, "1"));
    Some((way, units::parse::size_bytes(size).ok()? as f64, connections.parse().ok()?))
}

impl Filter {
    /// True if a cell has all of these facts.
    pub fn takes(&self, facts: &Facts) -> bool {
        self.0.iter().all(|(name, value)| facts.get(name) == Some(value))
    }

    /// A name in it that is not a fact's.
    pub fn unknown(&self) -> Option<&str> {
        self.0.keys().map(String::as_str).find(|name| !is_fact(name))
    }
}

/// True if there is a fact of that name.
pub fn is_fact(name: &str) -> bool {
    NAMES.iter().any(|(known, _)| *known == name)
}

impl TryFrom<toml::Value> for Fact {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Fact, String> {
        match value {
            toml::Value::Integer(number) => Ok(Fact::Number(number as f64)),
            toml::Value::Float(number) => Ok(Fact::Number(number)),
            toml::Value::String(text) => Ok(Fact::Text(text)),
            other => Err(format!("a fact is a number or a text, not `{other}`")),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Number(number) => write!(f, "{number}"),
            Fact::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts: Vec<String> =
            self.0.iter().map(|(name, fact)| format!("{name} {fact}")).collect();
        f.write_str(&facts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{NetworkSpec, Scenario};

    fn facts() -> Facts {
        let network = NetworkSpec::parse("rtt=50ms,down=1500kbit,loss=1.5%").unwrap();
        Facts::of("sweep", &Scenario::new("test2-350-5120", network), 0, None)
    }

    #[test]
    fn a_cell_is_told_by_its_facts() {
        let facts = facts();
        let number = |name| facts.get(name).cloned();
        assert_eq!(number("objects"), Some(Fact::Number(350.0)));
        assert_eq!(number("object_bytes"), Some(Fact::Number(5120.0)));
        assert_eq!(number("rtt_ms"), Some(Fact::Number(50.0)));
        assert_eq!(number("down_kbit_s"), Some(Fact::Number(1500.0)));
        assert_eq!(number("beyond_ms"), Some(Fact::Number(0.0)));
        assert_eq!(number("route"), Some(Fact::Text("direct".into())));
        assert_eq!(number("hop_down"), None);
        assert_eq!(counted("erman2013-same-domain"), None);
        assert_eq!(drawn("erman2013-sites#7/3"), Some((7.0, 3.0)));
        assert_eq!(drawn("a.har#page_2"), None);
        assert_eq!(draw("erman2013-sites#*/12"), Some(12));
        assert_eq!(transferred("upload:1KiB/5"), Some(("upload", 1024.0, 5.0)));
        assert_eq!(transferred("synthetic:10x1KB"), None);
    }

    #[test]
    fn a_filter_takes_what_has_all_its_facts() {
        let filter = |text: &str| toml::from_str::<Filter>(text).unwrap();
        assert!(filter("experiment = \"sweep\"\nrtt_ms = 50").takes(&facts()));
        assert!(!filter("experiment = \"sweep\"\nrtt_ms = 51").takes(&facts()));
        assert!(!filter("hop_down = \"10mbit\"").takes(&facts()));
        assert!(filter("").takes(&facts()));
        assert!(toml::from_str::<Filter>("rtt_ms = true").is_err());
        assert_eq!(filter("rtt = 50").unknown(), Some("rtt"));
        assert_eq!(filter("rtt_ms = 50").to_string(), "rtt_ms 50");
    }

    #[test]
    fn every_fact_that_is_read_is_listed() {
        assert!(facts().0.keys().all(|name| is_fact(name)));
    }
}
