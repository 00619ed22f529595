//! Reply codes to requests (RFC 1928 section 6) and their encoding.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use http::StatusCode;

use super::{Destination, Version};
use crate::Reply;

/// The field with a proxy's reason for an error (RFC 9209).
const PROXY_STATUS: &str = "proxy-status";

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The connection is established: all following bytes are relayed.
    Succeeded = 0,
    /// The server failed.
    Failed = 1,
    /// The server's rules forbid it.
    Forbidden = 2,
    /// There is no route to the network.
    NetworkUnreachable = 3,
    /// The host cannot be reached, or has no address.
    HostUnreachable = 4,
    /// The host refused the connection.
    Refused = 5,
    /// The TTL expired.
    TtlExpired = 6,
    /// The command is not supported.
    Command = 7,
    /// The address type is not supported.
    AddressType = 8,
}

impl Code {
    /// The code of this number.
    pub fn new(number: u8) -> Option<Code> {
        Some(match number {
            0 => Code::Succeeded,
            1 => Code::Failed,
            2 => Code::Forbidden,
            3 => Code::NetworkUnreachable,
            4 => Code::HostUnreachable,
            5 => Code::Refused,
            6 => Code::TtlExpired,
            7 => Code::Command,
            8 => Code::AddressType,
            _ => return None,
        })
    }

    /// The code for an answer to `CONNECT` other than a tunnel: by its `Proxy-Status`, else by its status.
    pub(super) fn of_answer(answer: &Reply) -> Code {
        let parts = &answer.head.parts;
        let told = parts.headers().get(PROXY_STATUS).and_then(|value| value.to_str().ok());
        let error = told.and_then(|told| told.split_once("error=")).map(|(_, error)| error);
        // RFC 9209 section 2.3.
        match error.map(|error| error.split([';', ',']).next().unwrap_or_default()) {
            Some("dns_error" | "dns_timeout" | "destination_not_found") => Code::HostUnreachable,
            Some("destination_unavailable" | "connection_timeout") => Code::HostUnreachable,
            Some("connection_refused") => Code::Refused,
            Some("destination_ip_unroutable") => Code::NetworkUnreachable,
            _ if parts.status() == StatusCode::FORBIDDEN => Code::Forbidden,
            _ if parts.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => Code::Forbidden,
            _ => Code::Failed,
        }
    }
}

impl fmt::Display for Code {
    /// In the words of RFC 1928.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Code::Succeeded => "succeeded",
            Code::Failed => "general SOCKS server failure",
            Code::Forbidden => "connection not allowed by ruleset",
            Code::NetworkUnreachable => "network unreachable",
            Code::HostUnreachable => "host unreachable",
            Code::Refused => "connection refused",
            Code::TtlExpired => "TTL expired",
            Code::Command => "command not supported",
            Code::AddressType => "address type not supported",
        })
    }
}

/// Writes the answer `code` in the form of `version`. Its address is left unspecified, as by servers with several addresses.
pub fn reply(version: Version, code: Code, out: &mut Vec<u8>) {
    match (version, code) {
        // Granted, or rejected or failed; port and address are ignored.
        (Version::V4, Code::Succeeded) => out.extend([0, 90, 0, 0, 0, 0, 0, 0]),
        (Version::V4, _) => out.extend([0, 91, 0, 0, 0, 0, 0, 0]),
        (Version::V5, code) => {
            out.extend([5, code as u8, 0]);
            Destination::from(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).write(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    #[test]
    fn an_answer_to_connect_has_its_code() {
        let code = |status: u16, error: &str| {
            let mut fields = HeaderMap::new();
            fields.insert(PROXY_STATUS, format!("p; error={error}").parse().unwrap());
            let status = StatusCode::from_u16(status).unwrap();
            Code::of_answer(&Reply::new(status, fields, Bytes::new()))
        };
        assert_eq!(code(502, "connection_refused"), Code::Refused);
        assert_eq!(code(502, "dns_error; rcode=NXDOMAIN"), Code::HostUnreachable);
        assert_eq!(code(504, "connection_timeout"), Code::HostUnreachable);
        assert_eq!(code(403, "destination_ip_prohibited"), Code::Forbidden);
        assert_eq!(code(407, "http_request_denied"), Code::Forbidden);
        assert_eq!(code(503, "connection_limit_reached"), Code::Failed);
    }
}
