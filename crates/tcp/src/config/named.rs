//! Choices that have a name in configuration text.

use std::fmt;

/// An enumeration whose variants are written by name.
pub(crate) trait NamedVariant: Copy + PartialEq + 'static {
    /// Every variant with its name.
    const NAMES: &'static [(Self, &'static str)];

    /// The name of this variant.
    fn name(self) -> &'static str {
        let entry = Self::NAMES.iter().find(|(variant, _)| *variant == self);
        entry.expect("every variant has a name").1
    }

    /// The variant of that name.
    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(variant, _)| *variant)
    }
}

/// Writes the names of all variants, for a message.
pub(crate) struct VariantNames<T>(pub(crate) std::marker::PhantomData<T>);

impl<T: NamedVariant> fmt::Display for VariantNames<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (_, name)) in T::NAMES.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

/// Gives an enumeration its names, and `Display` by them.
macro_rules! names {
    ($choice:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $crate::config::named::NamedVariant for $choice {
            const NAMES: &'static [($choice, &'static str)] = &[$(($choice::$variant, $name)),+];
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::config::named::NamedVariant::name(*self))
            }
        }
    };
}
pub(crate) use names;
