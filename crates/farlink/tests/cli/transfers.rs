//! Transfers of bytes over connections, and drawn sites, by name.

use crate::common::Desk;

const NETWORK: &str = "rtt=\"100ms\"\ndown=\"100mbit\"\nup=\"100mbit\"\nqueue=\"1000pkt\"\n";

/// Runs a transfer once, without variation: bytes down and up of each connection, its handshake, and the load time,
/// in ms.
fn transferred(page: &str) -> (Vec<(u64, u64, f64)>, f64) {
    let desk = Desk::new();
    desk.put(
        "e.toml",
        format!(
            "format = 1\nrepetitions = 1\nnoise = \"off\"\npage.name = \"{page}\"\nclient.device = \"zero\"\n\
             [stack]\nprotocol = \"h1\"\ntls = \"none\"\n[network]\n{NETWORK}"
        ),
    );
    desk.farlink("run e.toml").ok();
    let store = desk.sqlite("farlink.sqlite");
    let sql =
        "SELECT bytes_down, bytes_up, connected_at_ns - opened_at_ns, opened_at_ns FROM connection";
    let mut statement = store.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let handshake: i64 = row.get(2)?;
        Ok((row.get(0)?, row.get(1)?, handshake as f64 / 1e6))
    });
    let connections = rows.unwrap().map(Result::unwrap).collect();
    let plt: i64 = store.query_row("SELECT plt_ns FROM visit", [], |row| row.get(0)).unwrap();
    (connections, plt as f64 / 1e6)
}

#[test]
fn five_connections_carry_a_fifth_each() {
    let (connections, plt) = transferred("download:50KB/5");
    assert_eq!(connections.len(), 5);
    for (down, _, handshake) in connections {
        // Minimal headers.
        assert!((10_000..10_150).contains(&down), "{down}");
        assert!((100.0..101.0).contains(&handshake), "{handshake}");
    }
    // Handshake, request, and all in the first window.
    assert!((200.0..210.0).contains(&plt), "{plt}");
    let (one, slower) = transferred("download:50KB");
    assert_eq!(one.len(), 1);
    // 35 segments: 10, 20 and the rest.
    assert!((400.0..410.0).contains(&slower), "{slower}");
}

#[test]
fn an_upload_ends_with_its_answer() {
    let (connections, plt) = transferred("upload:10KB");
    assert!((10_000..10_200).contains(&connections[0].1), "{connections:?}");
    assert!(connections[0].0 < 150 && (200.0..210.0).contains(&plt), "{connections:?}, {plt}");
}

#[test]
fn drawn_sites_come_with_farlink() {
    let desk = Desk::new();
    let out = desk.farlink("pages show cardaci2015-sites#7/1").ok();
    assert!(out.contains("110 requests, 33 hosts"), "{out}");
    let out = desk
        .farlink("load cardaci2015-sites#*/1 --network cable --protocol h1 --tls none -n 1 --json")
        .ok();
    assert_eq!(out.lines().count(), 7, "{out}");
    assert!(out.contains("cardaci2015-sites#7/1"), "{out}");
}

#[test]
fn what_is_no_transfer_and_no_site_is_refused() {
    let desk = Desk::new();
    for (command, says) in [
        ("pages show erman2013-sites#21/1", "`#1/1` to `#20/20`"),
        ("pages show erman2013-sites", "`#1/1` to `#20/20`"),
        ("pages show erman2013-sites#*/1", "erman2013-sites#*/1: a list of pages"),
        ("pages show download:1KB/0", "download:512KiB/5"),
        ("pages write download:1KB/2 -o site", "without a document"),
        ("load erman2013-sites#*/21 --network cable", "`#1/1` to `#20/20`"),
    ] {
        let ran = desk.farlink(command);
        assert!(ran.code == 2 && ran.err.contains(says), "{command}: {} {}", ran.code, ran.err);
    }
}
