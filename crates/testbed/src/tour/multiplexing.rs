//! A scenario's settings of HTTP/2 and SPDY, converted for their two ends.

use http_stack::{h2, spdy};

use scenario::Multiplexing;

/// Settings of HTTP/2's client.
pub(super) fn h2_client(knobs: &Multiplexing) -> h2::settings::Client {
    let usual = h2::settings::Client::CHROME;
    h2::settings::Client {
        stream_window_bytes: knobs.stream_window_bytes.unwrap_or(usual.stream_window_bytes),
        connection_window_bytes: knobs
            .connection_window_bytes
            .unwrap_or(usual.connection_window_bytes),
        header_table_bytes: knobs.header_table_bytes.unwrap_or(usual.header_table_bytes),
        ..usual
    }
}

/// Settings of HTTP/2's servers.
pub(super) fn h2_server(knobs: &Multiplexing) -> h2::settings::Server {
    let usual = h2::settings::Server::default();
    h2::settings::Server {
        streams: knobs.streams.unwrap_or(usual.streams),
        header_table_bytes: knobs.header_table_bytes.unwrap_or(usual.header_table_bytes),
        ..usual
    }
}

/// Settings of SPDY's client.
pub(super) fn spdy_client(knobs: &Multiplexing) -> spdy::Config {
    let usual = spdy::Config::CLIENT;
    spdy::Config {
        stream_window_bytes: knobs.stream_window_bytes.unwrap_or(usual.stream_window_bytes),
        session_window_bytes: knobs.connection_window_bytes.unwrap_or(usual.session_window_bytes),
        compression: compression(knobs),
        ..usual
    }
}

/// Settings of SPDY's servers.
pub(super) fn spdy_server(knobs: &Multiplexing) -> spdy::Config {
    let usual = spdy::Config::SERVER;
    spdy::Config {
        streams: knobs.streams.unwrap_or(usual.streams),
        compression: compression(knobs),
        ..usual
    }
}

fn compression(knobs: &Multiplexing) -> spdy::Compression {
    match knobs.header_compression {
        Some(false) => spdy::Compression::Stored,
        Some(true) | None => spdy::Compression::Deflate,
    }
}
