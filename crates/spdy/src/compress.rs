//! Compression of header blocks (2.6.10.1): one zlib stream per direction, which starts with the version's
//! dictionary and is flushed at the end of each block.
//!
//! Both ends must feed every block of a direction through its context, in order: a skipped block corrupts the
//! context for all later ones.

use std::convert::Infallible;
use std::fmt::{self, Debug};

use bytes::Bytes;
use thiserror::Error;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Inflate, InflateFlush, Status};

use crate::Version;
use crate::recall::{Beginning, Recall, RecallPosition};

/// Compression of header blocks. The peer inflates either kind without being told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Zlib's most thorough search in a window of 2 KiB with the least memory, as in Chrome's framer:
    /// `kCompressorLevel`, `kCompressorWindowSizeInBits` and `kCompressorMemLevel`.
    #[default]
    Deflate,
    /// None: the zlib stream holds stored blocks. nginx's default (`spdy_headers_comp 0`), and the choice of others
    /// when the CRIME attack read cookies from the sizes of compressed blocks.
    Stored,
}

const LEVEL: i32 = 9;
const WINDOW_BITS: i32 = 11;
/// A deflate block holds at most 127 literals and matches, which suits heads; with more memory zlib would clear 48
/// KiB for each.
const MEMORY_LEVEL: i32 = 1;

/// The maximum window, because a peer may use it.
const PEER_WINDOW_BITS: u8 = 15;

/// Size of zlib's input and output buffers: more than most heads.
const PIECE_BYTES: usize = 1024;

/// Compresses the blocks of one direction.
pub struct Deflater(Deflate);

impl Deflater {
    /// Creates a new context.
    pub fn new(version: Version, compression: Compression) -> Deflater {
        let level = match compression {
            Compression::Deflate => LEVEL,
            Compression::Stored => 0,
        };
        let mut zlib = Deflate::new_with_config(DeflateConfig {
            level,
            window_bits: WINDOW_BITS,
            mem_level: MEMORY_LEVEL,
            ..DeflateConfig::default()
        });
        zlib.set_dictionary(version.dictionary()).expect("a fresh zlib stream takes a dictionary");
        Deflater(zlib)
    }

    /// Appends the compressed `block` to `out`.
    pub fn deflate(&mut self, mut block: &[u8], out: &mut Vec<u8>) {
        let mut piece = [0; PIECE_BYTES];
        loop {
            let (begun_in, begun_out) = (self.0.total_in(), self.0.total_out());
            let status = self.0.compress(block, &mut piece, DeflateFlush::SyncFlush);
            let status = status.expect("a zlib stream in use takes any bytes");
            let made = (self.0.total_out() - begun_out) as usize;
            block = &block[(self.0.total_in() - begun_in) as usize..];
            out.extend_from_slice(&piece[..made]);
            // Space left over means that the flush is complete.
            if block.is_empty() && (made < piece.len() || status == Status::BufError) {
                return;
            }
        }
    }
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflater").finish_non_exhaustive()
    }
}

/// Inflate error. The context is lost: the session must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InflateError {
    /// The block is not a zlib stream, or uses another dictionary.
    #[error("the header block's compression is invalid")]
    Corrupt,
    /// The block inflates to more than this end's limit.
    #[error("the header block inflates to more than {limit} bytes")]
    TooLarge {
        /// This end's limit.
        limit: usize,
    },
}

/// Inflates the blocks of one direction.
pub struct Inflater {
    zlib: Inflate,
    dictionary: &'static [u8],
    limit: usize,
}

impl Inflater {
    /// Creates a context for blocks that inflate to at most `limit` bytes each.
    pub fn new(version: Version, limit: usize) -> Inflater {
        let zlib = Inflate::new(true, PEER_WINDOW_BITS);
        Inflater { zlib, dictionary: version.dictionary(), limit }
    }

    /// Replaces the contents of `out` with the inflated `block`. Memory use is bounded by the limit, whatever the
    /// block's inflated size.
    ///
    /// # Errors
    /// See [`InflateError`].
    pub fn inflate(&mut self, mut block: &[u8], out: &mut Vec<u8>) -> Result<(), InflateError> {
        out.clear();
        let mut piece = [0; PIECE_BYTES];
        loop {
            let (begun_in, begun_out) = (self.zlib.total_in(), self.zlib.total_out());
            let status = self.zlib.decompress(block, &mut piece, InflateFlush::SyncFlush);
            let made = (self.zlib.total_out() - begun_out) as usize;
            block = &block[(self.zlib.total_in() - begun_in) as usize..];
            if out.len() + made > self.limit {
                return Err(InflateError::TooLarge { limit: self.limit });
            }
            out.extend_from_slice(&piece[..made]);
            match status {
                Err(zlib_rs::InflateError::NeedDict { .. }) => {
                    let set = self.zlib.set_dictionary(self.dictionary);
                    set.map_err(|_| InflateError::Corrupt)?;
                }
                // A stream that has ended cannot carry another block.
                Err(_) | Ok(Status::StreamEnd) => return Err(InflateError::Corrupt),
                // Space left over means that the input gives no more output.
                Ok(_) if made == piece.len() => {}
                Ok(_) if block.is_empty() => return Ok(()),
                Ok(Status::BufError) => return Err(InflateError::Corrupt),
                Ok(Status::Ok) => {}
            }
        }
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").field("limit", &self.limit).finish_non_exhaustive()
    }
}

// One direction's compression context: it computes results, or recalls them as long as its input is that of an
// earlier context.

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
pub(crate) struct Context<C: Coder>(ContextState<C>);

enum ContextState<C: Coder> {
    Computing(Computing<C>),
    Recalling(Recalling<C>),
}

/// The coder at work; others may learn its results.
struct Computing<C> {
    coder: C,
    place: Option<RecallPosition>,
}

/// Recall only: all blocks so far were known, and nothing has been computed.
struct Recalling<C: Coder> {
    setup: C::Setup,
    place: RecallPosition,
    history: Vec<Bytes>,
}

impl<C: Coder> Context<C> {
    /// Creates a context, which recalls results from `recall` if given.
    pub(crate) fn new(setup: C::Setup, recall: Option<&Recall>) -> Context<C> {
        Context(match recall {
            None => ContextState::Computing(Computing { coder: C::begin(setup), place: None }),
            Some(recall) => {
                let place = recall.begin(C::beginning(setup));
                ContextState::Recalling(Recalling { setup, place, history: Vec::new() })
            }
        })
    }

    /// Replaces the contents of `out` with the result of `block`.
    pub(crate) fn code(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), C::Error> {
        match &mut self.0 {
            ContextState::Computing(computing) => computing.code(block, out),
            ContextState::Recalling(recalling) => {
                if recalling.recall(block, out) {
                    return Ok(());
                }
                let mut computing = recalling.wake();
                let coded = computing.code(block, out);
                self.0 = ContextState::Computing(computing);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: &[u8] = b"\0\0\0\x01\0\0\0\x0auser-agent\0\0\0\x12Mozilla/5.0 (test)";

    fn deflated(version: Version, compression: Compression, blocks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut deflater = Deflater::new(version, compression);
        let deflate = |block: &&[u8]| {
            let mut out = Vec::new();
            deflater.deflate(block, &mut out);
            out
        };
        blocks.iter().map(deflate).collect()
    }

    #[test]
    fn a_stream_begins_with_its_dictionarys_name_and_learns() {
        let v3 = deflated(Version::V3, Compression::Deflate, &[BLOCK, BLOCK]);
        // CMF with a window of 2^11 and deflate, FLG with FDICT, then the dictionary's Adler-32.
        assert_eq!(v3[0][0], 0x38);
        assert_eq!(v3[0][2..6], [0xe3, 0xc6, 0xa7, 0xc2]);
        assert_eq!(v3[0][v3[0].len() - 4..], [0, 0, 0xff, 0xff], "a sync flush ends a block");
        assert!(v3[1].len() < 16, "the second block is one match: {:?}", v3[1]);
        let v2 = deflated(Version::V2, Compression::Deflate, &[BLOCK]);
        assert_eq!(v2[0][2..6], [0xdf, 0xa2, 0x51, 0xb2]);
    }

    #[test]
    fn stored_blocks_show_their_text() {
        let stored = deflated(Version::V31, Compression::Stored, &[BLOCK, BLOCK]);
        for block in &stored {
            assert!(block.windows(BLOCK.len()).any(|window| window == BLOCK), "{block:?}");
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = vec![b'a'; 10 << 20];
        let packed = deflated(Version::V31, Compression::Deflate, &[&bomb]);
        assert!(packed[0].len() < 64 << 10);
        let mut out = Vec::new();
        let mut inflater = Inflater::new(Version::V31, 16 << 10);
        let error = inflater.inflate(&packed[0], &mut out).unwrap_err();
        assert_eq!(error, InflateError::TooLarge { limit: 16 << 10 });
        assert!(out.capacity() <= 33 << 10, "{}", out.capacity());
    }

    #[test]
    fn another_versions_dictionary_is_refused() {
        let packed = deflated(Version::V2, Compression::Deflate, &[BLOCK]);
        let mut inflater = Inflater::new(Version::V3, 1024);
        let error = inflater.inflate(&packed[0], &mut Vec::new()).unwrap_err();
        assert_eq!(error, InflateError::Corrupt);
    }

    fn version() -> impl Strategy<Value = Version> {
        prop::sample::select(Version::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn blocks_come_back_in_order(
            version in version(),
            stored in any::<bool>(),
            blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..8),
        ) {
            let compression =
                if stored { Compression::Stored } else { Compression::Deflate };
            let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
            let packed = deflated(version, compression, &blocks);
            let mut inflater = Inflater::new(version, 3000);
            let mut out = Vec::new();
            for (packed, block) in packed.iter().zip(blocks) {
                inflater.inflate(packed, &mut out).unwrap();
                prop_assert_eq!(&out, block);
            }
        }

        #[test]
        fn no_bytes_panic_or_unpack_beyond_the_limit(
            version in version(),
            bytes in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            let mut out = Vec::new();
            let mut inflater = Inflater::new(version, 100);
            let honest = deflated(version, Compression::Deflate, &[b"abc"]);
            prop_assert!(inflater.inflate(&honest[0], &mut out).is_ok());
            if inflater.inflate(&bytes, &mut out).is_ok() {
                prop_assert!(out.len() <= 100);
            }
        }
    }
}
