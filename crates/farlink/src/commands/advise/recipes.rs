//! Lines of configuration that make a step of the advice true: for nginx, HAProxy, Caddy and Linux. Where a server has no such
//! setting, that is said.

use super::knobs::{CACHING, COMPRESSING, PROXY};

/// Where a line belongs, and the line.
pub type Recipe = (&'static str, &'static str);

/// The recipes of one step.
pub fn recipes(key: &str, value: &str) -> &'static [Recipe] {
    match (key, value) {
        ("stack.protocol", "h1") => &[
            ("nginx", "http2 off;"),
            ("haproxy", "bind :443 ssl crt site.pem alpn http/1.1"),
            ("caddy", "servers { protocols h1 }"),
        ],
        ("stack.protocol", "h2") => &[
            ("nginx", "listen 443 ssl; http2 on;"),
            ("haproxy", "bind :443 ssl crt site.pem alpn h2,http/1.1"),
            ("caddy", "servers { protocols h1 h2 }"),
        ],
        ("stack.protocol", _) => &[
            (
                "nginx",
                "listen 443 quic reuseport; listen 443 ssl; http2 on; http3 on; add_header Alt-Svc 'h3=\":443\"; ma=86400';",
            ),
            (
                "haproxy",
                "bind quic4@:443 ssl crt site.pem alpn h3; http-response set-header alt-svc 'h3=\":443\"; ma=86400'",
            ),
            ("caddy", "servers { protocols h1 h2 h3 }  (the default)"),
            ("dns", "site. HTTPS 1 . alpn=h3,h2  (the first request uses HTTP/3, too)"),
        ],
        ("transport.congestion", _) => &[
            ("sysctl", "net.core.default_qdisc = fq"),
            ("sysctl", "net.ipv4.tcp_congestion_control = bbr"),
        ],
        ("transport.initial_window_segments", "20") => {
            &[("route", "ip route change default via GATEWAY dev DEVICE initcwnd 20")]
        }
        ("transport.initial_window_segments", _) => {
            &[("route", "ip route change default via GATEWAY dev DEVICE initcwnd 40")]
        }
        ("transport.quic", "iw=32") => &[
            ("caddy", "its QUIC begins with 32 packets"),
            ("haproxy", "no setting"),
            ("nginx", "no setting"),
        ],
        ("transport.quic", _) => &[
            ("caddy", "its QUIC has HyStart and begins with 32 packets"),
            ("haproxy", "global: tune.quic.cc-hystart on  (the initial window has no setting)"),
            ("nginx", "no setting"),
        ],
        ("server.scheduler", _) => &[
            ("nginx", "no setting: the library's order"),
            ("haproxy", "no setting"),
            ("caddy", "no setting"),
            ("other", "h2o and Cloudflare follow RFC 9218's priorities"),
        ],
        ("stack.security", "resume=0rtt") => &[
            ("nginx", "ssl_early_data on; proxy_set_header Early-Data $ssl_early_data;"),
            ("haproxy", "bind :443 ssl crt site.pem alpn h2,http/1.1 allow-0rtt"),
            ("caddy", "no setting for TCP: HTTP/3 has early data"),
            ("site", "answer 425 to early requests that change something (RFC 8470)"),
        ],
        ("stack.security", _) => &[
            ("openssl", "openssl ecparam -name prime256v1 -genkey -noout -out site.key"),
            ("certbot", "certbot certonly --key-type ecdsa --elliptic-curve secp256r1 ..."),
        ],
        ("route", "pep") => &[
            ("near end", "farlink pep local --config pep-local.toml"),
            ("far end", "farlink pep remote --config pep-remote.toml"),
        ],
        ("route", PROXY) => &[("far end", "farlink proxy --listen 0.0.0.0:3128")],
        ("route", COMPRESSING) => &[("far end", "farlink proxy --listen 0.0.0.0:3128 --compress")],
        ("route", CACHING) => &[("far end", "farlink proxy --listen 0.0.0.0:3128 --cache 1GiB")],
        ("route", _) => {
            &[("far end", "farlink proxy --listen 0.0.0.0:3128 --cache 1GiB --compress")]
        }
        ("hints", _) => &[
            (
                "site",
                "Link: </NAME.css>; rel=preload; as=style on the document, one for each late object",
            ),
            ("html", "or <link rel=preload as=style href=/NAME.css> at the top of its head"),
        ],
        ("cache", _) => &[
            (
                "nginx",
                "location /static/ { add_header Cache-Control 'max-age=31536000, immutable'; }",
            ),
            ("haproxy", "http-request set-var(txn.path) path"),
            (
                "haproxy",
                "http-response set-header cache-control 'max-age=31536000, immutable' if { var(txn.path) -m beg /static/ }",
            ),
            ("caddy", "header /static/* Cache-Control \"max-age=31536000, immutable\""),
            ("site", "names with a version: /static/app.3f2a1c.js"),
        ],
        ("shards", _) => &[(
            "site",
            "serve images and scripts from further names of the same server, each object always from the same one",
        )],
        _ => &[(
            "site",
            "serve style sheets, scripts and images from the page's own host, or from names on its certificate and address",
        )],
    }
}
