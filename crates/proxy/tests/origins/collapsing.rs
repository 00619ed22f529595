//! Concurrent requests for one object: collapsed into one to the origin if the answer can be stored, independent otherwise.

use super::town::{Server, ask, ask_at_once, open, pause, run, say};

const CONFIG: &str = "[cache]\nmemory = \"8MiB\"\n[[reverse]]\norigins = [\"http://one.test\"]\n";

fn ten(path: &str, fields: impl Fn(usize) -> String) -> Vec<(String, String)> {
    (0..10).map(|index| (path.to_owned(), fields(index))).collect()
}

#[test]
fn what_cannot_be_stored_is_learnt_and_waited_for_once() {
    let server = Server::new(|line| match line.contains("/private") {
        true => say(1_000, "200 OK", "Cache-Control: private\r\n", "mine"),
        false => say(1_000, "200 OK", "Cache-Control: no-store\r\n", "fresh"),
    });
    let seen = server.seen.clone();
    let slowest = run(
        CONFIG,
        &[server],
        async {
            let mut slowest = Vec::new();
            for _ in 0..3 {
                slowest.push(ask_at_once(ten("/fresh", |_| String::new())).await[9].millis);
            }
            let cookie = |index| format!("Cookie: user={index}\r\n");
            for _ in 0..2 {
                slowest.push(ask_at_once(ten("/private", cookie)).await[9].millis);
            }
            slowest
        },
        async {},
    );
    // The first ten wait for the first of them, all at once: nothing is known of the object yet.
    let rounded: Vec<_> = slowest.iter().map(|millis| (millis + 50) / 100).collect();
    assert_eq!(rounded, [20, 10, 10, 20, 10], "{slowest:?}");
    assert_eq!((seen.times("/fresh"), seen.times("/private")), (30, 20));
}

#[test]
fn requests_whose_answers_are_not_for_others_are_not_waited_for() {
    let server = Server::new(|_| say(1_000, "200 OK", "Cache-Control: max-age=60\r\n", "body"));
    let slowest = run(
        CONFIG,
        &[server],
        async {
            let mut slowest = Vec::new();
            for (path, field) in [
                ("/a", "Authorization: Basic eA=="),
                ("/b", "Cache-Control: no-store"),
                ("/c", "Range: bytes=0-1"),
                ("/d", "If-None-Match: \"x\""),
            ] {
                slowest.push(ask_at_once(ten(path, |_| format!("{field}\r\n"))).await[9].millis);
            }
            slowest
        },
        async {},
    );
    assert!(slowest.iter().all(|millis| *millis < 1_100), "{slowest:?}");
}

#[test]
fn what_can_be_stored_is_asked_for_once() {
    let server = Server::new(|_| say(1_000, "200 OK", "Cache-Control: max-age=60\r\n", "body"));
    let seen = server.seen.clone();
    let got = run(CONFIG, &[server], ask_at_once(ten("/a", |_| String::new())), async {});
    assert_eq!(seen.times("/a"), 1);
    assert!(got[9].millis < 1_100 && got.iter().all(|got| got.text.ends_with("body")));
}

/// A page that could not be stored becomes one that can.
#[test]
fn a_stored_answer_ends_the_memory() {
    let server = Server::new({
        let asked = std::cell::Cell::new(0);
        move |_| {
            asked.set(asked.get() + 1);
            let control = if asked.get() <= 1 { "no-store" } else { "max-age=3" };
            say(1_000, "200 OK", &format!("Cache-Control: {control}\r\n"), "body")
        }
    });
    let seen = server.seen.clone();
    run(
        CONFIG,
        &[server],
        async {
            ask_at_once(ten("/a", |_| String::new())[..1].to_vec()).await;
            ask_at_once(ten("/a", |_| String::new())[..1].to_vec()).await;
            pause(5_000).await;
            ask_at_once(ten("/a", |_| String::new())).await;
        },
        async {},
    );
    assert_eq!(seen.times("/a"), 3, "the last ten went as one");
}

/// The first request may be of a client that has used up its share of the connections.
#[test]
fn who_has_no_connection_is_not_waited_for_by_others_for_long() {
    let server = Server::new(|line| match line.contains("/slow") {
        true => say(60_000, "200 OK", "", "late"),
        false => say(100, "200 OK", "Cache-Control: max-age=60\r\n", "body"),
    });
    let got = run(
        &format!("{CONFIG}[upstream]\nconnections_per_origin = 32\n"),
        &[server],
        async {
            pause(500).await;
            ask("GET", "/shared", "").await
        },
        async {
            let mut clients = Vec::new();
            for index in 0..100 {
                clients.push(open("GET", &format!("/slow{index}"), "").await);
            }
            clients.push(open("GET", "/shared", "").await);
            pause(10_000).await;
        },
    );
    assert_eq!(got.status(), "200");
    assert!((500..700).contains(&got.millis), "half a second and its own time: {got:?}");
}
