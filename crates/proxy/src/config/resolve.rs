//! Resolution of a configuration file or arguments to settings.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use tls::Issuer;
use toml::Spanned;

use super::file::{self, File};
use super::listeners::alpn;
use super::settings::{
    Access, AdminSettings, Forward, Intercept, LogPlace, LogSettings, ProxyConfig, Trust,
};
use super::values::{Address, ConfigDuration, ConfigNetwork, FieldName, HostPattern, PortRange};
use super::{ConfigError, ConfigLocation, ConfigSource};
use crate::access::{AllowedClients, Destinations, PortSet, Users};
use crate::early_hints::SharedHints;
use crate::fields::ViaPseudonym;

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
            images: file.images.as_ref().map(|it| self.images(it)).transpose()?,
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
    pub(super) fn path(&self, path: &Path) -> PathBuf {
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
