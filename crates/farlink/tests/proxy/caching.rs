//! The cache's answers, seen from outside; its rules have their own tests.

use std::thread;

use crate::origin::Origin;
use crate::running::{Running, forward};

const CACHE: &str = "[cache]\nmemory = \"16MiB\"\n";

fn status(answer: &str) -> &str {
    answer.lines().find_map(|line| line.strip_prefix("cache-status: ")).unwrap_or_default()
}

#[test]
fn what_is_fresh_comes_from_memory() {
    let (proxy, origin) = forward(CACHE);
    let url = origin.url("/cached");
    let first = proxy.get(&url);
    assert!(first.ends_with("\r\n\r\n1"), "{first}");
    assert_eq!(status(&first), "farlink; fwd=uri-miss; stored");
    let again = proxy.get(&url);
    assert!(again.ends_with("\r\n\r\n1") && again.contains("\r\nage: 0"), "{again}");
    assert!(status(&again).starts_with("farlink; hit; ttl="), "{again}");
    let ask = |method: &str, field: &str| {
        proxy
            .raw(&format!("{method} {url} HTTP/1.1\r\nHost: x\r\n{field}Connection: close\r\n\r\n"))
    };
    assert!(ask("HEAD", "").ends_with("\r\n\r\n"));
    assert!(ask("GET", "If-None-Match: \"1\"\r\n").starts_with("HTTP/1.1 304"));
    assert_eq!(origin.requests(), 1);
    let forced = ask("GET", "Cache-Control: no-cache\r\n");
    assert_eq!(status(&forced), "farlink; fwd=request; stored", "{forced}");
    // A successful unsafe request invalidates the stored response.
    assert!(ask("POST", "Content-Length: 0\r\n").starts_with("HTTP/1.1 200"));
    assert_eq!(status(&proxy.get(&url)), "farlink; fwd=uri-miss; stored");
    assert_eq!(origin.requests(), 4);
    let nothing = proxy.raw(&format!(
        "GET {} HTTP/1.1\r\nHost: x\r\nCache-Control: only-if-cached\r\nConnection: close\r\n\r\n",
        origin.url("/other")
    ));
    assert!(nothing.starts_with("HTTP/1.1 504"), "{nothing}");
}

#[test]
fn what_is_stale_is_validated() {
    let (proxy, origin) = forward(CACHE);
    let url = origin.url("/validated");
    assert!(proxy.get(&url).ends_with("once"));
    let again = proxy.get(&url);
    assert!(again.starts_with("HTTP/1.1 200") && again.ends_with("once"), "{again}");
    assert!(status(&again).contains("fwd=stale; fwd-status=304"), "{again}");
    assert_eq!(origin.requests(), 2);
}

#[test]
fn requests_for_one_object_go_to_its_origin_as_one() {
    let origin = Origin::start();
    let config = format!("{CACHE}{}", crate::running::TEST_RULES);
    let proxy = Running::start(&config);
    let url = origin.url("/slow-cached");
    let answers: Vec<String> = thread::scope(|scope| {
        let ask = || scope.spawn(|| proxy.get(&url));
        let asking: Vec<_> = (0..8).map(|_| ask()).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 200")), "{answers:?}");
    // Also with several threads.
    assert_eq!(origin.requests(), 1);
}

#[test]
fn what_breaks_off_or_is_too_large_is_not_stored() {
    let (proxy, origin) = forward("[cache]\nmemory = \"16MiB\"\nobject = \"1KiB\"\n");
    for path in ["/dies", "/big"] {
        for _ in 0..2 {
            proxy.get(&origin.url(path));
        }
    }
    assert_eq!(origin.requests(), 4);
}

#[test]
fn what_is_behind_the_proxy_is_stored_whatever_clients_say_of_themselves() {
    let origin = Origin::start();
    let config = format!("{CACHE}[[reverse]]\norigins = [\"http://{}\"]\n", origin.address);
    let proxy = Running::start(&config);
    let ask = |field: &str| {
        proxy.raw(&format!(
            "GET /cached HTTP/1.1\r\nHost: a.test\r\n{field}Connection: close\r\n\r\n"
        ))
    };
    assert_eq!(status(&ask("X-Forwarded-Host: evil.test\r\n")), "farlink; fwd=uri-miss; stored");
    assert!(status(&ask("")).starts_with("farlink; hit"));
    assert!(status(&ask("X-Forwarded-Proto: https\r\n")).starts_with("farlink; hit"));
    // Fields that origins use and no proxy sets are removed.
    let other = "X-Original-URL: /admin\r\nCache-Control: no-cache\r\n";
    assert_eq!(status(&ask(other)), "farlink; fwd=request; stored");
    assert_eq!(origin.requests(), 2);
}
