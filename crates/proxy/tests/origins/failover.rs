//! Several servers of one origin, some of which are unhealthy.

use std::cell::Cell;
use std::rc::Rc;

use super::town::{Act, Got, Server, ask, pause, run, say};

fn config(more: &str) -> String {
    format!("[[reverse]]\norigins = [\"http://one.test\", \"http://two.test\"]\n{more}")
}

fn well() -> Server {
    Server::new(|_| say(0, "200 OK", "", "alive"))
}

async fn several(count: usize, method: &'static str) -> Vec<Got> {
    let mut got = Vec::new();
    for index in 0..count {
        got.push(ask(method, &format!("/{index}"), "").await);
    }
    got
}

fn all_well(got: &[Got], within: u128) {
    assert!(got.iter().all(|got| got.status() == "200" && got.millis < within), "{got:?}");
}

#[test]
fn the_next_server_is_asked_after_a_refusal() {
    for method in ["GET", "POST"] {
        let got = run(&config(""), &[well(), Server::refusing()], several(8, method), async {});
        all_well(&got, 50);
    }
}

#[test]
fn a_server_that_cannot_be_connected_to_costs_its_time_until_it_is_ejected() {
    let got = run(&config(""), &[Server::hanging(), well()], several(12, "GET"), async {});
    all_well(&got, 2_300);
    let slow = got.iter().filter(|got| got.millis > 1_000).count();
    assert_eq!(slow, 3, "`max_fails` of them: {got:?}");
    let quick = config("connect_timeout = \"100ms\"\nmax_fails = 1\n");
    let got = run(&quick, &[Server::hanging(), well()], several(4, "POST"), async {});
    all_well(&got, 500);
}

/// RFC 9110 section 9.2.2.
#[test]
fn what_was_sent_is_sent_again_only_if_that_is_the_same_as_once() {
    for (method, status, to_other) in [("GET", "200", 1), ("PUT", "200", 1), ("POST", "502", 0)] {
        let (closing, other) = (Server::new(|_| Act::Close), well());
        let (seen, others) = (closing.seen.clone(), other.seen.clone());
        let got = run(&config(""), &[closing, other], ask(method, "/x", ""), async {});
        assert_eq!(got.status(), status, "{method}");
        assert_eq!((seen.times("/x"), others.times("/x")), (1, to_other), "{method}");
    }
}

#[test]
fn a_server_that_fails_is_ejected_and_returns() {
    let is_ill = Rc::new(Cell::new(true));
    let ill = Server::new({
        let is_ill = Rc::clone(&is_ill);
        move |_| match is_ill.get() {
            true => say(0, "503 Service Unavailable", "", "sick"),
            false => say(0, "200 OK", "", "well again"),
        }
    });
    let seen = ill.seen.clone();
    let config = config("max_fails = 2\nfail_timeout = \"30s\"\n");
    let statuses = run(
        &config,
        &[ill, well()],
        async move {
            let mut got = several(10, "GET").await;
            assert_eq!(seen.asked.borrow().len(), 2, "then it is passed over");
            is_ill.set(false);
            pause(31_000).await;
            got.extend(several(2, "GET").await);
            assert_eq!(seen.asked.borrow().len(), 3, "it has its turns again");
            got.iter().map(|got| got.status().to_owned()).collect::<Vec<_>>()
        },
        async {},
    );
    assert_eq!(statuses.iter().filter(|status| *status == "503").count(), 2, "{statuses:?}");
}

#[test]
fn if_none_is_well_one_is_asked_all_the_same() {
    let ill = || Server::new(|_| say(0, "503 Service Unavailable", "", "sick"));
    let got = run(&config("max_fails = 1\n"), &[ill(), ill()], several(6, "GET"), async {});
    assert!(got.iter().all(|got| got.text.ends_with("sick")), "{got:?}");
}

#[test]
fn checks_find_out_what_no_request_has() {
    let is_ill = Rc::new(Cell::new(true));
    let ill = Server::new({
        let is_ill = Rc::clone(&is_ill);
        move |line| match line.contains("/health") && is_ill.get() {
            true => say(0, "500 Internal Server Error", "", ""),
            false => say(0, "200 OK", "", "answer"),
        }
    });
    let seen = ill.seen.clone();
    let check = "check = { path = \"/health\", interval = \"1s\", rise = 2, fall = 3 }\n";
    run(
        &config(check),
        &[ill, well()],
        async move {
            let asked =
                || seen.asked.borrow().iter().filter(|line| !line.contains("/health")).count();
            several(2, "GET").await;
            assert_eq!(asked(), 1, "nothing is known yet");
            pause(4_000).await;
            several(4, "GET").await;
            assert_eq!(asked(), 1, "three checks have failed");
            is_ill.set(false);
            pause(3_000).await;
            several(4, "GET").await;
            assert_eq!(asked(), 3, "it is up again");
        },
        async {},
    );
}
