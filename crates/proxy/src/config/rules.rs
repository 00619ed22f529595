//! Resolution of the rules: access, header fields.

use std::collections::BTreeMap;

use http::header::{HeaderName, HeaderValue};
use http::{Method, StatusCode};
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use toml::Spanned;

use super::ConfigError;
use super::file::{self, File};
use super::resolve::{ConfigResolver, field_names, hosts, networks};
use super::values::HostPattern;
use crate::rules::{
    AccessRule, FieldChanges, HeaderRule, RuleTimes, UNCHANGEABLE, UrlScope, resolved,
};

/// Names of the days, Monday first.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

impl ConfigResolver<'_> {
    pub(super) fn access_rules(&self, file: &File) -> Result<Vec<AccessRule>, ConfigError> {
        file.rule.iter().map(|rule| self.access_rule(rule)).collect()
    }

    fn access_rule(&self, typed: &file::RuleTable) -> Result<AccessRule, ConfigError> {
        let method = |name: &Spanned<String>| {
            let method = Method::from_bytes(name.get_ref().as_bytes());
            method.map_err(|_| self.refused(name, "is not a method", "methods = [\"POST\"]"))
        };
        Ok(AccessRule {
            allows: typed.action == file::RuleAction::Allow,
            scope: self.scope(&typed.hosts, &typed.paths)?,
            methods: typed.methods.iter().map(method).collect::<Result<_, _>>()?,
            clients: networks(&typed.clients),
            times: self.times(typed)?,
        })
    }

    fn times(&self, typed: &file::RuleTable) -> Result<Option<RuleTimes>, ConfigError> {
        if typed.days.is_empty() && typed.hours.is_none() {
            return match &typed.timezone {
                None => Ok(None),
                Some(zone) => {
                    Err(self.refused(zone, "is of no use without `hours` or `days`", "remove it"))
                }
            };
        }
        let day = |name: &Spanned<String>| {
            let index = DAYS.iter().position(|day| day == name.get_ref());
            let day = index.and_then(|index| Weekday::from_monday_zero_offset(index as i8).ok());
            day.ok_or_else(|| self.refused(name, "is not a day", "days = [\"mon\", \"tue\"]"))
        };
        let hours = |typed: &Spanned<String>| {
            span(typed.get_ref()).ok_or_else(|| {
                self.refused(typed, "is no span of hours", "hours = \"08:00-17:30\"")
            })
        };
        let zone = |typed: &Spanned<String>| {
            TimeZone::get(typed.get_ref()).map_err(|_| {
                self.refused(
                    typed,
                    "is not a time zone of this machine",
                    "timezone = \"Europe/Berlin\"",
                )
            })
        };
        Ok(Some(RuleTimes {
            days: typed.days.iter().map(day).collect::<Result<_, _>>()?,
            hours: typed.hours.as_ref().map(hours).transpose()?,
            zone: typed.timezone.as_ref().map_or(Ok(TimeZone::UTC), zone)?,
        }))
    }

    pub(super) fn header_rules(&self, file: &File) -> Result<Vec<HeaderRule>, ConfigError> {
        let status = |code: &Spanned<u16>| {
            // Interim responses pass unchanged.
            let status = StatusCode::from_u16(*code.get_ref()).ok();
            status.filter(|status| !status.is_informational()).ok_or_else(|| {
                let problem = format!("{} is not the status of a final response", code.get_ref());
                ConfigError::new(self.source.place(code.span()), problem)
                    .remedy("statuses = [200, 404]")
            })
        };
        let rule = |typed: &file::HeaderTable| {
            Ok(HeaderRule {
                scope: self.scope(&typed.hosts, &typed.paths)?,
                request: self.changes(&typed.request)?,
                response: self.changes(&typed.response)?,
                statuses: typed.statuses.iter().map(status).collect::<Result<_, _>>()?,
            })
        };
        file.header.iter().map(rule).collect()
    }

    fn changes(&self, typed: &file::ChangesTable) -> Result<FieldChanges, ConfigError> {
        let named = |place: std::ops::Range<usize>, problem: String| {
            ConfigError::new(self.source.place(place), problem)
                .remedy("set = { \"X-Frame-Options\" = \"DENY\" }, remove = [\"Server\"]")
        };
        let fixed = |name: &HeaderName| UNCHANGEABLE.contains(&name.as_str());
        let mut changes = FieldChanges::default();
        if let Some(removed) = &typed.remove {
            changes.remove = field_names(removed.get_ref());
            if let Some(name) = changes.remove.iter().find(|name| fixed(name)) {
                let problem = format!("`{name}` is the proxy's own: no rule changes it");
                return Err(named(removed.span(), problem));
            }
        }
        let none = Spanned::new(0..0, BTreeMap::new());
        let set = typed.set.as_ref().unwrap_or(&none);
        for (name, value) in set.get_ref() {
            let field: Result<HeaderName, _> = name.parse();
            let field = field.map_err(|_| {
                named(set.span(), format!("`{name}` is not the name of a header field"))
            })?;
            let value = HeaderValue::from_str(value)
                .map_err(|_| named(set.span(), format!("`{name}` cannot have this value")))?;
            if fixed(&field) {
                let problem = format!("`{name}` is the proxy's own: no rule changes it");
                return Err(named(set.span(), problem));
            }
            changes.set.push((field, value));
        }
        Ok(changes)
    }

    /// The URLs that a table names.
    fn scope(
        &self,
        typed: &[HostPattern],
        paths: &[Spanned<String>],
    ) -> Result<UrlScope, ConfigError> {
        Ok(UrlScope { hosts: hosts(typed), paths: self.paths(paths)? })
    }

    /// Beginnings of paths.
    pub(super) fn paths(&self, typed: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
        match typed.iter().find(|path| !path.get_ref().starts_with('/')) {
            Some(wrong) => {
                Err(self.refused(wrong, "does not begin with a slash", "paths = [\"/api\"]"))
            }
            None => Ok(typed.iter().map(|path| resolved(path.get_ref()).into_owned()).collect()),
        }
    }

    fn refused(&self, typed: &Spanned<String>, problem: &str, remedy: &str) -> ConfigError {
        let place = self.source.place(typed.span());
        ConfigError::new(place, format!("`{}` {problem}", typed.get_ref())).remedy(remedy)
    }
}

/// The times of `08:00-17:30`; `24:00` is midnight.
fn span(text: &str) -> Option<(Time, Time)> {
    let time = |text: &str| {
        let (hour, minute) = text.trim().split_once(':')?;
        match (hour.parse().ok()?, minute.parse().ok()?) {
            (24, 0) => Some(Time::midnight()),
            (hour, minute) => Time::new(hour, minute, 0, 0).ok(),
        }
    };
    let (from, to) = text.split_once('-')?;
    Some((time(from)?, time(to)?)).filter(|(from, to)| from != to)
}
