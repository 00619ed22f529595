//! Applications at both ends, and a check of the data that they receive.

use std::time::Duration;

use farlink_tcp::Connection;
use units::Time;

/// A byte of a stream that repeats only after a long time.
fn byte(direction: u8, at: usize) -> u8 {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ direction
}

/// Reading speed of an application.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Maximum number of bytes at a time.
    pub most: usize,
    /// Pause before the next read.
    pub rest: Duration,
}

/// One direction of the exchange, as its two applications see it.
pub struct Stream {
    direction: u8,
    len: usize,
    written: usize,
    read: usize,
    rests_until: Time,
}

impl Stream {
    pub fn new(direction: u8, len: usize) -> Stream {
        Stream { direction, len, written: 0, read: 0, rests_until: Time::ZERO }
    }

    /// Writes as much as is accepted.
    pub fn write(&mut self, end: &mut Connection, now: Time, chunk: usize) {
        while self.written < self.len {
            let upto = self.len.min(self.written + chunk);
            let data: Vec<u8> = (self.written..upto).map(|at| byte(self.direction, at)).collect();
            let n = if self.written.is_multiple_of(2) {
                end.write(now, &data)
            } else {
                end.write_bytes(now, data.into())
            };
            self.written += n;
            if n == 0 {
                return;
            }
        }
    }

    pub fn is_written(&self) -> bool {
        self.written == self.len
    }

    /// Reads up to the limit, then pauses. Returns the time of the next read, if more has arrived by now.
    pub fn read(&mut self, end: &mut Connection, now: Time, pace: Pace) -> Option<Time> {
        if now >= self.rests_until {
            self.take(end, now, pace.most);
            self.rests_until = now + pace.rest;
        }
        let more = end.is_readable() && !end.at_eof();
        more.then_some(self.rests_until)
    }

    fn take(&mut self, end: &mut Connection, now: Time, most: usize) {
        let mut buf = vec![0; most];
        let n = end.read(now, &mut buf);
        for (offset, got) in buf[..n].iter().enumerate() {
            let at = self.read + offset;
            assert_eq!(*got, byte(self.direction, at), "stream {} at {at}", self.direction);
        }
        self.read += n;
    }

    /// Reads the rest and checks that the stream is complete.
    pub fn finish(&mut self, end: &mut Connection, now: Time) {
        self.take(end, now, self.len + 1);
        assert_eq!(self.read, self.len, "stream {} is not whole", self.direction);
    }
}
