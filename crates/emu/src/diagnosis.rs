//! What this machine lacks for emulations, found out by trying, and the command that mends it.
//!
//! Each [`Capability`] is tried in a child process that is gone afterwards. What fails is told by the place where it failed and by the
//! switches of the kernel and of distributions that forbid it: Debian's `kernel.unprivileged_userns_clone`, `user.max_user_namespaces`
//! (namespaces(7)), AppArmor's `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu since 23.10).

mod attempt;
mod capability;
mod finding;
mod refusal;

pub use capability::Capability;
pub use finding::{Finding, Lack};
pub use refusal::Refusal;

/// What this machine lacks without which there is no emulation.
pub fn missing() -> Vec<(Capability, Lack)> {
    let lack = |capability: Capability| Some((capability, capability.attempt().err()?));
    Capability::ALL.into_iter().filter(|part| part.is_needed()).filter_map(lack).collect()
}

/// Tries everything.
pub fn diagnose() -> Vec<Finding> {
    let attempt = |capability: Capability| Finding { capability, outcome: capability.attempt() };
    Capability::ALL.into_iter().map(attempt).collect()
}
