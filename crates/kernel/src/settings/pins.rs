//! Pinned sysctls: settings that affect the kernel's TCP, independent of the machine's administration.
//!
//! The values are those shipped with Linux 6.18 (`tcp_sk_init`), which the defaults of [`tcp::Config`] model. Knobs change some of them. A
//! kernel that lacks one of these behaves as its value specifies, or, before the version given, in its own way: it is another generation then,
//! and a run's record has to say so. Left out: settings that act only under attack, on idle connections or for applications that ask.

use super::Sysctl;

const PINS: &[(&str, &str)] = &[
    ("ipv4/tcp_adv_win_scale", "1"),
    ("ipv4/tcp_app_win", "31"),
    ("ipv4/tcp_autocorking", "1"),
    ("ipv4/tcp_backlog_ack_defer", "1"),
    ("ipv4/tcp_comp_sack_delay_ns", "1000000"),
    ("ipv4/tcp_comp_sack_nr", "44"),
    ("ipv4/tcp_comp_sack_slack_ns", "100000"),
    ("ipv4/tcp_dsack", "1"),
    ("ipv4/tcp_early_retrans", "3"),
    ("ipv4/tcp_ecn", "2"),
    ("ipv4/tcp_ecn_fallback", "1"),
    ("ipv4/tcp_fastopen", "1"),
    ("ipv4/tcp_fin_timeout", "60"),
    ("ipv4/tcp_frto", "2"),
    ("ipv4/tcp_limit_output_bytes", "4194304"),
    ("ipv4/tcp_max_reordering", "300"),
    ("ipv4/tcp_min_rtt_wlen", "300"),
    ("ipv4/tcp_min_tso_segs", "2"),
    ("ipv4/tcp_moderate_rcvbuf", "1"),
    ("ipv4/tcp_mtu_probing", "0"),
    ("ipv4/tcp_no_metrics_save", "0"),
    ("ipv4/tcp_no_ssthresh_metrics_save", "1"),
    ("ipv4/tcp_notsent_lowat", "4294967295"),
    ("ipv4/tcp_orphan_retries", "0"),
    ("ipv4/tcp_pacing_ca_ratio", "120"),
    ("ipv4/tcp_pacing_ss_ratio", "200"),
    ("ipv4/tcp_pingpong_thresh", "1"),
    ("ipv4/tcp_plb_enabled", "0"),
    ("ipv4/tcp_recovery", "1"),
    ("ipv4/tcp_reordering", "3"),
    ("ipv4/tcp_retrans_collapse", "1"),
    ("ipv4/tcp_retries1", "3"),
    ("ipv4/tcp_retries2", "15"),
    ("ipv4/tcp_rmem", "4096 131072 33554432"),
    ("ipv4/tcp_rto_max_ms", "120000"),
    ("ipv4/tcp_rto_min_us", "200000"),
    ("ipv4/tcp_sack", "1"),
    ("ipv4/tcp_shrink_window", "0"),
    ("ipv4/tcp_slow_start_after_idle", "1"),
    ("ipv4/tcp_syn_linear_timeouts", "4"),
    ("ipv4/tcp_syn_retries", "6"),
    ("ipv4/tcp_synack_retries", "5"),
    ("ipv4/tcp_thin_linear_timeouts", "0"),
    ("ipv4/tcp_timestamps", "1"),
    ("ipv4/tcp_tso_rtt_log", "9"),
    ("ipv4/tcp_tso_win_divisor", "3"),
    ("ipv4/tcp_window_scaling", "1"),
    ("ipv4/tcp_wmem", "4096 16384 4194304"),
    ("ipv4/tcp_workaround_signed_windows", "0"),
];

/// All of them.
pub(super) fn all() -> Vec<Sysctl> {
    let sysctl =
        |&(name, value): &(_, &str)| Sysctl { name, value: value.to_owned(), dispensable: true };
    PINS.iter().map(sysctl).collect()
}
