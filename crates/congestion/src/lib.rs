//! Congestion controllers: Reno, CUBIC with HyStart, and BBR, as computed by Linux 6; Reno and CUBIC also as computed by
//! Linux 3.
//!
//! A [`Controller`] is policy alone: the growth of the [`Window`] on an acknowledgement and its reduction
//! on congestion. Declaring losses, sending during recovery (PRR) and detecting spurious
//! reductions belong to the transport - but not for a controller that models the path
//! ([`Controller::is_rate_based`]): BBR is given [samples of the delivery rate](RateSample) and sets the
//! [pace](Pace). The window is counted in segments, as in
//! Linux; a transport that counts bytes (QUIC) divides by its segment size on the way in
//! and multiplies on the way out.
//!
//! Sans-IO and deterministic: time is an argument, arithmetic is integer apart from one cube root
//! taken from `libm`, which gives the same bits everywhere.
//!
//! Left out: state kept between connections, and marks and timers, which belong to the transport. Randomness is a stream
//! that is passed in.

#![forbid(unsafe_code)]

mod algorithm;
mod bbr;
mod controller;
mod cubic;
mod hystart;
mod reno;
mod window;

pub use algorithm::{Algorithm, ControllerSettings, Era};
pub use bbr::Bbr;
pub use controller::{
    Ack, CarefulResume, Controller, Delivery, InitialState, PacingRate, RateSample, RecoveryPhase,
    Timeout,
};
pub use cubic::Cubic;
pub use reno::Reno;
pub use window::{INFINITE_SSTHRESH, Window};
