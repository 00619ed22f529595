//! The entry of a request under way, handed to the journal at the end.

use std::rc::Rc;

use tls::Protocol;

use super::entry::Entry;

/// Receiver of request entries.
pub trait Journal {
    /// Records a finished request.
    fn done(&self, entry: &Entry);

    /// Returns true if it wants an entry for each hit in memory, which costs more than the hit itself.
    fn wants_hits(&self) -> bool {
        true
    }

    /// Records a hit in memory for which no entry is wanted.
    fn hit(&self, _brief: Brief) {}
}

/// Summary of a hit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Protocol of the request.
    pub protocol: Protocol,
    /// Its status.
    pub status: u16,
    /// Bytes of its body.
    pub sent_bytes: u64,
}

/// Discards everything.
impl Journal for () {
    fn done(&self, _entry: &Entry) {}

    fn wants_hits(&self) -> bool {
        false
    }
}

impl<J: Journal> Journal for Option<J> {
    fn done(&self, entry: &Entry) {
        if let Some(journal) = self {
            journal.done(entry);
        }
    }

    fn wants_hits(&self) -> bool {
        self.as_ref().is_some_and(Journal::wants_hits)
    }

    fn hit(&self, brief: Brief) {
        if let Some(journal) = self {
            journal.hit(brief);
        }
    }
}

/// The note of one request. Its holder fills it in; dropping it hands it to the journal.
pub struct Note {
    /// The entry so far.
    pub entry: Entry,
    journal: Rc<dyn Journal>,
}

impl Note {
    /// A note for `journal`.
    pub fn new(entry: Entry, journal: &Rc<dyn Journal>) -> Note {
        Note { entry, journal: Rc::clone(journal) }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        self.journal.done(&self.entry);
    }
}
