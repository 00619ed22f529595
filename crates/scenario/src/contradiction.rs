//! Contradictory combinations of settings, which no world can run, each with an alternative.
//!
//! Rows of the settings ([`settings`](crate::settings)) hold the needs of one setting; this file holds combinations of
//! several.

use super::settings::SETTINGS;
use super::{Program, Protocol, Scenario, Tls, View, World};

/// A forbidden combination, and the reason.
type ContradictionRule = (bool, &'static str);

fn first<const N: usize>(rules: [ContradictionRule; N]) -> Option<&'static str> {
    rules.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why)
}

impl Scenario {
    /// The reason why no world can run the scenario, or `None` if one can.
    pub fn contradiction(&self) -> Option<&'static str> {
        let (protocol, program) = (self.stack.protocol, self.client.program);
        self.of_protocol()
            .or_else(|| self.of_settings())
            .or_else(|| self.multiplexing.contradiction(protocol))
            .or_else(|| self.of_journey())
            .or_else(|| self.route.contradiction(self))
            .or_else(|| self.security.contradiction(protocol, self.stack.tls, program))
            .or_else(|| self.of_world())
    }

    /// A setting whose own needs are not met.
    fn of_settings(&self) -> Option<&'static str> {
        SETTINGS.iter().find_map(|setting| setting.contradiction(self))
    }

    /// HTTP/3 with another security layer than its own.
    fn of_protocol(&self) -> Option<&'static str> {
        first([(
            self.stack.protocol.is_quic() && self.stack.tls != Tls::Tls13,
            "HTTP/3 runs over QUIC, which TLS 1.3 alone secures (RFC 9001): use tls13 with it",
        )])
    }

    /// Journeys of several visits that are not supported.
    fn of_journey(&self) -> Option<&'static str> {
        let chromium = self.client.program == Program::Chromium;
        if chromium && !(self.page.pages.is_empty() && self.journey.is_usual()) {
            return Some(
                "a real Chromium visits one page, and decides by itself what it keeps: journeys of several visits are for farlink's own loader (client `loader`)",
            );
        }
        if self.page.pages.is_empty() && self.journey.times == 1 {
            return None;
        }
        first([
            (
                self.client.view != View::Cold,
                "a view is of one page visited once: leave it cold in a journey of several visits, and have the journey keep the `cache`",
            ),
            (
                self.security.is_acquainted() && !self.journey.keeps.sessions,
                "the client is to have TLS sessions of every host (resume), and the journey forgets them: have it keep `sessions`, or leave resume out",
            ),
            (
                self.serving.push.is_some() && !self.page.pages.is_empty(),
                "what is pushed goes with one page's document: leave push out of a journey through a list",
            ),
        ])
    }

    /// Combinations that the world, or a real Chromium in it, does not support.
    fn of_world(&self) -> Option<&'static str> {
        let protocol = self.stack.protocol;
        let chromium = self.client.program == Program::Chromium;
        let is_simulated = self.world == World::Sim;
        first([
            (
                is_simulated && chromium,
                "a real Chromium loads pages in real time only: use the emulated world (world `emu`)",
            ),
            (
                chromium && protocol.is_spdy(),
                "Chromium speaks SPDY no more since version 51: use h1 or h2, or the client `loader`",
            ),
            (
                chromium && protocol == Protocol::H2 && self.stack.tls == Tls::None,
                "Chromium speaks HTTP/2 over TLS only: use h1, or tls13",
            ),
            (
                chromium && protocol == Protocol::H10,
                "Chromium asks by HTTP/1.1: use h1, or farlink's own loader (client `loader`)",
            ),
            (
                chromium && protocol == Protocol::H1Pipelined,
                "Chromium has not pipelined since version 32: use h1, or farlink's own loader (client `loader`)",
            ),
        ])
    }
}
