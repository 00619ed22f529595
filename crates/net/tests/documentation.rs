//! Checks that `docs/networks.md` shows the profiles as they are, and that its examples work.

use std::fs;

use farlink_net::{Network, profiles};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/networks.md");

fn between(text: &str, begin: &str, end: &str) -> String {
    let from = text.find(begin).unwrap_or_else(|| panic!("{PAGE} has no {begin}")) + begin.len();
    let to = text[from..].find(end).unwrap_or_else(|| panic!("{PAGE} has no {end}"));
    text[from..from + to].trim().to_owned()
}

fn both<T: PartialEq + ToString>(down: T, up: T) -> String {
    match down == up {
        true => down.to_string(),
        false => format!("{} down, {} up", down.to_string(), up.to_string()),
    }
}

fn row(network: &Network) -> String {
    let (down, up) = (&network.down, &network.up);
    format!(
        "| `{}` | {} | {} | {} ms | {} | {} | {} |",
        network.name,
        down.rate,
        up.rate,
        network.rtt().as_micros() as f64 / 1000.0,
        both(down.loss.clone(), up.loss.clone()),
        both(down.queue, up.queue),
        beside(network),
    )
}

/// The radio in front of the first hop, and the hops behind it.
fn beside(network: &Network) -> String {
    let radio = network.radio.iter().map(|radio| format!("`radio={}`", radio.name));
    let hops = network.beyond.iter().map(|hop| format!("`{}` {}", hop.name, hop.down.rate));
    radio.chain(hops).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_of_profiles_is_current() {
    let page = fs::read_to_string(PAGE).expect("the page is part of the repository");
    let mut table = vec![
        "| profile | down | up | RTT | loss, each way | queue, each way | radio, farther hops |"
            .to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    table.extend(profiles().iter().map(row));
    let expected = table.join("\n");
    let found = between(&page, "<!-- profiles -->", "<!-- end of profiles -->");
    assert!(found == expected, "{PAGE} is stale; its table should be\n\n{expected}\n");

    let aliases: Vec<_> =
        profiles().aliases().map(|(alias, name)| format!("`{alias}` is `{name}`")).collect();
    let expected = aliases.join(", ") + ".";
    let found = between(&page, "<!-- aliases -->", "<!-- end of aliases -->");
    assert!(found == expected, "{PAGE} is stale; its aliases should be\n\n{expected}\n");
}

#[test]
fn the_examples_describe_networks() {
    let page = fs::read_to_string(PAGE).expect("the page is part of the repository");
    let typed: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("    --network ")).collect();
    assert!(typed.len() >= 4, "only {} examples found", typed.len());
    for text in typed.iter().filter(|text| !text.ends_with(".toml")) {
        Network::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let file = between(&page, "```toml", "```");
    let network = Network::from_toml("ship.toml", &file).expect("the example file is valid");
    assert_eq!(network.name, "ship");
}
