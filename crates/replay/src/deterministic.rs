//! Pages made repeatable: a script ahead of all others fixes `Math.random` and the date.
//!
//! Pages build URLs from both, which then are not those of the recording. The date starts at that of the recording and goes on;
//! random numbers are those of a seeded generator (mulberry32). A page's content security policy is extended by the script's
//! hash.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

const SCRIPT: &str = "(()=>{let s=42;Math.random=()=>{s=s+0x6D2B79F5|0;let t=Math.imul(s^s>>>15,1|s);\
    t=t+Math.imul(t^t>>>7,61|t)^t;return((t^t>>>14)>>>0)/4294967296};\
    const D=Date,o=EPOCH-D.now();class F extends D{constructor(...a){a.length?super(...a):super(D.now()+o)}\
    static now(){return D.now()+o}}\
    globalThis.Date=new Proxy(F,{apply:()=>new F().toString()})})()";

/// The script that fixes chance and date for a page recorded at `date`, since 1970.
pub(crate) fn script(date: Duration) -> String {
    SCRIPT.replace("EPOCH", &date.as_millis().to_string())
}

/// The document with the script ahead of all others.
pub(crate) fn injected(document: &[u8], script: &str) -> Vec<u8> {
    let at = place(document);
    let element = format!("<script>{script}</script>");
    [&document[..at], element.as_bytes(), &document[at..]].concat()
}

/// Behind the start of the head; without one, behind that of the document, or the document type.
fn place(document: &[u8]) -> usize {
    let lower = document.to_ascii_lowercase();
    let end_of = |tag: &[u8]| {
        let starts = |window: &[u8]| window.starts_with(tag);
        let mut windows = lower.windows(tag.len() + 1);
        // `<header>` is no head.
        let at = windows.position(|window| {
            starts(window) && !window.last().is_some_and(u8::is_ascii_alphanumeric)
        })?;
        Some(at + lower[at..].iter().position(|byte| *byte == b'>')? + 1)
    };
    let tags: [&[u8]; 3] = [b"<head", b"<html", b"<!doctype"];
    tags.into_iter().find_map(end_of).unwrap_or(0)
}

/// A content security policy that allows the script.
pub(crate) fn allowing(policy: &str, script: &str) -> String {
    let hash = STANDARD.encode(digest(&SHA256, script.as_bytes()).as_ref());
    let directives = policy.split(';').map(|directive| {
        let name = directive.split_whitespace().next().unwrap_or_default().to_lowercase();
        let is_of_scripts = ["script-src", "script-src-elem"].contains(&name.as_str());
        let is_fallback = name == "default-src" && !policy.to_lowercase().contains("script-src");
        // A hash makes browsers ignore 'unsafe-inline', which allows the script already.
        let is_open = directive.contains("'unsafe-inline'");
        match (is_of_scripts || is_fallback) && !is_open {
            true => format!("{directive} 'sha256-{hash}'"),
            false => directive.to_owned(),
        }
    });
    directives.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_script(document: &str) -> String {
        String::from_utf8(injected(document.as_bytes(), "x")).unwrap()
    }

    #[test]
    fn the_script_comes_first() {
        for (document, expected) in [
            (
                "<!DOCTYPE html><HTML><Head lang=a>b",
                "<!DOCTYPE html><HTML><Head lang=a><script>x</script>b",
            ),
            ("<!doctype html><header>b", "<!doctype html><script>x</script><header>b"),
            ("<p>b", "<script>x</script><p>b"),
            ("", "<script>x</script>"),
        ] {
            assert_eq!(with_script(document), expected);
        }
    }

    #[test]
    fn policies_are_extended_where_they_would_forbid_it() {
        let allowed = allowing("default-src 'self'; script-src 'self'", "x");
        assert!(allowed.starts_with("default-src 'self'; script-src 'self' 'sha256-"), "{allowed}");
        assert!(allowing("default-src 'none'", "x").contains("'none' 'sha256-"));
        let open = "script-src 'unsafe-inline'";
        assert_eq!(allowing(open, "x"), open);
    }
}
