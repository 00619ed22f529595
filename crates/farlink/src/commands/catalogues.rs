//! `farlink pages` and `farlink networks`: named pages and networks.

use net::{LinkConfig, Network, profiles, radios};
use page::write::Existing;
use page::{Page, catalogue};

use super::output;
use crate::args::{Networks, Pages};
use crate::failure::{CliError, ExitCode};
use crate::show::conditions::delay;
use crate::show::table::Table;
use crate::show::terminal::wrapped;
use crate::show::units::bytes;

pub fn pages(pages: &Pages) -> Result<ExitCode, CliError> {
    match pages {
        Pages::List => list_pages()?,
        Pages::Show { page, json: false } => output::print(page::PageTable(&open(page)?))?,
        Pages::Show { page, json: true } => output::print(page::file::to_text(&open(page)?))?,
        Pages::Write { page, output } => {
            let written = page::write::write(&open(page)?, output, Existing::Keep)
                .map_err(CliError::bad_input)?;
            let (files, size) = (written.files, bytes(written.bytes as f64));
            output::line(format!("wrote {files} files, {size}, to {}", output.display()))?;
            for note in &written.notes {
                output::line(format!("note: {note}"))?;
            }
        }
    }
    Ok(ExitCode::Success)
}

fn open(spec: &str) -> Result<Page, CliError> {
    testbed::fit::open(spec).map_err(CliError::bad_input)
}

fn list_pages() -> Result<(), CliError> {
    let mut table = Table::new(&["page", "requests", "hosts", "bodies", "what it is"]);
    for entry in catalogue() {
        table.row([
            entry.name,
            entry.requests.to_string(),
            entry.hosts.to_string(),
            bytes(entry.body_bytes as f64),
            entry.description,
        ]);
    }
    table.left(4);
    table.wrap(4);
    output::line(table)?;
    output::line(
        "\n`synthetic:NxSIZE[@Hhosts]` takes any numbers. HAR files (.har, .har.gz) and page files are named by path.",
    )
}

// `farlink networks`.

pub fn networks(networks: &Networks) -> Result<ExitCode, CliError> {
    match networks {
        Networks::List => list_networks()?,
        Networks::Show { network } => show_network(network)?,
    }
    Ok(ExitCode::Success)
}

fn list_networks() -> Result<(), CliError> {
    let mut table = Table::new(&["network", "down", "up", "RTT", "loss", "queue", "radio"]);
    for network in profiles().iter() {
        table.row([
            network.name.clone(),
            network.down.rate.to_string(),
            network.up.rate.to_string(),
            delay(network.rtt()),
            network.down.loss.to_string(),
            network.down.queue.to_string(),
            network.radio.as_ref().map_or_else(String::new, |radio| radio.name.clone()),
        ]);
    }
    output::line(table)?;
    let aliases: Vec<String> =
        profiles().aliases().map(|(alias, name)| format!("{alias} = {name}")).collect();
    if !aliases.is_empty() {
        output::line(wrapped(&format!("\nOther names: {}.", aliases.join(", "))))?;
    }
    output::line(
        "\nThe sources of these profiles state no queue; `farlink networks show NAME` explains the",
    )?;
    output::line("choice, and gives the source of the other numbers.")
}

fn show_network(text: &str) -> Result<(), CliError> {
    let network = Network::parse(text).map_err(CliError::bad_input)?;
    output::line(&network.name)?;
    let mut table = Table::new(&["", "rate", "delay one way", "loss", "queue", "MTU"]);
    for (direction, link) in [("down", &network.down), ("up", &network.up)] {
        table.row(row(direction, link));
    }
    for hop in &network.beyond {
        for (direction, link) in [("down", &hop.down), ("up", &hop.up)] {
            table.row(row(&format!("{}, {direction}", hop.name), link));
        }
    }
    output::line(table)?;
    output::line(wrapped(&format!("\nin full: {network}")))?;
    output::line(wrapped(&format!("source: {}", network.source)))?;
    if let Some(radio) = &network.radio {
        let source = radios().get(&radio.name).map_or("", |preset| preset.source.as_str());
        output::line(wrapped(&format!("{radio}: {source}")))?;
    }
    for note in &network.notes {
        output::line(wrapped(&format!("note: {note}")))?;
    }
    Ok(())
}

fn row(direction: &str, link: &LinkConfig) -> [String; 6] {
    [
        direction.to_owned(),
        link.rate.to_string(),
        delay(link.delay),
        link.loss.to_string(),
        link.queue.to_string(),
        format!("{} bytes", link.mtu),
    ]
}
