//! What the applications at both ends do, and whether they get what was sent.

use std::time::Duration;

use farlink_tcp::Connection;
use units::Time;

/// A byte of a stream that repeats only after a long time.
fn byte(direction: u8, at: usize) -> u8 {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ direction
}

/// How fast an application reads.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// At most so much at a time.
    pub most: usize,
    /// Before it reads again.
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

    /// Writes as much as is taken.
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

    /// Takes at most so much, then rests for a while. Returns when it wants to go on, if there is more by now.
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

    /// Takes the rest and wants it to be everything.
    pub fn finish(&mut self, end: &mut Connection, now: Time) {
        self.take(end, now, self.len + 1);
        assert_eq!(self.read, self.len, "stream {} is not whole", self.direction);
    }
}
