//! Named things of farlink: pages, networks and the like, as it lists them.

use crate::common::Desk;

/// The lines of a table up to the first empty one, without their header.
fn rows(out: &str) -> Vec<&str> {
    out.lines().skip(1).take_while(|line| !line.is_empty()).collect()
}

#[test]
fn pages_are_listed_shown_and_written() {
    let desk = Desk::new();
    let out = desk.farlink("pages list").ok();
    let names: Vec<&str> = rows(&out).iter().map(|row| row.split(' ').next().unwrap()).collect();
    for name in
        ["synthetic:100x10KB", "bth2013", "petuchowski2015", "test1-050-1024", "test4-500-20480"]
    {
        assert!(names.contains(&name), "{name}: {out}");
    }

    let out = desk.farlink("pages show synthetic:3x10KB@2hosts").ok();
    assert!(out.contains("4 requests, 2 hosts"), "{out}");
    let json = desk.farlink("pages show synthetic:3x10KB").ok();
    assert!(json.contains("synthetic:3x10KB"), "{json}");
    desk.put("page.json", desk.farlink("pages show bth2013 --json").ok());
    assert!(desk.farlink("pages show page.json").ok().contains("36 requests"));

    let out = desk.farlink("pages write synthetic:3x10KB -o site").ok();
    assert!(out.starts_with("wrote ") && out.contains(" to site"), "{out}");
    assert!(std::fs::read_dir(desk.path("site")).unwrap().count() > 0);
}

#[test]
fn networks_are_listed_and_shown() {
    let desk = Desk::new();
    let out = desk.farlink("networks list").ok();
    for name in ["2g", "3g", "4g", "lte", "dsl", "cable", "fios"] {
        assert!(rows(&out).iter().any(|row| row.starts_with(&format!("{name} "))), "{name}: {out}");
    }
    for name in rows(&out).iter().filter_map(|row| row.split(' ').next()) {
        let shown = desk.farlink(&format!("networks show {name}")).ok();
        let has_queue = name != "loopback";
        assert_eq!(shown.contains("\nnote: queue: "), has_queue, "whose queue it is: {shown}");
    }
    assert_eq!(
        out.lines().find(|line| line.chars().count() > 100 && !line.starts_with("Other")),
        None
    );
    let out = desk.farlink("networks show 3g").ok();
    assert!(out.starts_with("3g\n") && out.contains("\nsource: "), "{out}");
    let out = desk.farlink("networks show rtt=100ms,down=10mbit,up=5mbit").ok();
    assert!(out.contains("50 ms") && out.contains("100pkt"), "{out}");
    assert!(out.contains("note: no queue given: 100 packets"), "{out}");
    let out = desk.farlink("networks show cable,hop.1.name=far,hop.1.rtt=20ms,jitter=3ms").ok();
    assert!(out.contains("\nfar, down ") && out.contains("jitter=3ms"), "{out}");
}

#[test]
fn the_doctor_looks_at_this_machine_and_leaves_no_trace() {
    let desk = Desk::new();
    let out = desk.farlink("doctor").ok();
    assert!(out.contains("yes  page loads: on "), "{out}");
    assert!(out.contains("yes  write access here"), "{out}");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn shells_get_their_completions() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let out = desk.farlink(&format!("completions {shell}")).ok();
        for word in ["load", "networks", "protocol", "repetitions"] {
            assert!(out.contains(word), "{shell}: {word}");
        }
    }
    // If the shell is installed, it parses its script.
    desk.put("farlink.bash", desk.farlink("completions bash").ok());
    let read = std::process::Command::new("bash").arg("-n").arg(desk.path("farlink.bash")).status();
    assert!(read.is_ok_and(|status| status.success()));
}

#[test]
fn the_version_and_help_are_told() {
    let desk = Desk::new();
    assert_eq!(desk.farlink("--version").ok(), format!("farlink {}\n", env!("CARGO_PKG_VERSION")));
    assert!(desk.farlink("load --help").ok().contains("--network <NETWORK>"));
    let nothing = desk.farlink("");
    assert_eq!((nothing.code, nothing.out.as_str()), (2, ""));
    assert!(nothing.err.contains("Usage: farlink"), "{}", nothing.err);
}
