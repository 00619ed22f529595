//! The algorithms by name, and the kernels from which they are taken.

use std::time::Duration;

use chance::RandomStream;

use crate::{Bbr, Controller, Cubic, Reno};

/// The available algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease by a half (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438 with the kernel's constants), leaving slow start by HyStart.
    #[default]
    Cubic,
    /// CUBIC that leaves slow start on loss alone (module parameter `hystart=0`).
    CubicWithoutHystart,
    /// BBR, version 1 (Linux 4.9 and later).
    Bbr,
}

/// Kernel generation of the arithmetic of Reno and CUBIC. BBR has only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Era {
    /// Linux 3.0 to 3.2 (and 2.6.32, whose differences in HyStart are left out).
    Linux3_0,
    /// Linux 3.3 to 3.12.
    Linux3_10,
    /// Linux 6.
    #[default]
    Linux6,
}

/// Settings of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerSettings {
    /// Kernel generation of its arithmetic.
    pub era: Era,
    /// Tick of the kernel's clock (`1 / HZ`).
    pub tick: Duration,
    /// The transport paces whatever the algorithm wants.
    pub paced: bool,
}

impl Default for ControllerSettings {
    fn default() -> ControllerSettings {
        ControllerSettings { era: Era::default(), tick: Duration::from_millis(1), paced: false }
    }
}

impl Algorithm {
    /// A fresh controller for one connection; `chance` is its source of random numbers.
    pub fn controller(
        self,
        settings: &ControllerSettings,
        chance: RandomStream,
    ) -> Box<dyn Controller> {
        match self {
            Algorithm::Reno => Box::new(Reno::new(settings.era)),
            Algorithm::Cubic => Box::new(Cubic::with_hystart(settings)),
            Algorithm::CubicWithoutHystart => Box::new(Cubic::without_hystart(settings)),
            Algorithm::Bbr => Box::new(Bbr::new(chance)),
        }
    }
}
