//! `farlink archive`: what a recording holds, and copies of it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::archive::{Exchange, RecordedLoad, RecordedResponse, redact};

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
        Archive::Merge { files, output } => merge(files, output),
    }
}

fn list(file: &Path) -> Result<ExitCode, CliError> {
    let loads = recording::open(file)?.loads;
    for (at, load) in loads.iter().enumerate() {
        if loads.len() > 1 {
            let blank = if at > 0 { "\n" } else { "" };
            output::line(format!("{blank}page {}: {}", at + 1, load.url))?;
        }
        list_load(load)?;
    }
    Ok(ExitCode::Success)
}

fn list_load(load: &RecordedLoad) -> Result<(), CliError> {
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
    output::line(table)
}

/// Method, unless it is GET, and URL.
fn named(exchange: &Exchange) -> String {
    match exchange.request.method.as_str() {
        "GET" => exchange.request.url.clone(),
        method => format!("{method} {}", exchange.request.url),
    }
}

fn print_body(file: &Path, url: &str) -> Result<ExitCode, CliError> {
    let load = recording::open(file)?.merged();
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
    let [one, other] = [recording::open(one)?.merged(), recording::open(other)?.merged()];
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
    let mut loads = recording::open(file)?.loads;
    let redact = |load: &mut RecordedLoad| redact::credentials(load) + redact::fields(load, names);
    let count = loads.iter_mut().map(redact).sum();
    recording::write(&loads, output)?;
    anstream::eprintln!("redacted {}", counted(count, "field"));
    anstream::eprintln!("wrote {}", output.display());
    Ok(ExitCode::Success)
}

fn import(file: &Path, output: &Path, keeps_credentials: bool) -> Result<ExitCode, CliError> {
    recording::check_output(output)?;
    let mut loads = recording::open(file)?.loads;
    if !keeps_credentials {
        loads.iter_mut().for_each(|load| _ = redact::credentials(load));
    }
    write(&loads, output, "imported")
}

/// Puts the loads of several recordings into one, in the order of the files.
fn merge(files: &[PathBuf], output: &Path) -> Result<ExitCode, CliError> {
    recording::check_output(output)?;
    let mut loads: Vec<RecordedLoad> = Vec::new();
    for file in files {
        for mut load in recording::open(file)?.loads {
            // A load's exchanges are those after its beginning and before the next load's.
            if let Some(last) = loads.last() {
                let ends = last.exchanges.iter().map(|it| it.started).max().unwrap_or_default();
                load.began = load.began.max(last.began + ends + Duration::from_millis(1));
            }
            loads.push(load);
        }
    }
    write(&loads, output, "merged")
}

/// Writes loads, and says what they hold.
fn write(loads: &[RecordedLoad], output: &Path, done: &str) -> Result<ExitCode, CliError> {
    recording::write(loads, output)?;
    let missing = match loads.iter().map(RecordedLoad::missing_bodies).sum() {
        0_usize => String::new(),
        missing => format!("; {missing} without a body"),
    };
    let of_pages = match loads.len() {
        1 => String::new(),
        pages => format!(" of {pages} pages"),
    };
    let requests = loads.iter().map(|load| load.exchanges.len()).sum();
    anstream::eprintln!("{done} {}{of_pages}{missing}", counted(requests, "request"));
    anstream::eprintln!("wrote {}", output.display());
    Ok(ExitCode::Success)
}
