use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// References of `html` to these paths of `http://a.test/dir/`, and whether they block.
fn blocking(html: &str, paths: &[&str]) -> Vec<(String, bool)> {
    let base = url("http://a.test/dir/page");
    let all: Vec<String> = paths.iter().map(|path| base.join(path).unwrap().into()).collect();
    let requested = RequestedUrls::new(all.iter().map(String::as_str));
    let found = mentions_in_markup(html, &base, &requested);
    let short = |address: String| address.trim_start_matches("http://a.test/dir/").to_owned();
    found.into_iter().map(|(address, mention)| (short(address), mention.blocks)).collect()
}

#[test]
fn sheets_and_synchronous_scripts_before_content_block() {
    let html = r#"<!doctype html><title>Not content</title>
        <link rel=preload as=style href=a.css><link rel="stylesheet" href="a.css">
        <link rel=stylesheet media=print href=print.css>
        <link rel=stylesheet media="screen and (min-width: 1px)" href=wide.css>
        <link rel="alternate stylesheet" href=other.css>
        <style>@import "more.css"; body { background: url(i.png) }</style>
        <script src=sync.js></script><script async src=async.js></script>
        <script defer src=defer.js></script><script type=module src=module.js></script>
        <script>load("data.json")</script><noscript><link rel=stylesheet href=none.css></noscript>
        <body><div><script src=early.js></script><h1>Content</h1>
        <link rel=stylesheet href=late.css><script src=bottom.js></script>"#;
    let paths = [
        "a.css",
        "print.css",
        "wide.css",
        "other.css",
        "more.css",
        "i.png",
        "sync.js",
        "async.js",
        "defer.js",
        "module.js",
        "data.json",
        "none.css",
        "early.js",
        "late.css",
        "bottom.js",
    ];
    let found = blocking(html, &paths);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let all: Vec<&str> = paths.into_iter().filter(|path| *path != "none.css").collect();
    assert_eq!(names, all);
    let blocks: Vec<&str> =
        found.iter().filter(|(_, blocks)| *blocks).map(|(name, _)| name.as_str()).collect();
    assert_eq!(blocks, ["a.css", "wide.css", "more.css", "i.png", "sync.js", "early.js"]);
}

#[test]
fn references_have_places_and_a_base() {
    let html = "<base href=/x/><img srcset='s.png 1x, l.png 2x' src=/dir/i.png>";
    let found = blocking(html, &["/x/l.png", "i.png"]);
    assert_eq!(found, [("i.png".to_owned(), false), ("http://a.test/x/l.png".to_owned(), false)]);
}

#[test]
fn sheets_and_scripts_name_what_was_requested_in_any_spelling() {
    let (sheet, document) = (url("http://cdn.test/css/a.css"), url("http://a.test/"));
    let all =
        ["http://cdn.test/css/f.woff2", "http://cdn.test/i.png?v=1", "http://a.test/api?x=1&y=2"];
    let requested = RequestedUrls::new(all.into_iter());
    let named = |text: &str, bases: &[&Url]| {
        let found = mentions_in_pieces(text, bases, &requested, true);
        found.into_iter().map(|(address, mention)| (address, mention.at)).collect::<Vec<_>>()
    };
    let css = "@font-face{src:url(f.woff2)format('woff2')} a{background:url( '../i.png?v=1#x' )}";
    let found = named(css, &[&sheet]);
    assert_eq!(found.iter().map(|(address, _)| address).collect::<Vec<_>>(), [all[0], all[1]]);
    assert!(css[..found[0].1].ends_with("f.woff2"));
    let script = r#"fetch("\/api?x=1\u0026y=2");var a='no.png'"#;
    assert_eq!(named(script, &[&document, &sheet])[0].0, all[2]);
}
