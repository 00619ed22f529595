//! Values that the kernel cannot be set to, with reasons and alternatives.

use std::fmt;

/// One knob that the kernel lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The knob.
    pub knob: &'static str,
    /// Its value.
    pub value: String,
    /// Reason why the kernel cannot.
    pub reason: &'static str,
    /// The closest alternative, if any.
    pub instead: Option<&'static str>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}={}`: {}", self.knob, self.value, self.reason)?;
        self.instead.map_or(Ok(()), |instead| write!(f, " ({instead})"))
    }
}

/// More than this many belong to an older generation, which differs in much: too many to read.
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
