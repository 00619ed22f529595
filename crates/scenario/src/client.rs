//! The two ends: the client's device and browser, and the origin servers.

use serde::{Deserialize, Serialize};

use crate::choice;

choice! {
    /// State of the browser's cache at the start of a visit.
    pub enum View, "view" {
        /// Empty.
        Cold = "cold",
        /// As an earlier, unmeasured load of the same page left it.
        Warm = "warm",
        /// A cold visit, then a warm one in the same journey.
        Both = "both",
    }
    not_yet {}
}

choice! {
    /// Distances of the hosts.
    pub enum Origins, "origins" {
        /// All at the network's RTT.
        Equal = "equal",
        /// Each with the extra RTT that was recorded for it.
        Recorded = "recorded",
    }
    not_yet {}
}

choice! {
    /// Program that loads the page.
    #[derive(Default)]
    pub enum Program, "client" {
        /// farlink's own page loader, by a browser's policy.
        #[default]
        Loader = "loader",
        /// A real Chromium, in the emulated world.
        Chromium = "chromium",
    }
    not_yet {}
}

/// The client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// CPU costs: the name of a device profile, or the path of a file that holds one.
    pub device: String,
    /// Digest of that file, so that a changed file is another cell. Omitted from the text if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_digest: Option<String>,
    /// Factor on every cost of the device.
    pub cpu_multiplier: f64,
    /// The name of a browser policy.
    pub browser: String,
    /// Cache state.
    pub view: View,
    /// Hosts whose objects are not loaded, sorted.
    pub blocked_hosts: Vec<String>,
    /// Program that loads the page. Omitted from the text for the loader, which was once the only one.
    #[serde(default, skip_serializing_if = "Program::is_loader")]
    pub program: Program,
}

impl Program {
    fn is_loader(&self) -> bool {
        *self == Program::Loader
    }
}

/// The origin servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Distances of the hosts.
    pub origins: Origins,
    /// Concurrent requests at one host; `None` is without limit.
    pub workers: Option<u32>,
    /// Time that a request occupies a worker, in addition to the page's own think time.
    pub service_time_ns: u64,
}

impl Default for Client {
    fn default() -> Client {
        Client {
            device: "desktop".to_owned(),
            device_digest: None,
            cpu_multiplier: 1.0,
            browser: "chrome".to_owned(),
            view: View::Cold,
            blocked_hosts: Vec::new(),
            program: Program::Loader,
        }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server { origins: Origins::Equal, workers: None, service_time_ns: 0 }
    }
}
