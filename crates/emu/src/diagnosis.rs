//! Prerequisites of emulation that this machine lacks, found by trial, and the command that fixes each.
//!
//! Each [`Capability`] is tried in a short-lived child process. A failure is identified by the place where it occurs and by the
//! switches of the kernel and of distributions that forbid it: Debian's `kernel.unprivileged_userns_clone`, `user.max_user_namespaces`
//! (namespaces(7)), AppArmor's `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu since 23.10).

mod attempt;
mod capability;
mod finding;
mod refusal;

pub use capability::Capability;
pub use finding::{Finding, Lack, Outcome};
pub use refusal::Refusal;

use crate::Wire;

/// Missing prerequisites of emulation over `wire`; if it is `None`, over any wire.
pub fn missing(wire: Option<Wire>) -> Vec<(Capability, Lack)> {
    lacks(&diagnose(), wire)
}

/// Failures in `findings` that prevent emulation over `wire`; if it is `None`, over any wire: empty if one wire works.
pub fn lacks(findings: &[Finding], wire: Option<Wire>) -> Vec<(Capability, Lack)> {
    let wires = wire.map_or(Wire::ALL.to_vec(), |wire| vec![wire]);
    let hinders = |finding: &Finding, wire: Wire| {
        matches!(finding.outcome, Outcome::Missing(_)) && finding.capability.is_needed_for(wire)
    };
    if wires.iter().any(|wire| !findings.iter().any(|finding| hinders(finding, *wire))) {
        return Vec::new();
    }
    let lack = |finding: &Finding| match &finding.outcome {
        Outcome::Missing(lack) if wires.iter().any(|wire| hinders(finding, *wire)) => {
            Some((finding.capability, lack.clone()))
        }
        _ => None,
    };
    findings.iter().filter_map(lack).collect()
}

/// Tries all capabilities.
pub fn diagnose() -> Vec<Finding> {
    Capability::ALL.into_iter().fold(Vec::new(), |mut findings, capability| {
        findings.push(Finding { capability, outcome: attempt(capability, &findings) });
        findings
    })
}

/// Tries one capability, unless a prerequisite of it has failed.
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
    fn one_wire_is_enough() {
        let found = |capability, works| {
            let lack = Lack::new("the kernel has none", "load it");
            let outcome = if works { Outcome::Works("".into()) } else { Outcome::Missing(lack) };
            Finding { capability, outcome }
        };
        let machine = |iproute2, veth, tap| {
            [(Capability::Iproute2, iproute2), (Capability::Veth, veth), (Capability::Tap, tap)]
                .map(|(capability, works)| found(capability, works))
        };
        let lacking = |machine: &[Finding], wire| -> Vec<Capability> {
            lacks(machine, wire).into_iter().map(|(capability, _)| capability).collect()
        };
        let without_veth = machine(true, false, true);
        assert_eq!(lacking(&without_veth, None), []);
        assert_eq!(lacking(&without_veth, Some(Wire::Tap)), []);
        assert_eq!(lacking(&without_veth, Some(Wire::Veth)), [Capability::Veth]);
        assert_eq!(lacking(&machine(true, true, false), None), []);
        let without_either = machine(true, false, false);
        assert_eq!(lacking(&without_either, None), [Capability::Veth, Capability::Tap]);
        assert_eq!(lacking(&machine(false, true, true), None), [Capability::Iproute2]);
    }

    #[test]
    fn what_is_taken_is_tried_before() {
        for (at, capability) in Capability::ALL.iter().enumerate() {
            let tried = &Capability::ALL[..at];
            assert!(capability.takes().iter().all(|needed| tried.contains(needed)), "{capability}");
        }
    }
}
