//! Configuration of a proxy: one TOML file, or a few arguments, resolved to [`Settings`] or refused with the place and the
//! remedy.
//!
//! The input ([`File`]) and the result ([`Settings`]) are two types: existing settings are valid, and their files have been read.

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
