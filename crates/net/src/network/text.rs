//! Serialisation of a network as text that parses back to the same network.

use std::fmt;
use std::time::Duration;

use units::BitsPerSec;

use super::Network;
use crate::config::DEFAULT_MTU_BYTES;
use crate::{
    Codel, EmulatorModel, GilbertElliott, Handover, Jitter, JitterShape, LaneScheduling,
    LinkConfig, LossModel, Management, Pie, ProportionalFair, Rate, Reorder, TimedGilbertElliott,
};

impl fmt::Display for Network {
    /// The links as settings that [`Network::parse`] parses back to the same links. The processing jitter is not
    /// among them: it belongs to the experiment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = settings("", &self.up, &self.down);
        for (hop, number) in self.beyond.iter().zip(1..) {
            let prefix = format!("hop.{number}.");
            settings.push(format!("{prefix}name={}", hop.name));
            settings.extend(self::settings(&prefix, &hop.up, &hop.down));
        }
        settings.extend(self.radio.iter().map(ToString::to_string));
        settings.extend(self.down.handover.iter().flat_map(handover));
        f.write_str(&settings.join(","))
    }
}

/// Both directions of a hop, each key behind `prefix`. Defaults are left out, except the queue.
fn settings(prefix: &str, up: &LinkConfig, down: &LinkConfig) -> Vec<String> {
    let mut settings = Vec::new();
    let mut put = |key: &str, value: String| settings.push(format!("{prefix}{key}={value}"));
    let rtt = up.delay + down.delay;
    if up.delay == rtt / 2 {
        put("rtt", SpanText(rtt).to_string());
    } else {
        put("up.delay", SpanText(up.delay).to_string());
        put("down.delay", SpanText(down.delay).to_string());
    }
    for (key, link) in [("down", down), ("up", up)] {
        match &link.rate {
            Rate::Constant(rate) => put(key, RateText(*rate).to_string()),
            Rate::Trace(trace) => put(&format!("{key}.trace"), trace.to_string()),
        }
    }
    let mut pair = |of: &dyn Fn(&LinkConfig) -> Option<(&'static str, String)>| {
        let (up, down) = (of(up), of(down));
        if up == down {
            up.into_iter().for_each(|(key, value)| put(key, value));
        } else {
            up.into_iter().for_each(|(key, value)| put(&format!("up.{key}"), value));
            down.into_iter().for_each(|(key, value)| put(&format!("down.{key}"), value));
        }
    };
    pair(&loss);
    pair(&|link| Some(("queue", link.queue.to_string())));
    pair(&management);
    pair(&scheduler);
    pair(&channels);
    pair(&jitter);
    pair(&|link| match link.reorder {
        Reorder::Never => None,
        Reorder::ByJitter => Some(("reorder", "jitter".to_owned())),
        Reorder::Jump(share) => Some(("reorder", RatioText(share).to_string())),
    });
    pair(&|link| {
        (link.duplicate > 0.0).then(|| ("duplicate", RatioText(link.duplicate).to_string()))
    });
    pair(&|link| (link.mtu != DEFAULT_MTU_BYTES).then(|| ("mtu", link.mtu.to_string())));
    pair(&|link| match link.emulator {
        EmulatorModel::Farlink => None,
        EmulatorModel::Dummynet { .. } => Some(("emulator", "dummynet".to_owned())),
        EmulatorModel::Netem => Some(("emulator", "netem".to_owned())),
    });
    pair(&|link| match link.emulator {
        EmulatorModel::Dummynet { timer, .. } => Some(("timer", SpanText(timer).to_string())),
        _ => None,
    });
    pair(&|link| match link.emulator {
        EmulatorModel::Dummynet { tick, .. } if tick != EmulatorModel::DEFAULT_TICK => {
            Some(("tick", SpanText(tick).to_string()))
        }
        _ => None,
    });
    settings
}

fn loss(link: &LinkConfig) -> Option<(&'static str, String)> {
    match &link.loss {
        LossModel::Random(0.0) => None,
        LossModel::Random(share) => Some(("loss", RatioText(*share).to_string())),
        LossModel::GilbertElliott(model) => {
            let GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good } = *model;
            let shares = [to_bad, to_good, loss_in_bad, loss_in_good];
            Some(("gemodel", shares.map(|share| RatioText(share).to_string()).join(" ")))
        }
        LossModel::TimedGilbertElliott(model) => {
            let TimedGilbertElliott { good, bad, loss_in_bad, loss_in_good } = *model;
            let (good, bad) = (SpanText(good), SpanText(bad));
            let (in_bad, in_good) = (RatioText(loss_in_bad), RatioText(loss_in_good));
            Some(("gemodel-time", format!("{good} {bad} {in_bad} {in_good}")))
        }
        LossModel::Listed(list) => Some(("loss_file", list.origin().to_owned())),
    }
}

fn management(link: &LinkConfig) -> Option<(&'static str, String)> {
    let ecn = |ecn: bool| if ecn { " ecn" } else { "" };
    let codel = |name: &str, codel: Codel| {
        let (target, interval) = (SpanText(codel.target), SpanText(codel.interval));
        format!("{name}{} target {target} interval {interval}", ecn(codel.ecn))
    };
    let value = match link.management {
        Management::DropTail => return None,
        Management::DropHead => "drophead".to_owned(),
        Management::Codel(params) => codel("codel", params),
        Management::FqCodel(params) => codel("fq_codel", params),
        Management::Pie(Pie { target, ecn: marks }) => {
            format!("pie{} target {}", ecn(marks), SpanText(target))
        }
    };
    Some(("aqm", value))
}

fn scheduler(link: &LinkConfig) -> Option<(&'static str, String)> {
    let value = match link.scheduler {
        LaneScheduling::Fifo => return None,
        LaneScheduling::RoundRobin => "round-robin".to_owned(),
        LaneScheduling::ProportionalFair(ProportionalFair { slot, window }) => {
            format!("proportional-fair slot {} window {}", SpanText(slot), SpanText(window))
        }
    };
    Some(("scheduler", value))
}

fn channels(link: &LinkConfig) -> Option<(&'static str, String)> {
    let shares = link.channels.shares();
    let value = || shares.iter().map(|share| RatioText(*share).to_string()).collect::<Vec<_>>();
    (!shares.is_empty()).then(|| ("channels", value().join(" ")))
}

fn handover(handover: &Handover) -> [String; 3] {
    let Handover { every, least, most, lossless } = *handover;
    [
        format!("handover.every={}", SpanText(every)),
        format!("handover.length={}..{}", SpanText(least), SpanText(most)),
        format!("handover.lossless={lossless}"),
    ]
}

fn jitter(link: &LinkConfig) -> Option<(&'static str, String)> {
    if link.jitter == Jitter::NONE {
        return None;
    }
    let shape = match link.jitter.shape {
        JitterShape::Uniform => "uniform",
        JitterShape::Normal => "normal",
    };
    Some(("jitter", format!("{} {shape}", SpanText(link.jitter.spread))))
}

/// A duration in the largest unit that states it exactly.
struct SpanText(Duration);

impl fmt::Display for SpanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_nanos() {
            ns if ns.is_multiple_of(1_000_000) => write!(f, "{}ms", ns / 1_000_000),
            ns if ns.is_multiple_of(1_000) => write!(f, "{}us", ns / 1_000),
            ns => write!(f, "{ns}ns"),
        }
    }
}

/// A rate in the largest unit that states it in whole numbers.
struct RateText(BitsPerSec);

impl fmt::Display for RateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            BitsPerSec::UNLIMITED => f.write_str("unlimited"),
            BitsPerSec(bits) if bits.is_multiple_of(1_000_000) => {
                write!(f, "{}mbit", bits / 1_000_000)
            }
            BitsPerSec(bits) if bits.is_multiple_of(1_000) => write!(f, "{}kbit", bits / 1_000),
            BitsPerSec(bits) => write!(f, "{bits}bit"),
        }
    }
}

/// A probability in per cent if that reads back to the same number, else as a fraction.
#[derive(PartialEq)]
struct RatioText(f64);

impl fmt::Display for RatioText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{}%", self.0 * 100.0);
        match units::parse::ratio(&percent) {
            Ok(same) if same == self.0 && percent.len() < 8 => f.write_str(&percent),
            _ => write!(f, "{}", self.0),
        }
    }
}
