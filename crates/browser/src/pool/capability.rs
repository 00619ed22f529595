//! Pipelining support of a server, learnt by host.
//!
//! Source: Chromium 26 `net/http/http_pipelined_host_impl.cc`: one request at a time until the first response shows
//! HTTP/1.1 with a persistent connection; any failure on a pipelined connection, or a non-persistent one, marks the
//! host as incapable for good. A failure of the first request of a connection, with nothing behind it, does not
//! count.

/// Pipelining support of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Capability {
    #[default]
    Unknown,
    Capable,
    Incapable,
}

impl Capability {
    /// Maximum concurrent requests on a connection, if the policy allows `depth`.
    pub(super) fn depth(self, depth: usize) -> usize {
        match self {
            Capability::Capable => depth,
            Capability::Unknown | Capability::Incapable => 1,
        }
    }

    /// A response arrived completely on a persistent connection.
    pub(super) fn note_success(&mut self) {
        if *self == Capability::Unknown {
            *self = Capability::Capable;
        }
    }

    /// A request was lost, or its connection ended with its response.
    pub(super) fn note_failure(&mut self) {
        *self = Capability::Incapable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_proves_itself_once_and_fails_for_good() {
        let mut host = Capability::default();
        assert_eq!(host.depth(3), 1);
        host.note_success();
        assert_eq!(host.depth(3), 3);
        host.note_failure();
        host.note_success();
        assert_eq!(host.depth(3), 1);
    }
}
