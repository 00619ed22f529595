//! Invalid configurations: each is rejected with its position and advice.

use crate::common::Desk;

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let desk = Desk::new();
    desk.put("users", "anna:secret\n");
    desk.put("empty", "");
    desk.put("proxy.toml", text);
    let told = desk.farlink("proxy --check proxy.toml").refused(parts);
    assert!(told.contains("proxy.toml") || told.contains("users:1"), "{told}");
    // The same is refused at start.
    assert_eq!(desk.farlink("proxy --config proxy.toml").refused(parts), told);
}

#[test]
fn each_mistake_is_refused_with_its_place_and_a_remedy() {
    refused(
        "wokers = 1\n",
        &["proxy.toml:1:1", "unknown field `wokers`", "did you mean `workers`?"],
    );
    refused(
        "[[listen]]\naddres = \"127.0.0.1:1\"\n",
        &["proxy.toml:2:1", "did you mean `address`?"],
    );
    refused(
        "[[listen]]\naddress = \"here\"\n",
        &["proxy.toml:2:11", "`here` is not an address to listen on", "127.0.0.1:3128"],
    );
    refused("[[listen]]\naddress = 3128\n", &["proxy.toml:2:11", "expected", "string"]);
    refused(
        "[[listen]]\naddress = \"0.0.0.0:3128\"\n",
        &["proxy.toml:2:11", "would serve anybody", "clients.networks", "clients.users"],
    );
    refused(
        "[clients]\nnetworks = [\"10.0.0.1/8\"]\n",
        &["proxy.toml:2:12", "did you mean 10.0.0.0/8 or 10.0.0.1?"],
    );
    refused("[clients]\nusers = \"nobody\"\n", &["proxy.toml:2:9", "nobody cannot be read"]);
    refused("[clients]\nusers = \"users\"\n", &["users:1:1", "--hash-password"]);
    refused("[forward]\nports = [70000]\n", &["proxy.toml:2:10", "not a port"]);
    refused("[forward]\nenabled = false\n", &["would do nothing", "[[reverse]]"]);
    refused(
        "[forward]\ntell = \"all\"\n",
        &["proxy.toml:2:8", "unknown variant `all`", "x-forwarded"],
    );
    refused("[[reverse]]\norigins = [\"a.test:80\"]\n", &["proxy.toml:2:11", "http://HOST:PORT"]);
    refused(
        "[[reverse]]\norigins = [\"http://a.test\"]\npaths = [\"api\"]\n",
        &["proxy.toml:3:10", "`api` does not begin with a slash", "/api"],
    );
    refused(
        "[[listen]]\naddress = \"127.0.0.1:0\"\ntls = []\n",
        &["proxy.toml:3:7", "chain.pem", "or an array"],
    );
    refused(
        "[[listen]]\naddress = \"127.0.0.1:0\"\ntls = [{ certificate = \"empty\", key = \"empty\" }]\n",
        &["proxy.toml:3:24", "no private key found"],
    );
    for (rule, parts) in [
        ("hours = \"8-17\"", &["proxy.toml:3:9", "`8-17` is no span of hours", "08:00-17:30"][..]),
        ("days = [\"monday\"]", &["proxy.toml:3:9", "`monday` is not a day"]),
        (
            "hours = \"08:00-17:00\"\ntimezone = \"Berlin\"",
            &["proxy.toml:4:12", "is not a time zone"],
        ),
        ("timezone = \"UTC\"", &["proxy.toml:3:12", "is of no use"]),
        ("methods = [\"GE T\"]", &["proxy.toml:3:12", "`GE T` is not a method"]),
    ] {
        refused(&format!("[[rule]]\naction = \"deny\"\n{rule}\n"), parts);
    }
    refused(
        "[[header]]\nresponse = { set = { \"Content-Length\" = \"1\" } }\n",
        &["proxy.toml:2:20", "`Content-Length` is the proxy's own"],
    );
    refused("[[header]]\nstatuses = [200, 103]\n", &["proxy.toml:2:18", "103", "statuses = [200"]);
    refused(
        "[[header]]\nrequest = { remove = [\"Host\"] }\n",
        &["proxy.toml:2:22", "`host` is the proxy's own"],
    );
    refused("[[reverse]]\norigins = []\n", &["proxy.toml:2:11", "no origin is named"]);
    refused(
        "[compression]\ncodings = [\"br\", \"deflate\"]\n",
        &["proxy.toml:2:18", "`deflate` is not a coding", "\"zstd\""],
    );
    refused("[compression]\ncodings = []\n", &["proxy.toml:2:11", "no codings"]);
    refused(
        "[compression]\ntypes = [\"html\"]\n",
        &["proxy.toml:2:10", "`html` is not a media type", "text/*"],
    );
    refused("[upstream]\nidle_timeout = \"10\"\n", &["proxy.toml:2:16", "no unit", "100ms"]);
    refused(
        "[upstream]\nconnections = 3\nconnections_per_origin = 64\n",
        &["proxy.toml:2:15", "fewer than 64", "connections = 64"],
    );
    refused(
        "[upstream]\nclient_share = 0\n",
        &["proxy.toml:2:16", "between 1 and 100 percent", "client_share = 75"],
    );
    let check = "[[reverse]]\norigins = [\"http://a.test\"]\ncheck = ";
    refused(&format!("{check}{{ path = \"health\" }}\n"), &["proxy.toml:3:18", "with a slash"]);
    refused(&format!("{check}{{ path = \"/\", rise = 0 }}\n"), &["proxy.toml:3:30", "nonzero"]);
    refused(
        "[upstream]\nparent = \"http://a.test\"\nparents = [\"http://b.test\"]\n",
        &["proxy.toml:2:10", "both `parent` and `parents` are set", "move it into `parents`"],
    );
    refused(
        "[upstream]\nparent = \"https://a.test:3129\"\n",
        &["proxy.toml:2:10", "in clear text", "http://HOST:PORT"],
    );
    refused("[upstream]\nparent = \"a.test:3128\"\n", &["proxy.toml:2:10", "http://HOST:PORT"]);
    refused("[cache]\nmemory = \"1KiB\"\n", &["proxy.toml:2:10", "holds nothing"]);
    refused("[cache]\nobject = \"1KiB\"\n", &["missing field `memory`"]);
    for address in ["0.0.0.0:9090", "192.0.2.1:9090", "[::]:9090"] {
        refused(
            &format!("[admin]\naddress = \"{address}\"\n"),
            &["proxy.toml:2:11", "needs a password", "127.0.0.1", "admin.users"],
        );
    }
    refused("[pac]\npath = \"pac\"\n", &["proxy.toml:2:8", "path = \"/pac\""]);
    refused("[pac]\nproxies = [\"a:1\"]\n", &["proxy.toml:2:12", "PROXY HOST:PORT"]);
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1\"\ntls = { certificate = \"empty\", key = \"empty\" }\n",
        &["proxy.toml:3:23", "no private key", "PEM"],
    );
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1\"\nprotocols = [\"h2\"]\n",
        &["proxy.toml:3:13", "add `tls`"],
    );
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1-9\"\n[[listen]]\naddress = \"127.0.0.1:9\"\n",
        &["proxy.toml:4:11", "twice"],
    );
    refused("[log\n", &["proxy.toml:1"]);
}

#[test]
fn mistakes_about_socks_are_refused_alike() {
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1\"\nsocks = \"yes\"\n",
        &["proxy.toml:3:9", "expected", "boolean"],
    );
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1\"\nsocks = true\n[[reverse]]\norigins = [\"http://a.test\"]\n",
        &["proxy.toml:3:9", "no forward proxy", "forward.enabled = true"],
    );
    let desk = Desk::new();
    crate::others::certificate(&desk);
    let tls = "tls = { certificate = \"chain.pem\", key = \"key.pem\" }";
    desk.put("proxy.toml", format!("[[listen]]\naddress = \"127.0.0.1:1\"\n{tls}\nsocks = true\n"));
    let parts = ["proxy.toml:4:9", "this port speaks TLS", "without `tls`"];
    desk.farlink("proxy --check proxy.toml").refused(&parts);
    desk.put("proxy.toml", "[[listen]]\naddress = \"127.0.0.1:1\"\nsocks = true\n");
    let told = desk.farlink("proxy --check proxy.toml").ok();
    assert!(told.contains("in clear text, by HTTP and SOCKS\n"), "{told}");
}

#[test]
fn mistakes_about_http3_are_refused_alike() {
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1\"\nhttp3 = true\n",
        &["proxy.toml:3:9", "this port is in clear text", "add tls ="],
    );
    refused(
        "[http3]\nstreams = 10\n",
        &["proxy.toml:1:1", "no port speaks HTTP/3", "http3 = true"],
    );
    refused("[http3]\nstreams = 0\n", &["proxy.toml:2:11", "nonzero"]);
    refused("[http3]\nalt_svc = \"0s\"\n", &["proxy.toml:2:11", "less than a second", "\"off\""]);
    refused("[http3]\nalt-svc = \"1h\"\n", &["proxy.toml:2:1", "did you mean `alt_svc`?"]);
    refused(
        "[[listen]]\naddress = \"127.0.0.1:1\"\nhttp3 = \"yes\"\n",
        &["proxy.toml:3:9", "boolean"],
    );
    let desk = Desk::new();
    crate::others::certificate(&desk);
    let port = crate::others::OVER_TLS.replace(":0", ":8443");
    desk.put("proxy.toml", format!("{port}http3 = true\n"));
    let told = desk.farlink("proxy --check proxy.toml").ok();
    assert!(told.contains("listens on 127.0.0.1:8443 over TLS and HTTP/3\n"), "{told}");
}

/// Memory is divided into parts of at least 8 MiB, and an object lies in one of them.
#[test]
fn a_limit_that_no_object_reaches_is_warned_of() {
    let desk = Desk::new();
    for (object, is_told) in [("9MiB", true), ("8MiB", false)] {
        desk.put("proxy.toml", format!("[cache]\nmemory = \"16MiB\"\nobject = \"{object}\"\n"));
        let ran = desk.farlink("proxy --check proxy.toml");
        let warnings = ran.err.clone();
        assert!(ran.ok().starts_with("proxy.toml: configuration is valid\n"));
        let part = "more than 8388608 bytes are never stored, although cache.object is 9437184";
        assert_eq!(warnings.contains(part), is_told, "{object}: {warnings}");
        assert_eq!(warnings.is_empty(), !is_told, "{warnings}");
    }
}

#[test]
fn a_right_one_is_described() {
    let desk = Desk::new();
    desk.put("proxy.toml", "[[listen]]\naddress = \"127.0.0.1:8001-8002\"\n");
    let told = desk.farlink("proxy --check proxy.toml").ok();
    let expected = "proxy.toml: configuration is valid\nlistens on 127.0.0.1:8001 in clear text\nlistens on 127.0.0.1:8002 in clear text\n\
                    forward proxy: ports 80, 443, 8000, 8080, 8443, 8888; tunnels to 443\n";
    assert_eq!(told, expected);
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/proxy.toml");
    desk.run(&["proxy", "--check", shipped]).ok();
}

#[test]
fn arguments_are_refused_alike() {
    let desk = Desk::new();
    desk.farlink("proxy --listen 0.0.0.0:3128").refused(&["the arguments", "--allow"]);
    desk.farlink("proxy --reverse a=b").refused(&["--reverse a=b", "http://HOST:PORT"]);
    desk.farlink("proxy --config missing.toml").refused(&["missing.toml", "cannot be read"]);
}
