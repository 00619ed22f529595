//! Facts about a cell, in the terms of clauses: `protocol = "h1"`, `rtt_ms = 50`.
//!
//! Facts depend on a cell's scenario alone, not on its measurements.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use scenario::{Protocol, Scenario};

/// One value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum Fact {
    /// A number, in the unit that the fact's name states.
    Number(f64),
    /// A name.
    Text(String),
}

/// All facts of a cell, by name: those of [`FACTS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(BTreeMap<&'static str, Fact>);

/// A selection of cells: those with all of these facts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Filter(BTreeMap<String, Fact>);

/// A cell: each journey's `visit`-th visit.
pub(super) struct Visited<'a> {
    experiment: &'a str,
    scenario: &'a Scenario,
    visit: u32,
    /// The visited page, as the experiment names it.
    page: &'a str,
}

pub(super) type Read = fn(&Visited<'_>) -> Option<Fact>;

/// All facts by name, and how each is read; studies/README.md explains them.
pub(super) const FACTS: [(&str, Read); 25] = [
    ("experiment", |it| text(it.experiment)),
    ("page", |it| text(it.page)),
    ("site", |it| number(drawn(it.page)?.0)),
    ("draw", |it| number(drawn(it.page)?.1)),
    ("transfer", |it| text(transferred(it.page)?.0)),
    ("bytes", |it| number(transferred(it.page)?.1)),
    ("connections", |it| number(transferred(it.page)?.2)),
    ("objects", |it| number(counted(it.page)?.0)),
    ("object_bytes", |it| number(counted(it.page)?.1)),
    ("network", |it| text(it.scenario.network.base.as_deref().unwrap_or("custom"))),
    ("rtt_ms", |it| number(it.scenario.network.rtt_ns? as f64 / 1e6)),
    ("down_kbit_s", |it| number(it.scenario.network.down_bit_per_s? as f64 / 1e3)),
    ("up_kbit_s", |it| number(it.scenario.network.up_bit_per_s? as f64 / 1e3)),
    ("loss_pct", |it| number(it.scenario.network.loss_ratio? * 100.0)),
    ("down_loss", |it| text(it.scenario.network.others.get("down.loss")?)),
    ("hop_down", |it| text(it.scenario.network.others.get("hop.1.down")?)),
    ("route", |it| text(&it.scenario.route.without_stretch().to_string())),
    ("beyond_ms", |it| number(it.scenario.route.stretch.rtt_ns.unwrap_or(0) as f64 / 1e6)),
    ("beyond_loss_pct", |it| number(it.scenario.route.stretch.loss_ratio.unwrap_or(0.0) * 100.0)),
    ("protocol", |it| text(it.scenario.stack.protocol.name())),
    ("tls", |it| text(it.scenario.stack.tls.name())),
    ("tcp", |it| text(&it.scenario.transport.server.to_string())),
    ("browser", |it| text(&it.scenario.client.browser)),
    ("traffic", |it| text(&it.scenario.traffic.to_string())),
    ("visit", |it| number(f64::from(it.visit))),
];

fn text(value: &str) -> Option<Fact> {
    Some(Fact::Text(value.to_owned()))
}

fn number(value: f64) -> Option<Fact> {
    Some(Fact::Number(value))
}

impl Facts {
    /// The facts of a cell of `experiment`: of each journey's `visit`-th visit, to `page` if the journey has
    /// several.
    pub fn of(experiment: &str, scenario: &Scenario, visit: u32, page: Option<&str>) -> Facts {
        let page = page.unwrap_or(&scenario.page.spec);
        let visited = Visited { experiment, scenario, visit, page };
        Facts(FACTS.iter().filter_map(|(name, read)| Some((*name, read(&visited)?))).collect())
    }

    /// The fact of that name, if the cell has one.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.0.get(name)
    }

    /// The experiment's id within the study.
    pub fn experiment(&self) -> Option<String> {
        self.get("experiment").map(Fact::to_string)
    }

    /// The protocol.
    pub fn protocol(&self) -> Option<Protocol> {
        self.get("protocol")?.to_string().parse().ok()
    }

    /// The names of facts that differ.
    pub(super) fn differences(&self, other: &Facts) -> Vec<&'static str> {
        let names = FACTS.iter().map(|(name, _)| *name);
        names.filter(|name| self.0.get(name) != other.0.get(name)).collect()
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
    FACTS.iter().any(|(known, _)| *known == name)
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
}
