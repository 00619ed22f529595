//! The choices that differ between generations of Linux, each with its own knob.
//!
//! Sources: Linux 2.6.32, 3.0.27, 3.2, 3.10.17 and 6.18.2, `net/ipv4/tcp_{input,output,timer,cong,metrics}.c`.

use crate::config::named::names;

/// Loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By time: a segment sent well before one that arrived is lost (RFC 8985; the only one since Linux 6.17).
    Rack,
    /// By distance from the highest data that arrived, holes included, until reordering is seen
    /// (Mathis and Mahdavi 1996; `tcp_fack=1`, up to Linux 4.14).
    Fack,
    /// By the count of segments that arrived out of order (RFC 6675; `tcp_fack=0`).
    Duplicates,
}

names!(LossDetection { Rack => "rack", Fack => "fack", Duplicates => "duplicates" });

/// Reduction of the window to the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// By one on every second acknowledgement (`tcp_cwnd_down`, up to Linux 3.1).
    RateHalving,
    /// Proportionally in fast recovery (RFC 6937); rate halving elsewhere (Linux 3.2 to 3.6).
    Prr32,
    /// Proportionally everywhere, one segment of slack below the threshold (Linux 3.7 to 4.5).
    Prr310,
    /// Proportionally; below the threshold slow start only while no more is lost
    /// (RFC 9937's bound as in Linux 6).
    Prr6,
}

names!(Reduction {
    RateHalving => "rate-halving",
    Prr32 => "prr-3.2",
    Prr310 => "prr-3.10",
    Prr6 => "prr-6",
});

/// Test of a timeout for being spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frto {
    /// None (`tcp_frto=0`).
    Off,
    /// Appendix B of RFC 4138: two acknowledgements decide before anything is marked lost
    /// (`tcp_enter_frto`, up to Linux 3.9).
    Rfc4138,
    /// RFC 5682, within the Loss state (`tcp_process_loss`, since Linux 3.10).
    Rfc5682,
}

names!(Frto { Off => "off", Rfc4138 => "rfc4138", Rfc5682 => "rfc5682" });

/// Response when [`Frto::Rfc4138`] finds a timeout spurious (`tcp_frto_response`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpuriousResponse {
    /// Down to the threshold, which stays reduced, by rate halving (0, the kernel's default).
    RateHalving,
    /// Down to the threshold at once (1).
    Conservative,
    /// Back to the previous window (2).
    Undo,
}

names!(SpuriousResponse {
    RateHalving => "rate-halving",
    Conservative => "conservative",
    Undo => "undo",
});

/// The window after a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossWindow {
    /// One segment, everything marked lost (RFC 5681; Linux 3).
    One,
    /// One more than the segments that may still be in flight (Linux 6).
    InFlightPlusOne,
}

names!(LossWindow { One => "one", InFlightPlusOne => "in-flight-plus-one" });

/// Probing for a lost tail, and its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailLossProbe {
    /// Never: a lost tail costs a timeout.
    Off,
    /// Two round trips, at least 10 ms; alone in flight, 1.5 round trips and 200 ms if that is longer;
    /// in Open only (Linux 3.10).
    Linux310,
    /// Two round trips and 2 ms; alone in flight, 200 ms more; in Open and Cwr (RFC 8985 section 7).
    Linux6,
}

names!(TailLossProbe { Off => "off", Linux310 => "linux-3.10", Linux6 => "linux-6" });

/// Source of round trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// From the echoed timestamp of every acknowledgement that advances, retransmissions or not;
    /// without timestamps from data sent only once (`tcp_ack_saw_tstamp`, Linux 3).
    Echo,
    /// From data sent only once, SACKed data included; from the echo if
    /// there is none (`tcp_ack_update_rtt`, Linux 6).
    Transmissions,
}

names!(RttSampling { Echo => "echo", Transmissions => "transmissions" });

/// Growth of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Each acknowledgement of new data counts one, before losses are detected; the window must have
    /// been nearly full when it arrived (`tcp_is_cwnd_limited(in_flight)`, `tcp_abc=0`, up to Linux 3.12).
    PerAck,
    /// Each segment delivered counts; the window must have been full at some time in the round trip, or half
    /// used in slow start (Linux 6).
    PerSegment,
}

names!(Growth { PerAck => "per-ack", PerSegment => "per-segment" });

/// Time at which an idle window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// On a write by the application, before anything leaves (`tcp_slow_start_after_idle_check`, Linux 6).
    AtWrite,
    /// After the first burst of up to 64 KB has left under the old window (`tcp_event_data_sent`, Linux 3).
    AfterFirstBurst,
}

names!(IdleRestart { AtWrite => "at-write", AfterFirstBurst => "after-first-burst" });

/// Cost of a lost SYN or SYN-ACK beyond its timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SynLossWindow {
    /// Nothing (up to Linux 3.0).
    Keep,
    /// A window of one segment after more than one retransmission (RFC 6298; Linux 3.1 to 5.1).
    OneAfterTwo,
    /// The same, unless they were spurious: the reply is to the first, or the peer's own duplicate SYNs asked for them (since Linux 5.2).
    OneUnlessNeedless,
}

names!(SynLossWindow { Keep => "keep", OneAfterTwo => "one-after-two", OneUnlessNeedless => "one-unless-needless" });

/// Use of the handshake's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeRtt {
    /// Forgotten without timestamps, if it would give less than the initial timeout: that stands until
    /// data is acknowledged (`tcp_init_metrics`, label `reset`, up to Linux 3.0).
    NeedsTimestamps,
    /// The first sample; without one the timeout is 3 s (since Linux 3.1).
    Counts,
}

names!(HandshakeRtt { NeedsTimestamps => "needs-timestamps", Counts => "counts" });

/// Metrics that a connection shares with others to the same peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsUse {
    /// Nothing (`tcp_no_metrics_save=1`, and nothing cached).
    Off,
    /// Round trip, deviation, threshold and reordering (up to Linux 5.5).
    Linux3,
    /// The first timeout and reordering; no threshold (`tcp_no_ssthresh_metrics_save=1`, since Linux 5.6).
    Linux6,
}

names!(MetricsUse { Off => "off", Linux3 => "linux-3", Linux6 => "linux-6" });

/// Autotuning of the receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveTuning {
    /// Twice the data read by the application in a round trip (`tcp_rcv_space_adjust`, Linux 3).
    Linux3,
    /// The same and an allowance for a sender in slow start and for data behind gaps (Linux 6).
    Linux6,
}

names!(ReceiveTuning { Linux3 => "linux-3", Linux6 => "linux-6" });

/// Number of new segments in a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsoSegments {
    /// One: no segmentation offload.
    One,
    /// About a millisecond's worth at the present rate, at least two; a smaller burst waits for an acknowledgement that is near
    /// (`tcp_tso_autosize`, `tcp_tso_should_defer`, Linux 3.12 and later).
    Autosized,
}

names!(TsoSegments { One => "one", Autosized => "autosized" });
