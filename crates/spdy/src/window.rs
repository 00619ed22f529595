//! Flow-control windows (2.6.8): one for each stream since version 3, one for the session in version 3.1.

/// The default size of every window: 64 KB.
pub(crate) const INITIAL_WINDOW: u32 = 65_536;

/// The maximum size of a window: 2^31 - 1.
const GREATEST: i64 = 0x7fff_ffff;

/// A window that this end may fill with DATA. A smaller initial size may make it negative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendWindow(i64);

/// A window would exceed 2^31 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

impl SendWindow {
    pub(crate) fn new(bytes: u32) -> SendWindow {
        SendWindow(bytes.into())
    }

    /// Number of bytes that may be sent.
    pub(crate) fn available(self) -> usize {
        self.0.max(0) as usize
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        self.0 -= bytes as i64;
    }

    /// Changes the window by `delta`, after a WINDOW_UPDATE or another initial size.
    pub(crate) fn shift(&mut self, delta: i64) -> Result<(), Overflow> {
        self.0 += delta;
        if self.0 > GREATEST { Err(Overflow) } else { Ok(()) }
    }
}

/// A window that the peer may fill. Consumed bytes are returned once they are half the window, as in Chrome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    size: u32,
    /// Number of bytes that the peer may still send.
    available: i64,
    /// Number of bytes consumed and not yet returned.
    owed: u32,
    /// Excess allowed to a peer that has not yet learnt that the window is smaller than the protocol's initial one.
    tolerance: i64,
}

/// The peer has sent more than its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overrun;

impl ReceiveWindow {
    pub(crate) fn new(size: u32) -> ReceiveWindow {
        let tolerance = i64::from(INITIAL_WINDOW.saturating_sub(size));
        ReceiveWindow { size, available: size.into(), owed: 0, tolerance }
    }

    /// Counts `bytes` received from the peer.
    pub(crate) fn receive(&mut self, bytes: usize) -> Result<(), Overrun> {
        self.available -= bytes as i64;
        if self.available < -self.tolerance { Err(Overrun) } else { Ok(()) }
    }

    /// Counts `bytes` consumed; returns the WINDOW_UPDATE that is due.
    pub(crate) fn consume(&mut self, bytes: usize) -> Option<u32> {
        self.owed += bytes as u32;
        if self.owed == 0 || self.owed < self.size / 2 {
            return None;
        }
        let due = std::mem::take(&mut self.owed);
        self.available += i64::from(due);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_become_negative_and_recovers() {
        // The example of 2.6.8: 60 KB are sent, then the initial size becomes 16 KB.
        let mut window = SendWindow::new(64 << 10);
        window.spend(60 << 10);
        window.shift(-(48 << 10)).unwrap();
        assert_eq!(window.available(), 0);
        window.shift(44 << 10).unwrap();
        assert_eq!(window.available(), 0);
        window.shift(1).unwrap();
        assert_eq!(window.available(), 1);
    }

    #[test]
    fn no_window_exceeds_31_bits() {
        let mut window = SendWindow::new(0x7fff_ffff);
        assert_eq!(window.shift(1), Err(Overflow));
    }

    #[test]
    fn half_a_window_is_given_back_at_once() {
        let mut window = ReceiveWindow::new(100_000);
        window.receive(60_000).unwrap();
        assert_eq!(window.consume(49_999), None);
        assert_eq!(window.consume(1), Some(50_000));
        assert_eq!(window.receive(90_000), Ok(()));
        assert_eq!(window.receive(1), Err(Overrun));
    }

    #[test]
    fn a_peer_that_has_not_heard_of_a_small_window_may_use_the_initial_one() {
        let mut window = ReceiveWindow::new(1_000);
        assert_eq!(window.receive(65_536), Ok(()));
        assert_eq!(window.receive(1), Err(Overrun));
    }
}
