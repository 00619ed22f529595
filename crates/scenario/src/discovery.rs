//! How the client comes to speak HTTP/3, and whether it can.

use serde::{Deserialize, Serialize};

use crate::choice;

choice! {
    /// How a client comes to know that a server speaks HTTP/3.
    #[derive(Default)]
    pub enum H3Discovery, "h3-discovery" {
        /// It knows beforehand (RFC 9113 section 3.3 has the term).
        #[default]
        PriorKnowledge = "prior-knowledge" (stored "straight"),
        /// A response over HTTP/2 says so (`Alt-Svc`, RFC 7838); then QUIC races TCP.
        AltSvc = "alt-svc",
        /// The HTTPS record, which DNS gives with the address (RFC 9460), says so; then QUIC races TCP at once.
        HttpsRecord = "https-record",
    }
    not_yet {}
}

choice! {
    /// What becomes of UDP on the way to the servers.
    #[derive(Default)]
    pub enum Udp, "udp" {
        /// It passes.
        #[default]
        Open = "open",
        /// It is dropped in front of the servers, without a word.
        Blocked = "blocked",
    }
    not_yet {}
}

/// Both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// How HTTP/3 is found.
    pub h3: H3Discovery,
    /// Whether it can be reached.
    pub udp: Udp,
}

impl Discovery {
    /// Whether it is as it was when there was no choice.
    pub fn is_usual(&self) -> bool {
        *self == Discovery::default()
    }

    /// What a reader of results must know.
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
