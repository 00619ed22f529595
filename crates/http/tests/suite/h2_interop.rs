//! HTTP/2 and TLS against third-party clients and servers: Node.js, curl, nghttp. A tool that is not installed is skipped, visibly.

use crate::common;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

use common::any::{fetch, fetch_all, get, listen, open, post};
use common::{Echo, in_world};
use farlink_http::client::{Opening, Protocol};
use farlink_http::server::Acceptor;
use tls::{ChainKind, Identity, Security};

const ALL: [Security; 3] = [Security::None, Security::Tls12, Security::Tls13];

fn asset(name: &str) -> String {
    format!("{}/../tls/assets/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns true if `tool` is installed; reports it if it is not.
#[expect(
    clippy::explicit_write,
    reason = "the harness hides what `eprintln!` says in a test that passes"
)]
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        writeln!(std::io::stderr(), "skipped: `{tool}` is not installed").unwrap();
    }
    found
}

/// Runs a command while the world goes on; returns its output.
async fn run(mut command: Command) -> String {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(command.output()));
    loop {
        match told.try_recv() {
            Ok(output) => {
                let output = output.unwrap();
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

/// A server for browsers: RSA.
fn acceptor(security: Security) -> Acceptor {
    let tls = security.version().map(|version| {
        let protocols = [Protocol::H2, Protocol::H1];
        let settings = tls::Settings::default();
        tls::Server::new(&settings, version, Identity::Rsa2048, ChainKind::Whole, &protocols)
    });
    Acceptor { tls, ..Acceptor::new(Security::None) }
}

fn url(security: Security, address: SocketAddr) -> String {
    let scheme = if security == Security::None { "http" } else { "https" };
    format!("{scheme}://any.farlink.test:{}", address.port())
}

const NODE_CLIENT: &str = r#"
const http2 = require('http2'), fs = require('fs');
const [url, port, root] = process.argv.slice(1);
const session = http2.connect(url, {
    ca: fs.readFileSync(root),
    servername: 'any.farlink.test',
    lookup: (host, options, found) => options.all
        ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4),
    settings: { initialWindowSize: 200000 },
});
session.on('error', error => { console.error(error); process.exit(1); });
let left = 100, bytes = 0;
function finished() {
    if (--left > 0) return;
    const post = session.request({ ':method': 'POST', ':path': '/body' });
    let answer = '';
    post.setEncoding('utf8');
    post.on('data', piece => answer += piece);
    post.on('end', () => { console.log(bytes, answer); session.close(); });
    post.end(Buffer.alloc(1000000));
}
for (let i = 0; i < 100; i++) {
    const get = session.request({ ':path': (i % 2 ? '/later' : '') + '/100000' });
    get.on('data', piece => bytes += piece.length);
    get.on('end', finished);
}
"#;

#[test]
fn node_as_client() {
    if !has("node") {
        return;
    }
    for security in ALL {
        in_world(async move {
            let server = listen(Echo, acceptor(security));
            let mut node = Command::new("node");
            node.args(["-e", NODE_CLIENT, &url(security, server.address)]);
            node.args([&server.address.port().to_string(), &asset("rsa-root.pem")]);
            assert_eq!(run(node).await.trim(), "10000000 1000000", "{security}");
        });
    }
}

const NODE_SERVER: &str = r#"
const http2 = require('http2'), fs = require('fs');
const [security, chain, key] = process.argv.slice(1);
function answer(request, response) {
    let bytes = 0;
    request.on('data', piece => bytes += piece.length);
    request.on('end', () => {
        if (request.url === '/goaway') response.stream.session.goaway(0);
        if (request.url === '/reset') return response.stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
        if (request.url === '/body') return response.end(String(bytes));
        response.end(Buffer.alloc(Number(request.url.slice(1)) || 0));
    });
}
// The default of 10 MB is less than 150 responses of 100 KB: it would reset streams.
const settings = { maxSessionMemory: 100 };
const version = { tls12: 'TLSv1.2', tls13: 'TLSv1.3' }[security];
const server = version
    ? http2.createSecureServer({ ...settings, key: fs.readFileSync(key), cert: fs.readFileSync(chain),
        minVersion: version, maxVersion: version }, answer)
    : http2.createServer(settings, answer);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"#;

/// A server process, ended when dropped.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn node_server(security: Security) -> (Node, SocketAddr) {
    let mut node = Command::new("node")
        .args(["-e", NODE_SERVER, security.name()])
        .args([asset("ed25519-chain.pem"), asset("ed25519-key.pem")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(node.stdout.take().unwrap()).read_line(&mut port).unwrap();
    (Node(node), format!("127.0.0.1:{}", port.trim()).parse().unwrap())
}

#[test]
fn node_as_server() {
    if !has("node") {
        return;
    }
    for security in ALL {
        let (_node, address) = node_server(security);
        in_world(async move {
            let opening = Opening::new(address, "any.farlink.test", security, Protocol::H2);
            let mut connection = open(opening).await;
            let requests = (0..150).map(|_| get("/100000")).collect();
            for seen in fetch_all(&connection, requests).await {
                assert_eq!(seen.unwrap().body.len(), 100_000, "{security}");
            }
            let seen = fetch(&mut connection, &post("/body", vec![1; 500_000])).await.unwrap();
            assert_eq!((seen.body.as_slice(), seen.sent_body), (&b"500000"[..], 500_000));
            let failed = fetch(&mut connection, &get("/reset")).await;
            assert!(matches!(failed, Err(farlink_http::RequestError::Refused(_))), "{failed:?}");
            assert_eq!(fetch(&mut connection, &get("/goaway")).await.unwrap().status, 200);
            while connection.is_reusable() {
                world::sleep(Duration::from_millis(1)).await;
            }
        });
    }
}

#[test]
fn curl_as_client() {
    if !has("curl") {
        return;
    }
    let cases = [
        (Security::None, "--http2-prior-knowledge", "2"),
        (Security::None, "--http1.1", "1.1"),
        (Security::Tls12, "--http2", "2"),
        (Security::Tls13, "--http2", "2"),
        (Security::Tls13, "--http1.1", "1.1"),
    ];
    for (security, option, version) in cases {
        in_world(async move {
            let server = listen(Echo, acceptor(security));
            let mut curl = Command::new("curl");
            curl.args(["-sS", option, "--cacert", &asset("rsa-root.pem")]);
            curl.args(["--noproxy", "*", "--resolve"]);
            curl.arg(format!("any.farlink.test:{}:127.0.0.1", server.address.port()));
            curl.args(["-w", "%{http_version} %{size_download}\n", "-o", "/dev/null"]);
            curl.arg(url(security, server.address) + "/3000000");
            assert_eq!(run(curl).await.trim(), format!("{version} 3000000"), "{security}");
        });
    }
}

#[test]
fn nghttp_as_client() {
    if !has("nghttp") {
        return;
    }
    for security in ALL {
        in_world(async move {
            let server = listen(Echo, acceptor(security));
            let scheme = if security == Security::None { "http" } else { "https" };
            let mut nghttp = Command::new("nghttp");
            // It first opens its dependency tree of PRIORITY frames, and pads.
            nghttp.args(["-nsy", "-m", "50", "-w", "18", "-W", "20", "--padding=16"]);
            nghttp.arg(format!("{scheme}://{}/later/200000", server.address));
            let table = run(nghttp).await;
            let rows = table.lines().filter(|line| line.contains("/later/200000"));
            let good = rows.filter(|row| row.contains(" 200 ") && row.contains("195K"));
            assert_eq!(good.count(), 50, "{security}:\n{table}");
        });
    }
}

#[test]
fn a_chain_verifies_with_openssl() {
    if !has("openssl") {
        return;
    }
    for name in ["rsa", "ed25519"] {
        let chain = asset(&format!("{name}-chain.pem"));
        let mut openssl = Command::new("openssl");
        openssl.args(["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname"]);
        openssl.args(["www.farlink.test", "-CAfile", &asset(&format!("{name}-root.pem"))]);
        let output = openssl.args(["-untrusted", &chain, &chain]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(Identity::Rsa2048.root_pem().unwrap().contains("BEGIN CERTIFICATE"));
}
