//! `farlink proxy`.

pub(super) mod credentials;
mod inherited;
mod log;
mod signals;
mod stores;
pub(super) mod workers;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anstream::eprintln;
use proxy::config::{self, Address, ConfigError, ConfigNetwork, File, ProxyConfig, Trust};
use proxy::fields::ViaPseudonym;
use proxy::serve::{PhaseSender, WorkerPhase};
use tls::{Authorities, PublicClient};

use self::stores::CacheStores;
use self::workers::ListenPorts;
use self::workers::Workers;
use super::since_1970;
use super::{cores, output};
use crate::args::Proxy;
use crate::failure::{CliError, ExitCode};

pub fn run(args: &Proxy) -> Result<ExitCode, CliError> {
    if let Some(name) = &args.hash_password {
        return credentials::hash_password(name);
    }
    if let Some(path) = &args.check {
        return check(path);
    }
    if let Some(folder) = &args.new_ca {
        return credentials::make_authority(folder, since_1970());
    }
    let pseudonym = ViaPseudonym::random_pseudonym();
    let started = ProxyStart { args, pseudonym, start: since_1970() };
    let settings = started.settings()?;
    inherited::take(&settings)?;
    workers::raise_descriptors();
    workers::keep_pages_small();
    // Before any thread is started: threads inherit the signal mask.
    let signals = signals::ProxySignals::block()?;
    let stores = Arc::new(Mutex::new(CacheStores::new(started.start)));
    let first = phase(settings.clone(), started.start, &stores)?;
    let mut log = settings.log.as_ref().map(log::start).transpose()?;
    let (control, orders) = PhaseSender::new(first);
    let count = worker_count(args, &settings);
    let workers = Workers::start(count, &orders, log.as_ref(), &settings, started.start)?
        .with_log(log.as_mut().and_then(|log| log.writer.take()));
    for address in workers.addresses() {
        eprintln!("listening on {address}");
    }
    if let Some(address) = workers.admin() {
        eprintln!("serving metrics and health on http://{address}/");
    }
    let reload = {
        let path = args.config.clone();
        let (pseudonym, start) = (started.pseudonym.clone(), started.start);
        let stores = Arc::clone(&stores);
        let mut ports = ListenPorts::of(&settings);
        move || {
            let Some(path) = &path else { return Ok(None) };
            let settings = config::load(path, &pseudonym).map_err(refused)?;
            shares(&settings, count)?;
            let asked = ports.asked_by(&settings)?;
            let next = phase(settings, start, &stores)?;
            ports = asked;
            Ok(Some(next))
        }
    };
    signals.obey(control, log.map(|log| log.sender), reload);
    if !workers.join() {
        eprintln!("warning: drain timeout reached, remaining requests aborted");
    }
    stores.lock().unwrap_or_else(PoisonError::into_inner).finish();
    Ok(ExitCode::Success)
}

/// Inputs of a proxy's start.
struct ProxyStart<'a> {
    args: &'a Proxy,
    pseudonym: String,
    start: Duration,
}

impl ProxyStart<'_> {
    fn settings(&self) -> Result<ProxyConfig, CliError> {
        let Proxy { config, listen, allow, reach, reverse, cache, compress, admin, log, .. } =
            self.args;
        if let Some(path) = config {
            return config::load(path, &self.pseudonym).map_err(refused);
        }
        let mut file = File::default();
        listen.iter().for_each(|address| file.listen(address.clone()));
        allow.iter().for_each(|network| file.allow(*network));
        reach.iter().for_each(|network| file.reach(*network));
        cache.iter().for_each(|memory| file.cache(*memory));
        admin.iter().for_each(|address| file.admin(address.clone()));
        if *compress {
            file.compress();
        }
        if *log {
            file.log();
        }
        for text in reverse {
            let (host, url) = match text.split_once('=') {
                Some((host, url)) if !host.contains("://") => (Some(host), url),
                _ => (None, text.as_str()),
            };
            let added = file.reverse(host, url);
            added.map_err(|error| CliError::bad_input(format!("--reverse {text}: {error}")))?;
        }
        config::resolve(file, &self.pseudonym).map_err(refused)
    }
}

/// Settings of a forward proxy that listens at these addresses, for clients in these networks.
pub(super) fn resolve_arguments(
    listen: &[Address],
    allow: &[ConfigNetwork],
) -> Result<ProxyConfig, CliError> {
    let mut file = File::default();
    listen.iter().for_each(|address| file.listen(address.clone()));
    allow.iter().for_each(|network| file.allow(*network));
    config::resolve(file, &ViaPseudonym::random_pseudonym()).map_err(refused)
}

/// The proxy's task under `settings`.
fn phase(
    settings: ProxyConfig,
    start: Duration,
    stores: &Mutex<CacheStores>,
) -> Result<WorkerPhase, CliError> {
    credentials::check_validity(&settings, since_1970())?;
    let tls = client(&settings.trust, start)?;
    let store = stores.lock().unwrap_or_else(PoisonError::into_inner).of(&settings)?;
    Ok(WorkerPhase::Serve { settings: Arc::new(settings), tls, store })
}

/// Number of worker threads. Limits are the proxy's; each thread has its share of them.
fn worker_count(args: &Proxy, settings: &ProxyConfig) -> usize {
    let wanted = args.workers.or(settings.workers).map_or_else(cores, std::num::NonZero::get);
    let count = wanted.min(settings.upstream.most_shares());
    if count < wanted {
        eprintln!(
            "warning: using {count} workers instead of {wanted}: each needs a share of upstream.connections_per_origin"
        );
    }
    count
}

/// Rejects limits that the running workers cannot share.
fn shares(settings: &ProxyConfig, workers: usize) -> Result<(), CliError> {
    let most = settings.upstream.most_shares();
    if workers <= most {
        return Ok(());
    }
    let message =
        format!("upstream.connections_per_origin = {most} is less than the {workers} workers");
    let hint = "increase upstream.connections_per_origin, or restart the proxy";
    Err(CliError::bad_input(message).hint(hint.to_owned()))
}

/// The client of origins over TLS.
pub(super) fn client(trust: &Trust, start: Duration) -> Result<PublicClient, CliError> {
    let authorities = match trust {
        // A machine without authorities can still forward whatever needs none.
        Trust::System => Ok(Authorities::of_system().unwrap_or_else(|error| {
            eprintln!("warning: {error}: TLS connections to origins will fail");
            Authorities::none()
        })),
        Trust::File(path) => {
            let text = std::fs::read(path).map_err(|error| {
                CliError::bad_input(format!(
                    "upstream.trust: cannot read {}: {error}",
                    path.display()
                ))
            })?;
            Authorities::of_pem(&text)
        }
    };
    let client = authorities.and_then(|authorities| PublicClient::new(&authorities, start));
    client.map_err(|error| CliError::bad_input(format!("upstream.trust: {error}")))
}

fn check(path: &Path) -> Result<ExitCode, CliError> {
    let settings = config::load(path, "farlink").map_err(refused)?;
    client(&settings.trust, since_1970())?;
    credentials::check_validity(&settings, since_1970())?;
    let mut text = format!("{}: configuration is valid\n", path.display());
    for listener in &settings.listeners {
        let how = match (&listener.tls, &listener.http3) {
            (None, _) if listener.socks => "in clear text, by HTTP and SOCKS",
            (None, _) => "in clear text",
            (Some(_), None) => "over TLS",
            (Some(_), Some(_)) => "over TLS and HTTP/3",
        };
        text.push_str(&format!("listens on {} {how}\n", listener.address));
    }
    match &settings.forward {
        Some(forward) => text.push_str(&format!(
            "forward proxy: ports {}; tunnels to {}\n",
            forward.destinations.ports, forward.destinations.tunnel_ports
        )),
        None => text.push_str("no forward proxy\n"),
    }
    if let Some(intercept) = &settings.intercept {
        text.push_str(&format!("intercepts tunnels to {}\n", intercept.hosts.join(", ")));
    }
    for site in &settings.reverse {
        let hosts =
            if site.hosts.is_empty() { "any host".to_owned() } else { site.hosts.join(", ") };
        let origins: Vec<String> = site.origins.iter().map(ToString::to_string).collect();
        let paths = match site.paths.is_empty() {
            true => String::new(),
            false => format!("; paths {}", site.paths.join(", ")),
        };
        text.push_str(&format!("reverse proxy for {} ({hosts}{paths})\n", origins.join(", ")));
    }
    if let Some(cache) = &settings.cache
        && let (wanted, taken) = (cache.limits.entry_bytes, cache.limits.largest_entry())
        && taken < wanted
    {
        eprintln!(
            "warning: objects of more than {taken} bytes are never stored, although cache.object is {wanted}: memory is split \
             into parts, and an object must fit in one. Increase cache.memory or decrease cache.object"
        );
    }
    if let Some(disk) = &settings.disk {
        text.push_str(&format!("disk cache: {}\n", disk.path.display()));
    }
    output::print(text)?;
    Ok(ExitCode::Success)
}

pub(super) fn refused(error: ConfigError) -> CliError {
    let remedy = error.remedy.clone();
    CliError::bad_input(error).hint(remedy)
}
