//! Resolution of a configuration file or arguments to settings.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cache::{DeltaSeconds, DiskLimits, MemoryLimits, SetCookie, StoragePolicy};
use http::HeaderName;
use ipnet::IpNet;
use tls::Issuer;
use toml::Spanned;

use super::file::{self, File};
use super::listeners::alpn;
use super::settings::{
    Access, AdminSettings, Forward, Intercept, LogPlace, LogSettings, ProxyConfig, Reverse,
    ServedPacFile, Trust,
};
use super::values::{
    Address, ConfigDuration, ConfigNetwork, FieldName, HostPattern, OriginUrl, PortRange,
};
use super::{ConfigError, ConfigLocation, ConfigSource};
use crate::access::{AllowedClients, Destinations, PortSet, Users};
use crate::caching::{self, DiskSettings};
use crate::compression::{Coding, CompressionSettings};
use crate::early_hints::SharedHints;
use crate::fields::{Disclosure, ViaPseudonym};
use crate::overrides::Overrides;
use crate::pac::{Pac, PacRule};
use crate::target::Scheme;
use crate::upstream::{self, Health, HealthCheck, HealthSettings};

/// Default limit for the size of stored objects: small ones profit most.
const OBJECT_BYTES: u64 = 1 << 20;
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// A disk tier drops its oldest eighth at once: each eighth has room for the largest object.
const DISK_OBJECTS: u64 = 8;

/// Default drain time after SIGTERM: shorter than the timeouts of Kubernetes and systemd.
const DRAIN: Duration = Duration::from_secs(25);

/// Reads a configuration file. `pseudonym` is the proxy's name in `Via` if the file gives none.
///
/// # Errors
/// If it cannot be read or is refused.
pub fn load(path: &Path, pseudonym: &str) -> Result<ProxyConfig, ConfigError> {
    let text = fs::read_to_string(path).map_err(|error| {
        ConfigError::new(ConfigLocation::File(path.to_owned()), format!("cannot be read: {error}"))
    })?;
    let source = ConfigSource::File { path, text: &text };
    let file: File = toml::from_str(&text).map_err(|error| source.explain(&error))?;
    ConfigResolver { source, folder: path.parent().unwrap_or(Path::new("")) }
        .settings(file, pseudonym)
}

/// Resolves a configuration given by arguments.
///
/// # Errors
/// If it is refused.
pub fn resolve(file: File, pseudonym: &str) -> Result<ProxyConfig, ConfigError> {
    ConfigResolver { source: ConfigSource::Arguments, folder: Path::new("") }
        .settings(file, pseudonym)
}

pub(super) struct ConfigResolver<'a> {
    pub(super) source: ConfigSource<'a>,
    /// Base of relative paths.
    folder: &'a Path,
}

impl ConfigResolver<'_> {
    fn settings(&self, file: File, pseudonym: &str) -> Result<ProxyConfig, ConfigError> {
        let reverse =
            file.reverse.iter().map(|site| self.reverse(site)).collect::<Result<Vec<_>, _>>()?;
        // A reverse proxy is also a forward proxy only if configured as one.
        let is_forward = file.forward.enabled.unwrap_or(reverse.is_empty());
        let listeners = self.listeners(&file, is_forward)?;
        if !is_forward && reverse.is_empty() {
            return Err(ConfigError::new(self.source.place(0..0), "this proxy would do nothing")
                .remedy("set forward.enabled = true, or add a [[reverse]] table"));
        }
        if is_forward {
            self.refuse_open_proxy(&file)?;
        }
        let forward = is_forward.then(|| Forward {
            destinations: destinations(&file.forward),
            disclosure: file.forward.tell,
        });
        let via = file.via.as_ref().map_or(pseudonym, |name| name.0.as_str());
        Ok(ProxyConfig {
            listeners,
            workers: file.workers,
            access: self.access(&file.clients)?,
            forward,
            intercept: self.intercept(file.intercept.as_ref(), is_forward)?,
            reverse,
            upstream: self.upstream(&file.upstream)?,
            trust: file
                .upstream
                .trust
                .as_ref()
                .map_or(Trust::System, |path| Trust::File(self.path(path))),
            via: ViaPseudonym::new(via),
            cache: file.cache.as_ref().map(|cache| self.cache(cache)).transpose()?,
            early_hints: file
                .cache
                .as_ref()
                .is_some_and(|cache| cache.early_hints)
                .then(SharedHints::default),
            compression: file.compression.as_ref().map(|it| self.compression(it)).transpose()?,
            disk: file.cache.as_ref().map_or(Ok(None), |cache| self.disk(cache))?,
            pac: file.pac.as_ref().map(|pac| self.pac(pac)).transpose()?,
            log: file.log.as_ref().map(|log| self.log(log)),
            purgers: file.cache.as_ref().map_or(Vec::new(), |cache| networks(&cache.purge)),
            admin: file.admin.as_ref().map(|admin| self.admin(admin)).transpose()?,
            access_rules: self.access_rules(&file)?,
            header_rules: self.header_rules(&file)?,
            drain: file.drain.map_or(DRAIN, |ConfigDuration(span)| span),
            server_timing: file.server_timing,
            observer: None,
        })
    }

    fn compression(
        &self,
        table: &file::CompressionTable,
    ) -> Result<CompressionSettings, ConfigError> {
        let mut settings = CompressionSettings { private: table.private, ..Default::default() };
        if let Some(codings) = &table.codings {
            if codings.get_ref().is_empty() {
                return Err(ConfigError::new(self.source.place(codings.span()), "no codings")
                    .remedy("leave out the table [compression] to compress nothing"));
            }
            settings.codings = codings
                .get_ref()
                .iter()
                .map(|name| {
                    Coding::named(name.get_ref()).ok_or_else(|| {
                        let problem = format!("`{}` is not a coding", name.get_ref());
                        ConfigError::new(self.source.place(name.span()), problem)
                            .remedy("codings are \"br\", \"zstd\" and \"gzip\"")
                    })
                })
                .collect::<Result<_, _>>()?;
        }
        if let Some(types) = &table.types {
            let wrong = types.iter().find(|it| !is_media_type(it.get_ref()));
            if let Some(wrong) = wrong {
                let problem = format!("`{}` is not a media type", wrong.get_ref());
                return Err(ConfigError::new(self.source.place(wrong.span()), problem)
                    .remedy("write types as \"text/html\", or \"text/*\" for all of a kind"));
            }
            settings.types = types.iter().map(|it| it.get_ref().clone()).collect();
        }
        if let Some(least) = &table.least {
            settings.least_bytes = least.0;
        }
        Ok(settings)
    }

    /// Refuses an open proxy: it would be abused within hours.
    fn refuse_open_proxy(&self, file: &File) -> Result<(), ConfigError> {
        let is_restricted = !file.clients.networks.is_empty() || file.clients.users.is_some();
        let open = file.listen.iter().find(|listen| !listen.address.get_ref().ip.is_loopback());
        match open {
            Some(listen) if !is_restricted => Err(ConfigError::new(
                self.source.place(listen.address.span()),
                "a forward proxy that listens beyond this machine would serve anybody",
            )
            .remedy(
                "name its clients (clients.networks = [\"10.0.0.0/8\"], or --allow 10.0.0.0/8), or their passwords \
                 (clients.users), or listen on 127.0.0.1",
            )),
            _ => Ok(()),
        }
    }

    fn access(&self, clients: &file::ClientsTable) -> Result<Access, ConfigError> {
        let users = clients.users.as_ref().map(|path| self.users(path)).transpose()?;
        Ok(Access { clients: AllowedClients { networks: networks(&clients.networks) }, users })
    }

    fn users(&self, path: &Spanned<PathBuf>) -> Result<Arc<Users>, ConfigError> {
        let text = self.read(path)?;
        let read = Users::parse(&String::from_utf8_lossy(&text));
        read.map(Arc::new).map_err(|(line, error)| {
            ConfigError::new(ConfigLocation::At(self.path(path.get_ref()), line, 1), error)
        })
    }

    fn admin(&self, admin: &file::AdminTable) -> Result<AdminSettings, ConfigError> {
        let address = self.single(&admin.address)?;
        let users = admin.users.as_ref().map(|path| self.users(path)).transpose()?;
        if !address.ip().is_loopback() && users.is_none() {
            return Err(ConfigError::new(
                self.source.place(admin.address.span()),
                "an admin port that other machines can reach needs a password",
            )
            .remedy(
                "listen on 127.0.0.1, or name a file of users (admin.users = \"operators\"), whose lines \
                 `farlink proxy --hash-password NAME` prints",
            ));
        }
        Ok(AdminSettings { address, users })
    }

    fn reverse(&self, site: &file::ReverseTable) -> Result<Reverse, ConfigError> {
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

    fn upstream(
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
        if let Some(parent) = &typed.parent {
            let OriginUrl(destination) = parent.get_ref();
            if destination.scheme != Scheme::Http {
                let place = self.source.place(parent.span());
                return Err(ConfigError::new(place, "a parent proxy is reached in clear text")
                    .remedy("parent = \"http://HOST:PORT\""));
            }
            settings.parent = Some(destination.clone());
        }
        Ok(settings)
    }

    fn cache(&self, typed: &file::CacheTable) -> Result<caching::CacheSettings, ConfigError> {
        let memory = &typed.memory;
        let bytes = memory.get_ref().0;
        if bytes < LEAST_CACHE_BYTES {
            return Err(ConfigError::new(
                self.source.place(memory.span()),
                "a cache of less than 1MiB holds nothing",
            )
            .remedy("memory = \"256MiB\""));
        }
        let object = typed.object.as_ref().map_or(OBJECT_BYTES, |object| object.get_ref().0);
        if let Some(object) = typed.object.as_ref().filter(|object| object.get_ref().0 > bytes) {
            return Err(ConfigError::new(
                self.source.place(object.span()),
                "one object would exceed the memory",
            )
            .remedy("make `object` smaller, or `memory` larger"));
        }
        let mut policy = StoragePolicy::default();
        if let Some(percent) = typed.heuristic_percent {
            policy.heuristic.percent = percent;
        }
        if let Some(ConfigDuration(span)) = typed.heuristic_at_most {
            policy.heuristic.at_most = DeltaSeconds::new(span.as_secs());
        }
        policy.set_cookie = match typed.set_cookie {
            file::SetCookieSetting::Refuse => SetCookie::Refuse,
            file::SetCookieSetting::Strip => SetCookie::Strip,
            file::SetCookieSetting::Keep => SetCookie::Keep,
        };
        policy.targets = match &typed.targets {
            Some(names) => field_names(names),
            None => vec![HeaderName::from_static("cdn-cache-control")],
        };
        // The index of the disk tier is in memory, too.
        let bytes = bytes - typed.disk.as_ref().map_or(0, |_| index_bytes(bytes));
        Ok(caching::CacheSettings {
            limits: MemoryLimits { bytes, entry_bytes: object.min(bytes) },
            policy,
        })
    }

    fn disk(&self, cache: &file::CacheTable) -> Result<Option<DiskSettings>, ConfigError> {
        let Some(typed) = &cache.disk else { return Ok(None) };
        let bytes = typed.size.get_ref().0;
        let entry_bytes = cache.object.as_ref().map_or(OBJECT_BYTES, |object| object.get_ref().0);
        if bytes / DISK_OBJECTS < entry_bytes {
            return Err(ConfigError::new(
                self.source.place(typed.size.span()),
                format!("the disk tier has no room for {DISK_OBJECTS} of the largest objects"),
            )
            .remedy("make `size` larger, or `cache.object` smaller (by default 1MiB)"));
        }
        let index_bytes = index_bytes(cache.memory.get_ref().0);
        let limits = DiskLimits { bytes, entry_bytes, index_bytes };
        Ok(Some(DiskSettings { path: self.path(&typed.path), limits }))
    }

    fn pac(&self, typed: &file::PacTable) -> Result<ServedPacFile, ConfigError> {
        let path = typed.path.get_ref();
        if !path.starts_with('/') {
            return Err(ConfigError::new(
                self.source.place(typed.path.span()),
                format!("`{path}` is not a path"),
            )
            .remedy(format!("path = \"/{path}\"")));
        }
        let rules = typed.rule.iter().map(|rule| {
            let types =
                rule.types.iter().map(|text| text.trim_start_matches('.').to_owned()).collect();
            Ok(PacRule { hosts: hosts(&rule.hosts), types, proxies: self.proxies(&rule.proxies)? })
        });
        let pac = Pac {
            direct_hosts: hosts(&typed.direct_hosts),
            direct_plain_names: typed.direct_plain_names,
            rules: rules.collect::<Result<Vec<PacRule>, ConfigError>>()?,
            proxies: self.proxies(&typed.proxies)?,
            spread: typed.spread,
            direct_fallback: typed.direct_fallback,
        };
        Ok(ServedPacFile { path: path.clone(), pac })
    }

    /// Proxies in PAC syntax; `PROXY host:8001-8020` means twenty.
    fn proxies(&self, typed: &[Spanned<String>]) -> Result<Vec<String>, ConfigError> {
        let mut proxies = Vec::new();
        for text in typed {
            let named = unrolled(text.get_ref()).ok_or_else(|| {
                let place = self.source.place(text.span());
                ConfigError::new(place, format!("`{}` is not a proxy in PAC syntax", text.get_ref()))
                    .remedy("write PROXY HOST:PORT or HTTPS HOST:PORT; several ports as PROXY HOST:8001-8020")
            })?;
            proxies.extend(named);
        }
        Ok(proxies)
    }

    fn log(&self, typed: &file::LogTable) -> LogSettings {
        let place =
            typed.file.as_ref().map_or(LogPlace::Output, |path| LogPlace::File(self.path(path)));
        LogSettings { place, format: typed.format }
    }

    fn single(&self, address: &Spanned<Address>) -> Result<SocketAddr, ConfigError> {
        let Address { ip, ports } = address.get_ref();
        match ports.start() == ports.end() {
            true => Ok(SocketAddr::new(*ip, *ports.start())),
            false => Err(ConfigError::new(
                self.source.place(address.span()),
                "only one port is allowed here",
            )
            .remedy("name one port")),
        }
    }

    /// Resolves a path of the configuration, which is relative to its file.
    fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    pub(super) fn read(&self, path: &Spanned<PathBuf>) -> Result<Vec<u8>, ConfigError> {
        let file = self.path(path.get_ref());
        fs::read(&file).map_err(|error| {
            let place = self.source.place(path.span());
            ConfigError::new(place, format!("{} cannot be read: {error}", file.display()))
        })
    }
}

/// The part of a cache's memory that indexes its disk.
fn index_bytes(memory: u64) -> u64 {
    memory / 4
}

fn destinations(typed: &file::ForwardTable) -> Destinations {
    let ports =
        |typed: &[PortRange]| PortSet::of(typed.iter().map(|range| range.0.clone()).collect());
    let usual = Destinations::default();
    Destinations {
        ports: typed.ports.as_deref().map_or(usual.ports, ports),
        tunnel_ports: typed.tunnel_ports.as_deref().map_or(usual.tunnel_ports, ports),
        networks: networks(&typed.networks),
        only_hosts: hosts(&typed.only_hosts),
        never_hosts: hosts(&typed.never_hosts),
    }
}

pub(super) fn field_names(typed: &[FieldName]) -> Vec<HeaderName> {
    typed.iter().map(|name| name.0.clone()).collect()
}

pub(super) fn networks(typed: &[ConfigNetwork]) -> Vec<IpNet> {
    typed.iter().map(|network| network.0).collect()
}

pub(super) fn hosts(typed: &[HostPattern]) -> Vec<String> {
    typed.iter().map(|host| host.0.clone()).collect()
}

/// The proxies of `PROXY host:8001-8020`.
fn unrolled(text: &str) -> Option<Vec<String>> {
    let (kind, place) = text.split_once(' ')?;
    let (host, ports) = place.trim().rsplit_once(':')?;
    let is_known =
        ["PROXY", "HTTPS", "HTTP"].contains(&kind) && !host.is_empty() && !host.contains(' ');
    let range: PortRange = ports.parse().ok()?;
    is_known.then(|| range.0.map(|port| format!("{kind} {host}:{port}")).collect())
}

impl ConfigResolver<'_> {
    pub(super) fn intercept(
        &self,
        typed: Option<&file::InterceptTable>,
        is_forward: bool,
    ) -> Result<Option<Intercept>, ConfigError> {
        let Some(typed) = typed else { return Ok(None) };
        let file::InterceptTable { ca, key, hosts: named, protocols } = typed;
        if !is_forward {
            let place = self.source.place(ca.span());
            let problem = "interception needs a forward proxy";
            return Err(ConfigError::new(place, problem)
                .remedy("remove [intercept], or set forward.enabled = true"));
        }
        if named.get_ref().is_empty() {
            let place = self.source.place(named.span());
            return Err(ConfigError::new(place, "no host is named to intercept")
                .remedy("hosts = [\"www.example.com\", \".example.org\"], or remove [intercept]"));
        }
        let (chain, private) = (self.read(ca)?, self.read(key)?);
        let issuer = Issuer::of_operator(&chain, &private, &alpn(protocols.as_deref()));
        let issuer = issuer.map_err(|error| {
            let span = if error.is_of_key() { key.span() } else { ca.span() };
            ConfigError::new(self.source.place(span), error).remedy(
                "`ca` is a PEM file with an authority's certificate, `key` one with its key: \
                 farlink proxy --new-ca DIR makes both",
            )
        })?;
        Ok(Some(Intercept { hosts: hosts(named.get_ref()), issuer: Arc::new(issuer) }))
    }
}

/// True for `text/html` and `text/*`.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|it| it.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&it))
    };
    text.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && (sub == "*" || is_token(sub)))
}
