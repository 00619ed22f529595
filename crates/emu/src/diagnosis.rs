//! Prerequisites of emulation that this machine lacks, found by trial, and the command that fixes each.
//!
//! Each [`Capability`] is tried in a short-lived child process. A failure is identified by the place where it occurs and by the
//! switches of the kernel and of distributions that forbid it: Debian's `kernel.unprivileged_userns_clone`, `user.max_user_namespaces`
//! (namespaces(7)), AppArmor's `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu since 23.10).

use std::process::{Command, Stdio};
use std::{fmt, io};

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use crate::{Error, Wire};

mod capability;

pub use capability::Capability;

/// Missing prerequisites of emulation over `wire`; if it is `None`, over any wire.
pub fn missing(wire: Option<Wire>) -> Vec<(Capability, MissingPrerequisite)> {
    lacks(&diagnose(), wire)
}

/// Failures in `findings` that prevent emulation over `wire`; if it is `None`, over any wire: empty if one wire works.
pub fn lacks(
    findings: &[DiagnosisFinding],
    wire: Option<Wire>,
) -> Vec<(Capability, MissingPrerequisite)> {
    let wires = wire.map_or(Wire::ALL.to_vec(), |wire| vec![wire]);
    let hinders = |finding: &DiagnosisFinding, wire: Wire| {
        matches!(finding.outcome, TrialOutcome::Missing(_))
            && finding.capability.is_needed_for(wire)
    };
    if wires.iter().any(|wire| !findings.iter().any(|finding| hinders(finding, *wire))) {
        return Vec::new();
    }
    let lack = |finding: &DiagnosisFinding| match &finding.outcome {
        TrialOutcome::Missing(lack) if wires.iter().any(|wire| hinders(finding, *wire)) => {
            Some((finding.capability, lack.clone()))
        }
        _ => None,
    };
    findings.iter().filter_map(lack).collect()
}

/// Tries all capabilities.
pub fn diagnose() -> Vec<DiagnosisFinding> {
    Capability::ALL.into_iter().fold(Vec::new(), |mut findings, capability| {
        findings.push(DiagnosisFinding { capability, outcome: attempt(capability, &findings) });
        findings
    })
}

/// Tries one capability, unless a prerequisite of it has failed.
fn attempt(capability: Capability, earlier: &[DiagnosisFinding]) -> TrialOutcome {
    let failed = |needed: &&Capability| {
        let found = earlier.iter().find(|finding| finding.capability == **needed);
        found.is_some_and(|finding| !matches!(finding.outcome, TrialOutcome::Works(_)))
    };
    match capability.takes().iter().find(failed) {
        Some(needed) => TrialOutcome::Untried(*needed),
        None => capability.attempt().map_or_else(TrialOutcome::Missing, TrialOutcome::Works),
    }
}

/// Runs `job` in a forked child, which takes all changes to itself with it.
///
/// `job` makes system calls only: other threads' locks are held for ever in the child.
fn in_child(job: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    // SAFETY: the child makes system calls only, and leaves by one.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let code = job().err().map_or(0, |errno| errno as i32);
            // SAFETY: leaves at once; what exit(3) would run belongs to the parent. Linux's error numbers fit an exit code.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => loop {
            match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
                Ok(WaitStatus::Exited(_, code)) => return Err(Errno::from_raw(code)),
                // A seccomp filter may kill instead of refusing (seccomp(2)).
                Ok(WaitStatus::Signaled(..)) => return Err(Errno::EPERM),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        },
    }
}

/// Runs a program and returns the first line of its output, or of its error message.
fn first_line(command: &mut Command) -> Result<String, AttemptError> {
    let output = command.stdin(Stdio::null()).output().map_err(AttemptError::NotStarted)?;
    let line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned()
    };
    match output.status.success() {
        true => Ok(line(&output.stdout)),
        false => Err(AttemptError::Failed(line(&output.stderr))),
    }
}

/// Reason why a program failed.
#[derive(Debug)]
enum AttemptError {
    /// It does not exist, or may not be run.
    NotStarted(io::Error),
    /// Its error message.
    Failed(String),
}

/// Result of trying one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosisFinding {
    /// The capability tried.
    pub capability: Capability,
    /// Outcome of the trial.
    pub outcome: TrialOutcome,
}

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// It works; with a detail to report.
    Works(String),
    /// It does not work.
    Missing(MissingPrerequisite),
    /// Not tried, because this other capability is missing.
    Untried(Capability),
}

/// A missing prerequisite, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPrerequisite {
    /// Reason why it does not work.
    pub why: String,
    /// A command that fixes it, to be run by root, or advice if there is none.
    pub remedy: String,
}

impl MissingPrerequisite {
    /// For `map_err` and the like.
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> MissingPrerequisite {
        MissingPrerequisite { why: why.into(), remedy: remedy.into() }
    }
}

/// A sandbox or a testbed could not be made. There is no result in this case: never one from a link that is not emulated.
#[derive(Debug)]
pub struct SetupError {
    cause: Error,
    missing: Vec<(Capability, MissingPrerequisite)>,
}

impl SetupError {
    /// Finds out the reasons behind `cause` if this wire was asked for.
    pub fn explain(cause: Error, wire: Option<Wire>) -> SetupError {
        SetupError { cause, missing: missing(wire) }
    }

    /// Remedies, a command or sentence each.
    pub fn remedies(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(|(_, lack)| lack.remedy.as_str())
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this machine does not emulate networks: {}", self.cause)?;
        let mut missing = self.missing.iter();
        missing.try_for_each(|(capability, lack)| write!(f, "; {capability}: {}", lack.why))
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_lack_is_not_another_one() {
        let lack = TrialOutcome::Missing(MissingPrerequisite::new("not installed", "install it"));
        let found = |outcome| [DiagnosisFinding { capability: Capability::Iproute2, outcome }];
        let untried = TrialOutcome::Untried(Capability::Iproute2);
        assert_eq!(attempt(Capability::Veth, &found(lack)), untried);
        assert_ne!(attempt(Capability::Veth, &found(TrialOutcome::Works("".into()))), untried);
    }

    #[test]
    fn one_wire_is_enough() {
        let found = |capability, works| {
            let lack = MissingPrerequisite::new("the kernel has none", "load it");
            let outcome =
                if works { TrialOutcome::Works("".into()) } else { TrialOutcome::Missing(lack) };
            DiagnosisFinding { capability, outcome }
        };
        let machine = |iproute2, veth, tap| {
            [(Capability::Iproute2, iproute2), (Capability::Veth, veth), (Capability::Tap, tap)]
                .map(|(capability, works)| found(capability, works))
        };
        let lacking = |machine: &[DiagnosisFinding], wire| -> Vec<Capability> {
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

    #[test]
    fn children_tell_what_failed() {
        assert_eq!(in_child(|| Ok(())), Ok(()));
        assert_eq!(in_child(|| Err(Errno::ENOSPC)), Err(Errno::ENOSPC));
        assert_eq!(
            in_child(|| nix::sys::signal::raise(nix::sys::signal::SIGKILL)),
            Err(Errno::EPERM)
        );
    }

    #[test]
    fn programs_are_quoted() {
        assert_eq!(first_line(Command::new("sh").args(["-c", "echo a; echo b"])).unwrap(), "a");
        let failed = first_line(Command::new("sh").args(["-c", "echo no >&2; exit 1"]));
        assert!(matches!(failed, Err(AttemptError::Failed(line)) if line == "no"));
        let missing = first_line(&mut Command::new("/no/such/program"));
        assert!(matches!(missing, Err(AttemptError::NotStarted(_))));
    }

    #[test]
    fn says_what_failed_why_and_what_to_do() {
        let lack = MissingPrerequisite::new("the kernel has no veth", "modprobe veth");
        let refusal = SetupError {
            cause: Error::Ip { message: "Unknown device type".into() },
            missing: vec![(Capability::Veth, lack)],
        };
        let text = refusal.to_string();
        assert!(text.contains("Unknown device type"), "{text}");
        assert!(text.ends_with("; virtual Ethernet (veth): the kernel has no veth"), "{text}");
        assert_eq!(refusal.remedies().collect::<Vec<_>>(), ["modprobe veth"]);
    }
}
