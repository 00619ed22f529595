//! A segment as stated in a script: explicit where it matters, defaults elsewhere; and the notation of segments.

use std::fmt::{self, Write};
use std::ops::Range;

use bytes::Bytes;
use tcp::{Ecn, Flags, Payload, SackBlocks, Segment, SynOptions, Timestamps};
use units::Time;

use super::PeerState;
use crate::when::seconds;

/// Fields of a segment given in a line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    /// None: not ECN-capable when it arrives, any when it leaves.
    pub(crate) ecn: Option<Ecn>,
    pub(crate) flags: Flags,
    /// Sequence numbers of its data; none: no data, at the next number.
    pub(crate) data: Option<Range<u64>>,
    /// None: the same as in the last segment in this direction.
    pub(crate) ack: Option<u64>,
    pub(crate) window_bytes: Option<u64>,
    /// None: no angle brackets. On a SYN they list all options.
    pub(crate) options: Option<OptionPattern>,
}

/// Options in angle brackets.
#[derive(Debug, Clone, Default)]
pub(crate) struct OptionPattern {
    pub(crate) mss: Option<u32>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) sack: Vec<Range<u64>>,
    pub(crate) timestamps: Option<Stamps>,
}

/// Timestamps, as far as they are given.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamps {
    pub(crate) value: Option<Time>,
    pub(crate) echo: Option<Time>,
}

/// Options that Linux and most others offer on an Ethernet path.
const USUAL_SYN: SynOptions = SynOptions { mss: 1460, window_scale: 7, sack: true };

impl Pattern {
    /// The arriving segment; remembers the defaults of later ones.
    pub(crate) fn segment(&self, now: Time, peer: &mut PeerState) -> Result<Segment, String> {
        let data = self.data.clone().unwrap_or(peer.next..peer.next);
        if let Some(ack) = self.ack {
            peer.ack = ack;
        }
        if let Some(window_bytes) = self.window_bytes {
            peer.window_bytes = window_bytes;
        }
        let segment = Segment {
            seq: data.start,
            ack: if self.flags.contains(Flags::ACK) { peer.ack } else { 0 },
            flags: self.flags,
            window_bytes: peer.window_bytes,
            payload: Payload::from(Bytes::from(vec![0; (data.end - data.start) as usize])),
            sack: self.sack_blocks()?,
            timestamps: self.arriving_timestamps(now, peer),
            syn: self.flags.contains(Flags::SYN).then(|| self.syn_options()),
            ecn: self.ecn.unwrap_or_default(),
        };
        peer.next = peer.next.max(segment.end());
        Ok(segment)
    }

    fn sack_blocks(&self) -> Result<SackBlocks, String> {
        let mut blocks = SackBlocks::NONE;
        for block in self.options.iter().flat_map(|options| &options.sack) {
            if !blocks.push(block.clone()) {
                return Err("a segment has room for four SACK blocks".to_owned());
            }
        }
        Ok(blocks)
    }

    fn syn_options(&self) -> SynOptions {
        match &self.options {
            None => USUAL_SYN,
            Some(options) => SynOptions {
                // RFC 9293 section 3.7.1: 536 without the option.
                mss: options.mss.unwrap_or(536),
                window_scale: options.window_scale.unwrap_or(0),
                sack: options.sack_permitted,
            },
        }
    }

    /// The timestamps given; otherwise those that the peer would send: present if the endpoint uses them, with the echo of
    /// the last segment from it.
    fn arriving_timestamps(&self, now: Time, peer: &PeerState) -> Option<Timestamps> {
        let stated = self.options.as_ref().and_then(|options| options.timestamps);
        let listed = self.flags.contains(Flags::SYN) && self.options.is_some();
        let usual = !listed && (peer.first || peer.echo.is_some());
        let stamps = stated.or(usual.then(Stamps::default))?;
        Some(Timestamps {
            value: stamps.value.unwrap_or(now),
            echo: stamps.echo.or(peer.echo).unwrap_or(Time::ZERO),
        })
    }
}

/// Defaults of the expectation: fields that were expected, and came, before.
#[derive(Debug, Default)]
pub(crate) struct Expectation {
    next: u64,
    ack: u64,
}

impl Expectation {
    /// Compares an output with the expected one. An error tells the first difference.
    pub(crate) fn compare(&mut self, expected: &Pattern, left: &Segment) -> Result<(), String> {
        if let Some(ecn) = expected.ecn {
            differ("the ECN field", &codepoint(ecn), &codepoint(left.ecn))?;
        }
        compare_flags(expected.flags, left.flags)?;
        let len = left.payload.len() as u64;
        let data = expected.data.clone().unwrap_or(self.next..self.next);
        differ("sequence numbers", &show(&data), &show(&(left.seq..left.seq + len)))?;
        if left.is(Flags::ACK) {
            differ("the acknowledgement", &expected.ack.unwrap_or(self.ack), &left.ack)?;
        }
        if let Some(window_bytes) = expected.window_bytes {
            differ("the window", &window_bytes, &left.window_bytes)?;
        }
        compare_options(expected, left)?;
        self.next = self.next.max(left.end());
        self.ack = left.ack;
        Ok(())
    }
}

/// An unexpected PSH is ignored: it marks the end of a write, which few scripts care about.
fn compare_flags(expected: Flags, left: Flags) -> Result<(), String> {
    let either = if expected.contains(Flags::PSH) { expected } else { expected.with(Flags::PSH) };
    if left == expected || left == either {
        return Ok(());
    }
    differ("flags", &flags(expected), &flags(left))
}

fn compare_options(expected: &Pattern, left: &Segment) -> Result<(), String> {
    let none = OptionPattern::default();
    let options = expected.options.as_ref().unwrap_or(&none);
    let sack: Vec<Range<u64>> = left.sack.iter().collect();
    differ("SACK blocks", &show_all(&options.sack), &show_all(&sack))?;
    if let Some(stamps) = options.timestamps {
        let Some(sent) = left.timestamps else { return Err("it has no timestamps".to_owned()) };
        if let Some(value) = stamps.value {
            differ("the timestamp", &seconds(value), &seconds(sent.value))?;
        }
        if let Some(echo) = stamps.echo {
            differ("the echoed timestamp", &seconds(echo), &seconds(sent.echo))?;
        }
    }
    match (left.syn, &expected.options) {
        (Some(syn), Some(options)) => compare_syn(options, syn, left.timestamps.is_some()),
        _ => Ok(()),
    }
}

/// On a SYN the brackets list all options.
fn compare_syn(options: &OptionPattern, syn: SynOptions, timestamps: bool) -> Result<(), String> {
    let show = |value: Option<u64>| value.map_or("none".to_owned(), |value| value.to_string());
    differ("the MSS", &show(options.mss.map(u64::from)), &syn.mss.to_string())?;
    let scale = options.window_scale.map(u64::from);
    differ("the window scale", &show(scale), &syn.window_scale.to_string())?;
    differ("SACK permitted", &options.sack_permitted, &syn.sack)?;
    differ("timestamps", &options.timestamps.is_some(), &timestamps)
}

fn differ<T: PartialEq + fmt::Display>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: expected {expected}, found {found}"))
}

fn show(data: &Range<u64>) -> String {
    format!("{}:{}({})", data.start, data.end, data.end - data.start)
}

fn show_all(blocks: &[Range<u64>]) -> String {
    let blocks: Vec<_> =
        blocks.iter().map(|block| format!("{}:{}", block.start, block.end)).collect();
    if blocks.is_empty() { "none".to_owned() } else { blocks.join(" ") }
}

/// Shows the fields given in the script.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            write!(f, "[{}] ", codepoint(ecn))?;
        }
        f.write_str(&flags(self.flags))?;
        if let Some(data) = &self.data {
            write!(f, " {}", show(data))?;
        }
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window_bytes) = self.window_bytes {
            write!(f, " win {window_bytes}")?;
        }
        match &self.options {
            Some(options) => write!(f, " <{options}>"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for OptionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        parts.extend(self.sack_permitted.then(|| "sackOK".to_owned()));
        if !self.sack.is_empty() {
            parts.push(format!("sack {}", show_all(&self.sack)));
        }
        if let Some(stamps) = self.timestamps {
            let value = stamps.value.map(|value| format!(" val {}", seconds(value)));
            let echo = stamps.echo.map(|echo| format!(" ecr {}", seconds(echo)));
            parts.push(format!("TS{}{}", value.unwrap_or_default(), echo.unwrap_or_default()));
        }
        parts.extend(self.window_scale.map(|scale| format!("wscale {scale}")));
        f.write_str(&parts.join(","))
    }
}

// Segments in the notation of scripts.

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
pub(crate) fn show_segment(segment: &Segment) -> String {
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
