//! The suites that come with farlink.

use scenario::choice;
use scenario::experiment::Source;

choice! {
    /// A suite of farlink's own.
    pub enum Shipped, "suite" {
        /// A few minutes: for every change.
        Quick = "quick",
        /// Up to two hours: the published one.
        Full = "full",
        /// Some minutes: radios in front of the links.
        Radio = "radio",
        /// Some minutes: proxies between clients and servers.
        Routes = "routes",
        /// Some twenty minutes: a satellite, bare and behind a PEP.
        Pep = "pep",
    }
    not_yet {}
}

impl Shipped {
    /// Its text.
    pub fn source(self) -> Source {
        let text = match self {
            Shipped::Quick => include_str!("../suites/quick.toml"),
            Shipped::Full => include_str!("../suites/full.toml"),
            Shipped::Radio => include_str!("../suites/radio.toml"),
            Shipped::Routes => include_str!("../suites/routes.toml"),
            Shipped::Pep => include_str!("../suites/pep.toml"),
        };
        Source::new(format!("the suite {self}"), text)
    }
}
