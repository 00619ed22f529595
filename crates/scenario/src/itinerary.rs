//! A journey of several visits: number of rounds, order of pages, pace, and state kept between visits.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::parse;

use super::knobs::KnobError;

/// Sequence of visits to a page, or to the pages of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Itinerary {
    /// Number of rounds through the pages.
    pub times: u32,
    /// Order of the pages.
    pub order: PageOrder,
    /// Start of the next visit.
    pub pace: VisitPace,
    /// State kept between visits.
    pub keeps: Keeps,
}

/// Order in which the pages of a list are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageOrder {
    /// In the list's order.
    #[default]
    Listed,
    /// Shuffled once for an experiment: every arm and every repetition has the same order. Holds the seed; if
    /// none is given, the plan's own is used.
    Drawn(Option<u64>),
    /// Shuffled for each repetition; arms are paired.
    DrawnAnew,
}

/// Start of the next visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitPace {
    /// This long after the end of the last one: all of its page had arrived, or it had failed.
    Think(Duration),
    /// This long after the start of the last one; at once if it took longer.
    Every(Duration),
}

/// State kept between visits. The radio's state, as part of the network, is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// The browser with its open connections: it is not closed between visits.
    pub connections: bool,
    /// TLS sessions, and alternative services announced by servers (`Alt-Svc`).
    pub sessions: bool,
    /// TCP metrics of the peer, at both ends.
    pub metrics: bool,
    /// The browser's cache.
    pub cache: bool,
    /// Addresses resolved by DNS.
    pub names: bool,
}

/// Names of the kinds of state, in the order in which they are written.
const KINDS: [&str; 5] = ["connections", "sessions", "metrics", "cache", "names"];

/// Text for keeping nothing.
const NOTHING: &str = "nothing";

/// Default think time: reading takes ten seconds.
const THINK: Duration = Duration::from_secs(10);

/// The longest pause. A longer one is more likely a slip than a plan.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Itinerary {
    /// The largest number of rounds.
    pub const MOST_TIMES: u32 = 1000;

    /// True for the default: a page is visited once.
    pub fn is_usual(&self) -> bool {
        *self == Itinerary::default()
    }
}

impl Default for Itinerary {
    fn default() -> Itinerary {
        Itinerary {
            times: 1,
            order: PageOrder::default(),
            pace: VisitPace::default(),
            keeps: Keeps::default(),
        }
    }
}

impl Default for VisitPace {
    fn default() -> VisitPace {
        VisitPace::Think(THINK)
    }
}

impl Default for Keeps {
    fn default() -> Keeps {
        Keeps { metrics: true, sessions: true, ..Keeps::NOTHING }
    }
}

impl Keeps {
    /// No state: each visit starts from a fresh machine.
    pub const NOTHING: Keeps =
        Keeps { connections: false, sessions: false, metrics: false, cache: false, names: false };

    /// For each of [`KINDS`], true if it is kept.
    fn all(&self) -> [bool; 5] {
        [self.connections, self.sessions, self.metrics, self.cache, self.names]
    }
}

impl FromStr for PageOrder {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<PageOrder, KnobError> {
        let text = text.trim();
        let seed = text.strip_prefix("drawn=").map(|seed| seed.parse::<u64>().ok());
        match (text, seed) {
            ("listed", _) => Ok(PageOrder::Listed),
            ("drawn", _) => Ok(PageOrder::Drawn(None)),
            ("drawn-anew", _) => Ok(PageOrder::DrawnAnew),
            (_, Some(Some(seed))) if seed < 1 << 63 => Ok(PageOrder::Drawn(Some(seed))),
            _ => Err(KnobError::Head(format!(
                "`{text}` is no order of pages: write listed, drawn (or drawn=SEED) or drawn-anew"
            ))),
        }
    }
}

impl fmt::Display for PageOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageOrder::Listed => f.write_str("listed"),
            PageOrder::Drawn(None) => f.write_str("drawn"),
            PageOrder::Drawn(Some(seed)) => write!(f, "drawn={seed}"),
            PageOrder::DrawnAnew => f.write_str("drawn-anew"),
        }
    }
}

type Span = fn(Duration) -> VisitPace;

/// The kinds of pace.
const PACES: [(&str, Span); 2] = [("think", VisitPace::Think), ("every", VisitPace::Every)];

impl FromStr for VisitPace {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<VisitPace, KnobError> {
        let wrong = || {
            KnobError::Head(format!(
                "`{text}` is no pace: write think=10s, from the end of a visit to the next one, or every=60s, from beginning to beginning (at most 24h)"
            ))
        };
        let (kind, span) = text.split_once('=').ok_or_else(wrong)?;
        let (_, of) = PACES.iter().find(|(name, _)| *name == kind.trim()).ok_or_else(wrong)?;
        let span = parse::duration(span.trim()).ok().filter(|span| *span <= LONGEST);
        span.map(of).ok_or_else(wrong)
    }
}

impl fmt::Display for VisitPace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, span) = match self {
            VisitPace::Think(span) => ("think", span),
            VisitPace::Every(span) => ("every", span),
        };
        match span.subsec_nanos() {
            0 => write!(f, "{kind}={}s", span.as_secs()),
            n if n % 1_000_000 == 0 => write!(f, "{kind}={}ms", span.as_millis()),
            _ => write!(f, "{kind}={}ns", span.as_nanos()),
        }
    }
}

impl FromStr for Keeps {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Keeps, KnobError> {
        let mut keeps = Keeps::NOTHING;
        if text.trim() == NOTHING {
            return Ok(keeps);
        }
        for kind in text.split(',').map(str::trim) {
            let kept = match kind {
                "connections" => &mut keeps.connections,
                "sessions" => &mut keeps.sessions,
                "metrics" => &mut keeps.metrics,
                "cache" => &mut keeps.cache,
                "names" => &mut keeps.names,
                _ => {
                    let all = KINDS.join(", ");
                    return Err(KnobError::Head(format!(
                        "`{kind}` is nothing that outlives a visit: write one or several of {all} with commas, or {NOTHING}"
                    )));
                }
            };
            if std::mem::replace(kept, true) {
                return Err(KnobError::Head(format!("`{kind}` is kept twice; keep it once")));
            }
        }
        Ok(keeps)
    }
}

impl fmt::Display for Keeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = KINDS.iter().zip(self.all()).filter(|(_, kept)| *kept).map(|(kind, _)| *kind);
        let kept: Vec<&str> = kept.collect();
        match kept.is_empty() {
            true => f.write_str(NOTHING),
            false => f.write_str(&kept.join(",")),
        }
    }
}

/// Serialises through the text form, also in a scenario's text.
macro_rules! as_text {
    ($($type:ty),+) => { $(
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+ };
}

as_text!(PageOrder, VisitPace, Keeps);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["listed", "drawn", "drawn=7", "drawn-anew"] {
            assert_eq!(text.parse::<PageOrder>().unwrap().to_string(), text);
        }
        for text in ["think=10s", "every=60s", "think=1500ms", "think=1500000ns", "think=0s"] {
            assert_eq!(text.parse::<VisitPace>().unwrap().to_string(), text);
        }
        for text in ["nothing", "sessions,metrics", "connections,cache,names"] {
            assert_eq!(text.parse::<Keeps>().unwrap().to_string(), text);
        }
        assert_eq!("metrics, sessions".parse(), Ok(Keeps::default()));
        assert_eq!("every=1min".parse(), Ok(VisitPace::Every(Duration::from_secs(60))));
    }

    #[test]
    fn anything_else_is_refused() {
        let order = |text: &str| text.parse::<PageOrder>().unwrap_err().to_string();
        assert!(order("random").contains("drawn-anew") && order("drawn=x").contains("drawn=SEED"));
        let pace = |text: &str| text.parse::<VisitPace>().unwrap_err().to_string();
        assert!(pace("10s").contains("think=10s") && pace("every=soon").contains("every=60s"));
        assert!(pace("think=2d").contains("think=10s") && pace("think=25h").contains("24h"));
        let keeps = |text: &str| text.parse::<Keeps>().unwrap_err().to_string();
        assert!(keeps("cookies").contains("connections, sessions"), "{}", keeps("cookies"));
        assert!(keeps("cache,cache").contains("twice") && keeps("").contains("nothing"));
    }

    #[test]
    fn its_text_reads_back() {
        let journey = Itinerary {
            times: 5,
            order: PageOrder::Drawn(Some(3)),
            pace: VisitPace::Every(Duration::from_secs(60)),
            keeps: "connections,metrics".parse().unwrap(),
        };
        let text = serde_json::to_string(&journey).unwrap();
        assert_eq!(
            text,
            r#"{"times":5,"order":"drawn=3","pace":"every=60s","keeps":"connections,metrics"}"#
        );
        assert_eq!(serde_json::from_str::<Itinerary>(&text).unwrap(), journey);
        assert!(!journey.is_usual() && Itinerary::default().is_usual());
    }
}
