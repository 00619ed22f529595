//! Recording with Chromium: the pages of one visitor, one after the other.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ::archive::{RecordedLoad, redact};
use chromium::{
    BrowserProxy, CaptureSettings, ChromiumError, ChromiumSandbox, Launch, OtherNames,
    ProxyConfigSource, ProxyScheme,
};
use rustix::process::getuid;
use tempfile::TempDir;

use super::is_url;
use crate::args::{KeyHash, Record};
use crate::commands::chromium;
use crate::commands::emulated_shell::{H3_VARIABLE, KEY_VARIABLE, PROXY_VARIABLE};
use crate::failure::CliError;

/// Id of `nobody` and its group, as whom root runs the browser: pages of the web are not to be trusted, and Chromium's
/// sandbox needs an ordinary user.
const NOBODY: u32 = 65534;

/// Variable with the URL of the browser's DevTools port, for scripts.
const DEVTOOLS_VARIABLE: &str = "FARLINK_DEVTOOLS";

/// Records the pages with one browser: it keeps cookies, and its cache, from one to the next.
pub fn record(args: &Record) -> Result<Vec<RecordedLoad>, CliError> {
    let browser = chromium().map_err(CliError::machine)?;
    if let Some(url) = args.urls.iter().find(|url| !is_url(url)) {
        return Err(CliError::bad_input(format!("`{url}` is not a URL of http: or https:"))
            .hint(format!("did you mean https://{url}?")));
    }
    let drops_root = getuid().is_root() && !args.no_sandbox;
    let folder = profile(drops_root).map_err(|error| {
        let hint = "where root may not become another user, as in some containers: --no-sandbox, for a page that you trust";
        CliError::machine(format!("cannot make a directory for the browser's profile: {error}"))
            .hint(drops_root.then(|| hint.to_owned()))
    })?;
    let launch = Launch {
        chromium: browser,
        profile: folder.path().to_owned(),
        hosts: args.connect_to.iter().map(|it| (it.name.clone(), it.address)).collect(),
        other_names: OtherNames::Resolved,
        proxy: replay_proxy(),
        trusted_keys: args.accept_key.iter().map(|key| key.0).chain(replay_key()).collect(),
        trusts_all: args.insecure,
        quic_hosts: args.h3_hosts.iter().cloned().chain(replay_h3_hosts()).collect(),
        sandbox: if args.no_sandbox { ChromiumSandbox::None } else { ChromiumSandbox::Own },
        addresses: false,
        has_devtools_port: args.script.is_some(),
    };
    let settings = CaptureSettings {
        limit: Duration::from_secs(args.timeout),
        quiet: Duration::from_secs(args.settle),
        viewport: (args.viewport.width, args.viewport.height),
    };
    let mut running =
        launch.start(|command| spawn(command, drops_root)).map_err(|error| unable(&error))?;
    let version = running.version().to_owned();
    let mut context = match &args.script {
        None => running.context().map_err(|error| unable(&error))?,
        Some(script) => {
            let address = running.devtools().map_err(|error| unable(&error))?;
            run_script(script, &address)?;
            running.own_context()
        }
    };
    let mut loads = Vec::new();
    for url in &args.urls {
        anstream::eprintln!("recording {url} with {version}");
        let mut load = context.capture(url, &settings).map_err(|error| match error {
            ChromiumError::NoDocument { .. } => not_loaded(&error, args),
            error => unable(&error),
        })?;
        if !args.keep_credentials {
            redact::credentials(&mut load);
        }
        loads.push(load);
    }
    drop(context);
    running.close();
    Ok(loads)
}

/// Runs a script that prepares the browser at `address`: that logs in, or accepts cookies.
fn run_script(script: &str, address: &str) -> Result<(), CliError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env(DEVTOOLS_VARIABLE, address).stdin(Stdio::null());
    let ended = shell.status().map_err(CliError::machine)?;
    match ended.success() {
        true => Ok(()),
        false => Err(CliError::bad_input(format!("--script: `{script}` failed: {ended}"))),
    }
}

/// The key of a replay's servers, where `farlink shell --replay` runs this.
fn replay_key() -> Option<[u8; 32]> {
    let text = std::env::var_os(KEY_VARIABLE)?.into_string().ok()?;
    text.parse::<KeyHash>().ok().map(|key| key.0)
}

/// The proxy in front of a replay's servers.
fn replay_proxy() -> Option<BrowserProxy> {
    let text = std::env::var_os(PROXY_VARIABLE)?.into_string().ok()?;
    let address: SocketAddr = text.parse().ok()?;
    let told = ProxyConfigSource::Once(address.port());
    Some(BrowserProxy { address: address.ip(), told, manner: ProxyScheme::Https })
}

/// Hosts of a replay that speak HTTP/3.
fn replay_h3_hosts() -> Vec<String> {
    let text = std::env::var_os(H3_VARIABLE).and_then(|text| text.into_string().ok());
    let names = text.iter().flat_map(|text| text.split(','));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A directory for the profile, which belongs to the user of the browser.
fn profile(drops_root: bool) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("farlink-record-").tempdir()?;
    if drops_root {
        chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
    }
    Ok(folder)
}

fn spawn(mut command: Command, drops_root: bool) -> io::Result<Child> {
    if drops_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.spawn()
}

fn unable(error: &ChromiumError) -> CliError {
    let words = error.to_string();
    let is_sandbox = words.contains("sandbox") || words.contains("namespace");
    let hint = is_sandbox.then(|| {
        "its sandbox needs user namespaces (`sysctl kernel.unprivileged_userns_clone=1`); for a page that you trust, \
         --no-sandbox"
            .to_owned()
    });
    CliError::machine(words).hint(hint)
}

/// Advice on a document that did not arrive.
fn not_loaded(error: &ChromiumError, args: &Record) -> CliError {
    let words = error.to_string();
    let hint = if words.contains("ERR_CERT") && !args.insecure {
        Some("for a certificate of your own, `farlink record --insecure`")
    } else if words.contains("ERR_NAME_NOT_RESOLVED") {
        Some("check the name; `farlink record --connect-to NAME=ADDRESS:PORT` leads it anywhere")
    } else {
        None
    };
    CliError::bad_input(words).hint(hint.map(str::to_owned))
}
