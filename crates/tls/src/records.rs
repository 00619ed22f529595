//! Record sizing: the amount of plaintext that a server puts into one record.
//!
//! A receiver cannot use any of a record before its last byte arrives. A large record therefore waits for several
//! packets, and a small one costs its header and tag (29 bytes in TLS 1.2, 22 in 1.3) more often.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use units::Time;
use world::TcpStream;

/// The most plaintext in a record (RFC 8446 section 5.1).
pub(super) const MAX_RECORD_BYTES: usize = 16_384;

/// A server's rule for the size of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Records {
    /// At most this many bytes of plaintext in each, up to 16,384: the protocol's maximum is the default of Apache and
    /// nginx (`ssl_buffer_size`).
    Fixed(usize),
    /// Small records first, each of which fits one packet, then larger ones, then the largest; small ones again after a
    /// pause. Cloudflare's patch of nginx with its defaults (`ssl_dyn_rec_size_lo` 1369, `_hi` 4229, `_threshold` 40
    /// records, `_timeout` 1 s).
    Dynamic,
}

impl Default for Records {
    fn default() -> Records {
        Records::Fixed(MAX_RECORD_BYTES)
    }
}

const SMALL_BYTES: usize = 1369;
const MEDIUM_BYTES: usize = 4229;
/// Number of records of each of the two sizes before the next larger one.
const THRESHOLD: u32 = 40;
/// After a pause of this length the window may have shrunk, so sizing starts over.
const PAUSE: Duration = Duration::from_secs(1);

/// The records of one connection so far.
#[derive(Debug)]
pub(super) struct Sizer {
    rule: Records,
    records: u32,
    last: Time,
}

impl Sizer {
    pub(super) fn new(rule: Records) -> Sizer {
        Sizer { rule, records: 0, last: Time::ZERO }
    }

    /// Returns true if sizes change within a connection, so that the TLS library cannot be given one.
    pub(super) fn is_dynamic(&self) -> bool {
        self.rule == Records::Dynamic
    }

    /// The size limit of the next record.
    pub(super) fn limit(&mut self, now: Time) -> usize {
        match self.rule {
            Records::Fixed(bytes) => bytes.clamp(1, MAX_RECORD_BYTES),
            Records::Dynamic => {
                if now > self.last + PAUSE {
                    self.records = 0;
                }
                match self.records {
                    0..THRESHOLD => SMALL_BYTES,
                    _ if self.records < 2 * THRESHOLD => MEDIUM_BYTES,
                    _ => MAX_RECORD_BYTES,
                }
            }
        }
    }

    /// Notes that a record was written.
    pub(super) fn wrote(&mut self, now: Time) {
        self.records = self.records.saturating_add(1);
        self.last = now;
    }
}

/// A stream that puts writes into records and hands them to TCP. No record is made before the transport has accepted
/// all earlier ones.
pub(super) trait Sealing {
    /// Makes records of `parts` or a prefix of them; returns the number of bytes.
    fn seal(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Makes the record that ends the stream.
    fn seal_end(&mut self);

    /// Hands all records to the transport.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// The transport.
    fn transport(&mut self) -> &mut TcpStream;

    /// Seals as much of `parts` as there is room for, whether or not the transport accepts all of it now.
    fn poll_seal(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        let sealed = self.seal(parts)?;
        match self.poll_drain(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(sealed)),
        }
    }

    /// Ready when the transport has accepted everything.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(self.transport()).poll_flush(cx)
    }

    /// Ends the stream.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.seal_end();
        ready!(self.poll_drain(cx))?;
        Pin::new(self.transport()).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_grow_and_begin_anew_after_a_pause() {
        let mut sizer = Sizer::new(Records::Dynamic);
        let mut now = Time::from_millis(5_000);
        let mut sizes = Vec::new();
        for _ in 0..90 {
            sizes.push(sizer.limit(now));
            sizer.wrote(now);
            now += Duration::from_millis(1);
        }
        assert!(sizes[..40].iter().all(|size| *size == 1369));
        assert!(sizes[40..80].iter().all(|size| *size == 4229));
        assert!(sizes[80..].iter().all(|size| *size == 16_384));
        assert_eq!(sizer.limit(now + Duration::from_millis(900)), 16_384);
        assert_eq!(sizer.limit(now + Duration::from_millis(1_100)), 1369);
    }

    #[test]
    fn a_fixed_size_stays() {
        let mut sizer = Sizer::new(Records::Fixed(4096));
        assert_eq!(sizer.limit(Time::ZERO), 4096);
        assert_eq!(Sizer::new(Records::Fixed(1 << 20)).limit(Time::ZERO), MAX_RECORD_BYTES);
    }
}
