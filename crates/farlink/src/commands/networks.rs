//! `farlink networks`.

use net::{LinkConfig, Network, profiles};

use crate::args::Networks;
use crate::failure::{ExitCode, Failure};
use crate::show::table::Table;

pub fn run(networks: &Networks) -> Result<ExitCode, Failure> {
    match networks {
        Networks::List => list(),
        Networks::Show { network } => show(network)?,
    }
    Ok(ExitCode::Success)
}

fn list() {
    let mut table = Table::new(&["network", "down", "up", "RTT", "loss", "queue"]);
    for network in profiles().iter() {
        table.row([
            network.name.clone(),
            network.down.rate.to_string(),
            network.up.rate.to_string(),
            format!("{} ms", network.rtt().as_secs_f64() * 1000.0),
            percent(network.down.loss),
            network.down.queue.to_string(),
        ]);
    }
    anstream::println!("{table}");
    let aliases: Vec<String> =
        profiles().aliases().map(|(alias, name)| format!("{alias} = {name}")).collect();
    if !aliases.is_empty() {
        anstream::println!("\nOther names: {}.", aliases.join(", "));
    }
    anstream::println!("\n`farlink networks show NAME` says where the numbers come from.");
}

fn show(text: &str) -> Result<(), Failure> {
    let network = Network::parse(text).map_err(Failure::bad_input)?;
    anstream::println!("{}", network.name);
    let mut table = Table::new(&["", "rate", "delay one way", "loss", "queue", "MTU"]);
    for (direction, link) in [("down", &network.down), ("up", &network.up)] {
        table.row(row(direction, link));
    }
    anstream::println!("{table}");
    anstream::println!("\nsource: {}", network.source);
    for note in &network.notes {
        anstream::println!("note: {note}");
    }
    Ok(())
}

fn row(direction: &str, link: &LinkConfig) -> [String; 6] {
    [
        direction.to_owned(),
        link.rate.to_string(),
        format!("{} ms", link.delay.as_secs_f64() * 1000.0),
        percent(link.loss),
        link.queue.to_string(),
        format!("{} bytes", link.mtu),
    ]
}

fn percent(ratio: f64) -> String {
    format!("{} %", (ratio * 1e6).round() / 1e4)
}
