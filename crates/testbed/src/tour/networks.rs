//! Networks read once, for all the journeys over them.
//!
//! A network can name files: itself, traces, lists of losses. They are read on the first use of a network;
//! journeys share the contents even if a file is edited meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use net::{Network, SpecError};

use scenario::NetworkSpec;

/// Networks, keyed by scenarios' specifications.
#[derive(Default)]
pub(super) struct Networks(Mutex<BTreeMap<String, Arc<Network>>>);

impl Networks {
    /// The network of `spec`, read from its files on first use.
    pub(super) fn open(&self, spec: &NetworkSpec) -> Result<Arc<Network>, SpecError> {
        let text = spec.to_string();
        let mut networks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = networks.get(&text) {
            return Ok(Arc::clone(network));
        }
        let network = Arc::new(Network::parse(&text)?);
        networks.insert(text, Arc::clone(&network));
        Ok(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("walk.txt");
        std::fs::write(&path, "1\n2\n").unwrap();
        let text = format!("rtt=20ms,up=1mbit,down.trace={}", path.display());
        let spec = NetworkSpec::parse(&text).unwrap();
        let networks = Networks::default();
        let first = networks.open(&spec).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(Arc::ptr_eq(&first, &networks.open(&spec).unwrap()));
        assert!(Networks::default().open(&spec).is_err(), "nobody else has read it");
    }
}
