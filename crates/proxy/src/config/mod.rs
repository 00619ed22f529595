//! What a proxy is told: one TOML file, or a few arguments, made into [`Settings`] or refused with the place and the remedy.
//!
//! What was typed ([`File`]) and what was resolved ([`Settings`]) are two types: settings that exist are valid, their files read.

mod error;
mod file;
mod http3;
mod intercept;
mod resolve;
mod settings;
mod values;

pub use error::{ConfigError, Place};
pub use file::File;
pub use resolve::{load, resolve};
pub use settings::{
    Access, Admin, Forward, HostField, Http3, Intercept, Listener, Log, LogFormat, LogPlace,
    PacFile, Reverse, Settings, Trust,
};
pub use values::{Address, Network, PortRange, Size};
