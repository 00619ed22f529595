//! Removals that an operator requests.

use crate::key::{Key, OwnedKey, Partition};

/// Scope of a removal.
#[derive(Clone, Copy, Debug)]
pub enum Purge<'a> {
    /// All responses under one key.
    Key(Key<'a>),
    /// All responses of one partition whose URI has this prefix: `https://www.example.com/images/`. Scheme and host
    /// in lower case.
    Prefix(Partition, &'a str),
    /// Everything in one partition.
    Partition(Partition),
    /// Everything.
    All,
}

impl Purge<'_> {
    pub(super) fn covers(&self, key: &OwnedKey) -> bool {
        match self {
            Purge::Key(wanted) => key.is(wanted),
            Purge::Prefix(partition, prefix) => {
                key.partition() == *partition && key.uri().starts_with(prefix)
            }
            Purge::Partition(partition) => key.partition() == *partition,
            Purge::All => true,
        }
    }
}
