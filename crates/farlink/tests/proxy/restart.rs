//! A new proxy replaces an old one at the same address, under load: no request fails.

use crate::crowd::{Crowd, Wanted};
use crate::origin::{Origin, object};
use crate::running::{Running, TEST_RULES};

/// Number of concurrent clients.
const CLIENTS: usize = 60;

/// Number of answers between two changes.
const ANSWERS: usize = 10 * CLIENTS;

fn start(address: &str) -> Running {
    let config = format!("[cache]\nmemory = \"8MiB\"\n{TEST_RULES}");
    Running::start_on(&config, &format!("[[listen]]\naddress = \"{address}\"\n"), |_| {})
}

/// The proxy's name in the answers to `url`.
fn names(proxy: &Running, url: &str) -> Vec<String> {
    let name =
        |answer: String| answer.lines().find(|line| line.starts_with("via:")).map(String::from);
    (0..20).filter_map(|_| name(proxy.get(url))).collect()
}

#[test]
fn the_new_one_is_started_then_the_old_one_ended() {
    let origin = Origin::start();
    let mut proxy = start("127.0.0.1:0");
    let (address, url) = (proxy.address, origin.url("/object/7"));
    let wanted = Wanted { address, url: url.clone(), body: object(7) };
    let crowd = Crowd::gather(CLIENTS, &wanted);
    let mut before = names(&proxy, &url);
    for _ in 0..3 {
        crowd.wait_for(ANSWERS);
        let mut new = start(&address.to_string());
        crowd.wait_for(ANSWERS);
        std::mem::swap(&mut proxy, &mut new);
        new.signal("TERM");
        assert!(new.child.wait().unwrap().success());
        assert!(!new.said().contains("warning"), "{}", new.said());
        let now = names(&proxy, &url);
        assert!(now.len() == 20 && now.iter().all(|name| !before.contains(name)), "{now:?}");
        before = now;
    }
    let (answered, failed) = crowd.disperse();
    assert_eq!(failed, 0, "of {CLIENTS} clients, with {answered} answers");
}
