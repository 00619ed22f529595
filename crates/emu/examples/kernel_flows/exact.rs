//! Packet by packet: flows that the kernel reproduces.

use std::path::Path;

use farlink_emu::flow::{Divergence, FlowComparison, FlowTrace};

/// The table's head.
pub const HEAD: &str = "\
| flow | kernel s | farlink s | ratio | packets | dropped | retransmitted | same order of packets | same retransmissions | cwnd a round |
|---|---|---|---|---|---|---|---|---|---|
";

/// One flow's row.
pub fn row(name: &str, comparison: &FlowComparison<'_>) -> String {
    let FlowComparison { kernel, simulated, .. } = *comparison;
    let seconds = |trace: &FlowTrace| {
        let completion = trace.completion(comparison.total_bytes);
        completion.map_or("never".into(), |took| format!("{:.3}", took.as_secs_f64()))
    };
    let both =
        |count: &dyn Fn(&FlowTrace) -> usize| format!("{} / {}", count(kernel), count(simulated));
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        seconds(kernel),
        seconds(simulated),
        comparison.ratio().map_or("-".into(), |ratio| format!("{ratio:.4}")),
        both(&|trace| trace.data.len()),
        both(&|trace| trace.dropped()),
        both(&|trace| trace.retransmissions().len()),
        verdict(comparison.packets(), kernel.data.len()),
        verdict(comparison.retransmissions(), kernel.retransmissions().len()),
        rounds(comparison),
    )
}

fn verdict(divergence: Option<Divergence>, of: usize) -> String {
    match divergence {
        None => "yes".into(),
        Some(at) => format!("the first {} of {of}", at.index),
    }
}

fn rounds(comparison: &FlowComparison<'_>) -> String {
    let of = comparison.kernel.rounds().len();
    match comparison.rounds() {
        None => format!("same in {of}"),
        Some(at) => {
            let show = |value: Option<u64>| value.map_or("none".into(), |value| value.to_string());
            format!(
                "same in {} of {of}, then {} / {}",
                at.index,
                show(at.kernel),
                show(at.simulated)
            )
        }
    }
}

/// Writes packets and acknowledgements in chronological order, for closer inspection.
pub fn write_series(directory: &Path, name: &str, trace: &FlowTrace) -> Result<(), String> {
    let data = trace.data.iter().map(|packet| {
        let fate = if packet.arrives.is_some() { "" } else { " dropped" };
        let segment = (packet.seq - 1) as f64 / 1448.0;
        (packet.at, 1, format!("data {segment:.2} {}{fate}", packet.len))
    });
    let acks = trace.acknowledgements.iter().map(|ack| {
        let segment = ack.ack.saturating_sub(1) as f64 / 1448.0;
        let ssthresh = ack.ssthresh.map_or("-".into(), |value| value.to_string());
        let (cwnd, window) = (ack.cwnd, ack.window_bytes);
        (ack.at, 0, format!("ack  {segment:.2} cwnd {cwnd} ssthresh {ssthresh} window {window}"))
    });
    let mut lines: Vec<_> = data.chain(acks).collect();
    lines.sort_by_key(|(at, order, _)| (*at, *order));
    let text: String = lines
        .into_iter()
        .map(|(at, _, line)| format!("{:.6} {line}\n", at.as_secs_f64()))
        .collect();
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(directory.join(format!("{name}.txt")), text))
        .map_err(|error| format!("failed to write {name}: {error}"))
}
