//! SPDY against a third-party client and server: npm `spdy` on Node.js, which `scripts/spdy/check.sh` installs. Where
//! it is not installed the tests are skipped, visibly.

use crate::common;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

use common::any::{fetch, fetch_all, get, listen, open, post};
use common::{Echo, in_world};
use farlink_http::client::{Opening, Protocol};
use farlink_http::server::Acceptor;
use farlink_http::spdy::{PushedHead, Version};
use farlink_http::{Answer, Handler, Priority, Push, PushFilter, RequestHead};
use tls::{Identity, Security};

const MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/spdy/node_modules");
const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tls/assets");

/// In clear text only 3.1: the server detects it by a WINDOW_UPDATE, the client is told.
const CASES: [(Security, Version); 4] = [
    (Security::None, Version::V31),
    (Security::Tls13, Version::V31),
    (Security::Tls13, Version::V3),
    (Security::Tls12, Version::V2),
];

/// Number of body bytes that get through. npm's `spdy` applies windows of 64 KB to the streams of version 2, which has
/// none and so never updates them.
fn most(version: Version, bytes: usize) -> usize {
    if version == Version::V2 { bytes.min(60_000) } else { bytes }
}

/// Returns true if npm's `spdy` is installed; reports it if it is not.
#[expect(
    clippy::explicit_write,
    reason = "the harness hides what `eprintln!` says in a test that passes"
)]
fn has_peer() -> bool {
    let found = Path::new(MODULES).join("spdy").exists();
    if !found {
        let text = "skipped: npm's `spdy` is not installed (scripts/spdy/check.sh installs it)";
        writeln!(std::io::stderr(), "{text}").unwrap();
    }
    found
}

fn node(script: &str, arguments: &[&str]) -> Command {
    let mut node = Command::new("node");
    node.env("NODE_PATH", MODULES).args(["--no-deprecation", "-e", script]).args(arguments);
    node
}

/// A process that is ended when dropped.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const SERVER: &str = r#"
const spdy = require('spdy'), fs = require('fs');
const [security, protocol, assets] = process.argv.slice(1);
const plain = security === 'none';
const options = { spdy: { plain, ssl: !plain, protocols: [protocol], connection: { autoSpdy31: plain } } };
if (!plain) {
    options.key = fs.readFileSync(assets + '/rsa-key.pem');
    options.cert = fs.readFileSync(assets + '/rsa-chain.pem');
    options.maxVersion = options.minVersion = { tls12: 'TLSv1.2', tls13: 'TLSv1.3' }[security];
}
spdy.createServer(options, (request, response) => {
    let bytes = 0;
    request.on('data', piece => bytes += piece.length);
    request.on('end', () => {
        if (request.url === '/body') return response.end(String(bytes));
        if (request.url === '/version') return response.end(String(request.spdyVersion));
        if (request.url === '/headers') return response.end(String(request.headers['x-long'].length));
        if (request.url === '/push') {
            const pushed = response.push('/pushed', { response: { 'content-type': 'text/plain' } });
            pushed.on('error', () => {});
            pushed.end('pushed');
        }
        response.writeHead(200, { 'x-long': 'y'.repeat(5000) });
        response.end(Buffer.alloc(Number(request.url.slice(1)) || 0));
    });
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
"#;

fn node_server(security: Security, version: Version) -> (Node, SocketAddr) {
    let mut node = node(SERVER, &[security.name(), version.name(), ASSETS])
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let mut port = String::new();
    BufReader::new(node.stdout.take().unwrap()).read_line(&mut port).unwrap();
    (Node(node), format!("127.0.0.1:{}", port.trim()).parse().unwrap())
}

#[test]
fn node_as_server() {
    if !has_peer() {
        return;
    }
    for (security, version) in CASES {
        let (_node, address) = node_server(security, version);
        in_world(async move {
            let protocol = Protocol::Spdy(version);
            let opening = Opening::new(address, "any.farlink.test", security, protocol);
            let mut connection = open(opening).await;
            // Its limit is 100 streams; the other half waits here.
            let size = most(version, 100_000);
            let requests = (0..200).map(|_| get(&format!("/{size}"))).collect();
            for seen in fetch_all(&connection, requests).await {
                let seen = seen.unwrap();
                assert_eq!((seen.status, seen.body.len()), (200, size), "{security} {version}");
            }
            let seen = fetch(&mut connection, &get("/version")).await.unwrap();
            let number = version.name().trim_start_matches("spdy/");
            assert_eq!(String::from_utf8_lossy(&seen.body), number, "{security}");
            let size = most(version, 500_000);
            let seen = fetch(&mut connection, &post("/body", vec![1; size])).await.unwrap();
            let body = String::from_utf8_lossy(&seen.body).into_owned();
            assert_eq!((body, seen.sent_body), (size.to_string(), size as u64));
            let mut large = get("/headers");
            large.headers_mut().insert("x-long", "z".repeat(8_000).parse().unwrap());
            assert_eq!(fetch(&mut connection, &large).await.unwrap().body, b"8000");
            // A push is refused without side effects.
            let seen = fetch(&mut connection, &get("/push")).await.unwrap();
            assert_eq!(seen.status, 200);
            assert_eq!(fetch(&mut connection, &get("/9")).await.unwrap().body.len(), 9);
            // A client that accepts pushes need not request them.
            let opening = Opening::new(address, "any.farlink.test", security, protocol);
            let wanted = Some(PushFilter::new(|_| true));
            let mut connection = open(Opening { wanted, ..opening }).await;
            assert_eq!(fetch(&mut connection, &get("/push")).await.unwrap().status, 200);
            let seen = fetch(&mut connection, &get("/pushed")).await.unwrap();
            assert_eq!((seen.status, seen.body.as_slice()), (200, &b"pushed"[..]), "{version}");
            assert!(seen.sent_head == 0 && seen.head_bytes > 0, "{version}");
        });
    }
}

const CLIENT: &str = r#"
const spdy = require('spdy'), fs = require('fs');
const [security, protocol, port, assets, down, up] = process.argv.slice(1);
const plain = security === 'none';
const http = require(plain ? 'http' : 'https');
const agent = spdy.createAgent({
    host: '127.0.0.1', port: Number(port), servername: 'any.farlink.test',
    ca: plain ? undefined : fs.readFileSync(assets + '/rsa-root.pem'),
    spdy: { plain, ssl: !plain, protocol, protocols: [protocol] },
}).on('error', error => { console.error(error); process.exit(1); });
let left = 100, bytes = 0;
function ask(options, body, whole) {
    const request = http.request({ agent, host: 'any.farlink.test', ...options }, response => {
        let text = [];
        response.on('data', piece => text.push(piece));
        response.on('end', () => whole(Buffer.concat(text)));
    });
    request.end(body);
}
for (let i = 0; i < 100; i++)
    ask({ path: (i % 2 ? '/later' : '') + '/' + down }, undefined, body => {
        bytes += body.length;
        if (--left > 0) return;
        // Over TLS its agent on Node.js 20 never sends the end of a request's body.
        if (!plain) { console.log(bytes, 0); process.exit(0); }
        ask({ path: '/body', method: 'POST' }, Buffer.alloc(Number(up)), body => {
            console.log(bytes, String(body));
            process.exit(0);
        });
    });
"#;

/// Runs a command while the world goes on; returns its output.
async fn run(mut command: Command) -> String {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(command.output()));
    loop {
        match told.try_recv() {
            Ok(output) => {
                let output = output.expect("the command runs");
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                assert!(output.status.success(), "{}: {out}\n{err}", output.status);
                return out;
            }
            Err(TryRecvError::Empty) => world::sleep(Duration::from_millis(5)).await,
            Err(TryRecvError::Disconnected) => panic!("the thread that runs the command died"),
        }
    }
}

#[test]
fn node_as_client() {
    if !has_peer() {
        return;
    }
    for (security, version) in CASES {
        in_world(async move {
            let settings =
                tls::Settings { identity: Identity::Rsa2048, ..tls::Settings::default() };
            let acceptor = Acceptor::with_tls(security, &settings);
            let acceptor = Acceptor { spdy_in_clear: Some(version), ..acceptor };
            let server = listen(Echo, acceptor);
            let port = server.address.port().to_string();
            let down = most(version, 100_000);
            let up = if security == Security::None { 1_000_000 } else { 0 };
            let sizes = [down, up].map(|size| size.to_string());
            let [down_text, up_text] = sizes.each_ref().map(String::as_str);
            let arguments = [security.name(), version.name(), &port, ASSETS, down_text, up_text];
            let answer = run(node(CLIENT, &arguments)).await;
            assert_eq!(answer.trim(), format!("{} {up}", 100 * down), "{security} {version}");
        });
    }
}

const TAKER: &str = r#"
const spdy = require('spdy'), fs = require('fs');
const [security, protocol, port, assets] = process.argv.slice(1);
const plain = security === 'none';
const agent = spdy.createAgent({
    host: '127.0.0.1', port: Number(port), servername: 'any.farlink.test',
    ca: plain ? undefined : fs.readFileSync(assets + '/rsa-root.pem'),
    spdy: { plain, ssl: !plain, protocol, protocols: [protocol] },
}).on('error', error => { console.error(error); process.exit(1); });
const seen = [];
function whole(name, stream, status) {
    let bytes = 0;
    stream.on('data', piece => bytes += piece.length);
    stream.on('end', () => {
        seen.push([name.replace(/^https?:..[^/]*/, ''), status(), bytes].join(' '));
        if (seen.length < 3) return;
        console.log(seen.sort().join(', '));
        process.exit(0);
    });
}
const request = require(plain ? 'http' : 'https').request(
    { agent, host: 'any.farlink.test', path: '/1000' },
    response => whole('/1000', response, () => response.statusCode));
request.on('push', push => {
    let status;
    push.on('response', code => status = code);
    whole(push.path, push, () => status);
});
request.end();
"#;

/// Pushes with `/1000`.
struct Pushing;

impl Handler for Pushing {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        Echo.handle(request)
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        let push = |path: &str| Push { path: path.to_owned(), priority: Priority::High };
        if request.target == "/1000" { ["/a/20000", "/b/0"].map(push).into() } else { Vec::new() }
    }
}

#[test]
fn node_takes_our_pushes() {
    if !has_peer() {
        return;
    }
    for (security, version) in CASES {
        in_world(async move {
            let settings =
                tls::Settings { identity: Identity::Rsa2048, ..tls::Settings::default() };
            let acceptor = Acceptor::with_tls(security, &settings);
            let mut acceptor = Acceptor { spdy_in_clear: Some(version), ..acceptor };
            acceptor.spdy.pushed_head = PushedHead::Joined;
            let server = listen(Pushing, acceptor);
            let port = server.address.port().to_string();
            let arguments = [security.name(), version.name(), &port, ASSETS];
            let seen = run(node(TAKER, &arguments)).await;
            assert_eq!(
                seen.trim(),
                "/1000 200 1000, /a/20000 200 20000, /b/0 200 0",
                "{security} {version}"
            );
        });
    }
}
