//! Place of a proxy on the network: at the far end of one of its hops, like a resolver.

use std::fmt;

use super::KnobProblem;

/// Place of a proxy. `first-hop` is the base station's place if the first hop is the radio's, `far-end` the core's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyPlace {
    /// At the far end of the first hop.
    FirstHop,
    /// At the far end of the hop of this number beyond the first: `hop.1`, `hop.2` of a network.
    Hop(u32),
    /// At the network's far end.
    #[default]
    FarEnd,
}

impl ProxyPlace {
    pub(super) fn read(value: &str) -> Result<ProxyPlace, KnobProblem> {
        let hop = || {
            let number = value.strip_prefix("hop.")?.parse().ok()?;
            (number > 0).then_some(ProxyPlace::Hop(number))
        };
        match value {
            "first-hop" => Ok(ProxyPlace::FirstHop),
            "far-end" => Ok(ProxyPlace::FarEnd),
            _ => hop()
                .ok_or(KnobProblem::Expected("first-hop, far-end, or a hop of the network: hop.1")),
        }
    }

    /// Number of hops between clients and this place, on a network of `of_network` hops; `None` if it has no such hop.
    pub fn hops(self, of_network: usize) -> Option<usize> {
        let hops = match self {
            ProxyPlace::FirstHop => 1,
            ProxyPlace::Hop(number) => number as usize + 1,
            ProxyPlace::FarEnd => of_network,
        };
        (hops <= of_network).then_some(hops)
    }

    /// Text in a sentence.
    pub(super) fn told(self) -> String {
        match self {
            ProxyPlace::FirstHop => "at the far end of the network's first hop".to_owned(),
            ProxyPlace::Hop(number) => format!("at the far end of the network's hop.{number}"),
            ProxyPlace::FarEnd => "at the network's far end".to_owned(),
        }
    }
}

impl fmt::Display for ProxyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyPlace::FirstHop => f.write_str("first-hop"),
            ProxyPlace::Hop(number) => write!(f, "hop.{number}"),
            ProxyPlace::FarEnd => f.write_str("far-end"),
        }
    }
}
