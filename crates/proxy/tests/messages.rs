//! Messages forwarded by a reverse proxy, in virtual time: a scripted origin, and clients that speak raw HTTP/1.1 or HTTP/2.

mod bench;

use std::time::Duration;

use bench::{Bench, Step, ask, fetch_by_h2, h1};
use bytes::Bytes;
use farlink_proxy::target::Scheme;
use farlink_proxy::upstream::OriginAddress;
use http::Request;

/// The status of the answer and its body, if that is all that came.
fn answer(text: &str) -> (u16, String) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, body.to_owned())
}

fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_default()
}

fn ok(fields: &str, body: &str) -> Vec<Step> {
    vec![Step::say(format!(
        "HTTP/1.1 200 OK\r\n{fields}content-length: {}\r\n\r\n{body}",
        body.len()
    ))]
}

/// RFC 9113 section 8.2.3.
#[test]
fn an_origin_of_http1_sees_one_cookie_field() {
    let bench = Bench::reverse(|_| ok("", "x"));
    let request =
        Request::get("http://a.test/").header("cookie", "a=1").header("cookie", "b=2; c=3");
    let request = request.body(()).expect("a request");
    let (_, heads) = bench.run(async move { fetch_by_h2(request, None).await });
    assert_eq!(field(&heads[0], "cookie"), "a=1; b=2; c=3");
    assert_eq!(heads[0].matches("cookie").count(), 1);
}

/// RFC 9110 section 15.2.
#[test]
fn interim_responses_pass_to_those_who_know_them() {
    let script = |_: &str| {
        vec![
            Step::say(
                "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\nconnection: x-hop\r\nx-hop: 1\r\n\r\n",
            ),
            Step::Wait(300),
            Step::say(
                "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </b.css>\r\n\r\n",
            ),
            Step::Wait(300),
            Step::say(
                "HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\ncontent-length: 2\r\n\r\nok",
            ),
        ]
    };
    let by_h1 = |version: &'static str| {
        let ask = ask(vec![Step::say(format!("GET / {version}\r\nhost: a.test\r\n\r\n"))]);
        Bench::reverse(script).with_cache().run(ask).0
    };
    let text = by_h1("HTTP/1.1");
    let statuses: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).collect();
    assert_eq!(statuses, ["103 Early Hints", "102 Processing", "103 Early Hints", "200 OK"]);
    assert!(text.contains("link: </a.css>") && text.contains("link: </b.css>"), "{text}");
    assert!(!text.contains("x-hop"), "{text}");
    assert!(by_h1("HTTP/1.0").starts_with("HTTP/1.1 200 OK"));
    let request = Request::get("http://a.test/").body(()).expect("a request");
    let (got, _) = Bench::reverse(script).run(async move { fetch_by_h2(request, None).await });
    assert_eq!((got.interim, got.status, got.body.as_str()), (vec![103, 102, 103], 200, "ok"));
}

/// RFC 8297. What a page asked for in its first load is hinted before the next answer for it, as far as the cache has it for all.
#[test]
fn a_page_is_hinted_what_it_needed_before() {
    let script = |head: &str| {
        let fields = match head.split(' ').nth(1) {
            Some("/page") => "cache-control: no-store\r\n",
            Some("/mine.css") => "cache-control: private, max-age=600\r\n",
            _ => "cache-control: max-age=600\r\nvary: accept-encoding\r\n",
        };
        ok(fields, "x")
    };
    let fetch = |path: &'static str, destination: &'static str, referer: bool| {
        let mode = if destination == "document" { "navigate" } else { "no-cors" };
        let mut request = Request::get(format!("http://a.test{path}"))
            .header("accept-encoding", "gzip")
            .header("sec-fetch-dest", destination)
            .header("sec-fetch-mode", mode);
        if referer {
            request = request.header("referer", "http://a.test/page");
        }
        fetch_by_h2(request.body(()).expect("a request"), None)
    };
    let mut bench = Bench::reverse(script).with_cache();
    bench.settings.early_hints = Some(Default::default());
    let (loads, heads) = bench.run(async move {
        let first = fetch("/page", "document", false).await;
        for (path, kind) in
            [("/a.css", "style"), ("/mine.css", "style"), ("/a.js", "script"), ("/a.png", "image")]
        {
            assert_eq!(fetch(path, kind, true).await.interim, [0; 0]);
        }
        world::sleep(Duration::from_secs(20)).await;
        let second = fetch("/page", "document", false).await;
        // What is stale is not hinted.
        world::sleep(Duration::from_secs(590)).await;
        [first, second, fetch("/page", "document", false).await]
    });
    let [first, second, stale] = loads;
    assert!(first.interim.is_empty() && stale.interim.is_empty(), "{first:?} {stale:?}");
    assert_eq!((second.interim, second.status), (vec![103], 200));
    let links = ["</a.css>; rel=preload; as=style", "</a.js>; rel=preload; as=script"];
    assert_eq!(second.links, links);
    assert_eq!(heads.len(), 7);
}

/// A forward proxy knows what a page takes from other origins, and hints it ahead of a stored page, too.
#[test]
fn a_stored_page_is_hinted_what_it_needs_of_other_origins() {
    let script = |_: &str| ok("cache-control: max-age=600\r\n", "x");
    let fetch = |url: &'static str, destination: &'static str, priority: &'static str| {
        let mode = if destination == "document" { "navigate" } else { "no-cors" };
        let request = Request::get(url)
            .header("sec-fetch-dest", destination)
            .header("sec-fetch-mode", mode)
            .header("priority", priority)
            .header("referer", "http://a.test/");
        fetch_by_h2(request.body(()).expect("a request"), None)
    };
    let mut bench = Bench::forward(script).with_cache().with_parent();
    bench.settings.early_hints = Some(Default::default());
    let (second, heads) = bench.run(async move {
        let first = fetch("http://a.test/page", "document", "u=0").await;
        assert!(first.interim.is_empty(), "{first:?}");
        fetch("http://b.test/a.css", "style", "u=0").await;
        fetch("http://b.test/late.js", "script", "u=2").await;
        fetch("http://a.test/page", "document", "u=0").await
    });
    assert_eq!((second.interim, second.status, second.body.as_str()), (vec![103], 200, "x"));
    assert_eq!(second.links, ["<http://b.test/a.css>; rel=preload; as=style"]);
    assert_eq!(heads.len(), 3, "the page came from the cache");
}

#[test]
fn an_origin_that_babbles_is_cut_short() {
    let script = |_: &str| {
        let hint = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n".repeat(2_000);
        vec![Step::say(hint + "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")]
    };
    let (text, _) = Bench::reverse(script).run(h1("GET / HTTP/1.1\r\nhost: a.test\r\n\r\n"));
    assert_eq!(text.matches("103 Early Hints").count(), 100);
    assert!(text.ends_with("\r\n\r\nok"), "{text}");
}

const WAITING: &str =
    "PUT /x HTTP/1.1\r\nhost: a.test\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";

/// RFC 9110 section 10.1.1.
#[test]
fn a_body_is_asked_for_by_the_origin() {
    let waits = || ask(vec![Step::say(WAITING), Step::Await("100 Continue"), Step::say("hello")]);
    let script = |_: &str| {
        vec![
            Step::Wait(400),
            Step::say("HTTP/1.1 100 Continue\r\n\r\n"),
            Step::Await("hello"),
            Step::say("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n"),
        ]
    };
    let bench = Bench::reverse(script);
    let (text, heads) = bench.run(waits());
    assert!(text.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created"), "{text}");
    assert_eq!(field(&heads[0], "expect"), "100-continue");
    // An origin that does not know 100 (Continue) gets the body after a second.
    let deaf = |_: &str| {
        vec![Step::Await("hello"), Step::say("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")]
    };
    let (text, _) = Bench::reverse(deaf).run(waits());
    assert!(text.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created"), "{text}");
    // An origin that does not want the body spares the client's link.
    let refusing =
        |_: &str| vec![Step::say("HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno")];
    let (text, _) = Bench::reverse(refusing).run(h1(WAITING));
    assert_eq!(answer(&text), (401, "no".to_owned()), "{text}");
    let body = Bytes::from_static(b"hello");
    let request =
        Request::put("http://a.test/x").header("expect", "100-continue").body(()).unwrap();
    let (got, _) =
        Bench::reverse(refusing).run(async move { fetch_by_h2(request, Some(body)).await });
    assert_eq!((got.status, got.body.as_str()), (401, "no"));
}

const OFFER: &str = "GET /chat HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\n\
                     sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// RFC 9110 section 7.8.
#[test]
fn a_websocket_passes() {
    let script = |head: &str| match head.contains("upgrade: websocket") {
        true => vec![
            Step::say(
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nwelcome,",
            ),
            Step::Await("ping"),
            Step::say("pong"),
        ],
        false => ok("cache-control: max-age=60\r\n", "page"),
    };
    let client = async {
        let page = h1("GET /chat HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n").await;
        let chat = ask(vec![Step::say(OFFER), Step::Await("welcome,"), Step::say("ping")]).await;
        let h2c = h1(&OFFER.replace("websocket\r\n", "h2c\r\n").replace("/chat", "/other")).await;
        (page, chat, h2c)
    };
    let ((page, chat, h2c), heads) = Bench::reverse(script).with_cache().run(client);
    assert!(page.ends_with("page"));
    assert!(chat.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{chat}");
    assert_eq!(field(&chat, "upgrade"), "websocket");
    assert_eq!(field(&chat, "connection"), "upgrade");
    assert_eq!(field(&chat, "sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert!(chat.ends_with("\r\n\r\nwelcome,pong"), "{chat}");
    assert_eq!(field(&heads[1], "connection"), "upgrade");
    // HTTP/2 is not offered to the origin, which would answer the proxy in an unexpected protocol.
    assert_eq!(answer(&h2c), (200, "page".to_owned()), "{h2c}");
}

/// RFC 9113 section 8.3.1.
#[test]
fn a_host_field_stands_for_the_authority() {
    // `GET`, `http`, `/`, and `host: b.test`, by indices of HPACK's static table.
    let block = b"\x82\x86\x84\x0f\x17\x06b.test";
    let head = [0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1];
    let bytes =
        [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0], &head, block];
    let (_, heads) = Bench::reverse(|_| ok("", "x"))
        .run(ask(vec![Step::say(bytes.concat()), Step::Wait(1_000)]));
    assert!(heads[0].starts_with("GET / HTTP/1.1\r\nhost: b.test\r\n"), "{heads:?}");
}

/// RFC 9112 section 3.2.2.
#[test]
fn a_target_in_absolute_form_names_the_host() {
    let bench = Bench::reverse(|_| ok("", "x"));
    let asked = h1("GET http://other.test/a?b HTTP/1.1\r\nhost: lie.test\r\n\r\n");
    let (text, heads) = bench.run(asked);
    assert_eq!(answer(&text).0, 200, "{text}");
    assert!(heads[0].starts_with("GET /a?b HTTP/1.1\r\nhost: other.test\r\n"), "{}", heads[0]);
    assert_eq!(field(&heads[0], "x-forwarded-host"), "other.test");
}

/// RFC 9112 section 7.1.1.
#[test]
fn an_origin_may_pad_its_chunks() {
    let script = |_: &str| {
        vec![Step::say(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5  \r\nhello\r\n0 \t\r\n\r\n",
        )]
    };
    let (got, _) = Bench::reverse(script)
        .run(async { fetch_by_h2(Request::get("http://a.test/").body(()).unwrap(), None).await });
    assert_eq!((got.status, got.body.as_str()), (200, "hello"));
}

/// RFC 5861 section 4.
#[test]
fn what_is_stale_stands_in_for_an_error() {
    let script = |head: &str| match (head.contains("x-count: 1"), head) {
        (true, _) => ok("cache-control: max-age=1, stale-if-error=90\r\n", "good"),
        (_, head) if head.contains("/503") => {
            vec![Step::say("HTTP/1.1 503 Nope\r\ncontent-length: 3\r\n\r\nbad")]
        }
        (_, head) if head.contains("/404") => {
            vec![Step::say("HTTP/1.1 404 Nope\r\ncontent-length: 4\r\n\r\ngone")]
        }
        (_, head) if head.contains("/hang") => vec![Step::Wait(100_000)],
        _ => vec![Step::Close],
    };
    let client = async {
        let mut got = Vec::new();
        for path in ["/503", "/close", "/hang", "/404"] {
            let ask = |extra: &str| {
                h1(&format!(
                    "GET {path} HTTP/1.1\r\nhost: a.test\r\n{extra}connection: close\r\n\r\n"
                ))
            };
            drop(ask("x-count: 1\r\n").await);
            world::sleep(Duration::from_secs(3)).await;
            got.push(answer(&ask("").await));
            world::sleep(Duration::from_secs(100)).await;
            got.push((answer(&ask("").await).0, String::new()));
        }
        got
    };
    let (got, _) = Bench::reverse(script).with_cache().run(client);
    let bodies: Vec<_> = got.iter().map(|(status, body)| (*status, body.as_str())).collect();
    let good = (200, "good");
    let expected = [good, (503, ""), good, (502, ""), good, (504, ""), (404, "gone"), (404, "")];
    assert_eq!(bodies, expected);
}

/// RFC 9213: targeted fields are for caches that belong to the origin, so not for a forward proxy.
#[test]
fn an_origin_can_address_the_cache_before_it() {
    let fields = "cache-control: no-store\r\ncdn-cache-control: max-age=60\r\n";
    let request = |target: &str| {
        format!("GET {target} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n")
    };
    let twice = |target: &'static str| async move {
        let first = h1(&request(target)).await;
        [
            field(&first, "cache-status").to_owned(),
            field(&h1(&request(target)).await, "cache-status").to_owned(),
        ]
    };
    let (told, heads) = Bench::reverse(move |_| ok(fields, "x")).with_cache().run(twice("/"));
    assert_eq!((told[0].as_str(), heads.len()), ("farlink; fwd=uri-miss; stored", 1));
    assert!(told[1].starts_with("farlink; hit"), "{told:?}");
    let bench = Bench::forward(move |_| ok(fields, "x")).with_cache();
    let (told, heads) = bench.run(twice("http://origin.test/"));
    assert_eq!(told, ["farlink; fwd=uri-miss; detail=no-store"; 2]);
    assert_eq!(heads.len(), 2);
}

#[test]
fn what_can_never_be_stored_is_not_said_to_be() {
    // With its bookkeeping it exceeds the 64 KiB that an object may take.
    let bench =
        Bench::reverse(|_| ok("cache-control: max-age=60\r\n", &"x".repeat((1 << 16) - 100)));
    let (text, _) = bench.with_cache().run(h1("GET / HTTP/1.1\r\nhost: a.test\r\n\r\n"));
    assert_eq!(field(&text, "cache-status"), "farlink; fwd=uri-miss; detail=too-large");
}

#[test]
fn purging_is_for_the_proxy() {
    let purge = "PURGE /a HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n";
    let get = "GET /a HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n";
    let client = || async move {
        drop(h1(get).await);
        [h1(purge).await, h1(get).await]
            .map(|text| (answer(&text).0, field(&text, "cache-status").to_owned()))
    };
    let run = |allowed: Option<&str>| {
        let mut bench = Bench::reverse(|_| ok("cache-control: max-age=60\r\n", "x")).with_cache();
        bench.settings.purgers = allowed.into_iter().map(|text| text.parse().unwrap()).collect();
        let ([(purged, _), (_, cached)], heads) = bench.run(client());
        assert!(!heads.iter().any(|head| head.starts_with("PURGE")));
        (purged, cached.starts_with("farlink; hit"))
    };
    assert_eq!(run(None), (405, true));
    assert_eq!(run(Some("192.0.2.0/24")), (403, true));
    assert_eq!(run(Some("10.0.0.0/24")), (200, false));
}

#[test]
fn clients_speak_for_nobody_else() {
    let request = "GET / HTTP/1.1\r\nhost: a.test\r\nx-real-ip: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\n\
                   x-http-method-override: DELETE\r\nx-rewrite-url: /admin\r\naccept: */*\r\n\r\n";
    let (_, heads) = Bench::reverse(|_| ok("", "x")).run(h1(request));
    let names: Vec<&str> =
        heads[0].lines().skip(1).filter_map(|line| line.split(':').next()).collect();
    let told =
        ["host", "accept", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];
    assert_eq!(names.iter().filter(|name| !name.is_empty()).copied().collect::<Vec<_>>(), told);
    let mut bench = Bench::reverse(|_| ok("", "x"));
    bench.settings.reverse[0].trusted = vec!["10.0.0.1/32".parse().unwrap()];
    let (_, heads) = bench.run(h1(request));
    assert_eq!(field(&heads[0], "x-real-ip"), "6.6.6.6");
}

/// While a parent cannot be reached another takes its place, for requests and for tunnels.
#[test]
fn a_parent_stands_in_for_another() {
    let parent = |head: &str| match head.starts_with("CONNECT") {
        true => vec![Step::say("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n"), Step::Close],
        false => ok("", "through the parent"),
    };
    let mut bench = Bench::forward(parent).with_parent();
    let live = bench.settings.upstream.parents[0].clone();
    bench.settings.upstream.parents = vec![OriginAddress { port: 81, ..live.clone() }, live];
    let client = async {
        let mut came = Vec::new();
        for number in 0..12 {
            let request = format!(
                "GET http://far{number}.test/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
            );
            came.push(h1(&request).await.ends_with("through the parent"));
            let tunnel = format!(
                "CONNECT far{number}.test:443 HTTP/1.1\r\nhost: far{number}.test:443\r\n\r\n"
            );
            came.push(h1(&tunnel).await.contains("SSH-2.0-x"));
        }
        came
    };
    let (came, heads) = bench.run(client);
    assert_eq!((came.iter().all(|came| *came), heads.len()), (true, 24), "{came:?}");
}

/// A parent provides tunnels to everything but origins in clear text.
#[test]
fn a_parent_leads_tunnels() {
    let parent = |head: &str| match head.starts_with("CONNECT") {
        // The far end speaks first.
        true => vec![
            Step::say("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n"),
            Step::Await("ping"),
            Step::say("pong"),
        ],
        false => ok("", "through the parent"),
    };
    let client = async {
        let tunnel = "CONNECT far.test:443 HTTP/1.1\r\nhost: far.test:443\r\n\r\n";
        let tunnel = ask(vec![Step::say(tunnel), Step::Await("SSH-2.0"), Step::say("ping")]).await;
        let page =
            h1("GET http://far.test/x HTTP/1.1\r\nhost: far.test\r\nconnection: close\r\n\r\n")
                .await;
        (tunnel, page)
    };
    let ((tunnel, page), heads) = Bench::forward(parent).with_parent().run(client);
    assert_eq!(tunnel, "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\npong");
    assert!(page.ends_with("through the parent"), "{page}");
    assert!(heads[0].starts_with("CONNECT far.test:443 HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[1].starts_with("GET http://far.test/x HTTP/1.1\r\n"), "{}", heads[1]);
    // An origin over TLS, here behind a reverse proxy.
    let tls =
        |_: &str| vec![Step::say("HTTP/1.1 200 OK\r\n\r\n"), Step::Await("far.test"), Step::Close];
    let mut bench = Bench::reverse(tls).with_parent();
    let origin = OriginAddress { scheme: Scheme::Https, host: "far.test".to_owned(), port: 443 };
    bench.settings.reverse[0].origins = [origin].into();
    let (text, heads) = bench.run(h1("GET / HTTP/1.1\r\nhost: a.test\r\n\r\n"));
    assert_eq!(answer(&text).0, 502, "{text}");
    assert!(heads[0].starts_with("CONNECT far.test:443 HTTP/1.1\r\n"), "{}", heads[0]);
}
