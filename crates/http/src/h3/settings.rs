//! The limits of HTTP/3's two ends, with their sources.

use quic::Transport;
use units::Time;

use crate::Scheduler;

/// A client's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// QUIC.
    pub transport: Transport,
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: 256 KB, Chrome's.
    pub header_list_bytes: u64,
    /// True if requests go with the first flight of a resumed session (0-RTT).
    pub early_data: bool,
    /// Time at which the client's address changes under its connections; none: never.
    pub migrate_at: Option<Time>,
}

impl Client {
    /// The default limits over this transport.
    pub const fn over(transport: Transport) -> Client {
        Client { transport, header_list_bytes: 256 << 10, early_data: true, migrate_at: None }
    }
}

impl Default for Client {
    fn default() -> Client {
        Client::over(Transport::QUINN)
    }
}

/// A server's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// QUIC.
    pub transport: Transport,
    /// Limit of open requests: 100, quinn's default and the least that RFC 9114 section 6.1 recommends.
    pub streams: u32,
    /// Limit of unidirectional streams: 100, quinn's default. HTTP/3 uses three (RFC 9114 section 6.2).
    pub one_way_streams: u32,
    /// Limit of a port's handshakes under way with unvalidated clients; further ones are told to come back with a token
    /// (Retry, RFC 9000 section 8.1.2), which costs them a round trip. None: no limit.
    pub unproven: Option<usize>,
    /// SETTINGS_MAX_FIELD_SECTION_SIZE: 32 KB, as over HTTP/2.
    pub header_list_bytes: u64,
    /// The scheduling of responses: any but [`Scheduler::Tree`], for which HTTP/3 has no signals.
    pub scheduler: Scheduler,
}

impl Server {
    /// Limits for unknown clients. A client's buffered data is bounded: unread data that it sent, by windows; unacknowledged
    /// data sent to it, by a buffer, which is the amount that a download gets per round trip (at 100 ms, 80 Mbit/s).
    pub const PUBLIC: Server = Server {
        transport: Transport {
            stream_window_bytes: 256 << 10,
            connection_window_bytes: Some(1 << 20),
            send_buffer_bytes: Some(1 << 20),
            ..Transport::QUINN
        },
        // The control stream, QPACK's two, and some of reserved types, which are ignored (section 6.2.3).
        one_way_streams: 8,
        unproven: Some(100),
        ..Server::over(Transport::QUINN)
    };

    /// The default limits over this transport.
    pub const fn over(transport: Transport) -> Server {
        Server {
            transport,
            streams: 100,
            one_way_streams: 100,
            unproven: None,
            header_list_bytes: 32 << 10,
            scheduler: Scheduler::RoundRobin,
        }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server::over(Transport::QUINN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2;

    #[test]
    fn a_matched_transport_has_the_windows_of_http2() {
        let matched = Transport::matching(&tcp::Config::default());
        let h2::settings::Client { stream_window_bytes, connection_window_bytes, .. } =
            h2::settings::Client::CHROME;
        assert_eq!(matched.stream_window_bytes, stream_window_bytes);
        assert_eq!(matched.connection_window_bytes, Some(connection_window_bytes));
    }
}
