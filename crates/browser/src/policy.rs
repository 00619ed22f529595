//! Browser policies: how many connections a browser opens. Data, in `data/policies.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::named::{Table, UnknownName};

/// How a browser uses connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// One line for people.
    pub summary: String,
    /// HTTP/1.1 connections to one host at a time.
    pub connections_per_host: usize,
    /// Connections in all.
    pub connections_total: usize,
    /// Requests on one HTTP/1.1 connection at a time where they are pipelined.
    pub pipeline_depth: usize,
}

static TABLE: Table<Policy> = Table::new("browser policy", include_str!("../data/policies.toml"));

impl Policy {
    /// The policy called `name`.
    ///
    /// # Errors
    /// If there is none; the message lists those that exist.
    pub fn named(name: &str) -> Result<Policy, UnknownName> {
        TABLE.find(name)
    }

    /// All policies by name.
    pub fn all() -> &'static BTreeMap<String, Policy> {
        TABLE.all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_limits_are_sane() {
        let all = Policy::all();
        assert!(all.len() >= 3);
        for (name, policy) in all {
            assert!(policy.connections_per_host >= 1, "{name}");
            assert!(policy.pipeline_depth >= 1, "{name}");
            assert!(policy.connections_total >= policy.connections_per_host, "{name}");
        }
        let error = Policy::named("netscape").unwrap_err().to_string();
        assert!(error.contains("chrome-2013"), "{error}");
    }
}
