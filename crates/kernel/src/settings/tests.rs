use tcp::{Config, Knob};

use super::*;

fn settings(text: &str) -> Result<KernelKnobs, UnsupportedKnobsError> {
    KernelKnobs::for_config(&Config::parse(text).unwrap())
}

fn value(settings: &KernelKnobs, name: &str) -> String {
    let sysctl = settings.sysctls().iter().find(|sysctl| sysctl.name == name);
    sysctl.unwrap_or_else(|| panic!("{name} is not set")).value.clone()
}

/// A value of each knob that is not the default of Linux 6.
const OTHERS: &[(&str, &str)] = &[
    ("iw", "3"),
    ("cc", "reno"),
    ("cc-era", "linux-3.0"),
    ("pacing", "on"),
    ("ecn", "active"),
    ("timestamps", "off"),
    ("sack", "off"),
    ("dsack", "off"),
    ("initial-rto", "3s"),
    ("min-rto", "3s"),
    ("max-rto", "60s"),
    ("syn-retries", "3"),
    ("syn-linear-timeouts", "0"),
    ("syn-ack-retries", "3"),
    ("syn-loss-window", "keep"),
    ("handshake-rtt", "needs-timestamps"),
    ("retries", "8"),
    ("hz", "1000"),
    ("rtt-samples", "echo"),
    ("growth", "per-ack"),
    ("slow-start-after-idle", "off"),
    ("idle-restart", "after-first-burst"),
    ("reset-rtt-after-idle", "on"),
    ("loss-detection", "fack"),
    ("early-retransmit", "on"),
    ("tlp", "off"),
    ("reduction", "rate-halving"),
    ("frto", "off"),
    ("frto-response", "undo"),
    ("loss-window", "one"),
    ("metrics", "off"),
    ("metrics-lifetime", "60s"),
    ("tso-segments", "one"),
    ("nagle", "on"),
    ("sndbuf", "64KiB"),
    ("sndbuf-max", "1MiB"),
    ("notsent-lowat", "16KiB"),
    ("rcvbuf", "32KiB"),
    ("rcvbuf-max", "1MiB"),
    ("rwnd", "10"),
    ("rcv-tuning", "linux-3"),
    ("acks", "every-segment"),
    ("time-wait", "1s"),
];

/// A knob that is neither mapped nor refused would be ignored.
#[test]
fn turning_any_knob_changes_the_settings_or_is_refused_by_name() {
    let default = settings("linux-6").unwrap();
    for knob in Knob::all() {
        let name = knob.name();
        let other = OTHERS.iter().find(|(of, _)| *of == name);
        let (_, other) = other.unwrap_or_else(|| panic!("no other value of `{name}` is tried"));
        assert_ne!(knob.get(&Config::default()), *other, "that is the default");
        match settings(&format!("{name}={other}")) {
            Ok(settings) => assert_ne!(settings, default, "`{name}={other}` has no effect"),
            Err(UnsupportedKnobsError(refused)) => {
                let named: Vec<_> = refused.iter().map(|refused| refused.knob).collect();
                assert_eq!(named, [name]);
            }
        }
    }
}

#[test]
fn everything_that_linux_6_does_by_default_can_be_had() {
    let settings = settings("linux-6").unwrap();
    assert_eq!(settings.route_options(), "initcwnd 10 congctl cubic rto_min 200ms");
    assert_eq!(settings.link_options(), "");
    assert_eq!(settings.sysctls(), pinned_sysctls(), "the pins are what the default says");
}

#[test]
fn knobs_become_what_the_kernel_calls_them() {
    let text = "iw=4,cc=bbr,min-rto=3s,rwnd=7,acks=every-segment,tso-segments=one,metrics=off,rcvbuf-max=1MiB,sndbuf=2KiB";
    let settings = settings(text).unwrap();
    let route = "initcwnd 4 congctl bbr rto_min 3000ms initrwnd 7 quickack 1";
    assert_eq!(settings.route_options(), route);
    assert_eq!(settings.link_options(), "gso_max_segs 1");
    assert_eq!(value(&settings, "ipv4/tcp_no_metrics_save"), "1");
    assert_eq!(value(&settings, "ipv4/tcp_rmem"), "4096 131072 2097152");
    assert_eq!(value(&settings, "ipv4/tcp_wmem"), "2048 2048 4194304");
    assert_eq!(value(&settings, "ipv4/tcp_comp_sack_nr"), "0");
}

#[test]
fn each_sysctl_is_set_once() {
    let settings = settings("metrics=off,sack=off,ecn=off,sndbuf=1MiB").unwrap();
    let mut names: Vec<_> = settings.sysctls().iter().map(|sysctl| sysctl.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), settings.sysctls().len());
}

#[test]
fn a_sysctl_that_differs_from_its_pin_must_be_there() {
    let dispensable = |text| {
        let settings = settings(text).unwrap();
        let mut sysctls = settings.sysctls().iter();
        sysctls.find(|sysctl| sysctl.name == "ipv4/tcp_rto_max_ms").unwrap().dispensable
    };
    assert!(dispensable("linux-6"));
    assert!(!dispensable("max-rto=60s"));
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    let message = settings("reset-rtt-after-idle=on").unwrap_err().to_string();
    assert_eq!(
        message,
        "the kernel's TCP cannot be configured this way; use `--world sim`, which can, or leave out `reset-rtt-after-idle=on`: no kernel forgets the round trip \
         (`min-rto=3s` has its effect after idleness, and at all other times, too)"
    );
    let refusal = settings("linux-3.0").unwrap_err();
    let message = refusal.to_string();
    assert!(
        message.ends_with("it is the TCP of another generation (docs/transports.md)"),
        "{message}"
    );
    let UnsupportedKnobsError(refused) = refusal;
    assert!(refused.len() > 10, "an older generation differs in much: {refused:?}");
}

#[test]
fn what_a_setting_cannot_express_is_refused() {
    for text in [
        "min-rto=1500us",
        "max-rto=500ms",
        "max-rto=200s",
        "syn-retries=0",
        "sndbuf=8MiB,sndbuf-max=4MiB",
        "acks=ios-9",
        "rcvbuf-max=1GiB",
        "metrics=linux-3",
    ] {
        assert!(settings(text).is_err(), "{text}");
    }
}
