//! Random loss: each packet independently, with one probability.
//!
//! Real losses come in bursts; this is the model of dummynet's `plr` and of netem's `loss random`.

use chance::Stream;

/// Decides for each packet whether it is lost.
pub(crate) struct Loss {
    probability: f64,
    stream: Stream,
}

impl Loss {
    pub(crate) fn new(probability: f64, stream: Stream) -> Loss {
        Loss { probability, stream }
    }

    /// Whether the next packet is lost. Draws once a packet whatever the probability is, so that
    /// networks that differ in their loss alone see the same numbers.
    pub(crate) fn strikes(&mut self) -> bool {
        self.stream.happens(self.probability)
    }
}
