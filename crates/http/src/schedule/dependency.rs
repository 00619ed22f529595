//! RFC 7540's stream dependencies (section 5.3), which RFC 9113 has deprecated.

/// Bytes of a dependency in a frame.
pub const WIRE_BYTES: usize = 5;

/// The first bit.
const EXCLUSIVE: u32 = 1 << 31;

/// A stream's parent, and its share beside siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The parent stream; 0 is none.
    pub parent: u32,
    /// 1 to 256.
    pub weight: u16,
    /// True if the parent's former dependents become this stream's.
    pub is_exclusive: bool,
}

/// The default priority (section 5.3.5).
impl Default for Dependency {
    fn default() -> Dependency {
        Dependency { parent: 0, weight: 16, is_exclusive: false }
    }
}

impl Dependency {
    /// Parses the five bytes of a frame.
    pub fn parse(bytes: [u8; WIRE_BYTES]) -> Dependency {
        let [a, b, c, d, weight] = bytes;
        let word = u32::from_be_bytes([a, b, c, d]);
        Dependency {
            parent: word & !EXCLUSIVE,
            weight: u16::from(weight) + 1,
            is_exclusive: word & EXCLUSIVE != 0,
        }
    }

    /// Its encoding in a frame.
    pub fn encode(self) -> [u8; WIRE_BYTES] {
        let exclusive = if self.is_exclusive { EXCLUSIVE } else { 0 };
        let [a, b, c, d] = (self.parent | exclusive).to_be_bytes();
        let weight = (self.weight.clamp(1, 256) - 1) as u8;
        [a, b, c, d, weight]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_five_bytes_read_back(bytes: [u8; WIRE_BYTES]) {
            prop_assert_eq!(Dependency::parse(bytes).encode(), bytes);
        }
    }

    #[test]
    fn the_weight_on_the_wire_is_one_less() {
        let dependency = Dependency { parent: 11, weight: 256, is_exclusive: true };
        assert_eq!(dependency.encode(), [0x80, 0, 0, 11, 255]);
    }
}
