//! Choices of a run: named networks, named pages, protocols.

use axum::Json;
use scenario::Protocol;
use serde_json::{Value, json};

/// Networks that are shown first; the others are folded away.
const USUAL: [&str; 10] =
    ["2g", "3g", "3g-fast", "4g", "lte", "wifi", "dsl", "cable", "leo", "geo"];

/// `GET /api/choices`.
pub async fn list() -> Json<Value> {
    let usual = USUAL.iter().filter_map(|name| Some(network(name, net::profiles().get(name)?)));
    let all = net::profiles().iter().map(|it| network(&it.name, it));
    let pages = page::catalogue().into_iter().map(|entry| {
        json!({ "name": entry.name, "description": entry.description, "requests": entry.requests, "hosts": entry.hosts })
    });
    Json(json!({
        "usual_networks": usual.collect::<Vec<Value>>(),
        "networks": all.collect::<Vec<Value>>(),
        "pages": pages.collect::<Vec<Value>>(),
        "protocols": protocols(),
        "version": scenario::VERSION,
    }))
}

fn network(name: &str, network: &net::Network) -> Value {
    json!({
        "name": name,
        "down_bit_per_s": network.down.rate.mean().0,
        "up_bit_per_s": network.up.rate.mean().0,
        "rtt_ms": network.rtt().as_secs_f64() * 1e3,
        "loss": network.down.loss.mean(),
        "radio": network.radio.as_ref().map(|radio| &radio.name),
    })
}

/// The protocols of a comparison; the first three are chosen at first.
fn protocols() -> [(&'static str, &'static str); 6] {
    [
        (Protocol::H1.name(), "HTTP/1.1"),
        (Protocol::H2.name(), "HTTP/2"),
        (Protocol::H3Deployed.name(), "HTTP/3"),
        (Protocol::Spdy.name(), "SPDY/3.1"),
        (Protocol::H1Pipelined.name(), "HTTP/1.1, pipelined"),
        (Protocol::H10.name(), "HTTP/1.0"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_networks_exist() {
        for name in USUAL {
            assert!(net::profiles().get(name).is_some(), "{name}");
        }
    }
}
