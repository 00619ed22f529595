//! The connection's state (RFC 9293 section 3.3.2, figure 5), and the errors that end it.
//!
//! ```text
//!    connect                                   accept
//!       |                                         |
//!   SynSent --SYN-ACK/ACK--> Established <--ACK-- SynReceived
//!                            |         |
//!                    our FIN |         | peer's FIN
//!                       FinWait1     CloseWait
//!     ACK of FIN /     FIN |  \ FIN+ACK   | our FIN
//!         FinWait2    Closing  \       LastAck
//!             | FIN      | ACK  |         | ACK
//!             +------> TimeWait <+     Closed
//!                        | 60 s
//!                      Closed
//! ```

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum TcpState {
    /// A SYN was sent, or is about to be.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Data may flow both ways.
    Established,
    /// This end has finished; its FIN is not acknowledged.
    FinWait1,
    /// This end has finished; the peer knows it and may go on.
    FinWait2,
    /// The peer has finished; this end may go on.
    CloseWait,
    /// Both have finished; the FINs crossed.
    Closing,
    /// The peer finished first; our FIN is not acknowledged.
    LastAck,
    /// Over, but the last acknowledgement may have been lost.
    TimeWait,
    /// Over.
    Closed,
}

impl TcpState {
    /// Its name (RFC 9293 section 3.3.2).
    pub fn name(self) -> &'static str {
        match self {
            TcpState::SynSent => "SYN-SENT",
            TcpState::SynReceived => "SYN-RECEIVED",
            TcpState::Established => "ESTABLISHED",
            TcpState::FinWait1 => "FIN-WAIT-1",
            TcpState::FinWait2 => "FIN-WAIT-2",
            TcpState::CloseWait => "CLOSE-WAIT",
            TcpState::Closing => "CLOSING",
            TcpState::LastAck => "LAST-ACK",
            TcpState::TimeWait => "TIME-WAIT",
            TcpState::Closed => "CLOSED",
        }
    }

    /// True if the handshake is over and the connection is not.
    pub(crate) fn is_synchronised(self) -> bool {
        !matches!(self, TcpState::SynSent | TcpState::SynReceived | TcpState::Closed)
    }

    /// The handshake is complete.
    #[must_use]
    pub(crate) fn established(self) -> TcpState {
        match self {
            TcpState::SynSent | TcpState::SynReceived => TcpState::Established,
            other => other,
        }
    }

    /// This end will send no more.
    #[must_use]
    pub(crate) fn closed_here(self) -> TcpState {
        match self {
            TcpState::Established => TcpState::FinWait1,
            TcpState::CloseWait => TcpState::LastAck,
            other => other,
        }
    }

    /// The peer's FIN arrived in order.
    #[must_use]
    pub(crate) fn closed_by_peer(self) -> TcpState {
        match self {
            TcpState::Established => TcpState::CloseWait,
            TcpState::FinWait1 => TcpState::Closing,
            TcpState::FinWait2 => TcpState::TimeWait,
            other => other,
        }
    }

    /// Our FIN is acknowledged.
    #[must_use]
    pub(crate) fn fin_acknowledged(self) -> TcpState {
        match self {
            TcpState::FinWait1 => TcpState::FinWait2,
            TcpState::Closing => TcpState::TimeWait,
            TcpState::LastAck => TcpState::Closed,
            other => other,
        }
    }
}

/// The connection is gone; neither reading nor writing can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The peer refused the connection (`ECONNREFUSED`).
    #[error("the peer refused the connection: nothing listens there")]
    Refused,
    /// The peer reset the connection (`ECONNRESET`).
    #[error("the peer reset the connection")]
    Reset,
    /// The peer did not answer (`ETIMEDOUT`).
    #[error("the peer did not answer any retransmission in time")]
    TimedOut,
    /// This end aborted the connection.
    #[error("the connection was aborted by this end")]
    Aborted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_of_closing_end_closed() {
        let active = TcpState::Established.closed_here().fin_acknowledged().closed_by_peer();
        assert_eq!(active, TcpState::TimeWait);
        let passive = TcpState::Established.closed_by_peer().closed_here().fin_acknowledged();
        assert_eq!(passive, TcpState::Closed);
        let crossed = TcpState::Established.closed_here().closed_by_peer().fin_acknowledged();
        assert_eq!(crossed, TcpState::TimeWait);
    }
}
