//! Effect of split HTTP on a clear-text page (RTT 620 ms): the same bytes, in fewer round trips.

use crate::common;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use common::{LEGS, Leg, RTT, SERVER, Sky, at, pattern};
use http::{HeaderMap, Request, StatusCode};
use http_stack::h1::client::{self, Connection};
use http_stack::server::Acceptor;
use http_stack::{Answer, Handler, Priority, Progress, Reply, RequestHead, Response};
use tls::Security;
use world::{TcpListener, TcpStream};

const HTML: &str = "<!doctype html><link rel=stylesheet href=/style.css><script src=/code.js></script>\
    <p>Text that is long enough for compression to be of use, of use, of use.</p>\
    <img src=/0.png><img src=/1.png><img src=/2.png><img src=/3.png>";
/// In the order of a browser's requests; the last is found in the style sheet.
const OBJECTS: [&str; 7] =
    ["/style.css", "/code.js", "/0.png", "/1.png", "/2.png", "/3.png", "/back.png"];

/// A site that records its requests and their cookies.
#[derive(Clone, Default)]
struct Site(Rc<RefCell<Vec<(String, String)>>>);

impl Handler for Site {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let cookie = request.fields.get("cookie").unwrap_or_default();
        let cookie = String::from_utf8_lossy(cookie).into_owned();
        self.0.borrow_mut().push((request.target.to_owned(), cookie.clone()));
        let (media_type, body) = match request.target {
            "/" => ("text/html; charset=utf-8", Bytes::from_static(HTML.as_bytes())),
            "/style.css" => ("text/css", Bytes::from_static(b"body { background: url(back.png) }")),
            "/code.js" => ("text/javascript", Bytes::from("let x = 1;\n".repeat(500))),
            "/for-me" => ("text/plain", Bytes::from(cookie)),
            "/large" => ("application/octet-stream", Bytes::from(pattern(3_000_000))),
            "/hinted" => {
                let reply = reply(StatusCode::OK, "text/plain", "hinted".into());
                let head = http::Response::builder().status(103).header("link", "</style.css>");
                let (head, late) = (head.body(()).unwrap(), Duration::from_secs(2));
                let then = Box::pin(async move {
                    world::sleep(late).await;
                    Response::Whole(reply)
                });
                return Answer::later(async move { Response::Interim { head, then } });
            }
            "/gone" => {
                return Answer::Ready(reply(StatusCode::NOT_FOUND, "text/plain", "no".into()));
            }
            _ => ("image/png", Bytes::from(pattern(3_000))),
        };
        Answer::Ready(reply(StatusCode::OK, media_type, body))
    }
}

fn reply(status: StatusCode, media_type: &'static str, body: Bytes) -> Reply {
    let mut fields = HeaderMap::new();
    fields.insert("content-type", media_type.parse().unwrap());
    fields.insert("set-cookie", "seen=1; Path=/".parse().unwrap());
    Reply::new(status, fields, body)
}

fn sky(leg: Leg, seed: u64, satellite: &str, site: Site) -> Sky {
    with_site(Sky::over(leg, seed, satellite).with_pep(), site)
}

fn with_site(sky: Sky, site: Site) -> Sky {
    sky.with_server(async move {
        let listener = TcpListener::bind(at(SERVER, 80)).unwrap();
        let acceptor = Acceptor::new(Security::None);
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let (acceptor, site) = (acceptor.clone(), site.clone());
            drop(world::spawn(async move { drop(acceptor.serve(tcp, Rc::new(site)).await) }));
        }
    })
}

#[derive(Default)]
struct Seen {
    status: u16,
    first_byte: Option<units::Time>,
    body: Vec<u8>,
}

impl Progress for Seen {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, status: u16, _head_bytes: u64) {
        (self.status, self.first_byte) = (status, Some(world::now()));
    }
    fn data(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

async fn get(connection: &mut Connection<TcpStream>, path: &str, cookie: &str) -> Seen {
    let mut request = Request::get(format!("http://site.example{path}"));
    if !cookie.is_empty() {
        request = request.header("cookie", cookie);
    }
    let mut seen = Seen::default();
    let request = request.body(Bytes::new()).unwrap();
    connection.fetch(&request, Priority::Medium, &mut seen).await.unwrap();
    seen
}

async fn connect(to: SocketAddr) -> Connection<TcpStream> {
    Connection::new(TcpStream::connect(to).await.unwrap(), client::Settings::default())
}

/// Timing of a page over one connection, loaded by a client without parallel connections.
struct Load {
    first_byte: Duration,
    page: Duration,
    all: Duration,
    bodies: Vec<Vec<u8>>,
}

async fn load(to: SocketAddr) -> Load {
    let began = world::now();
    let mut connection = connect(to).await;
    let html = get(&mut connection, "/", "").await;
    let page = world::now().since(began);
    let first_byte = html.first_byte.unwrap().since(began);
    let mut bodies = vec![html.body];
    for path in OBJECTS {
        let seen = get(&mut connection, path, "seen=1").await;
        assert_eq!(seen.status, 200);
        bodies.push(seen.body);
    }
    Load { first_byte, page, all: world::now().since(began), bodies }
}

#[test]
fn a_page_takes_one_round_trip_and_its_objects_none() {
    for leg in LEGS {
        let site = Site::default();
        let near = at("10.0.0.2", 80);
        let bare = sky(leg, 1, "", Site::default()).run(load(at(SERVER, 80)));
        let split = sky(leg, 1, "", site.clone()).run(load(near));
        assert_eq!(split.bodies, bare.bodies, "the same bytes");
        let little = Duration::from_millis(150);
        assert!(
            bare.first_byte >= 2 * RTT && bare.first_byte < 2 * RTT + little,
            "{:?}",
            bare.first_byte
        );
        assert!(
            split.first_byte >= RTT && split.first_byte < RTT + little,
            "{:?}",
            split.first_byte
        );
        // 15 KB at 1 Mbit/s and no round trip more.
        assert!(split.all < split.page + Duration::from_millis(300), "{:?}", split.all);
        assert!(bare.all > 9 * RTT, "{:?}", bare.all);
        println!(
            "first byte {:?} -> {:?}, all {:?} -> {:?}",
            bare.first_byte, split.first_byte, bare.all, split.all
        );
        // Each object was requested once, unasked ones with the cookie that the page had set.
        let asked = site.0.borrow();
        assert_eq!(asked.len(), 1 + OBJECTS.len(), "{asked:?}");
        assert!(asked[1..].iter().all(|(_, cookie)| cookie == "seen=1"), "{asked:?}");
    }
}

#[test]
fn lost_packets_change_no_bytes() {
    for leg in LEGS {
        let bare = sky(leg, 1, "", Site::default()).run(load(at(SERVER, 80)));
        for seed in 1..6 {
            let split = sky(leg, seed, ",loss=1%", Site::default()).run(load(at("10.0.0.2", 80)));
            assert_eq!(split.bodies, bare.bodies);
        }
    }
}

/// Pushed answers are used for requests that they would have answered, and for no others.
#[test]
fn other_cookies_and_conditions_are_asked_for_themselves() {
    for leg in LEGS {
        let site = Site::default();
        let asked = sky(leg, 1, "", site.clone()).run(async move {
            let mut connection = connect(at("10.0.0.2", 80)).await;
            get(&mut connection, "/", "who=me").await;
            let mine = get(&mut connection, "/for-me", "who=you").await;
            let other = get(&mut connection, "/0.png", "who=you").await;
            (mine.body, other.status, site.0.borrow().clone())
        });
        assert_eq!((&asked.0[..], asked.1), (&b"who=you"[..], 200));
        let of_the_image: Vec<_> = asked.2.iter().filter(|(path, _)| path == "/0.png").collect();
        assert_eq!(of_the_image.len(), 2, "unasked, and asked for: {of_the_image:?}");
        assert_eq!(of_the_image[1].1, "who=you");
    }
}

#[test]
fn large_bodies_and_errors_pass_as_they_are() {
    for leg in LEGS {
        let (large, gone) = sky(leg, 1, "", Site::default()).run(async {
            let mut connection = connect(at("10.0.0.2", 80)).await;
            let gone = get(&mut connection, "/gone", "").await;
            (get(&mut connection, "/large", "").await, gone)
        });
        assert!(large.body == pattern(3_000_000));
        assert_eq!((gone.status, &gone.body[..]), (404, &b"no"[..]));
    }
}

/// RFC 9110 section 15.2: hints do not wait for the page.
#[test]
fn interim_responses_pass() {
    for leg in LEGS {
        let (hint, page) = sky(leg, 1, "", Site::default()).run(async {
            let connection = connect(at("10.0.0.2", 80)).await;
            let request = Request::get("http://site.example/hinted").body(()).unwrap();
            let mut hint = None;
            let mut inform = |head: http::Response<()>| hint = Some((head, world::now()));
            let answered = connection.exchange_informed(&request, None, &mut inform).await;
            let (head, ..) = answered.unwrap();
            assert_eq!(head.status(), 200);
            (hint.expect("an interim response"), world::now())
        });
        assert_eq!(
            (hint.0.status().as_u16(), &hint.0.headers()["link"]),
            (103, &"</style.css>".parse().unwrap())
        );
        assert!(page.since(hint.1) > Duration::from_secs(1), "{leg:?}");
    }
}

/// A POST is not trapped: the connection is split TCP from there on.
#[test]
fn uploads_pass_unread() {
    for leg in LEGS {
        let site = Site::default();
        let status = sky(leg, 1, "", site.clone()).run(async {
            let mut connection = connect(at("10.0.0.2", 80)).await;
            get(&mut connection, "/0.png", "").await;
            let body = Bytes::from(pattern(20_000));
            let request = Request::post("http://site.example/1.png").body(body).unwrap();
            let mut seen = Seen::default();
            connection.fetch(&request, Priority::Medium, &mut seen).await.unwrap();
            get(&mut connection, "/2.png", "").await;
            seen.status
        });
        assert_eq!((status, site.0.borrow().len()), (200, 3));
    }
}

/// A truncated answer must not look complete, and later clients are served.
#[test]
fn a_far_end_that_dies_in_the_middle_of_a_body_is_noticed() {
    for leg in LEGS {
        let sky = Sky::over(leg, 1, "").with_near_end(|_| {}).with_far_end(
            |remote, listener| async move {
                let ending = remote.ending().clone();
                drop(world::spawn(async move {
                    world::sleep(Duration::from_secs(12)).await;
                    ending.end();
                }));
                remote.serve(listener).await;
            },
        );
        let (broken, next) = with_site(sky, Site::default()).run(async {
            let mut connection = connect(at("10.0.0.2", 80)).await;
            let request = Request::get("http://site.example/large").body(Bytes::new()).unwrap();
            let mut seen = Seen::default();
            let broken = connection.fetch(&request, Priority::Medium, &mut seen).await;
            world::sleep(RTT).await;
            let mut connection = connect(at("10.0.0.2", 80)).await;
            ((broken.is_err(), seen.body.len()), get(&mut connection, "/0.png", "").await)
        });
        assert!(broken.0 && broken.1 > 0 && broken.1 < 3_000_000, "{broken:?}");
        assert_eq!((next.status, next.body), (200, pattern(3_000)));
    }
}
