//! The generations of Linux, and their defaults.
//!
//! An old generation is reproduced from its source alone: no such kernel runs beside the model, as one does beside
//! [`Generation::Linux6`]. The functions read, in 3.0.27, 3.10.17 and 6.18.2, are cited where they are used;
//! 2.6.32 and 3.2.4 were compared with 3.0.27 (`tcp_input.c`, `tcp_cubic.c` and, for 3.2.4, `tcp_output.c` and
//! `tcp_timer.c`), to which they are equal except where their variants differ.

use std::str::FromStr;
use std::time::Duration;

use congestion::{Algorithm, Era};

use crate::config::behaviour::{
    Frto, Growth, HandshakeRtt, IdleRestart, LossDetection, LossWindow, MetricsUse, Reduction,
    RttSampling, SpuriousResponse, SynLossWindow, TailLossProbe, TsoSegments,
};
use crate::config::named::{NamedVariant, names};
use crate::config::{AckPolicy, Clock, Config, ReceiveBufferPolicy, SendBufferPolicy};
use crate::{EcnPolicy, Pacing};

/// A generation of Linux: a name for one set of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Generation {
    /// 2009: initial windows of RFC 3390; otherwise as 3.0.
    Linux2_6_32,
    /// 2011: ten segments, a first timeout of 3 s, FACK, rate halving, the F-RTO of RFC 4138.
    Linux3_0,
    /// 2012: a first timeout of 1 s, proportional rate reduction.
    Linux3_2,
    /// 2013: early retransmit, tail loss probes, the F-RTO of RFC 5682.
    Linux3_10,
    /// 2025 (6.18): RACK, acknowledgements counted by segments, the round trip in microseconds.
    #[default]
    Linux6,
}

names!(Generation {
    Linux2_6_32 => "linux-2.6.32",
    Linux3_0 => "linux-3.0",
    Linux3_2 => "linux-3.2",
    Linux3_10 => "linux-3.10",
    Linux6 => "linux-6",
});

impl Generation {
    /// All of them, oldest first.
    pub const ALL: [Generation; 5] = [
        Generation::Linux2_6_32,
        Generation::Linux3_0,
        Generation::Linux3_2,
        Generation::Linux3_10,
        Generation::Linux6,
    ];

    /// True if a kernel of this generation can be run beside the model. If not, a result should say that the model is from
    /// source, with no living reference.
    pub fn has_living_reference(self) -> bool {
        self == Generation::Linux6
    }

    /// Its defaults, on a path of 1500 bytes.
    pub fn config(self) -> Config {
        match self {
            Generation::Linux6 => linux_6(),
            Generation::Linux3_10 => linux_3_10(),
            Generation::Linux3_2 => linux_3_2(),
            Generation::Linux3_0 => linux_3_0(),
            Generation::Linux2_6_32 => linux_2_6_32(),
        }
    }
}

fn linux_6() -> Config {
    Config {
        generation: Generation::Linux6,
        mss: 1448,
        timestamps: true,
        sack: true,
        dsack: true,
        initial_rto: Duration::from_secs(1),
        syn_retries: 6,
        syn_linear_timeouts: 4,
        syn_ack_retries: 5,
        syn_loss_window: SynLossWindow::OneUnlessNeedless,
        handshake_rtt: HandshakeRtt::Counts,
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(120),
        retries: 15,
        clock: Clock::EXACT,
        rtt_sampling: RttSampling::Transmissions,
        congestion: Algorithm::Cubic,
        congestion_era: Era::Linux6,
        pacing: Pacing::Off,
        ecn: EcnPolicy::Passive,
        initial_window: 10,
        growth: Growth::PerSegment,
        slow_start_after_idle: true,
        idle_restart: IdleRestart::AtWrite,
        reset_rtt_after_idle: None,
        loss_detection: LossDetection::Rack,
        early_retransmit: false,
        tail_loss_probe: TailLossProbe::Linux6,
        reduction: Reduction::Prr6,
        frto: Frto::Rfc5682,
        spurious_response: SpuriousResponse::RateHalving,
        loss_window: LossWindow::InFlightPlusOne,
        metrics: MetricsUse::Linux6,
        metrics_lifetime: Duration::from_secs(3600),
        tso_segments: TsoSegments::Autosized,
        nagle: false,
        send_buffer: SendBufferPolicy::LINUX_6,
        notsent_lowat: None,
        receive_buffer: ReceiveBufferPolicy::LINUX_6,
        ack_policy: AckPolicy::LINUX,
        time_wait: Duration::from_secs(60),
    }
}

fn linux_3_10() -> Config {
    Config {
        generation: Generation::Linux3_10,
        syn_linear_timeouts: 0,
        syn_loss_window: SynLossWindow::OneAfterTwo,
        // The tick of the distributions of the time (Ubuntu 12.04 and 14.04).
        clock: Clock::ticks(250),
        rtt_sampling: RttSampling::Echo,
        congestion_era: Era::Linux3_10,
        growth: Growth::PerAck,
        idle_restart: IdleRestart::AfterFirstBurst,
        loss_detection: LossDetection::Fack,
        early_retransmit: true,
        tail_loss_probe: TailLossProbe::Linux310,
        reduction: Reduction::Prr310,
        loss_window: LossWindow::One,
        metrics: MetricsUse::Linux3,
        tso_segments: TsoSegments::One,
        send_buffer: SendBufferPolicy::LINUX_3_10,
        receive_buffer: ReceiveBufferPolicy::LINUX_3_10,
        ack_policy: AckPolicy::LINUX_3,
        ..linux_6()
    }
}

fn linux_3_2() -> Config {
    Config {
        generation: Generation::Linux3_2,
        syn_retries: 5,
        // CUBIC's undo after a timeout was fixed in 3.3.
        congestion_era: Era::Linux3_0,
        early_retransmit: false,
        tail_loss_probe: TailLossProbe::Off,
        reduction: Reduction::Prr32,
        frto: Frto::Rfc4138,
        receive_buffer: ReceiveBufferPolicy::LINUX_3_0,
        ..linux_3_10()
    }
}

fn linux_3_0() -> Config {
    Config {
        generation: Generation::Linux3_0,
        initial_rto: Duration::from_secs(3),
        syn_loss_window: SynLossWindow::Keep,
        handshake_rtt: HandshakeRtt::NeedsTimestamps,
        reduction: Reduction::RateHalving,
        send_buffer: SendBufferPolicy::LINUX_3_0,
        ..linux_3_2()
    }
}

fn linux_2_6_32() -> Config {
    Config {
        generation: Generation::Linux2_6_32,
        // RFC 3390 for segments between 1096 and 1460 bytes (`tcp_init_cwnd`).
        initial_window: 3,
        receive_buffer: ReceiveBufferPolicy::LINUX_2_6_32,
        ..linux_3_0()
    }
}

/// Error: no generation has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no TCP generation is called `{name}`; there are linux-2.6.32, linux-3.0, linux-3.2, linux-3.10, linux-6"
)]
pub struct UnknownGenerationError {
    /// The name given.
    pub name: String,
}

impl FromStr for Generation {
    type Err = UnknownGenerationError;

    fn from_str(name: &str) -> Result<Generation, UnknownGenerationError> {
        Generation::named(name).ok_or_else(|| UnknownGenerationError { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_is_known_by_its_name_and_says_so() {
        for generation in Generation::ALL {
            assert_eq!(generation.to_string().parse(), Ok(generation));
            assert_eq!(generation.config().generation, generation);
        }
        assert!("linux-4".parse::<Generation>().is_err());
    }

    #[test]
    fn the_newest_is_the_default() {
        assert_eq!(Config::default(), Generation::Linux6.config());
    }
}
