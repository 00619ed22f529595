//! Resolution of the tables `[[reverse]]` and `[upstream]`.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use super::resolve::{ConfigResolver, field_names, hosts, networks};
use super::settings::Reverse;
use super::values::{ConfigDuration, OriginUrl};
use super::{ConfigError, file};
use crate::fields::Disclosure;
use crate::overrides::Overrides;
use crate::target::Scheme;
use crate::upstream::{self, Health, HealthCheck, HealthSettings, OriginAddress};

impl ConfigResolver<'_> {
    pub(super) fn reverse(&self, site: &file::ReverseTable) -> Result<Reverse, ConfigError> {
        let origins = site.origins.get_ref();
        if origins.is_empty() {
            return Err(ConfigError::new(
                self.source.place(site.origins.span()),
                "no origin is named",
            )
            .remedy("origins = [\"http://127.0.0.1:8000\"]"));
        }
        let hosts = hosts(&site.hosts);
        let origins: Arc<[_]> = origins.iter().map(|origin| origin.0.clone()).collect();
        Ok(Reverse {
            partition: Reverse::partition_of(&hosts, &origins, site.host),
            health: Arc::new(Health::new(self.health(site)?, origins.len())),
            hosts,
            paths: self.paths(&site.paths)?,
            origins,
            host_field: site.host,
            disclosure: site.tell.unwrap_or(Disclosure::XForwarded),
            trusted: networks(&site.trusted),
            overrides: site
                .strip
                .as_deref()
                .map_or_else(Overrides::default, |names| Overrides::of(field_names(names))),
        })
    }

    fn health(&self, site: &file::ReverseTable) -> Result<HealthSettings, ConfigError> {
        let mut settings = HealthSettings::default();
        if let Some(ConfigDuration(span)) = site.connect_timeout {
            settings.connect_timeout = span;
        }
        if let Some(ConfigDuration(span)) = site.fail_timeout {
            settings.fail_timeout = span;
        }
        settings.max_fails = site.max_fails.unwrap_or(settings.max_fails);
        settings.check = site.check.as_ref().map(|typed| self.check(typed)).transpose()?;
        Ok(settings)
    }

    fn check(&self, typed: &file::CheckTable) -> Result<HealthCheck, ConfigError> {
        let path = typed.path.get_ref();
        let refused = |what: &str| {
            ConfigError::new(self.source.place(typed.path.span()), format!("`{path}` {what}"))
                .remedy("path = \"/health\"")
        };
        if !path.starts_with('/') {
            return Err(refused("is not a path: it must begin with a slash"));
        }
        let path = path.parse().map_err(|_| refused("is not a valid path"))?;
        let mut check = HealthCheck::new(path);
        if let Some(ConfigDuration(span)) = typed.interval {
            check.interval = span;
        }
        if let Some(ConfigDuration(span)) = typed.timeout {
            check.timeout = span;
        }
        check.rise = typed.rise.map_or(check.rise, NonZeroU32::get);
        check.fall = typed.fall.map_or(check.fall, NonZeroU32::get);
        Ok(check)
    }

    pub(super) fn upstream(
        &self,
        typed: &file::UpstreamTable,
    ) -> Result<upstream::UpstreamSettings, ConfigError> {
        let mut settings = upstream::UpstreamSettings::default();
        let set = |place: &mut Duration, typed: Option<ConfigDuration>| {
            if let Some(ConfigDuration(span)) = typed {
                *place = span;
            }
        };
        set(&mut settings.queue_timeout, typed.queue_timeout);
        set(&mut settings.keep_alive, typed.keep_alive);
        set(&mut settings.connect_timeout, typed.connect_timeout);
        set(&mut settings.first_byte_timeout, typed.first_byte_timeout);
        set(&mut settings.idle_timeout, typed.idle_timeout);
        if let Some(most) = typed.connections_per_origin {
            settings.connections_per_origin = most.get() as usize;
        }
        if let Some(most) = &typed.connections {
            settings.connections = most.get_ref().get() as usize;
            if typed.connections_per_origin.is_none() {
                let each = settings.connections_per_origin.min(settings.connections);
                settings.connections_per_origin = each;
            }
            if settings.connections < settings.connections_per_origin {
                let (all, each) = (settings.connections, settings.connections_per_origin);
                let place = self.source.place(most.span());
                return Err(ConfigError::new(
                    place,
                    format!("{all} connections in all are fewer than {each} per origin"),
                )
                .remedy(format!("connections = {each}, or more")));
            }
        }
        if let Some(share) = &typed.client_share {
            settings.client_share = *share.get_ref();
            if !(1..=100).contains(share.get_ref()) {
                let place = self.source.place(share.span());
                let message = "a client's share is between 1 and 100 percent";
                return Err(ConfigError::new(place, message).remedy("client_share = 75"));
            }
        }
        if let Some(waiting) = typed.waiting {
            settings.waiting = waiting as usize;
        }
        if typed.protocol == Some(file::UpstreamProtocol::H2) {
            settings.protocol = tls::Protocol::H2;
        }
        settings.parents = self.parents(typed)?;
        Ok(settings)
    }
    fn parents(&self, typed: &file::UpstreamTable) -> Result<Vec<OriginAddress>, ConfigError> {
        if let (Some(one), false) = (&typed.parent, typed.parents.is_empty()) {
            let problem = "both `parent` and `parents` are set";
            return Err(ConfigError::new(self.source.place(one.span()), problem)
                .remedy("move it into `parents`"));
        }
        let parent = |named: &Spanned<OriginUrl>| {
            let OriginUrl(address) = named.get_ref();
            if address.scheme != Scheme::Http {
                let place = self.source.place(named.span());
                return Err(ConfigError::new(place, "a parent proxy is reached in clear text")
                    .remedy("write a parent as \"http://HOST:PORT\""));
            }
            Ok(address.clone())
        };
        typed.parent.iter().chain(&typed.parents).map(parent).collect()
    }
}
