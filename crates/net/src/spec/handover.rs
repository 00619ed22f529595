//! Handover settings of a network as typed.

use std::time::Duration;

use units::parse;

use super::{Setting, put, values};
use crate::error::{ValueError, nearest};
use crate::{Handover, SpecError};

/// `handover.every`, `handover.length` and `handover.lossless`.
#[derive(Default)]
pub(super) struct HandoverSpec {
    every: Option<Every>,
    length: Option<(Duration, Duration)>,
    lossless: Option<bool>,
}

/// Interval of handovers, if any.
#[derive(Clone, Copy)]
enum Every {
    Never,
    Span(Duration),
}

const KEYS: [&str; 3] = ["handover.every", "handover.length", "handover.lossless"];

/// Returns true if handovers have a setting of this name.
pub(super) fn is_setting(key: &str) -> bool {
    KEYS.contains(&key)
}

/// The setting that `key` was probably meant to be.
pub(super) fn nearest_setting(key: &str) -> Option<String> {
    nearest(key, KEYS)
}

impl HandoverSpec {
    /// Takes a setting, if it is one of handovers.
    pub(super) fn set(&mut self, setting: &Setting) -> Result<bool, SpecError> {
        match setting.key.as_str() {
            "handover.every" => put(&mut self.every, setting, every)?,
            "handover.length" => put(&mut self.length, setting, length)?,
            "handover.lossless" => put(&mut self.lossless, setting, truth)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes the base's handovers for settings not typed.
    pub(super) fn fill(&mut self, base: Option<Handover>) {
        let Some(Handover { every, least, most, lossless }) = base else { return };
        self.every.get_or_insert(Every::Span(every));
        self.length.get_or_insert((least, most));
        self.lossless.get_or_insert(lossless);
    }

    /// Resolves the handovers; `origin` names the text in messages about missing settings.
    pub(super) fn resolve(self, origin: &str) -> Result<Option<Handover>, SpecError> {
        let missing = |key, example| SpecError::Missing { origin: origin.to_owned(), key, example };
        let HandoverSpec { every, length, lossless } = self;
        let every = match every {
            Some(Every::Never) => return Ok(None),
            Some(Every::Span(every)) => every,
            None if length.is_none() && lossless.is_none() => return Ok(None),
            None => return Err(missing("handover.every", "handover.every=60s")),
        };
        let (least, most) =
            length.ok_or_else(|| missing("handover.length", "handover.length=50ms..150ms"))?;
        if most >= every {
            return Err(SpecError::Conflict {
                origin: origin.to_owned(),
                setting: "a handover.length that lasts until the next one",
                with: "handover.every",
            });
        }
        Ok(Some(Handover { every, least, most, lossless: lossless.unwrap_or(true) }))
    }
}

fn every(text: &str) -> Result<Every, ValueError> {
    if text.trim() == "never" {
        return Ok(Every::Never);
    }
    match parse::duration(text)? {
        span if span.is_zero() => Err(values::out_of_range(text, "write `60s`, or `never`")),
        span => Ok(Every::Span(span)),
    }
}

/// A length, or the shortest and the longest.
fn length(text: &str) -> Result<(Duration, Duration), ValueError> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (least, most) = (parse::duration(least)?, parse::duration(most)?);
    if least > most || most.is_zero() {
        return Err(values::form(text, "how long: write `50ms`, or `50ms..150ms`"));
    }
    Ok((least, most))
}

fn truth(text: &str) -> Result<bool, ValueError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(values::form(text, "`true`: what waits is passed on, or `false`: it is lost")),
    }
}
