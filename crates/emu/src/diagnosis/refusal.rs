//! Explanation for people why there is no emulation.

use std::fmt;

use super::{Capability, Lack, missing};
use crate::{Error, Wire};

/// A sandbox or a testbed could not be made. There is no result in this case: never one from a link that is not emulated.
#[derive(Debug)]
pub struct Refusal {
    cause: Error,
    missing: Vec<(Capability, Lack)>,
}

impl Refusal {
    /// Finds out the reasons behind `cause` if this wire was asked for.
    pub fn explain(cause: Error, wire: Option<Wire>) -> Refusal {
        Refusal { cause, missing: missing(wire) }
    }

    /// Remedies, a command or sentence each.
    pub fn remedies(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(|(_, lack)| lack.remedy.as_str())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this machine does not emulate networks: {}", self.cause)?;
        let mut missing = self.missing.iter();
        missing.try_for_each(|(capability, lack)| write!(f, "; {capability}: {}", lack.why))
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_failed_why_and_what_to_do() {
        let lack = Lack::new("the kernel has no veth", "modprobe veth");
        let refusal = Refusal {
            cause: Error::Ip { message: "Unknown device type".into() },
            missing: vec![(Capability::Veth, lack)],
        };
        let text = refusal.to_string();
        assert!(text.contains("Unknown device type"), "{text}");
        assert!(text.ends_with("; virtual Ethernet (veth): the kernel has no veth"), "{text}");
        assert_eq!(refusal.remedies().collect::<Vec<_>>(), ["modprobe veth"]);
    }
}
