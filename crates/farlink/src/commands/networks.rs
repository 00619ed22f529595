//! `farlink networks`.

use net::{LinkConfig, Network, profiles, radios};

use super::output;
use crate::args::Networks;
use crate::failure::{ExitCode, Failure};
use crate::show::conditions::delay;
use crate::show::table::Table;
use crate::show::terminal::wrapped;

pub fn run(networks: &Networks) -> Result<ExitCode, Failure> {
    match networks {
        Networks::List => list()?,
        Networks::Show { network } => show(network)?,
    }
    Ok(ExitCode::Success)
}

fn list() -> Result<(), Failure> {
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
        "\nNo source of a profile states a queue. `farlink networks show NAME` says which was",
    )?;
    output::line("chosen and why, and where the other numbers come from.")
}

fn show(text: &str) -> Result<(), Failure> {
    let network = Network::parse(text).map_err(Failure::bad_input)?;
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
        output::line(wrapped(&format!("{radio}, in front of both directions: {source}")))?;
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
