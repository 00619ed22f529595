//! Congestion controllers: Reno, and CUBIC with HyStart, as Linux 6 computes them.
//!
//! A [`Controller`] is policy alone: how fast the [`Window`] grows on an acknowledgement and how far
//! it falls on congestion. When losses are declared, what may be sent during recovery (PRR) and when
//! a reduction was a mistake are the transport's business. The window is counted in segments, as
//! Linux counts it; a transport that counts bytes (QUIC) divides by its segment size on the way in
//! and multiplies on the way out.
//!
//! Sans-IO and deterministic: time is an argument, arithmetic is integer apart from one cube root
//! taken from `libm`, which gives the same bits everywhere.
//!
//! Left out: ECN, pacing, and the cache of thresholds between connections (off by default in
//! Linux since 5.6, `tcp_no_ssthresh_metrics_save`).

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
