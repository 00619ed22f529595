//! Compression of header blocks (2.6.10.1): one zlib stream a direction, begun with the version's dictionary and flushed
//! at the end of each block.
//!
//! Both ends must feed every block of a direction through its context, in order: a block that is skipped leaves the
//! context wrong for all that follow.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use thiserror::Error;

use crate::Version;

/// How header blocks are compressed. The peer inflates either without being told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// With zlib's most thorough search in a window of 2 KiB, as Chrome did: its framer's `kCompressorLevel` and
    /// `kCompressorWindowSizeInBits`.
    #[default]
    Deflate,
    /// Not at all: the zlib stream holds stored blocks. nginx's default (`spdy_headers_comp 0`), and what others chose
    /// when the CRIME attack read cookies from the sizes of compressed blocks.
    Stored,
}

const LEVEL: u32 = 9;
const WINDOW_BITS: u8 = 11;

/// Compresses the blocks of one direction.
#[derive(Debug)]
pub struct Deflater(Compress);

impl Deflater {
    /// A fresh context.
    pub fn new(version: Version, compression: Compression) -> Deflater {
        let level = match compression {
            Compression::Deflate => flate2::Compression::new(LEVEL),
            Compression::Stored => flate2::Compression::none(),
        };
        let mut zlib = Compress::new_with_window_bits(level, true, WINDOW_BITS);
        zlib.set_dictionary(version.dictionary()).expect("a fresh zlib stream takes a dictionary");
        Deflater(zlib)
    }

    /// Appends the compressed `block` to `out`.
    pub fn deflate(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let begun = self.0.total_in();
        loop {
            // Stored blocks and flush marks cost a few bytes each, incompressible text a little more.
            out.reserve(block.len() / 2 + 64);
            let used = (self.0.total_in() - begun) as usize;
            let status = self.0.compress_vec(&block[used..], out, FlushCompress::Sync);
            let status = status.expect("a zlib stream in use takes any bytes");
            let all_taken = (self.0.total_in() - begun) as usize == block.len();
            // Room that is left over says that the flush is complete.
            if all_taken && (out.len() < out.capacity() || status == Status::BufError) {
                return;
            }
        }
    }
}

/// Why a block could not be inflated. The context is lost: the session must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InflateError {
    /// It is no zlib stream, or one with another dictionary.
    #[error("the header block is not compressed as the protocol says")]
    Corrupt,
    /// It inflates to more than this end takes.
    #[error("the header block inflates to more than {limit} bytes")]
    TooLarge {
        /// What this end takes.
        limit: usize,
    },
}

/// Inflates the blocks of one direction.
#[derive(Debug)]
pub struct Inflater {
    zlib: Decompress,
    dictionary: &'static [u8],
    limit: usize,
}

impl Inflater {
    /// A fresh context for blocks that inflate to at most `limit` bytes each.
    pub fn new(version: Version, limit: usize) -> Inflater {
        Inflater { zlib: Decompress::new(true), dictionary: version.dictionary(), limit }
    }

    /// Puts the inflated `block` into `out`, whose content is replaced. Never more than the limit (and one byte)
    /// is held, however much the block would become.
    ///
    /// # Errors
    /// See [`InflateError`].
    pub fn inflate(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), InflateError> {
        out.clear();
        let begun = self.zlib.total_in();
        loop {
            let used = (self.zlib.total_in() - begun) as usize;
            if out.capacity() == out.len() {
                let room = (block.len() * 4).max(256);
                out.reserve_exact(room.min(self.limit + 1 - out.len()));
            }
            let status = self.zlib.decompress_vec(&block[used..], out, FlushDecompress::Sync);
            if out.len() > self.limit {
                return Err(InflateError::TooLarge { limit: self.limit });
            }
            match status {
                Err(error) if error.needs_dictionary().is_some() => {
                    let set = self.zlib.set_dictionary(self.dictionary);
                    set.map_err(|_| InflateError::Corrupt)?;
                }
                // A stream that ends could carry no further block.
                Err(_) | Ok(Status::StreamEnd) => return Err(InflateError::Corrupt),
                Ok(Status::Ok | Status::BufError) => {
                    let all_taken = (self.zlib.total_in() - begun) as usize == block.len();
                    let stuck = matches!(status, Ok(Status::BufError));
                    if all_taken && (out.len() < out.capacity() || stuck) {
                        return Ok(());
                    }
                    if stuck && out.len() < out.capacity() {
                        return Err(InflateError::Corrupt);
                    }
                }
            }
        }
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
