//! Errors of emulation.

use std::io;

use chromium::ChromiumError;

use super::Role;
use super::channel::ChannelError;

/// Failure of a journey's sandbox.
#[derive(Debug, thiserror::Error)]
pub(super) enum EmulationError {
    /// Namespaces, interfaces or the emulator.
    #[error(transparent)]
    Emulator(#[from] emu::Error),
    /// The kernel does not have a setting that the scenario asks for, or refused it.
    #[error(transparent)]
    Kernel(#[from] kernel::Refusal),
    /// The page or the network cannot be read.
    #[error("{0}")]
    Scenario(String),
    /// One end of the network failed.
    #[error("the {} of the emulated journey failed: {}", .0.name(), .1)]
    Node(Role, String),
    /// farlink's own socket pairs failed.
    #[error("failed to speak between processes: {0}")]
    Channel(io::Error),
    /// The process that ordered the journey is gone or sent an unknown message.
    #[error("failed to speak to farlink: {0}")]
    Owner(ChannelError),
}

impl EmulationError {
    pub(super) fn channel(error: io::Error) -> EmulationError {
        EmulationError::Channel(error)
    }

    pub(super) fn owner(error: ChannelError) -> EmulationError {
        EmulationError::Owner(error)
    }
}

/// Failure of one end of the network.
#[derive(Debug, thiserror::Error)]
pub(super) enum NodeError {
    /// The supervisor is gone or sent an unknown message.
    #[error("failed to speak to the supervisor: {0}")]
    Supervisor(#[from] ChannelError),
    /// The page or the network cannot be read.
    #[error("{0}")]
    Scenario(String),
    /// The browser.
    #[error(transparent)]
    Chromium(#[from] ChromiumError),
    /// The kernel does not report the browser's connections.
    #[error(transparent)]
    Follower(#[from] kernel::Error),
    /// The kernel refused a socket.
    #[error("failed to listen or to run: {0}")]
    Io(#[from] io::Error),
}
