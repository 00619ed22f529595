//! `farlink link`.

use lab::link_test::{self, Bulk, Direction, LinkTest, Loss, Ping, Speed};
use net::Network;

use super::output;
use crate::args::{Link, LinkTestArgs};
use crate::failure::{ExitCode, Failure};
use crate::show::conditions::{delay, percent};
use crate::show::table::Table;
use crate::show::terminal::wrapped;

/// How far what is delivered may lie from what is configured.
const TOLERANCE: f64 = 0.01;

pub fn run(link: &Link) -> Result<ExitCode, Failure> {
    match link {
        Link::Test(args) => test(args),
    }
}

fn test(args: &LinkTestArgs) -> Result<ExitCode, Failure> {
    let network = Network::parse(&args.network).map_err(Failure::bad_input)?;
    let found = link_test::run(&network, args.seed);
    let rows = rows(&found);
    let agrees = rows.iter().all(|row| row.agrees != Some(false));
    if args.json {
        output::line(json(&network, &found, &rows))?;
    } else {
        show(&network, &found, &rows)?;
    }
    Ok(if agrees { ExitCode::Success } else { ExitCode::Failed })
}

/// One thing that was tested.
struct Row {
    what: &'static str,
    configured: String,
    delivered: String,
    /// Whether the two agree; `None` where nothing is configured to compare with.
    agrees: Option<bool>,
}

fn rows(found: &LinkTest) -> Vec<Row> {
    let mut rows = vec![ping(&found.ping)];
    for (what, direction) in [("down", &found.down), ("up", &found.up)] {
        rows.extend(direction.speed.iter().map(|found| speed(what, found)));
        rows.push(loss(what, &direction.loss));
    }
    rows
}

fn ping(ping: &Ping) -> Row {
    let delivered = match ping.summary() {
        Some((least, mean, most)) => {
            format!("{} / {} / {}", delay(least), delay(mean), delay(most))
        }
        None => "no answer".to_owned(),
    };
    let agrees = ping.summary().is_some_and(|(_, mean, _)| {
        near(mean.as_secs_f64() / ping.configured.as_secs_f64().max(f64::MIN_POSITIVE))
            || mean == ping.configured
    });
    let what = "ping, least / mean / most";
    Row { what, configured: delay(ping.configured), delivered, agrees: Some(agrees) }
}

fn speed(direction: &'static str, speed: &Speed) -> Row {
    Row {
        what: if direction == "down" { "speed down" } else { "speed up" },
        configured: speed.configured.to_string(),
        delivered: speed.delivered.to_string(),
        agrees: Some(near(speed.ratio())),
    }
}

fn loss(direction: &'static str, loss: &Loss) -> Row {
    let (low, high) = loss.interval();
    let delivered = format!(
        "{} of {} = {} ({} to {})",
        loss.lost,
        loss.sent,
        percent(loss.ratio()),
        percent(low),
        percent(high)
    );
    Row {
        what: if direction == "down" { "loss down" } else { "loss up" },
        configured: percent(loss.configured),
        delivered,
        agrees: Some(loss.agrees()),
    }
}

fn near(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

fn show(network: &Network, found: &LinkTest, rows: &[Row]) -> Result<(), Failure> {
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
    for note in &network.notes {
        output::line(wrapped(&format!("\nnote: {note}")))?;
    }
    Ok(())
}

fn flow(direction: &Direction) -> Option<String> {
    let Bulk { goodput, retransmitted_segments, srtt } = direction.bulk?;
    let srtt =
        srtt.map_or_else(String::new, |srtt| format!(", round trip {} at the end", delay(srtt)));
    Some(format!("{goodput} of payload, {retransmitted_segments} segments sent again{srtt}"))
}

fn json(network: &Network, found: &LinkTest, rows: &[Row]) -> serde_json::Value {
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
    let summary = found.ping.summary();
    serde_json::json!({
        "network": network.name,
        "agrees": rows.iter().all(|row| row.agrees != Some(false)),
        "ping": {
            "configured_ns": nanos(found.ping.configured),
            "sent": found.ping.sent,
            "answered": found.ping.round_trips.len(),
            "least_ns": summary.map(|(least, ..)| nanos(least)),
            "mean_ns": summary.map(|(_, mean, _)| nanos(mean)),
            "most_ns": summary.map(|(.., most)| nanos(most)),
        },
        "down": direction(&found.down),
        "up": direction(&found.up),
    })
}
