//! One direction's compression context: it computes results, or recalls them as long as its input is that of an
//! earlier context.

use std::convert::Infallible;
use std::fmt::{self, Debug};

use bytes::Bytes;

use crate::compress::{Deflater, InflateError, Inflater};
use crate::recall::{Beginning, Place, Recall};
use crate::{Compression, Version};

/// A compressor or decompressor.
pub(crate) trait Coder: Sized {
    /// Its initial parameters.
    type Setup: Copy + Debug;
    /// The error of a block that cannot be coded. The context is lost then.
    type Error: Debug;

    fn begin(setup: Self::Setup) -> Self;

    fn beginning(setup: Self::Setup) -> Beginning;

    /// Replaces the contents of `out` with the result of `block`.
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

/// The coder at work; others may learn its results.
struct Computing<C> {
    coder: C,
    place: Option<Place>,
}

/// Recall only: all blocks so far were known, and nothing has been computed.
struct Recalling<C: Coder> {
    setup: C::Setup,
    place: Place,
    history: Vec<Bytes>,
}

impl<C: Coder> Context<C> {
    /// Creates a context, which recalls results from `recall` if given.
    pub(crate) fn new(setup: C::Setup, recall: Option<&Recall>) -> Context<C> {
        Context(match recall {
            None => State::Computing(Computing { coder: C::begin(setup), place: None }),
            Some(recall) => {
                let place = recall.begin(C::beginning(setup));
                State::Recalling(Recalling { setup, place, history: Vec::new() })
            }
        })
    }

    /// Replaces the contents of `out` with the result of `block`.
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
        // A failed context is lost, and its results are no longer learnt.
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

    /// Starts computing: the blocks so far are coded once more.
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
