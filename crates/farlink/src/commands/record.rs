//! `farlink record`: a page of the web, loaded by Chromium and kept as a HAR with bodies or a web archive.

mod browser;
mod observer;
mod recording_proxy;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ::archive::{RecordedLoad, har, redact};

use super::{files, recording};
use crate::args::Record;
use crate::failure::{CliError, ExitCode};
use crate::show::units::{bytes, counted, span};

/// Carries out `farlink record`.
pub fn run(args: &Record) -> Result<ExitCode, CliError> {
    if args.no_browser {
        return recording_proxy::run(args);
    }
    if args.from_devtools {
        return from_devtools(args);
    }
    let named = || PathBuf::from(file_name(args.urls.first().map_or("", String::as_str)));
    let output = args.output.clone().unwrap_or_else(named);
    recording::check_output(&output)?;
    keep(&browser::record(args)?, &output)?;
    Ok(ExitCode::Success)
}

/// Keeps a HAR from standard input: that of DevTools' "Copy all as HAR".
fn from_devtools(args: &Record) -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(CliError::machine)?;
    let mut loads = har::read(&text).map_err(|error| {
        let hint = "paste the text of DevTools' Network panel, \"Copy all as HAR\", or redirect a file: < page.har";
        CliError::bad_input(format!("standard input: {error}")).hint(hint.to_owned())
    })?;
    if loads.iter().all(|load| load.exchanges.is_empty()) {
        return Err(CliError::bad_input("standard input: a HAR without entries"));
    }
    let url = loads.first().map_or("", |load| &load.url);
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(file_name(url)));
    recording::check_output(&output)?;
    if !args.keep_credentials {
        loads.iter_mut().for_each(|load| _ = redact::credentials(load));
    }
    keep(&loads, &output)?;
    Ok(ExitCode::Success)
}

/// Records the page of a URL with the usual options, and returns the file where it is kept.
pub fn record_url(url: &str) -> Result<PathBuf, CliError> {
    let folder = recordings()?;
    files::make_folder(&folder)?;
    let loads = browser::record(&Record::of(url))?;
    let output = folder.join(file_name(url));
    keep(&loads, &output)?;
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

/// Writes the recording, and says what it holds.
fn keep(loads: &[RecordedLoad], output: &Path) -> Result<(), CliError> {
    recording::write(loads, output)?;
    for load in loads {
        anstream::eprintln!("{}", told(load, loads.len() > 1));
    }
    anstream::eprintln!("wrote {}", output.display());
    Ok(())
}

/// A sentence on a load, with its URL if that `is_named`.
fn told(load: &RecordedLoad, is_named: bool) -> String {
    let hosts: BTreeSet<&str> =
        load.exchanges.iter().map(|exchange| host(&exchange.request.url)).collect();
    let loaded = match load.loaded {
        Some(at) => format!("load event after {}", span(at.as_nanos() as u64)),
        None => "no load event".to_owned(),
    };
    let failed = load.exchanges.iter().filter(|exchange| exchange.error.is_some()).count();
    let page = if is_named { format!("{}: ", load.url) } else { String::new() };
    let mut sentence = format!(
        "{page}recorded {} to {}, {}, {loaded}",
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
    sentence
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
