//! `farlink archive`: what a recording holds, and copies of it.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use ::archive::{Exchange, RecordedResponse, redact};

use super::{output, recording};
use crate::args::Archive;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::units::{bytes, counted, span};

pub fn run(command: &Archive) -> Result<ExitCode, CliError> {
    match command {
        Archive::Ls { file } => list(file),
        Archive::Cat { file, url } => print_body(file, url),
        Archive::Diff { one, other } => diff(one, other),
        Archive::Scrub { file, field, output } => scrub(file, field, output),
        Archive::Import { file, output, keep_credentials } => {
            import(file, output, *keep_credentials)
        }
    }
}

fn list(file: &Path) -> Result<ExitCode, CliError> {
    let load = recording::open(file)?.load;
    let mut table =
        Table::new(&["start", "time", "status", "protocol", "transferred", "body", "type", "url"]);
    table.left(7);
    for exchange in &load.exchanges {
        let nanos = |span: std::time::Duration| span.as_nanos() as u64;
        let response = exchange.response.as_ref();
        let size = |of: fn(&RecordedResponse) -> Option<f64>| {
            response.and_then(of).map_or_else(|| "-".to_owned(), bytes)
        };
        table.row([
            span(nanos(exchange.started)),
            span(nanos(exchange.phases.total())),
            status(exchange),
            response.map_or_else(String::new, |response| response.protocol.clone()),
            size(|response| Some(response.transferred_bytes as f64)),
            size(|response| response.body.as_ref().map(|body| body.len() as f64)),
            response.map_or_else(String::new, |response| response.media_type.clone()),
            named(exchange),
        ]);
    }
    output::line(table)?;
    Ok(ExitCode::Success)
}

/// Method, unless it is GET, and URL.
fn named(exchange: &Exchange) -> String {
    match exchange.request.method.as_str() {
        "GET" => exchange.request.url.clone(),
        method => format!("{method} {}", exchange.request.url),
    }
}

fn print_body(file: &Path, url: &str) -> Result<ExitCode, CliError> {
    let load = recording::open(file)?.load;
    let wanted = load.exchanges.iter().find(|exchange| exchange.request.url == url);
    let Some(exchange) = wanted else {
        let urls = load.exchanges.iter().map(|exchange| exchange.request.url.as_str());
        let nearest = scenario::nearest(url, urls).map(|near| format!("did you mean {near}?"));
        let listed = || format!("`farlink archive ls {}` lists its URLs", file.display());
        let message = format!("{}: no response for {url}", file.display());
        return Err(CliError::bad_input(message).hint(nearest.unwrap_or_else(listed)));
    };
    match exchange.response.as_ref().and_then(|response| response.body.as_deref()) {
        Some(body) => output::bytes(body)?,
        None => {
            let problem = exchange.error.as_deref().unwrap_or("its body was not recorded");
            return Err(CliError::bad_input(format!("{url}: {problem}")));
        }
    }
    Ok(ExitCode::Success)
}

fn diff(one: &Path, other: &Path) -> Result<ExitCode, CliError> {
    let [one, other] = [recording::open(one)?.load, recording::open(other)?.load];
    // Requests that were made several times are paired in order.
    let mut left: BTreeMap<String, VecDeque<&Exchange>> = BTreeMap::new();
    for exchange in &other.exchanges {
        left.entry(named(exchange)).or_default().push_back(exchange);
    }
    let mut table = Table::new(&["difference", "first", "second", "url"]);
    table.left(0);
    table.left(3);
    let (mut rows, none) = (0, || "-".to_owned());
    let mut row = |what: &str, first: String, second: String, url: String| {
        table.row([what.to_owned(), first, second, url]);
        rows += 1;
    };
    for exchange in &one.exchanges {
        let Some(pair) = left.get_mut(&named(exchange)).and_then(VecDeque::pop_front) else {
            row("only in first", status(exchange), none(), named(exchange));
            continue;
        };
        let (first, second) = (exchange.response.as_ref(), pair.response.as_ref());
        if status(exchange) != status(pair) {
            row("status", status(exchange), status(pair), named(exchange));
        } else if first.map(|it| &it.body) != second.map(|it| &it.body) {
            row("body", body_size(exchange), body_size(pair), named(exchange));
        }
    }
    for exchange in left.into_values().flatten() {
        row("only in second", none(), status(exchange), named(exchange));
    }
    if rows == 0 {
        output::line(format!("no difference in {} requests", one.exchanges.len()))?;
        return Ok(ExitCode::Success);
    }
    output::line(table)?;
    Ok(ExitCode::Failed)
}

fn status(exchange: &Exchange) -> String {
    let response = exchange.response.as_ref();
    response.map_or_else(|| "failed".to_owned(), |response| response.status.to_string())
}

fn body_size(exchange: &Exchange) -> String {
    let body = exchange.response.as_ref().and_then(|response| response.body.as_ref());
    body.map_or_else(|| "-".to_owned(), |body| bytes(body.len() as f64))
}

fn scrub(file: &Path, names: &[String], output: &Path) -> Result<ExitCode, CliError> {
    recording::check_output(output)?;
    let mut load = recording::open(file)?.load;
    let count = redact::credentials(&mut load) + redact::fields(&mut load, names);
    recording::write(&load, output)?;
    anstream::eprintln!("redacted {}", counted(count, "field"));
    anstream::eprintln!("wrote {}", output.display());
    Ok(ExitCode::Success)
}

fn import(file: &Path, output: &Path, keeps_credentials: bool) -> Result<ExitCode, CliError> {
    recording::check_output(output)?;
    let mut load = recording::open(file)?.load;
    if !keeps_credentials {
        redact::credentials(&mut load);
    }
    recording::write(&load, output)?;
    let missing = match load.missing_bodies() {
        0 => String::new(),
        missing => format!("; {missing} without a body"),
    };
    anstream::eprintln!("imported {}{missing}", counted(load.exchanges.len(), "request"));
    anstream::eprintln!("wrote {}", output.display());
    Ok(ExitCode::Success)
}
