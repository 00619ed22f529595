//! Congestion controllers: Reno, CUBIC with HyStart, and BBR, as Linux 6 computes them; Reno and CUBIC as Linux 3
//! did, too.
//!
//! A [`Controller`] is policy alone: how fast the [`Window`] grows on an acknowledgement and how far
//! it falls on congestion. When losses are declared, what may be sent during recovery (PRR) and when
//! a reduction was a mistake are the transport's business - but not for a controller that models the path
//! ([`Controller::is_rate_based`]): BBR is given [samples of the delivery rate](RateSample) and says how fast to
//! [pace](Pace). The window is counted in segments, as
//! Linux counts it; a transport that counts bytes (QUIC) divides by its segment size on the way in
//! and multiplies on the way out.
//!
//! Sans-IO and deterministic: time is an argument, arithmetic is integer apart from one cube root
//! taken from `libm`, which gives the same bits everywhere.
//!
//! Left out: what keeps state between connections, and marks and timers, which are the transport's. Chance is a stream
//! that is handed in.

#![forbid(unsafe_code)]

mod algorithm;
mod bbr;
mod controller;
mod cubic;
mod hystart;
mod rate_sample;
mod reno;
mod window;

pub use algorithm::{Algorithm, Era, Settings};
pub use bbr::Bbr;
pub use controller::{Ack, Controller, Pace, Phase, Resume, Start, Timeout};
pub use cubic::Cubic;
pub use rate_sample::{Delivery, RateSample};
pub use reno::Reno;
pub use window::{INFINITE_SSTHRESH, Window};
