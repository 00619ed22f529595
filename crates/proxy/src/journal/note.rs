//! The note of a request under way, written down when it is done with.

use std::rc::Rc;

use tls::Protocol;

use super::entry::Entry;

/// Keeps what is told of requests.
pub trait Journal {
    /// A request is done with.
    fn done(&self, entry: &Entry);

    /// Whether it wants an entry of each answer from memory, which costs more than the answer does.
    fn wants_hits(&self) -> bool {
        true
    }

    /// An answer was given from memory, and no entry of it is wanted.
    fn hit(&self, _brief: Brief) {}
}

/// An answer from memory, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// How it was asked for.
    pub protocol: Protocol,
    /// Its status.
    pub status: u16,
    /// Bytes of its body.
    pub sent_bytes: u64,
}

/// Keeps nothing.
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

/// The note of one request. Whoever holds it fills it in; whoever drops it hands it to the journal.
pub struct Note {
    /// What is known so far.
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
