//! Discovery of HTTP/3 by the client, and reachability over UDP.

use serde::{Deserialize, Serialize};

use crate::choice;

choice! {
    /// Mechanism by which a client learns that a server speaks HTTP/3.
    #[derive(Default)]
    pub enum H3Discovery, "h3-discovery" {
        /// Known in advance (term of RFC 9113 section 3.3).
        #[default]
        PriorKnowledge = "prior-knowledge" (stored "straight"),
        /// Announced in a response over HTTP/2 (`Alt-Svc`, RFC 7838); then QUIC races TCP.
        AltSvc = "alt-svc",
        /// Announced in the HTTPS record, which DNS returns with the address (RFC 9460); then QUIC races TCP at once.
        HttpsRecord = "https-record",
    }
    not_yet {}
}

choice! {
    /// Treatment of UDP on the path to the servers.
    #[derive(Default)]
    pub enum Udp, "udp" {
        /// It passes.
        #[default]
        Open = "open",
        /// Silently dropped in front of the servers.
        Blocked = "blocked",
    }
    not_yet {}
}

/// Discovery and reachability of HTTP/3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// Mechanism of discovery.
    pub h3: H3Discovery,
    /// Treatment of UDP, which decides reachability.
    pub udp: Udp,
}

impl Discovery {
    /// True if both are at their defaults.
    pub fn is_usual(&self) -> bool {
        *self == Discovery::default()
    }

    /// A note for readers of results.
    pub fn note(self) -> Option<String> {
        let found = match self.h3 {
            H3Discovery::PriorKnowledge => None,
            H3Discovery::AltSvc => Some(
                "HTTP/3 is found by Alt-Svc: what a browser asks of a host before it knows, or before QUIC is there, goes over HTTP/2",
            ),
            H3Discovery::HttpsRecord => Some(
                "HTTP/3 is found by HTTPS records, which every host has: QUIC races HTTP/2 as soon as DNS has answered",
            ),
        };
        let blocked = (self.udp == Udp::Blocked)
            .then_some("UDP is dropped in front of the servers: QUIC reaches nobody");
        let all: Vec<&str> = found.into_iter().chain(blocked).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_needs_no_words() {
        assert!(Discovery::default().is_usual());
        assert_eq!(Discovery::default().note(), None);
        let blocked = Discovery { h3: H3Discovery::AltSvc, udp: Udp::Blocked };
        let note = blocked.note().unwrap();
        assert!(note.contains("Alt-Svc") && note.contains("UDP"), "{note}");
        let recorded = Discovery { h3: H3Discovery::HttpsRecord, udp: Udp::Open };
        assert!(recorded.note().unwrap().contains("HTTPS records"));
    }
}
