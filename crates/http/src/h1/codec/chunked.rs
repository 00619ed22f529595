//! The chunked transfer coding (RFC 9112 section 7.1), decoded incrementally.
//!
//! ```text
//! chunked-body = *chunk last-chunk trailer-section CRLF
//! chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
//! ```
//! Extensions and trailers are checked for forbidden bytes, counted against the limit and discarded. Blanks between a
//! size and the end of its line are accepted from servers, some of which pad their sizes; in a request they are a
//! smuggling vector, and refused. Every line must end in CRLF: a lone CR or LF is refused everywhere.

use super::Piece;
use super::{CodecLimits, Error};

/// A chunked body being decoded.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    state: ChunkedState,
    /// Bytes of extensions and trailers so far.
    overhead: usize,
    /// True if blanks may end a size line.
    is_padded: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum ChunkedState {
    /// Before a chunk's first digit.
    #[default]
    Start,
    /// Within a chunk's size.
    Size(u64),
    /// After blanks that follow a size: an extension may follow.
    Blank(u64),
    /// Within an extension.
    Extension(u64),
    /// Before the LF of a size line.
    SizeLf(u64),
    /// Within a chunk's data.
    Data(u64),
    DataCr,
    DataLf,
    /// At the start of a line after the last chunk.
    Trailer,
    /// Within a trailer's name.
    Name,
    /// Within a trailer's value.
    Value,
    TrailerLf,
    /// Before the final LF.
    EndLf,
}

impl Chunked {
    /// A body that a server sends.
    pub(super) fn of_server() -> Chunked {
        Chunked { is_padded: true, ..Chunked::default() }
    }

    /// Decodes from the front of `buffer`; returns the number of bytes consumed.
    pub(super) fn next<'b>(
        &mut self,
        buffer: &'b [u8],
        limits: &CodecLimits,
    ) -> Result<(usize, Piece<'b>), Error> {
        let mut at = 0;
        while at < buffer.len() {
            if let ChunkedState::Data(left) = self.state {
                let most = usize::try_from(left).unwrap_or(usize::MAX);
                let data = &buffer[at..at.saturating_add(most).min(buffer.len())];
                let left = left - data.len() as u64;
                self.state =
                    if left == 0 { ChunkedState::DataCr } else { ChunkedState::Data(left) };
                return Ok((at + data.len(), Piece::Data(data)));
            }
            let byte = buffer[at];
            at += 1;
            if matches!(self.state, ChunkedState::EndLf) {
                return if byte == b'\n' { Ok((at, Piece::End)) } else { Err(Error::Chunk) };
            }
            self.state = self.framing(byte, limits)?;
        }
        Ok((at, Piece::More))
    }

    /// Takes one byte that is not data.
    fn framing(&mut self, byte: u8, limits: &CodecLimits) -> Result<ChunkedState, Error> {
        let next = match (self.state, byte) {
            (ChunkedState::Start, _) => ChunkedState::Size(digit(byte)?),
            (ChunkedState::Size(size), b'\r') => ChunkedState::SizeLf(size),
            (ChunkedState::Blank(size), b'\r') if self.is_padded => ChunkedState::SizeLf(size),
            (ChunkedState::Size(size), b' ' | b'\t') => {
                self.spend(ChunkedState::Blank(size), limits)?
            }
            (ChunkedState::Size(size) | ChunkedState::Blank(size), b';') => {
                self.spend(ChunkedState::Extension(size), limits)?
            }
            (ChunkedState::Size(size), _) => {
                // Refused rather than wrapped: the size must be understood to find the next one.
                let shifted = size.checked_mul(16).ok_or(Error::Chunk)?;
                self.spend(ChunkedState::Size(shifted + digit(byte)?), limits)?
            }
            (ChunkedState::Blank(size), b' ' | b'\t') => {
                self.spend(ChunkedState::Blank(size), limits)?
            }
            (ChunkedState::Extension(size), b'\r') => ChunkedState::SizeLf(size),
            (ChunkedState::Extension(size), _) if is_text(byte) => {
                self.spend(ChunkedState::Extension(size), limits)?
            }
            (ChunkedState::SizeLf(0), b'\n') => ChunkedState::Trailer,
            (ChunkedState::SizeLf(size), b'\n') => ChunkedState::Data(size),
            (ChunkedState::DataCr, b'\r') => ChunkedState::DataLf,
            (ChunkedState::DataLf, b'\n') => ChunkedState::Start,
            (ChunkedState::Trailer, b'\r') => ChunkedState::EndLf,
            (ChunkedState::Trailer | ChunkedState::Name, _) if is_token(byte) => {
                self.spend(ChunkedState::Name, limits)?
            }
            (ChunkedState::Name, b':') => self.spend(ChunkedState::Value, limits)?,
            (ChunkedState::Value, b'\r') => ChunkedState::TrailerLf,
            (ChunkedState::Value, _) if is_text(byte) => self.spend(ChunkedState::Value, limits)?,
            (ChunkedState::TrailerLf, b'\n') => ChunkedState::Trailer,
            _ => return Err(Error::Chunk),
        };
        Ok(next)
    }

    /// Counts a byte that is neither data nor a line's end.
    fn spend(&mut self, next: ChunkedState, limits: &CodecLimits) -> Result<ChunkedState, Error> {
        self.overhead += 1;
        if self.overhead > limits.head_bytes { Err(Error::TooLarge) } else { Ok(next) }
    }
}

fn digit(byte: u8) -> Result<u64, Error> {
    char::from(byte).to_digit(16).map(u64::from).ok_or(Error::Chunk)
}

/// `field-vchar`, blank or `obs-text` (RFC 9110 section 5.5).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// `tchar` (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CodecLimits = CodecLimits { head_bytes: 64, fields: 8 };

    /// The body, and the number of bytes consumed; `None` if more are needed.
    fn decode(mut input: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Error> {
        let (mut chunked, mut body, whole) = (Chunked::default(), Vec::new(), input.len());
        loop {
            let (used, piece) = chunked.next(input, &LIMITS)?;
            input = &input[used..];
            match piece {
                Piece::Data(data) => body.extend_from_slice(data),
                Piece::End => return Ok(Some((body, whole - input.len()))),
                Piece::More => return Ok(None),
            }
        }
    }

    #[test]
    fn decodes_chunks_extensions_and_trailers() {
        let coded = b"5\r\nhello\r\n6 ;a=\"b\"\r\n world\r\n000\r\nA: b\r\nC:\r\n\r\nGET";
        let (body, used) = decode(coded).unwrap().unwrap();
        assert_eq!(body, b"hello world");
        assert_eq!(used, coded.len() - 3);
        assert_eq!(decode(b"0\r\n\r\n").unwrap().unwrap().0, b"");
        assert_eq!(decode(b"ffffffffffffffff\r\nx"), Ok(None));
    }

    #[test]
    fn refuses_what_is_ambiguous() {
        for bad in [
            &b"\r\n"[..],
            b"5\nhello\r\n",
            b"5\r\nhelloX",
            b"5\r\nhello\n",
            b"5\r\nhello\rX",
            b"5 \r\nhello\r\n",
            b" 5\r\nhello\r\n",
            b"0x5\r\nhello\r\n",
            b"-5\r\nhello\r\n",
            b"5;a\nhello\r\n",
            b"5;a\rb\r\nhello\r\n",
            b"5;\0\r\nhello\r\n",
            b"10000000000000000\r\n",
            b"0\r\n folded\r\n\r\n",
            b"0\r\nno colon\r\n\r\n",
            b"0\r\nA: b\n\r\n",
            b"0\r\n\rX",
        ] {
            assert_eq!(decode(bad), Err(Error::Chunk), "{:?}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn servers_may_pad_sizes() {
        let padded = b"5 \t\r\nhello\r\n0  \r\n\r\n";
        let (mut chunked, mut input, mut body) = (Chunked::of_server(), &padded[..], Vec::new());
        loop {
            let (used, piece) = chunked.next(input, &LIMITS).unwrap();
            input = &input[used..];
            match piece {
                Piece::Data(data) => body.extend_from_slice(data),
                Piece::End => break,
                Piece::More => panic!("it is whole"),
            }
        }
        assert_eq!((&body[..], input), (&b"hello"[..], &b""[..]));
        let inner = Chunked::of_server().next(b"5 5\r\nhello\r\n", &LIMITS);
        assert_eq!(inner.unwrap_err(), Error::Chunk);
    }

    #[test]
    fn overhead_is_limited_over_the_whole_body() {
        let long = format!("1;{}\r\n", "x".repeat(64));
        assert_eq!(decode(long.as_bytes()), Err(Error::TooLarge));
        assert_eq!(decode(&b"1;xxxx\r\nA\r\n".repeat(13)), Err(Error::TooLarge));
        assert_eq!(decode(&b"1;xxxx\r\nA\r\n".repeat(12)), Ok(None));
        assert_eq!(decode(&[b'0'; 80]), Err(Error::TooLarge));
    }
}
