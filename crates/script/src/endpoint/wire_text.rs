//! Segments in the notation of scripts.

use std::fmt::Write;

use tcp::{Ecn, Flags, Segment};

use crate::when::seconds;

/// The control bits and their letters, in packetdrill's order.
pub(crate) const FLAGS: [(char, Flags); 7] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
];

/// The ECN field of the IP header (RFC 3168) and its names.
pub(crate) const CODEPOINTS: [(&str, Ecn); 3] =
    [("noecn", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ce", Ecn::Ce)];

pub(crate) fn codepoint(ecn: Ecn) -> &'static str {
    CODEPOINTS.iter().find(|(_, known)| *known == ecn).map_or("?", |(name, _)| name)
}

pub(crate) fn flags(flags: Flags) -> String {
    FLAGS.iter().filter(|(_, flag)| flags.contains(*flag)).map(|(letter, _)| *letter).collect()
}

/// The segment in full, in the syntax of a script.
pub(crate) fn show(segment: &Segment) -> String {
    let len = segment.payload.len() as u64;
    let (seq, end) = (segment.seq, segment.seq + len);
    let mark = match segment.ecn {
        Ecn::NotEct => String::new(),
        ecn => format!("[{}] ", codepoint(ecn)),
    };
    let mut text = format!("{mark}{} {seq}:{end}({len})", flags(segment.flags));
    if segment.is(Flags::ACK) {
        write!(text, " ack {}", segment.ack).expect("a string takes it");
    }
    write!(text, " win {}", segment.window_bytes).expect("a string takes it");
    let options = options(segment);
    if !options.is_empty() {
        write!(text, " <{}>", options.join(",")).expect("a string takes it");
    }
    text
}

fn options(segment: &Segment) -> Vec<String> {
    let mut options = Vec::new();
    if let Some(syn) = segment.syn {
        options.push(format!("mss {}", syn.mss));
        if syn.sack {
            options.push("sackOK".to_owned());
        }
    }
    if !segment.sack.is_empty() {
        let blocks: Vec<_> =
            segment.sack.iter().map(|block| format!("{}:{}", block.start, block.end)).collect();
        options.push(format!("sack {}", blocks.join(" ")));
    }
    if let Some(stamps) = segment.timestamps {
        let (value, echo) = (seconds(stamps.value), seconds(stamps.echo));
        options.push(format!("TS val {value} ecr {echo}"));
    }
    if let Some(syn) = segment.syn {
        options.push(format!("wscale {}", syn.window_scale));
    }
    options
}
