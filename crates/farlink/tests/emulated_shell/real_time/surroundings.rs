//! Machines that lack a feature.

use std::process::Command;

use super::desk;
use crate::NETWORK;
use crate::common::{Desk, Ran, has_tap, program};

/// Runs `farlink shell` in an environment that a script of sh creates, in which `"$@"` is the command to execute.
fn in_surroundings(desk: &Desk, script: &str) -> Ran {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh"]).arg(program());
    command.args(["shell", "--network", NETWORK, "--", "true"]);
    Ran::new(&command.current_dir(desk.path("")).output().unwrap())
}

#[test]
fn without_user_namespaces_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    // Root of a user namespace that allows no others, without the capabilities that would make one unnecessary.
    let ran = in_surroundings(
        &desk,
        "exec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces
         exec setpriv --bounding-set=-all --inh-caps=-all -- \"$@\"' sh \"$@\"",
    );
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("error: this machine does not emulate networks"), "{}", ran.err);
    assert!(
        ran.err.contains("user namespaces: user.max_user_namespaces allows no more (0)"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("hint: sudo sysctl -w user.max_user_namespaces="), "{}", ran.err);
}

#[test]
fn without_network_namespaces_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    let ran = in_surroundings(
        &desk,
        "exec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces; exec \"$@\"' sh \"$@\"",
    );
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("the limit of namespaces is reached"), "{}", ran.err);
    assert!(ran.err.contains("user.max_net_namespaces="), "{}", ran.err);
}

#[test]
fn without_iproute2_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    let ran = in_surroundings(
        &desk,
        "mkdir bin && ln -s /bin/true bin/true && exec env PATH=\"$PWD/bin\" \"$@\"",
    );
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("iproute2: there is no `ip` on PATH"), "{}", ran.err);
    assert!(ran.err.contains("apt-get install iproute2"), "{}", ran.err);
}

/// A machine whose `ip` knows no veth, for a script in which `"$@"` is a command.
const WITHOUT_VETH: &str =
    "mkdir -p bin && cat >bin/ip <<'END' && chmod +x bin/ip && exec env PATH=\"$PWD/bin:$PATH\" \"$@\"
#!/bin/sh
PATH=${PATH#*:}
commands=$(cat)
case \"$* $commands\" in
*'type veth'*) echo 'Error: Unknown device type.' >&2; exit 2 ;;
esac
printf '%s\\n' \"$commands\" | ip \"$@\"
END
";

#[test]
fn without_veth_it_emulates_over_tap_devices_and_says_so() {
    let Some(desk) = desk().filter(|_| has_tap()) else { return };
    let ran = in_surroundings(&desk, WITHOUT_VETH);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("TAP devices instead of veth"), "{}", ran.err);

    let asked_for = format!("export FARLINK_WIRE=veth; {WITHOUT_VETH}");
    let ran = in_surroundings(&desk, &asked_for);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("virtual Ethernet (veth): `ip link add"), "{}", ran.err);
    assert!(ran.err.contains("hint: sudo modprobe veth"), "{}", ran.err);

    let mut doctor = Command::new("/bin/sh");
    doctor.args(["-c", WITHOUT_VETH, "sh"]).arg(program()).arg("doctor");
    let out = Ran::new(&doctor.current_dir(desk.path("")).output().unwrap()).ok();
    assert!(out.contains("   no  virtual Ethernet (veth): "), "{out}");
    let works = "  yes  emulated networks: a command ran in an emulated network, over TAP devices";
    assert!(out.contains(works), "{out}");
}

#[test]
fn without_tap_devices_it_says_what_to_do() {
    let Some(desk) = desk() else { return };
    let ran = in_surroundings(
        &desk,
        "exec unshare -Urm sh -c 'mkdir -p empty && mount --bind empty /dev/net
         exec env FARLINK_WIRE=tap \"$@\"' sh \"$@\"",
    );
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("TAP devices: there is no /dev/net/tun"), "{}", ran.err);
    assert!(ran.err.contains("hint: sudo modprobe tun"), "{}", ran.err);
}

#[test]
fn the_wires_that_are_asked_for_are_known_by_name() {
    let Some(desk) = desk() else { return };
    let ran = in_surroundings(&desk, "exec env FARLINK_WIRE=rope \"$@\"");
    ran.refused(&["FARLINK_WIRE: `rope` should be `veth` or `tap`"]);
}

#[test]
fn the_doctor_tries_everything() {
    let Some(desk) = desk() else { return };
    let out = desk.farlink("doctor").ok();
    for part in
        ["user namespaces", "virtual Ethernet (veth)", "packet sockets", "emulated networks"]
    {
        assert!(out.contains(&format!("  yes  {part}: ")), "{out}");
    }
    let mut command = desk.command(&["doctor"]);
    let without = Ran::new(&command.env("PATH", "/nowhere").output().unwrap()).ok();
    assert!(without.contains("   no  iproute2: there is no `ip` on PATH"), "{without}");
    assert!(without.contains("fix: sudo apt-get install iproute2"), "{without}");
    assert!(without.contains("   no  emulated networks: "), "{without}");
    assert!(desk.names().is_empty());
}
