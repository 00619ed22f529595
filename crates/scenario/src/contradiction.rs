//! Contradictory combinations of settings, which no world can run, each with an alternative.

use super::{
    H3Discovery, Origins, Program, Protocol, Release, Scenario, Scheduler, Serving, Tls, View,
    World,
};

/// A forbidden combination, and the reason.
type Rule = (bool, &'static str);

fn first<const N: usize>(rules: [Rule; N]) -> Option<&'static str> {
    rules.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why)
}

impl Scenario {
    /// The reason why no world can run the scenario, or `None` if one can.
    pub fn contradiction(&self) -> Option<&'static str> {
        let (protocol, program) = (self.stack.protocol, self.client.program);
        self.of_protocol()
            .or_else(|| self.multiplexing.contradiction(protocol))
            .or_else(|| self.of_chromium())
            .or_else(|| self.of_order())
            .or_else(|| self.of_journey())
            .or_else(|| self.route.contradiction(self))
            .or_else(|| self.security.contradiction(protocol, self.stack.tls, program))
            .or_else(|| self.record.contradiction(self))
            .or_else(|| self.of_world())
    }

    /// Settings that do not apply to the protocol.
    fn of_protocol(&self) -> Option<&'static str> {
        let protocol = self.stack.protocol;
        let is_quic = protocol.is_quic();
        first([
            (
                is_quic && self.stack.tls != Tls::Tls13,
                "HTTP/3 runs over QUIC, which TLS 1.3 alone secures (RFC 9001): use tls13 with it",
            ),
            (
                !is_quic && !self.quic.is_usual(),
                "QUIC's knobs turn nothing where TCP carries the page: use them with h3-deployed or h3-matched",
            ),
            (
                !is_quic && !self.discovery.is_usual(),
                "there is no HTTP/3 to be found or blocked where TCP carries the page: use h3-discovery and udp with h3-deployed or h3-matched",
            ),
            (
                self.discovery.h3 == H3Discovery::HttpsRecord && self.resolution.is_by_hosts(),
                "HTTPS records come with names' addresses, and no names are resolved: add dns `on`, or use h3-discovery prior-knowledge or alt-svc",
            ),
            (
                !protocol.keeps_alive() && !self.keep_alive.is_usual(),
                "keep-alive is HTTP/1.1's: h1.0 keeps no connection, what multiplexes keeps its own for good; use it with h1 or h1-pipelined",
            ),
            (
                !self.hosting.is_apart() && self.server.origins == Origins::Recorded,
                "hosts on one machine are equally far away: use hosting `apart`, or origins `equal`",
            ),
        ])
    }

    /// Settings that a real Chromium does not accept, because it decides by itself.
    fn of_chromium(&self) -> Option<&'static str> {
        if self.client.program != Program::Chromium {
            return None;
        }
        first([
            (
                !self.clients.is_one_alone(),
                "one Chromium keeps a machine busy: several clients are loaders (client `loader`)",
            ),
            (
                !self.hosting.is_apart(),
                "Chromium must be told of each host's machine: hosting `together` is for farlink's own loader (client `loader`)",
            ),
            (
                !self.multiplexing.is_usual(),
                "Chromium's windows and tables are its own: turn multiplexing's knobs for farlink's loader (client `loader`)",
            ),
            (
                !self.discovery.is_usual(),
                "Chromium is told beforehand who speaks HTTP/3: it believes no Alt-Svc of a certificate that only farlink knows; load with farlink's own loader (client `loader`), or leave h3-discovery prior-knowledge and UDP open",
            ),
            (
                self.quic.migrate_at_ns.is_some(),
                "Chromium keeps its address: migrate-at moves farlink's own loader (client `loader`)",
            ),
            (
                !self.request_heads.is_usual(),
                "Chromium fills its requests' heads by itself: leave them `sized`, or load with farlink's own loader (client `loader`)",
            ),
            (
                !self.resolution.is_by_hosts(),
                "Chromium is told the hosts' addresses here and asks no DNS: use the client `loader`, or dns `off`",
            ),
        ])
    }

    /// The reason why responses cannot be sent in the requested order.
    fn of_order(&self) -> Option<&'static str> {
        let protocol = self.stack.protocol;
        let (is_spdy, is_h1) = (protocol.is_spdy(), protocol.is_h1());
        let Serving { scheduler, frame_bytes, notsent_lowat, push } = self.serving;
        let program = self.client.program;
        match scheduler {
            Some(_) if is_h1 => Some(
                "HTTP/1 answers in the order of requests: a scheduler needs a protocol that multiplexes (spdy, h2)",
            ),
            Some(_) if protocol == Protocol::Recorded => {
                Some("hosts of several protocols have no scheduler in common: name one protocol")
            }
            Some(Scheduler::Tree | Scheduler::Rfc9218) if is_spdy => Some(
                "SPDY says three bits of a request's priority: scheduler strict reads them; tree and rfc9218 need h2",
            ),
            Some(Scheduler::Tree) if protocol.is_quic() => {
                Some("HTTP/3 has no tree of dependencies (RFC 9114 appendix A.2.3): use rfc9218")
            }
            Some(Scheduler::Strict | Scheduler::Tree | Scheduler::Rfc9218)
                if !is_spdy && self.priorities.is_none() && program == Program::Loader =>
            {
                Some(
                    "the scheduler reads priorities that the client does not send: add priorities (chrome, safari, equal or a file)",
                )
            }
            _ if frame_bytes.is_some() && (is_h1 || protocol.is_quic()) => {
                Some("frames of a given size are HTTP/2's and SPDY's: use them with h2 or spdy")
            }
            _ if notsent_lowat.is_some() && protocol.is_quic() => Some(
                "what lies unsent in TCP means nothing to QUIC: use it with a protocol over TCP",
            ),
            _ if push.is_some() && !protocol.pushes() => Some(
                "servers push over h2 and spdy alone: HTTP/1 has no push, HTTP/3 is spoken here without, and recorded hosts speak several protocols",
            ),
            _ if push.is_some() && program == Program::Chromium => {
                Some("Chromium refuses pushed responses since version 106: use the client `loader`")
            }
            _ if self.priorities.is_some() && program == Program::Chromium => Some(
                "Chromium has its own priorities: leave the mapping out, or use the client `loader`",
            ),
            _ => None,
        }
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
                is_simulated && self.release != Release::Single,
                "the simulated world has no emulator that could release packets together: use world `emu`, or release `single`",
            ),
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
