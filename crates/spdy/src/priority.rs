//! Priority of a stream.

/// A stream's priority: 0 is the most urgent, 7 the least (2.3.3).
///
/// Version 2 has 0 to 3. Its draft calls 0 the lowest, but Chrome, mod_spdy and spdylay all used 0 for the most
/// urgent in that version, too, and so does this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The most urgent.
    pub const HIGHEST: Priority = Priority(0);
    /// The least urgent. A frame of version 2 carries it as 3.
    pub const LOWEST: Priority = Priority(7);

    /// The priority `level`; values above 7 count as 7.
    pub fn new(level: u8) -> Priority {
        Priority(level.min(Priority::LOWEST.0))
    }

    /// 0 to 7.
    pub fn level(self) -> u8 {
        self.0
    }
}
