//! What the kernel cannot be set to, why, and what to do instead.

use std::fmt;

/// One knob that the kernel lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The knob.
    pub knob: &'static str,
    /// What it was set to.
    pub value: String,
    /// Why the kernel cannot.
    pub reason: &'static str,
    /// What comes near it, if anything does.
    pub instead: Option<&'static str>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}={}`: {}", self.knob, self.value, self.reason)?;
        self.instead.map_or(Ok(()), |instead| write!(f, " ({instead})"))
    }
}

/// More than so many are of an older generation, which differs in much: nobody reads them all.
const SHOWN: usize = 3;

/// All knobs of a transport that the kernel lacks, at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal(pub Vec<Refused>);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel's TCP cannot be set so; use `--world sim`, which can, or leave out")?;
        for (index, refused) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { " " } else { "; " };
            write!(f, "{separator}{refused}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(
                f,
                "; and {more} more: it is the TCP of another generation (docs/transports.md)"
            ),
        }
    }
}
