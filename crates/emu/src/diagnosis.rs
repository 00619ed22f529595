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
pub use finding::{Finding, Lack, Outcome};
pub use refusal::Refusal;

/// What this machine lacks without which there is no emulation.
pub fn missing() -> Vec<(Capability, Lack)> {
    let lack = |found: Finding| match found.outcome {
        Outcome::Missing(lack) if found.capability.is_needed() => Some((found.capability, lack)),
        _ => None,
    };
    diagnose().into_iter().filter_map(lack).collect()
}

/// Tries everything.
pub fn diagnose() -> Vec<Finding> {
    Capability::ALL.into_iter().fold(Vec::new(), |mut findings, capability| {
        findings.push(Finding { capability, outcome: attempt(capability, &findings) });
        findings
    })
}

/// Tries one, unless something that it takes has failed.
fn attempt(capability: Capability, earlier: &[Finding]) -> Outcome {
    let failed = |needed: &&Capability| {
        let found = earlier.iter().find(|finding| finding.capability == **needed);
        found.is_some_and(|finding| !matches!(finding.outcome, Outcome::Works(_)))
    };
    match capability.takes().iter().find(failed) {
        Some(needed) => Outcome::Untried(*needed),
        None => capability.attempt().map_or_else(Outcome::Missing, Outcome::Works),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_lack_is_not_another_one() {
        let lack = Outcome::Missing(Lack::new("not installed", "install it"));
        let found = |outcome| [Finding { capability: Capability::Iproute2, outcome }];
        let untried = Outcome::Untried(Capability::Iproute2);
        assert_eq!(attempt(Capability::Veth, &found(lack)), untried);
        assert_ne!(attempt(Capability::Veth, &found(Outcome::Works("".into()))), untried);
    }

    #[test]
    fn what_is_taken_is_tried_before() {
        for (at, capability) in Capability::ALL.iter().enumerate() {
            let tried = &Capability::ALL[..at];
            assert!(capability.takes().iter().all(|needed| tried.contains(needed)), "{capability}");
        }
    }
}
