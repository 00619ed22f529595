//! `farlink link`.

use net::{LinkConfig, Network, Rate};
use testbed::link_test::{self, Bulk, Direction, LinkTest, Loss, Ping, Speed};

use super::output;
use crate::args::{Link, LinkTestArgs};
use crate::failure::{CliError, ExitCode};
use crate::show::conditions::{delay, percent};
use crate::show::table::Table;
use crate::show::terminal::wrapped;

pub fn run(link: &Link) -> Result<ExitCode, CliError> {
    match link {
        Link::Test(args) => test(args),
    }
}

fn test(args: &LinkTestArgs) -> Result<ExitCode, CliError> {
    let network = Network::parse(&args.network).map_err(CliError::bad_input)?;
    let found = link_test::run(&network, args.seed);
    let rows = rows(&network, &found);
    let agrees = rows.iter().all(|row| row.agrees != Some(false));
    if args.json {
        output::line(json(&network, &found, &rows))?;
    } else {
        show(&network, &found, &rows)?;
    }
    Ok(if agrees { ExitCode::Success } else { ExitCode::Failed })
}

/// One tested property.
struct LinkTestRow {
    what: &'static str,
    configured: String,
    delivered: String,
    /// True if the two agree; `None` if nothing is configured to compare with.
    agrees: Option<bool>,
}

fn rows(network: &Network, found: &LinkTest) -> Vec<LinkTestRow> {
    let mut rows = vec![ping("ping, min / mean / max", &found.ping)];
    if let Some(through) = &found.radio {
        rows[0].what = "ping without the radio";
        rows.push(ping("ping through the radio, idle", &through.first));
        rows.push(ping("ping through the radio, active", &through.awake));
    }
    let directions = [("down", &network.down, &found.down), ("up", &network.up, &found.up)];
    for (what, link, direction) in directions {
        rows.extend(direction.speed.iter().map(|found| speed(what, found)));
        rows.push(loss(what, link, &direction.loss));
    }
    rows
}

fn ping(what: &'static str, ping: &Ping) -> LinkTestRow {
    let delivered = match ping.summary() {
        Some((only, _, _)) if ping.sent == 1 => delay(only),
        Some((least, mean, most)) => {
            format!("{} / {} / {}", delay(least), delay(mean), delay(most))
        }
        None => "no answer".to_owned(),
    };
    let configured = match ping.more {
        Some(more) if !more.is_zero() => {
            format!("{} to {}", delay(ping.configured), delay(ping.configured + more))
        }
        Some(_) => delay(ping.configured),
        None => format!("at least {}", delay(ping.configured)),
    };
    LinkTestRow { what, configured, delivered, agrees: ping.agrees() }
}

fn speed(direction: &'static str, speed: &Speed) -> LinkTestRow {
    let bound = if speed.is_bound { "at most " } else { "" };
    LinkTestRow {
        what: if direction == "down" { "speed down" } else { "speed up" },
        configured: format!("{bound}{}", speed.configured),
        delivered: speed.delivered.to_string(),
        agrees: Some(speed.agrees()),
    }
}

fn loss(direction: &'static str, link: &LinkConfig, loss: &Loss) -> LinkTestRow {
    let (low, high) = loss.interval();
    let delivered = format!(
        "{} of {} = {} ({} to {})",
        loss.lost,
        loss.sent,
        percent(loss.ratio()),
        percent(low),
        percent(high)
    );
    let stands_still =
        || matches!(&link.rate, Rate::Trace(trace) if trace.stands_still_from().is_some());
    let configured = match loss.configured {
        Some(ratio) => percent(ratio),
        None if stands_still() => "all after the trace ends".to_owned(),
        None => link.loss.to_string(),
    };
    LinkTestRow {
        what: if direction == "down" { "loss down" } else { "loss up" },
        configured,
        delivered,
        agrees: loss.agrees(),
    }
}

fn show(network: &Network, found: &LinkTest, rows: &[LinkTestRow]) -> Result<(), CliError> {
    output::line(&network.name)?;
    let mut table = Table::new(&["", "configured", "delivered", ""]);
    for row in rows {
        let verdict = match row.agrees {
            Some(true) => "agrees",
            Some(false) => "DIFFERS",
            None => "",
        };
        table.row([
            row.what.to_owned(),
            row.configured.clone(),
            row.delivered.clone(),
            verdict.to_owned(),
        ]);
    }
    output::line(table)?;
    for (what, direction) in [("down", &found.down), ("up", &found.up)] {
        if let Some(flow) = flow(direction) {
            output::line(wrapped(&format!("\none TCP flow {what}: {flow}")))?;
        }
    }
    if let Some(radio) = &network.radio {
        let note = "affects only the pings through it; speed and loss are measured without it";
        output::line(wrapped(&format!("\nnote: {radio} {note}")))?;
    }
    for note in &network.notes {
        output::line(wrapped(&format!("\nnote: {note}")))?;
    }
    Ok(())
}

fn flow(direction: &Direction) -> Option<String> {
    let Bulk { goodput, retransmitted_segments, srtt } = direction.bulk?;
    let srtt = srtt.map_or_else(String::new, |srtt| format!(", final RTT {}", delay(srtt)));
    Some(format!("goodput {goodput}, {retransmitted_segments} segments retransmitted{srtt}"))
}

fn json(network: &Network, found: &LinkTest, rows: &[LinkTestRow]) -> serde_json::Value {
    let direction = |direction: &Direction| {
        serde_json::json!({
            "configured_bits_per_second": direction.speed.map(|speed| speed.configured.0),
            "delivered_bits_per_second": direction.speed.map(|speed| speed.delivered.0),
            "configured_loss": direction.loss.configured,
            "sent": direction.loss.sent,
            "lost": direction.loss.lost,
            "tcp_goodput_bits_per_second": direction.bulk.map(|bulk| bulk.goodput.0),
            "tcp_retransmitted_segments": direction.bulk.map(|bulk| bulk.retransmitted_segments),
        })
    };
    let nanos = |span: std::time::Duration| span.as_nanos() as u64;
    let ping = |ping: &Ping| {
        let summary = ping.summary();
        serde_json::json!({
            "configured_ns": nanos(ping.configured),
            "configured_at_most_ns": ping.more.map(|more| nanos(ping.configured + more)),
            "sent": ping.sent,
            "answered": ping.round_trips.len(),
            "least_ns": summary.map(|(least, ..)| nanos(least)),
            "mean_ns": summary.map(|(_, mean, _)| nanos(mean)),
            "most_ns": summary.map(|(.., most)| nanos(most)),
        })
    };
    serde_json::json!({
        "network": network.name,
        "radio": network.radio.as_ref().map(ToString::to_string),
        "agrees": rows.iter().all(|row| row.agrees != Some(false)),
        "ping": ping(&found.ping),
        "radio_ping_from_rest": found.radio.as_ref().map(|radio| ping(&radio.first)),
        "radio_ping_awake": found.radio.as_ref().map(|radio| ping(&radio.awake)),
        "down": direction(&found.down),
        "up": direction(&found.up),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_does_not_do_what_it_was_told_differs() {
        let network = Network::parse("3g-fast").unwrap();
        let found = link_test::run(&network, 1);
        let differing = |found: &LinkTest| -> Vec<&str> {
            let rows = rows(&network, found);
            rows.iter().filter(|row| row.agrees == Some(false)).map(|row| row.what).collect()
        };
        assert_eq!(differing(&found), [""; 0]);

        let mut doctored = found.clone();
        doctored.down.loss.lost = 20;
        doctored.ping.round_trips.iter_mut().for_each(|trip| *trip += *trip / 50);
        let speed = doctored.up.speed.as_mut().unwrap();
        speed.delivered = units::BitsPerSec(speed.delivered.0 * 97 / 100);
        assert_eq!(differing(&doctored), ["ping, min / mean / max", "loss down", "speed up"]);
    }
}
