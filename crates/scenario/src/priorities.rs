//! The client's mapping of resource types to priorities.

use serde::{Deserialize, Serialize};

/// A mapping by name or file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrioritiesRef {
    /// The name of a mapping, or the path of a file that holds one.
    pub name: String,
    /// Digest of that file, so that a changed file is another cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
