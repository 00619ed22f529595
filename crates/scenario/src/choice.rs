//! Closed sets of names (`h1`, `tls13`, `cubic`), read and written in one spelling.
//!
//! A name may be *known but not supported yet*: it belongs to the project's vocabulary, so that typing it
//! yields the reason for its refusal rather than a report of a typing error.

use thiserror::Error;

/// Error of parsing one of the choices.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// An unknown name.
    #[error("unknown {what} `{text}`; known: {known}")]
    Unknown {
        /// Kind of name: "protocol".
        what: &'static str,
        /// The text as typed.
        text: String,
        /// The known names.
        known: String,
        /// The closest known name, if one is close.
        nearest: Option<String>,
    },
    /// A name of the field that this version does not support.
    #[error("{what} `{text}` is not supported yet: {reason}")]
    NotYet {
        /// Kind of name.
        what: &'static str,
        /// The text as typed.
        text: String,
        /// Reason for the missing support.
        reason: &'static str,
    },
}

impl ChoiceError {
    /// Advice on fixing it, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            ChoiceError::Unknown { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            ChoiceError::NotYet { .. } => None,
        }
    }
}

/// The name in `known` that is closest to `text`, if one is similar.
pub fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let text = text.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(&text, name), name))
        .filter(|(similarity, _)| *similarity >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// Declares an enum whose variants have one name each, everywhere; a renamed variant keeps its `stored` name in
/// canonical texts. Names under `also` are aliases, written back as the name that they stand for.
#[macro_export]
macro_rules! choice {
    (@stored $name:literal) => { $name };
    (@stored $name:literal, $stored:literal) => { $stored };
    (
        $(#[$meta:meta])*
        $visibility:vis enum $type:ident, $what:literal {
            $( $(#[$variant_meta:meta])* $variant:ident = $name:literal $( (stored $stored:literal) )?, )+
        }
        not_yet { $( $later:literal: $reason:literal, )* }
        $( also { $( $alias:literal: $meant:ident, )* } )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $type {
            $( $(#[$variant_meta])* $variant, )+
        }

        impl $type {
            /// Every choice, in the order in which help lists them.
            pub const ALL: &'static [$type] = &[$( $type::$variant, )+];

            /// Every name, in the same order.
            pub fn names() -> Vec<&'static str> {
                $type::ALL.iter().map(|choice| choice.name()).collect()
            }

            /// Every text that is read: the names, then other spellings.
            pub fn spellings() -> Vec<&'static str> {
                $type::names().into_iter().chain($type::ALSO.iter().map(|(name, _)| *name)).collect()
            }

            /// Other spellings, each with the choice that it means.
            const ALSO: &'static [(&'static str, $type)] =
                &[$( $( ($alias, $type::$meant), )* )?];

            /// The choice's name.
            pub const fn name(self) -> &'static str {
                match self { $( $type::$variant => $name, )+ }
            }

            /// The name in a scenario's canonical text, which digests cover: that of the first version.
            const fn stored_name(self) -> &'static str {
                match self { $( $type::$variant => $crate::choice!(@stored $name $(, $stored)?), )+ }
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.stored_name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                let found = $type::ALL.iter().find(|choice| choice.stored_name() == text);
                let unknown = || serde::de::Error::custom(format!("unknown {} `{text}`", $what));
                found.copied().ok_or_else(unknown)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::ChoiceError;

            fn from_str(text: &str) -> Result<$type, Self::Err> {
                if let Some(choice) = $type::ALL.iter().find(|c| c.name() == text) {
                    return Ok(*choice);
                }
                if let Some((_, meant)) = $type::ALSO.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
                    return Ok(*meant);
                }
                const NOT_YET: &[(&str, &str)] = &[$( ($later, $reason), )*];
                if let Some((_, reason)) = NOT_YET.iter().find(|(name, _)| *name == text) {
                    return Err($crate::ChoiceError::NotYet {
                        what: $what,
                        text: text.to_owned(),
                        reason,
                    });
                }
                let known = $type::spellings();
                Err($crate::ChoiceError::Unknown {
                    what: $what,
                    text: text.to_owned(),
                    known: known.join(", "),
                    nearest: $crate::nearest(text, known.into_iter()),
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{H3Discovery, Protocol, Tls};

    choice! {
        /// Has one name reserved for the future.
        enum Vehicle, "vehicle" {
            Cart = "cart",
        }
        not_yet { "rocket": "there is no fuel", }
    }

    #[test]
    fn one_spelling_in_and_out() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.name().parse(), Ok(*protocol));
            assert_eq!(serde_json::to_string(protocol).unwrap(), format!("\"{protocol}\""));
        }
    }

    #[test]
    fn a_name_that_was_changed_is_stored_as_it_was() {
        let text = serde_json::to_string(&H3Discovery::PriorKnowledge).unwrap();
        assert_eq!(text, "\"straight\"");
        assert_eq!(
            serde_json::from_str::<H3Discovery>(&text).unwrap(),
            H3Discovery::PriorKnowledge
        );
        assert_eq!(H3Discovery::PriorKnowledge.name(), "prior-knowledge");
        assert!("straight".parse::<H3Discovery>().is_err());
    }

    #[test]
    fn a_typing_error_is_told_from_a_name_of_the_future() {
        let error = "tls31".parse::<Tls>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown tls `tls31`; known: none, tls10, tls12, tls13, 1.0, 1.2, 1.3, tls1.0, tls1.2, tls1.3"
        );
        assert_eq!(error.hint().as_deref(), Some("did you mean `tls13`?"));
        assert_eq!("cart".parse(), Ok(Vehicle::Cart));
        let error = "rocket".parse::<Vehicle>().unwrap_err();
        assert_eq!(error.to_string(), "vehicle `rocket` is not supported yet: there is no fuel");
        assert_eq!(error.hint(), None);
    }

    #[test]
    fn a_short_name_is_written_in_full() {
        let protocol: Protocol = "h3".parse().unwrap();
        assert_eq!((protocol, protocol.name()), (Protocol::H3Deployed, "h3-deployed"));
    }
}
