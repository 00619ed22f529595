//! `farlink record`: a page of the web, loaded by Chromium and kept as a HAR with bodies or a web archive.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use ::archive::{RecordedLoad, redact};
use chromium::{CaptureSettings, ChromiumError, ChromiumSandbox, Launch, OtherNames};
use rustix::process::getuid;
use tempfile::TempDir;

use super::emulated_shell::{H3_VARIABLE, KEY_VARIABLE};
use super::{chromium, files, recording};
use crate::args::{KeyHash, Record};
use crate::failure::{CliError, ExitCode};
use crate::show::units::{bytes, counted, span};

/// Id of `nobody` and its group, as whom root runs the browser: pages of the web are not to be trusted, and Chromium's
/// sandbox needs an ordinary user.
const NOBODY: u32 = 65534;

pub fn run(args: &Record) -> Result<ExitCode, CliError> {
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(file_name(&args.url)));
    recording::check_output(&output)?;
    let load = record(args)?;
    keep(&load, &output)?;
    Ok(ExitCode::Success)
}

/// Records the page of a URL with the usual options, and returns the file where it is kept.
pub fn record_url(url: &str) -> Result<PathBuf, CliError> {
    let folder = recordings()?;
    files::make_folder(&folder)?;
    let load = record(&Record::of(url))?;
    let output = folder.join(file_name(url));
    keep(&load, &output)?;
    Ok(output)
}

/// True if `spec` is a URL rather than a page's name or file.
pub fn is_url(spec: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        spec.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// Folder of the recordings that `farlink load URL` makes.
fn recordings() -> Result<PathBuf, CliError> {
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty());
    let cache = named("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(named("HOME")?).join(".cache")));
    let cache = cache.ok_or_else(|| {
        CliError::machine("no place for the recording: neither XDG_CACHE_HOME nor HOME is set")
            .hint("`farlink record URL -o FILE.har` writes it anywhere".to_owned())
    })?;
    Ok(cache.join("farlink/recordings"))
}

/// `https://shop.example/a/b?c` as `shop.example-a-b.har`.
fn file_name(url: &str) -> String {
    let (_, place) = url.split_once("://").unwrap_or(("", url));
    let place = place.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = place.chars().map(|c| if is_kept(c) { c } else { '-' }).take(100).collect();
    format!("{}.har", name.trim_start_matches(['.', '-']))
}

fn record(args: &Record) -> Result<RecordedLoad, CliError> {
    let browser = chromium().map_err(CliError::machine)?;
    let url = args.url.as_str();
    if !is_url(url) {
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
        proxy: None,
        trusted_keys: args.accept_key.iter().map(|key| key.0).chain(replay_key()).collect(),
        trusts_all: args.insecure,
        quic_hosts: args.h3_hosts.iter().cloned().chain(replay_h3_hosts()).collect(),
        sandbox: if args.no_sandbox { ChromiumSandbox::None } else { ChromiumSandbox::Own },
        addresses: false,
    };
    let settings = CaptureSettings {
        limit: Duration::from_secs(args.timeout),
        quiet: Duration::from_secs(args.settle),
        viewport: (args.viewport.width, args.viewport.height),
    };
    let mut running =
        launch.start(|command| spawn(command, drops_root)).map_err(|error| unable(&error))?;
    anstream::eprintln!("recording {url} with {}", running.version());
    let mut context = running.context().map_err(|error| unable(&error))?;
    let captured = context.capture(url, &settings);
    drop(context);
    let mut load = captured.map_err(|error| match error {
        ChromiumError::NoDocument { .. } => not_loaded(&error, args),
        error => unable(&error),
    })?;
    running.close();
    if !args.keep_credentials {
        redact::credentials(&mut load);
    }
    Ok(load)
}

/// The key of a replay's servers, where `farlink shell --replay` runs this.
fn replay_key() -> Option<[u8; 32]> {
    let text = std::env::var_os(KEY_VARIABLE)?.into_string().ok()?;
    text.parse::<KeyHash>().ok().map(|key| key.0)
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

/// Writes the recording, and says what it holds.
fn keep(load: &RecordedLoad, output: &Path) -> Result<(), CliError> {
    recording::write(load, output)?;
    let hosts: BTreeSet<&str> =
        load.exchanges.iter().map(|exchange| host(&exchange.request.url)).collect();
    let loaded = match load.loaded {
        Some(at) => format!("load event after {}", span(at.as_nanos() as u64)),
        None => "no load event within the time limit".to_owned(),
    };
    let failed = load.exchanges.iter().filter(|exchange| exchange.error.is_some()).count();
    let mut sentence = format!(
        "recorded {} to {}, {}, {loaded}",
        counted(load.exchanges.len(), "request"),
        counted(hosts.len(), "host"),
        bytes(load.transferred_bytes() as f64),
    );
    if failed > 0 {
        sentence += &format!("; {failed} failed");
    }
    match load.missing_bodies() {
        0 => {}
        missing => sentence += &format!("; {missing} without a body"),
    }
    anstream::eprintln!("{sentence}");
    anstream::eprintln!("wrote {}", output.display());
    Ok(())
}

fn host(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.split(['/', '?']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_place() {
        assert_eq!(file_name("https://shop.example/"), "shop.example.har");
        assert_eq!(file_name("http://127.0.0.1:8080/a/b?c=1#d"), "127.0.0.1-8080-a-b.har");
        assert_eq!(file_name("https://../../etc/passwd"), "etc-passwd.har");
    }

    #[test]
    fn urls_are_told_from_pages() {
        assert!(is_url("https://a.test/") && is_url("HTTP://a.test"));
        assert!(!is_url("bth2013") && !is_url("httpd.har") && !is_url("http"));
    }
}
