//! Invariants of the proxy for any answer of an origin: no panic, and no part that differs from its `Content-Range`. The property
//! test, the replay of the fuzzing corpus and the fuzz target share it.

use std::time::Duration;

use super::town::{Act, Got, Server, ask, run};

const CONFIG: &str = "[cache]\nmemory = \"1MiB\"\n[[reverse]]\norigins = [\"http://one.test\"]\n";

/// Separator between an origin's answers, and before the clients' request fields.
pub const BETWEEN: &[u8] = b"\n----\n";

/// Maximum number of requests of a case.
const REQUESTS: usize = 12;

/// Has clients request one object with each line of `input`'s last part as a field; the parts before are the origin's answers, in turn.
pub fn check_replies(input: &[u8]) {
    let mut parts = split(input);
    let asked = parts.pop().unwrap_or_default();
    let asked = String::from_utf8_lossy(&asked).into_owned();
    let is_line = |line: &&str| line.bytes().all(|b| (0x20..0x7F).contains(&b));
    let fields: Vec<String> =
        asked.lines().filter(is_line).take(REQUESTS).map(str::to_owned).collect();
    if parts.is_empty() {
        return;
    }
    let turn = std::cell::Cell::new(0);
    let server = Server::new(move |_| {
        let reply = parts[turn.get() % parts.len()].clone();
        turn.set(turn.get() + 1);
        Act::Last(Duration::ZERO, reply)
    });
    let got = run(
        CONFIG,
        &[server],
        async move {
            let mut got = Vec::new();
            for field in fields {
                let field = if field.is_empty() { field } else { format!("{field}\r\n") };
                got.push(ask("GET", "/", &field).await);
            }
            got
        },
        async {},
    );
    got.iter().for_each(check_part);
}

fn split(input: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut rest) = (Vec::new(), input);
    while let Some(at) = rest.windows(BETWEEN.len()).position(|bytes| bytes == BETWEEN) {
        parts.push(rest[..at].to_vec());
        rest = &rest[at + BETWEEN.len()..];
    }
    parts.push(rest.to_vec());
    parts
}

/// Checks that a part out of the cache is as long as it says.
fn check_part(got: &Got) {
    let Some((head, body)) = got.text.split_once("\r\n\r\n") else { return };
    if got.status() != "206" || !head.contains("farlink; hit") || got.text.contains('\u{FFFD}') {
        return;
    }
    let range = head.lines().find_map(|line| line.strip_prefix("content-range: bytes "));
    let range = range.expect("a part says which one it is");
    let (part, _) = range.split_once('/').expect("a slash");
    let (first, last) = part.split_once('-').expect("a dash");
    let number = |text: &str| text.parse::<usize>().expect("a number");
    assert_eq!(number(last) + 1 - number(first), body.len(), "{}", got.text);
}
