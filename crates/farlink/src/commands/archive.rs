//! `farlink archive`: what a recording holds.

use std::path::Path;

use ::archive::{Exchange, RecordedResponse};

use super::{output, recording};
use crate::args::Archive;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::units::{bytes, span};

pub fn run(command: &Archive) -> Result<ExitCode, CliError> {
    match command {
        Archive::Ls { file } => list(file),
        Archive::Cat { file, url } => print_body(file, url),
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
            response.map_or_else(|| "failed".to_owned(), |response| response.status.to_string()),
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
