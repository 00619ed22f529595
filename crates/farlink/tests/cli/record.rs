//! `farlink record` and `farlink load URL`: a page of the web, by the real Chromium.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::common::{Desk, Ran};
use serde_json::Value;

/// A picture of one pixel.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

const DOCUMENT: &str = "<!doctype html><title>A shop</title><link rel=stylesheet href=/a.css>\
    <body><img src=http://b.test/old.gif><script>\
    fetch('/order', {method: 'POST', body: 'item=1'})</script>";

/// A server for the hosts a.test and b.test, one request a connection.
struct Shop(SocketAddr);

impl Shop {
    fn open() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(|| serve(stream));
            }
        });
        Shop(address)
    }

    /// Options that lead a browser here.
    fn options(&self) -> String {
        format!("--connect-to a.test={0} --connect-to b.test={0} --settle 1", self.0)
    }
}

/// Answers one request. A connection that the browser opened to no purpose ends without one.
fn serve(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut body_bytes) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(length) = line.to_lowercase().strip_prefix("content-length:") {
            body_bytes = length.trim().parse().ok()?;
        }
        head.push(line);
    }
    let mut body = vec![0; body_bytes];
    reader.read_exact(&mut body).ok()?;
    let path = head.first()?.split(' ').nth(1)?;
    let (status, field, body): (_, _, &[u8]) = match path {
        "/" => ("200 OK", "content-type: text/html\r\nset-cookie: id=secret", DOCUMENT.as_bytes()),
        "/a.css" => ("200 OK", "content-type: text/css", b"body { color: green }"),
        "/order" => ("200 OK", "content-type: application/json", &body),
        "/old.gif" => ("302 Found", "location: /new.gif", b""),
        "/new.gif" => ("200 OK", "content-type: image/gif", GIF),
        _ => ("404 Not Found", "content-type: text/plain", b"no"),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{field}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()
}

/// True if Chromium is installed and may use its sandbox; CI has it.
#[expect(clippy::disallowed_methods, reason = "a test may ask whether it runs in CI")]
fn has_chromium(desk: &Desk) -> bool {
    let has = desk.farlink("doctor").out.lines().any(|line| line.contains("Chromium 1"));
    assert!(has || std::env::var("CI").as_deref() != Ok("true"), "no Chromium in CI");
    if !has {
        println!("skipped: no Chromium here (farlink doctor says why)");
    }
    has
}

/// The entries of a recording whose URL ends so.
fn entry<'a>(har: &'a Value, end: &str) -> &'a Value {
    let entries = har["log"]["entries"].as_array().unwrap();
    let found = entries.iter().find(|it| it["request"]["url"].as_str().unwrap().ends_with(end));
    found.unwrap_or_else(|| panic!("no {end}: {entries:#?}"))
}

#[test]
fn a_page_is_recorded_with_its_bodies_and_loaded() {
    let desk = Desk::new();
    if !has_chromium(&desk) {
        return;
    }
    let shop = Shop::open();
    let ran = desk.farlink(&format!("record http://a.test/ -o shop.har {}", shop.options()));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("to 2 hosts") && ran.err.contains("wrote shop.har"), "{}", ran.err);
    let text = desk.read("shop.har");
    assert!(!text.contains("secret"), "cookies are redacted");
    let har: Value = serde_json::from_str(&text).unwrap();
    let page = &har["log"]["pages"][0];
    assert_eq!(
        (&page["title"], &page["_documentTitle"]),
        (&"http://a.test/".into(), &"A shop".into())
    );
    assert!(page["pageTimings"]["onLoad"].as_f64().unwrap() > 0.0);

    let content = |end: &str| &entry(&har, end)["response"]["content"];
    assert_eq!(content("a.test/")["text"], DOCUMENT);
    assert_eq!(content("a.css")["text"], "body { color: green }");
    assert_eq!(content("new.gif")["size"], GIF.len());
    assert_eq!(content("new.gif")["encoding"], "base64");
    let order = entry(&har, "/order");
    assert_eq!(order["request"]["postData"]["text"], "item=1");
    assert_eq!(order["response"]["content"]["text"], "item=1");
    assert_eq!(order["_initiator"]["type"], "script");
    let moved = &entry(&har, "old.gif")["response"];
    assert_eq!((&moved["status"], &moved["redirectURL"]), (&302.into(), &"/new.gif".into()));
    let cookie = entry(&har, "a.test/")["response"]["headers"].as_array().unwrap().iter();
    let cookie = cookie.clone().find(|it| it["name"] == "set-cookie").unwrap();
    assert_eq!(cookie["value"], "x".repeat("id=secret".len()));

    let shown = desk.farlink("pages show shop.har").ok();
    assert!(shown.contains("host a.test") && shown.contains("host b.test"), "{shown}");
    let loaded = desk.farlink("load shop.har --network 3g --protocol h1,h2 -n 2").ok();
    assert!(loaded.contains("h2") && loaded.contains("Load time"), "{loaded}");
}

#[test]
fn a_url_is_loaded_by_recording_it_first() {
    let desk = Desk::new();
    if !has_chromium(&desk) {
        return;
    }
    let shop = Shop::open();
    let url = format!("http://{}/", shop.0);
    let mut command = desk.command(&["load", &url, "--network", "3g", "-n", "1", "--no-noise"]);
    let ran = Ran::new(&command.env("XDG_CACHE_HOME", desk.path("")).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("wrote") && ran.err.contains("farlink/recordings/127.0.0.1-"));
    assert!(ran.out.contains("Load time") || ran.out.contains("takes"), "{}", ran.out);
}

#[test]
fn credentials_are_kept_if_asked() {
    let desk = Desk::new();
    if !has_chromium(&desk) {
        return;
    }
    let shop = Shop::open();
    let record = format!("record http://a.test/ -o c.har --keep-credentials {}", shop.options());
    assert_eq!(desk.farlink(&record).code, 0);
    assert!(desk.read("c.har").contains("id=secret"));
}

#[test]
fn an_archive_holds_the_same_page() {
    let desk = Desk::new();
    if !has_chromium(&desk) {
        return;
    }
    let shop = Shop::open();
    let ran = desk.farlink(&format!("record http://a.test/ -o shop.wacz {}", shop.options()));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let listed = desk.farlink("archive ls shop.wacz").ok();
    assert!(listed.contains("POST http://a.test/order") && listed.contains("302"), "{listed}");
    let sheet = desk.farlink("archive cat shop.wacz http://a.test/a.css").ok();
    assert_eq!(sheet, "body { color: green }");
    let picture = desk.command(&["archive", "cat", "shop.wacz", "http://b.test/new.gif"]).output();
    assert_eq!(picture.unwrap().stdout, GIF);
    let refused = desk.farlink("archive cat shop.wacz http://a.test/b.css");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("did you mean http://a.test/a.css?"), "{}", refused.err);
    let shown = desk.farlink("pages show shop.wacz").ok();
    assert!(shown.contains("WARC by farlink") && shown.contains("host b.test"), "{shown}");
    let loaded = desk.farlink("load shop.wacz --network 3g --protocol h1,h2 -n 2").ok();
    assert!(loaded.contains("Load time"), "{loaded}");

    let file = std::fs::read(desk.path("shop.wacz")).unwrap();
    desk.put("torn.wacz", &file[..file.len() - 10]);
    for (arguments, expected) in [
        ("archive ls shop.har", "No such file"),
        ("archive ls torn.wacz", "not a WACZ file, or a damaged one"),
        ("load torn.wacz --network 3g", "not a WACZ file, or a damaged one"),
    ] {
        let ran = desk.farlink(arguments);
        assert_eq!(ran.code, 2, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
    }
    desk.put("a.txt", "hello");
    assert!(
        desk.farlink("archive ls a.txt").err.contains("neither a WACZ nor a WARC nor a HAR file")
    );
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let desk = Desk::new();
    for (arguments, expected) in [
        ("record a.test", "did you mean https://a.test?"),
        ("record http://a.test/ -o a.txt", "recordings are HAR or WACZ files"),
        ("record http://a.test/ -o no/a.har", "no such directory"),
        ("record http://a.test/ --viewport 3x4", "WIDTHxHEIGHT"),
        ("record http://a.test/ --connect-to a.test", "NAME=ADDRESS:PORT"),
        ("record http://a.test/ --connect-to a,b=127.0.0.1:1", "not a host's name"),
    ] {
        let ran = desk.farlink(arguments);
        assert_eq!(ran.code, 2, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(expected), "{arguments}: {}", ran.err);
    }
    assert_eq!(desk.names(), Vec::<String>::new(), "nothing is written");
}

#[test]
fn a_page_that_does_not_load_is_an_error() {
    let desk = Desk::new();
    if !has_chromium(&desk) {
        return;
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = desk.farlink(&format!("record http://a.test/ --connect-to a.test={closed}"));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("cannot load http://a.test/: net::ERR_CONNECTION_REFUSED"));
    // It accepts, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for (url, expected) in [
        (format!("http://{address}/"), "no response within 2 s"),
        ("http://".to_owned(), "the browser did not navigate there"),
    ] {
        let ran = desk.farlink(&format!("record {url} -o a.har --timeout 2"));
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
    assert_eq!(desk.names(), Vec::<String>::new(), "nothing is written");
}

#[test]
fn pages_are_recorded_as_those_of_one_visitor() {
    let desk = Desk::new();
    if !has_chromium(&desk) {
        return;
    }
    let shop = Shop::open();
    // The script opens the shop, which sets a cookie.
    let script = "curl -sS -X PUT \"$FARLINK_DEVTOOLS/json/new?http://a.test/\" >tab && \
        until curl -sS \"$FARLINK_DEVTOOLS/json/list\" | grep -q 'A shop'; do :; done";
    let options =
        format!("record http://b.test/ http://a.test/ --keep-credentials {}", shop.options());
    let mut arguments: Vec<&str> = options.split_whitespace().collect();
    arguments.extend(["-o", "two.wacz", "--script", script]);
    let ran = desk.run(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("http://b.test/: recorded"), "{}", ran.err);
    let listed = desk.farlink("archive ls two.wacz").ok();
    let pages: Vec<&str> = listed.lines().filter(|line| line.starts_with("page ")).collect();
    assert_eq!(pages, ["page 1: http://b.test/", "page 2: http://a.test/"]);
    desk.farlink("archive import two.wacz --keep-credentials -o two.har").ok();
    let har: Value = serde_json::from_str(&desk.read("two.har")).unwrap();
    let fields = entry(&har, "a.test/")["request"]["headers"].as_array().unwrap();
    let cookie =
        fields.iter().find(|it| it["name"].as_str().unwrap().eq_ignore_ascii_case("cookie"));
    assert_eq!(cookie.expect("of the script's visit")["value"], "id=secret");
    let loaded = desk.farlink("load two.wacz --page 2 --network 3g --protocol h1 -n 1");
    assert_eq!(loaded.code, 0, "{}", loaded.err);
    assert!(!loaded.err.contains("contains 2 pages"), "{}", loaded.err);

    let mut arguments: Vec<&str> = options.split_whitespace().collect();
    arguments.extend(["-o", "no.wacz", "--script", "exit 4"]);
    desk.run(&arguments).refused(&["--script: `exit 4` failed"]);
}
