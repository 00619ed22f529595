//! Shares of an origin's connections: no client takes so many that others get none.

use std::time::Duration;

use super::town::{Act, Server, ask, open, pause, response, run, say};

fn config(upstream: &str) -> String {
    format!("[[reverse]]\norigins = [\"http://one.test\"]\n[upstream]\n{upstream}\n")
}

fn slow_or_fast() -> Server {
    Server::new(|line| match line.contains("/slow") {
        true => say(60_000, "200 OK", "", "late"),
        false => say(10, "200 OK", "", "fast"),
    })
}

#[test]
fn a_request_that_its_client_gives_up_frees_its_connection_at_once() {
    let server = slow_or_fast();
    let seen = server.seen.clone();
    let (open_before, open_after, fast) = run(
        &config("connections_per_origin = 64"),
        &[server],
        async move {
            let mut clients = Vec::new();
            for index in 0..40 {
                clients.push(open("GET", &format!("/slow{index}"), "").await);
            }
            pause(10).await;
            let before = seen.open.get();
            drop(clients);
            pause(10).await;
            (before, seen.open.get(), ask("GET", "/fast", "").await)
        },
        async {},
    );
    assert_eq!((open_before, open_after), (40, 0));
    assert_eq!((fast.status(), fast.millis < 50), ("200", true), "{fast:?}");
}

/// One address whose requests never end holds no more than its share.
#[test]
fn whoever_holds_connections_leaves_some_to_others() {
    let server = slow_or_fast();
    let seen = server.seen.clone();
    let (held, fast) = run(
        &config("connections_per_origin = 32"),
        &[server],
        async move {
            pause(500).await;
            (seen.open.get(), ask("GET", "/fast", "").await)
        },
        async {
            let mut clients = Vec::new();
            for index in 0..100 {
                clients.push(open("GET", &format!("/slow{index}"), "").await);
            }
            pause(10_000).await;
        },
    );
    assert_eq!(held, 24, "three quarters of 32");
    assert_eq!((fast.status(), fast.millis < 100), ("200", true), "{fast:?}");
}

/// A client with a hundred requests waiting is not served a hundred times before one with a single request.
#[test]
fn those_who_wait_take_turns() {
    let server = Server::new(|_| say(100, "200 OK", "", "ok"));
    let (config, seen) =
        (config("connections_per_origin = 4\nclient_share = 100"), server.seen.clone());
    let got = run(
        &config,
        &[server],
        async move {
            pause(50).await;
            let got = ask("GET", "/one", "").await;
            assert!(seen.asked.borrow().len() < 12, "before most of the other's");
            got
        },
        async {
            let many = (0..100).map(|index| (format!("/many{index}"), String::new())).collect();
            super::town::ask_at_once(many).await;
        },
    );
    // The request under way, and one turn.
    assert!(got.millis < 250, "{got:?}");
}

/// The queue of waiting requests is shared fairly, too.
#[test]
fn who_waits_with_most_makes_room_for_others() {
    let server = Server::new(|_| say(300, "200 OK", "", "ok"));
    let config = config("connections_per_origin = 1\nwaiting = 10");
    let got = run(
        &config,
        &[server],
        async {
            pause(100).await;
            ask("GET", "/one", "").await
        },
        async {
            let many = (0..40).map(|index| (format!("/many{index}"), String::new())).collect();
            super::town::ask_at_once(many).await;
        },
    );
    assert_eq!((got.status(), got.millis < 950), ("200", true), "{got:?}");
}

/// Clients that do not read keep their connections only as long as no one waits for them.
#[test]
fn a_client_that_does_not_read_loses_its_connection_to_one_that_waits() {
    let body = "z".repeat(20 << 20);
    let server = Server::new(move |line| match line.contains("/big") {
        true => Act::Say(Duration::ZERO, response("200 OK", "", &body)),
        false => say(10, "200 OK", "", "fast"),
    });
    let config = config("connections_per_origin = 4\nclient_share = 100");
    let got = run(
        &config,
        &[server],
        async {
            let mut clients = Vec::new();
            for index in 0..4 {
                clients.push(open("GET", &format!("/big{index}"), "").await);
            }
            pause(5_000).await;
            let mut got = Vec::new();
            for _ in 0..3 {
                got.push(ask("GET", "/fast", "").await);
            }
            got
        },
        async {},
    );
    assert!(got.iter().all(|got| got.status() == "200" && got.millis < 100), "{got:?}");
}
