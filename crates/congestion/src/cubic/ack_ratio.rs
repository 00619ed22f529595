//! Average number of segments covered by an acknowledgement.
//!
//! Linux 3 counts acknowledgements while CUBIC's growth is in segments, and corrects by this ratio. Source:
//! Linux 3.0 `bictcp_acked` (`delayed_ack`). Unit: sixteenths of a segment.

const SHIFT: u32 = 4;
/// A receiver that acknowledges every second segment.
const INITIAL: u32 = 2 << SHIFT;
/// `ACK_RATIO_LIMIT`
const LIMIT: u32 = 32 << SHIFT;

/// The running mean.
#[derive(Debug, Clone)]
pub(super) struct AckRatio(u32);

impl AckRatio {
    pub(super) fn new() -> AckRatio {
        AckRatio(INITIAL)
    }

    /// An acknowledgement covered `acked` segments: `ratio = 15/16 ratio + acked`.
    pub(super) fn observe(&mut self, acked: u32) {
        self.0 = (self.0 - (self.0 >> SHIFT) + acked).min(LIMIT);
    }

    /// Number of acknowledgements that report `segments`, at least one.
    pub(super) fn acknowledgements(&self, segments: u64) -> u64 {
        ((segments << SHIFT) / u64::from(self.0)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_converges_and_scales() {
        let mut ratio = AckRatio::new();
        assert_eq!(ratio.acknowledgements(100), 50);
        for _ in 0..100 {
            ratio.observe(1);
        }
        // From above the mean of ones stays at 31/16: the shift loses fractions below a sixteenth.
        assert_eq!((ratio.0, ratio.acknowledgements(100)), (31, 51));
        for _ in 0..1000 {
            ratio.observe(1000);
        }
        assert_eq!(ratio.acknowledgements(100), 3);
        assert_eq!(ratio.acknowledgements(1), 1);
    }
}
