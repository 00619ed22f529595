//! Packet scripts: what leaves, exactly when, in answer to what.

mod common;

use common::script::{Script, Shape, seg};
use farlink_tcp::{Config, CongestionState, Error, Flags, State};

const MSS: usize = 1448;

/// The number of the `n`-th full segment's first byte.
fn nth(n: u64) -> u64 {
    1 + n * MSS as u64
}

/// Full segments `from..to`, as a sender's data.
fn data(from: u64, to: u64) -> Vec<Shape> {
    (from..to).map(|n| seg(nth(n), MSS, 1)).collect()
}

/// A server that has `segments` full segments to send and sent the first ten at 100 ms.
fn sender(segments: u64) -> Script {
    let mut script = Script::server(Config::default(), 100.0);
    script.write(100.0, segments as usize * MSS);
    recv!(script, 100, data(0, segments.min(10)));
    script
}

#[test]
fn three_duplicates_start_fast_retransmission() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, 1).sack(&[(nth(1), nth(2))]).echo_ms(100.0));
    send!(script, 201, seg(1, 0, 1).sack(&[(nth(1), nth(3))]).echo_ms(100.0));
    recv_nothing!(script, 201);
    send!(script, 202, seg(1, 0, 1).sack(&[(nth(1), nth(4))]).echo_ms(100.0));
    recv!(script, 202, data(0, 1));
    let stats = script.end.stats();
    assert_eq!(stats.congestion_state, CongestionState::Recovery);
    assert_eq!(stats.ssthresh, Some(7));
    send!(script, 300, seg(1, 0, nth(10)).echo_ms(202.0));
    // Back at the threshold; CUBIC lets the seven segments delivered count for one.
    assert_eq!(script.end.stats().congestion_state, CongestionState::Open);
    assert_eq!(script.end.stats().cwnd, 8);
}

#[test]
fn one_hole_is_awaited_for_a_quarter_of_the_round_trip() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, 1).sack(&[(nth(1), nth(2))]).echo_ms(100.0));
    // 100 ms round trip, a quarter of it, and two ticks of slack.
    recv_nothing!(script, 226.9);
    recv!(script, 227, data(0, 1));
}

#[test]
fn a_retransmission_that_is_lost_is_sent_again_without_a_timeout() {
    let mut script = sender(14);
    send!(script, 200, seg(1, 0, 1).sack(&[(nth(1), nth(4))]).echo_ms(100.0));
    // Six are in flight, the threshold is seven: one may leave (RFC 6937).
    recv!(script, 200, data(0, 1));
    send!(script, 201, seg(1, 0, 1).sack(&[(nth(1), nth(10))]).echo_ms(100.0));
    recv!(script, 201, data(10, 14));
    // The new data, sent after the retransmission, arrives; the retransmission did not.
    send!(script, 301, seg(1, 0, 1).sack(&[(nth(1), nth(12))]).echo_ms(201.0));
    recv!(script, 301, data(0, 1));
    assert_eq!(script.end.stats().timeouts, 0);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, nth(8)).echo_ms(100.0));
    // PTO = 2 * SRTT + 2 ms from the acknowledgement.
    recv_nothing!(script, 401.9);
    recv!(script, 402, data(9, 10));
    // The probe shows that one was lost: RACK finds it, the window is reduced once.
    send!(script, 502, seg(1, 0, nth(8)).sack(&[(nth(9), nth(10))]).echo_ms(402.0));
    recv!(script, 502, data(8, 9));
    send!(script, 602, seg(1, 0, nth(10)).echo_ms(502.0));
    let stats = script.end.stats();
    assert_eq!((stats.timeouts, stats.ssthresh), (0, Some(12)));
}

#[test]
fn a_probe_that_repairs_the_only_loss_still_reduces_the_window() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, nth(9)).echo_ms(100.0));
    // One segment is out: 200 ms for a delayed acknowledgement, but not past the timeout.
    recv!(script, 500, data(9, 10));
    send!(script, 600, seg(1, 0, nth(10)).echo_ms(500.0));
    assert_eq!(script.end.stats().ssthresh, None, "nothing proves yet which copy arrived");
    script.write(600.0, MSS);
    recv!(script, 600, data(10, 11));
    send!(script, 700, seg(1, 0, nth(11)).echo_ms(600.0));
    assert_eq!(script.end.stats().ssthresh, Some(14), "no duplicate was reported: a loss");
}

#[test]
fn a_needless_probe_costs_nothing() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, nth(9)).echo_ms(100.0));
    recv!(script, 500, data(9, 10));
    send!(script, 510, seg(1, 0, nth(10)).echo_ms(100.0));
    send!(script, 600, seg(1, 0, nth(10)).sack(&[(nth(9), nth(10))]).echo_ms(500.0));
    script.write(600.0, MSS);
    recv!(script, 600, data(10, 11));
    send!(script, 700, seg(1, 0, nth(11)).echo_ms(600.0));
    assert_eq!(script.end.stats().ssthresh, None);
}

#[test]
fn two_timeouts_of_one_head_reduce_the_threshold_once() {
    let mut script = sender(10);
    // The probe at 2 * 100 + 2 ms, then the timeouts: 300 ms from the probe, 600 ms after that.
    recv!(script, 302, data(9, 10));
    recv!(script, 602, data(0, 1));
    let stats = script.end.stats();
    assert_eq!((stats.ssthresh, stats.cwnd, stats.timeouts), (Some(7), 1, 1));
    recv!(script, 1202, data(0, 1));
    assert_eq!((script.end.stats().ssthresh, script.end.stats().timeouts), (Some(7), 2));
    recv!(script, 2402, data(0, 1));
    assert_eq!(script.end.stats().ssthresh, Some(7));
}

#[test]
fn a_timeout_that_was_spurious_is_undone() {
    let mut script = sender(10);
    recv!(script, 302, data(9, 10));
    recv!(script, 602, data(0, 1));
    // The originals had only been delayed: the echo is that of the first transmission.
    send!(script, 650, seg(1, 0, nth(1)).echo_ms(100.0));
    let stats = script.end.stats();
    assert_eq!((stats.congestion_state, stats.undone_reductions), (CongestionState::Open, 1));
    assert_eq!((stats.cwnd, stats.ssthresh), (11, None), "as before, and one acknowledged");
}

#[test]
fn a_closed_window_is_probed_with_back_off() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, nth(10)).echo_ms(100.0).window(0));
    script.write(200.0, MSS);
    let rto = script.end.stats().rto.as_secs_f64() * 1e3;
    recv_nothing!(script, 200.0 + rto - 1.0);
    script.expect(200.0 + rto, &[seg(nth(10) - 1, 0, 1)]);
    send!(script, 600, seg(1, 0, nth(10)).window(0).echo_ms(500.0));
    recv_nothing!(script, 700);
    send!(script, 1000, seg(1, 0, nth(10)).window(10_000).echo_ms(500.0));
    recv!(script, 1000, data(10, 11));
}

#[test]
fn a_client_is_quick_to_acknowledge_at_first() {
    let mut script = Script::client(Config::default(), 100.0);
    script.write(100.0, 300);
    recv!(script, 100, [seg(1, 300, 1)]);
    for n in 0..4 {
        send!(script, 200 + n, seg(nth(n as u64), MSS, 301).echo_ms(100.0));
        recv!(script, 200 + n, [seg(301, 0, nth(n as u64 + 1))]);
    }
}

#[test]
fn an_interactive_connection_acknowledges_every_second_segment() {
    let mut script = Script::client(Config::default(), 100.0);
    script.write(100.0, 300);
    recv!(script, 100, [seg(1, 300, 1)]);
    send!(script, 200, seg(1, MSS, 301).echo_ms(100.0));
    recv!(script, 200, [seg(301, 0, nth(1))]);
    // The next request follows within the delay: from now on acknowledgements wait.
    script.write(210.0, 300);
    recv!(script, 210, [seg(301, 300, nth(1))]);
    script.read(210.0);
    send!(script, 310, seg(nth(1), MSS, 601).echo_ms(210.0));
    recv_nothing!(script, 310);
    send!(script, 311, seg(nth(2), MSS, 601).echo_ms(210.0));
    script.read(311.0);
    recv!(script, 311, [seg(601, 0, nth(3))]);
    send!(script, 312, seg(nth(3), MSS, 601).echo_ms(210.0));
    // A lone segment's acknowledgement waits for 40 ms at most.
    recv_nothing!(script, 340);
    script.expect(352.0, &[seg(601, 0, nth(4))]);
}

#[test]
fn out_of_order_data_is_reported_at_once_three_times_then_together() {
    let mut script = Script::client(Config::default(), 100.0);
    script.write(100.0, 300);
    recv!(script, 100, [seg(1, 300, 1)]);
    send!(script, 200, seg(1, MSS, 301).echo_ms(100.0));
    recv!(script, 200, [seg(301, 0, nth(1))]);
    script.write(201.0, 300);
    recv!(script, 201, [seg(301, 300, nth(1))]);
    for n in 2..5u64 {
        send!(script, 300, seg(nth(n), MSS, 601).echo_ms(201.0));
        recv!(script, 300, [seg(601, 0, nth(1)).sack(&[(nth(2), nth(n + 1))])]);
    }
    send!(script, 300, seg(nth(5), MSS, 601).echo_ms(201.0));
    send!(script, 300, seg(nth(6), MSS, 601).echo_ms(201.0));
    recv_nothing!(script, 300.9);
    recv!(script, 301, [seg(601, 0, nth(1)).sack(&[(nth(2), nth(7))])]);
    send!(script, 302, seg(nth(1), MSS, 601).echo_ms(201.0));
    recv!(script, 302, [seg(601, 0, nth(7))]);
    // What came already is reported as a duplicate.
    send!(script, 303, seg(nth(3), MSS, 601).echo_ms(201.0));
    recv!(script, 303, [seg(601, 0, nth(7)).sack(&[(nth(3), nth(4))])]);
}

#[test]
fn an_orderly_close_from_both_sides() {
    let mut script = Script::client(Config::default(), 100.0);
    script.write(100.0, 300);
    script.close(100.0);
    recv!(script, 100, [seg(1, 300, 1), seg(301, 0, 1).with(Flags::FIN)]);
    assert_eq!(script.end.state(), State::FinWait1);
    send!(script, 200, seg(1, 0, 302).echo_ms(100.0));
    assert_eq!(script.end.state(), State::FinWait2);
    send!(script, 210, seg(1, 0, 302).with(Flags::FIN).echo_ms(100.0));
    recv!(script, 210, [seg(302, 0, 2)]);
    assert!(script.end.at_eof() && !script.end.is_closed());
    // The acknowledgement was lost: the FIN comes again.
    send!(script, 510, seg(1, 0, 302).with(Flags::FIN).echo_ms(100.0));
    recv!(script, 510, [seg(302, 0, 2).sack(&[(1, 2)])]);
    recv_nothing!(script, 60_510);
    assert!(script.end.is_closed() && script.end.error().is_none());
}

#[test]
fn a_fin_rides_on_the_last_data() {
    let mut script = Script::server(Config::default(), 100.0);
    send!(script, 110, seg(1, 300, 1).with(Flags::FIN));
    assert_eq!(script.end.state(), State::CloseWait);
    script.end.write(script.now, &[0; 100]);
    script.end.close(script.now);
    recv!(script, 110, [seg(1, 100, 302).with(Flags::FIN)]);
    assert_eq!(script.end.state(), State::LastAck);
    send!(script, 210, seg(302, 0, 102));
    assert!(script.end.is_closed());
}

#[test]
fn resets_and_refusals() {
    let mut script = sender(10);
    send!(script, 200, seg(1, 0, 1).with(Flags::RST));
    assert_eq!(script.end.error(), Some(&Error::Reset));
    assert!(script.end.is_closed() && script.end.is_readable());
    recv_nothing!(script, 100_000);

    let mut script = sender(10);
    script.end.abort(script.now);
    recv!(script, 100, [seg(nth(10), 0, 1).with(Flags::RST)]);
    assert!(script.end.is_closed());
}

#[test]
fn a_dead_peer_is_given_up_after_fifteen_retries() {
    let mut script = sender(1);
    let mut last = 0.0;
    while script.end.error().is_none() {
        let due = script.end.deadline().expect("something to wait for");
        script.now = due;
        script.end.handle_timeout(due);
        while script.end.poll(due).is_some() {}
        last = due.as_secs_f64();
    }
    assert_eq!(script.end.error(), Some(&Error::TimedOut));
    assert!((924.0..1100.0).contains(&last), "{last} s");
}
