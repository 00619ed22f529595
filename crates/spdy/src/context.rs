//! One direction's compression context: it computes, or recalls for as long as it is fed as others were before it.

use std::convert::Infallible;
use std::fmt::{self, Debug};

use bytes::Bytes;

use crate::compress::{Deflater, InflateError, Inflater};
use crate::recall::{Beginning, Place, Recall};
use crate::{Compression, Version};

/// What computes.
pub(crate) trait Coder: Sized {
    /// What it begins with.
    type Setup: Copy + Debug;
    /// Why a block cannot be coded. The context is lost then.
    type Error: Debug;

    fn begin(setup: Self::Setup) -> Self;

    fn beginning(setup: Self::Setup) -> Beginning;

    /// Puts what `block` becomes into `out`, whose content is replaced.
    fn code(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), Self::Error>;
}

impl Coder for Deflater {
    type Setup = (Version, Compression);
    type Error = Infallible;

    fn begin((version, compression): Self::Setup) -> Deflater {
        Deflater::new(version, compression)
    }

    fn beginning((version, compression): Self::Setup) -> Beginning {
        Beginning::Deflater(version, compression)
    }

    fn code(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), Infallible> {
        out.clear();
        self.deflate(block, out);
        Ok(())
    }
}

impl Coder for Inflater {
    type Setup = (Version, usize);
    type Error = InflateError;

    fn begin((version, limit): Self::Setup) -> Inflater {
        Inflater::new(version, limit)
    }

    fn beginning((version, limit): Self::Setup) -> Beginning {
        Beginning::Inflater(version, limit)
    }

    fn code(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), InflateError> {
        self.inflate(block, out)
    }
}

/// A context.
pub(crate) struct Context<C: Coder>(State<C>);

enum State<C: Coder> {
    Computing(Computing<C>),
    Recalling(Recalling<C>),
}

/// It computes, and others may learn from it.
struct Computing<C> {
    coder: C,
    place: Option<Place>,
}

/// All that it has had was known: nothing has been computed.
struct Recalling<C: Coder> {
    setup: C::Setup,
    place: Place,
    history: Vec<Bytes>,
}

impl<C: Coder> Context<C> {
    /// A fresh context, which recalls if it is given wherefrom.
    pub(crate) fn new(setup: C::Setup, recall: Option<&Recall>) -> Context<C> {
        Context(match recall {
            None => State::Computing(Computing { coder: C::begin(setup), place: None }),
            Some(recall) => {
                let place = recall.begin(C::beginning(setup));
                State::Recalling(Recalling { setup, place, history: Vec::new() })
            }
        })
    }

    /// Puts what `block` becomes into `out`, whose content is replaced.
    pub(crate) fn code(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), C::Error> {
        match &mut self.0 {
            State::Computing(computing) => computing.code(block, out),
            State::Recalling(recalling) => {
                if recalling.recall(block, out) {
                    return Ok(());
                }
                let mut computing = recalling.wake();
                let coded = computing.code(block, out);
                self.0 = State::Computing(computing);
                coded
            }
        }
    }
}

impl<C: Coder> Computing<C> {
    fn code(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), C::Error> {
        let coded = self.coder.code(block, out);
        // A context that has failed is lost, and what it says no longer to be learnt.
        let place = self.place.take().filter(|_| coded.is_ok());
        self.place = place.and_then(|place| place.learn(block, out));
        coded
    }
}

impl<C: Coder> Recalling<C> {
    fn recall(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let known = self.place.recall(block, out);
        let is_known = known.is_some();
        self.history.extend(known);
        is_known
    }

    /// What computes on from here: its past is computed once more.
    fn wake(&mut self) -> Computing<C> {
        let mut coder = C::begin(self.setup);
        let mut out = Vec::new();
        for block in &self.history {
            coder.code(block, &mut out).expect("what was coded once can be coded again");
        }
        Computing { coder, place: Some(self.place.clone()) }
    }
}

impl<C: Coder> Debug for Context<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
