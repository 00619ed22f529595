//! Running PAC files: their answers, and refusals.

use std::net::IpAddr;
use std::time::Duration;

use chance::RandomSource;
use farlink_pac::{Choice, Engine, PacEnvironment, PacError, PacScript};

fn surroundings(seed: u64) -> PacEnvironment {
    PacEnvironment {
        resolve: Box::new(|host| match host {
            "www.shop.test" => "10.1.0.1".parse().ok(),
            "six.shop.test" => "fd00::7".parse().ok(),
            _ => None,
        }),
        own: IpAddr::from([10, 0, 0, 1]),
        random: RandomSource::new(seed, 0).stream("test"),
        // 2026-01-01, a Thursday.
        now: Duration::from_secs(1_767_225_600),
    }
}

fn start(text: &str) -> Result<Engine, PacError> {
    Engine::start(&PacScript::new("dir/proxy.pac", text), surroundings(1))
}

/// The value of an expression, as a file sees it.
fn value(expression: &str) -> String {
    value_by(1, expression)
}

fn value_by(seed: u64, expression: &str) -> String {
    // An answer whose keyword is invalid is quoted in the error.
    let text = format!("function FindProxyForURL(url, host) {{ return '=' + ({expression}); }}");
    let engine = Engine::start(&PacScript::new("x", &text), surroundings(seed)).unwrap();
    let error = engine.find("http://www.shop.test/a?b", "www.shop.test").unwrap_err().to_string();
    let (_, shown) = error.split_once("`=").unwrap_or_else(|| panic!("{error}"));
    shown.split_once("` begins").unwrap().0.to_owned()
}

fn port(engine: &Engine, url: &str, host: &str) -> Option<u16> {
    match engine.find(url, host).unwrap() {
        Choice::Direct => None,
        Choice::Proxy(at) => Some(at.port),
    }
}

/// Values as in the functions' definition (Netscape, "Navigator Proxy Auto-Config File Format", March 1996), whose
/// examples come first for each.
#[test]
fn helpers_are_those_of_browsers() {
    for (expression, expected) in [
        ("isPlainHostName('www')", "true"),
        ("isPlainHostName('www.netscape.com')", "false"),
        ("isPlainHostName('::1')", "false"),
        ("dnsDomainIs('www.netscape.com', '.netscape.com')", "true"),
        ("dnsDomainIs('www', '.netscape.com')", "false"),
        ("dnsDomainIs('www.mcom.com', '.netscape.com')", "false"),
        ("localHostOrDomainIs('www.netscape.com', 'www.netscape.com')", "true"),
        ("localHostOrDomainIs('www', 'www.netscape.com')", "true"),
        ("localHostOrDomainIs('www.mcom.com', 'www.netscape.com')", "false"),
        ("localHostOrDomainIs('home.netscape.com', 'www.netscape.com')", "false"),
        ("isResolvable('www.shop.test')", "true"),
        ("isResolvable('nowhere.test')", "false"),
        ("dnsResolve('www.shop.test')", "10.1.0.1"),
        ("dnsResolve('nowhere.test')", "null"),
        ("dnsResolve('192.0.2.7')", "192.0.2.7"),
        ("myIpAddress()", "10.0.0.1"),
        ("dnsDomainLevels('www')", "0"),
        ("dnsDomainLevels('www.netscape.com')", "2"),
        ("convert_addr('104.16.41.2')", "1745889538"),
        ("convert_addr('192.168.0.1')", "-1062731775"),
        ("isInNet('198.95.249.79', '198.95.249.79', '255.255.255.255')", "true"),
        ("isInNet('198.95.6.8', '198.95.0.0', '255.255.0.0')", "true"),
        ("isInNet('198.96.6.8', '198.95.0.0', '255.255.0.0')", "false"),
        ("isInNet(host, '10.1.0.0', '255.255.0.0')", "true"),
        ("isInNet(host, '10.2.0.0', '255.255.0.0')", "false"),
        ("isInNet('nowhere.test', '0.0.0.0', '0.0.0.0')", "false"),
        ("isInNet('six.shop.test', '0.0.0.0', '0.0.0.0')", "false"),
        ("shExpMatch('http://home.netscape.com/people/ari/index.html', '*/ari/*')", "true"),
        ("shExpMatch('http://home.netscape.com/people/montulli/index.html', '*/ari/*')", "false"),
        ("shExpMatch('a.png', '*.p?g')", "true"),
        ("shExpMatch('a.pg', '*.p?g')", "false"),
        ("shExpMatch('axb', 'a.b')", "false"),
        ("shExpMatch('ab.ab.c', '*ab.c')", "true"),
        ("shExpMatch('', '*')", "true"),
        ("alert('seen')", "undefined"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn a_url_is_shown_as_chromium_shows_it() {
    assert_eq!(value("url + ' ' + host"), "http://www.shop.test/a?b www.shop.test");
    let text = "function FindProxyForURL(url) { return url == 'https://a.test/' ? 'PROXY p:1' : 'DIRECT'; }";
    let engine = start(text).unwrap();
    assert_eq!(port(&engine, "https://a.test/x?y", "a.test"), Some(1));
    assert_eq!(port(&engine, "http://a.test/x?y", "a.test"), None);
}

#[test]
fn turns_are_kept_from_call_to_call() {
    let text = "var n = 0;\nfunction FindProxyForURL() { return 'PROXY p:' + (8000 + n++ % 20); }";
    let engine = start(text).unwrap();
    let ports: Vec<_> = (0..45).map(|_| port(&engine, "http://a.test/", "a.test")).collect();
    let expected: Vec<_> = (0..45).map(|n| Some(8000 + n % 20)).collect();
    assert_eq!(ports, expected);
    let other = start(text).unwrap();
    assert_eq!(port(&other, "http://a.test/", "a.test"), Some(8000), "of another browser");
}

#[test]
fn chance_is_the_seeds_and_the_date_stands_still() {
    let drawn = |seed| value_by(seed, "[Math.random(), Math.random()]");
    let mut stream = RandomSource::new(1, 0).stream("test");
    assert_eq!(drawn(1), format!("{},{}", stream.unit(), stream.unit()));
    assert_ne!(drawn(1), drawn(2));
    for (expression, expected) in [
        ("Date.now()", "1767225600000"),
        ("new Date().getTime()", "1767225600000"),
        ("new Date().getHours()", "0"),
        ("new Date().getDay()", "4"),
        ("new Date().getFullYear()", "2026"),
        ("new Date(2026, 0, 2).getTime() - Date.now()", "86400000"),
        ("new Date() instanceof Date", "true"),
        ("new Date().getTimezoneOffset()", "0"),
        ("typeof Date()", "string"),
        ("typeof performance", "undefined"),
        ("typeof WeakRef", "undefined"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

fn refused(text: &str) -> String {
    let found = start(text).and_then(|engine| engine.find("http://a.test/", "a.test"));
    found.expect_err(text).to_string()
}

#[test]
fn errors_name_the_file_and_its_line() {
    for (text, says) in [
        ("\nfunction FindProxyForURL( {", "dir/proxy.pac, line 2: SyntaxError: "),
        ("\n\nnothing();", "dir/proxy.pac, line 3: ReferenceError: nothing is not defined"),
        (
            "function FindProxyForURL(url, host) {\n  return host.no.such;\n}",
            "dir/proxy.pac, line 2: TypeError: cannot read property 'such' of undefined",
        ),
        ("function FindProxyForURL() { throw 'up'; }", "it throws `up`"),
        ("var x = 1;", "has no function `FindProxyForURL`"),
        ("var FindProxyForURL = 1;", "has no function `FindProxyForURL`"),
        (
            "function FindProxyForURL() { return 7; }",
            "for http://a.test/: no string, but a value of type `int`",
        ),
        ("function FindProxyForURL() { return null; }", "of type `null`"),
        ("function FindProxyForURL() {}", "of type `undefined`"),
        (
            "function FindProxyForURL() { return 'SOCKS s:1'; }",
            "`SOCKS s:1` names a proxy of SOCKS",
        ),
        (
            "function FindProxyForURL() { return f(); }\nfunction f() { return f(); }",
            "line 2: RangeError: ",
        ),
        ("a\0b", "a zero byte"),
    ] {
        let error = refused(text);
        assert!(error.starts_with("the PAC file dir/proxy.pac") && error.contains(says), "{error}");
    }
}

#[test]
fn the_calendar_is_refused_by_name() {
    for call in ["weekdayRange('MON', 'FRI')", "dateRange('JAN', 'MAR')", "timeRange(9, 17)"] {
        let error =
            refused(&format!("function FindProxyForURL() {{\n return {call} ? 'DIRECT' : ''; }}"));
        let (name, _) = call.split_once('(').unwrap();
        assert!(error.contains(&format!("line 2: `{name}` asks for the calendar")), "{error}");
    }
    assert!(refused("var a = Date.parse('2026-01-01');").contains("a date as text"));
}

#[test]
fn no_file_works_for_ever_or_takes_all_memory() {
    for text in [
        "for (;;) {}",
        "function FindProxyForURL() { try { for (;;) {} } catch (e) {} finally { return 'DIRECT'; } }",
        "function FindProxyForURL() { /(x+x+)+y/.test('x'.repeat(40)); return 'DIRECT'; }",
    ] {
        let error = refused(text);
        assert!(error.contains("was still at work after 10000000 steps: it "), "{error}");
    }
    let error = refused("function FindProxyForURL() { var a = 'x'; for (;;) a += a + '!'; }");
    assert!(error.contains("16 MiB") || error.contains("string too long"), "{error}");
    let error = refused("var all = []; for (;;) all.push(new Array(1000).fill(1));");
    assert!(error.contains("uses more than 16 MiB: it is run for the first time"), "{error}");
}

/// After an error the file can be called again.
#[test]
fn steps_are_counted_by_the_call() {
    let text = "function FindProxyForURL(url, host) { if (host == 'slow') for (;;) {}\n\
                for (var i = 0; i < 1e6; i++) {} return 'PROXY p:1'; }";
    let engine = start(text).unwrap();
    assert!(engine.find("http://slow/", "slow").is_err());
    for _ in 0..12 {
        assert_eq!(port(&engine, "http://a.test/", "a.test"), Some(1));
    }
}

#[test]
fn files_are_read_as_browsers_read_them() {
    let folder = std::env::temp_dir().join(format!("farlink-pac-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.pac");
    let name = path.to_str().unwrap();
    std::fs::write(&path, b"\xef\xbb\xbf// ok").unwrap();
    assert_eq!(&*PacScript::open(name).unwrap().text, "// ok");
    std::fs::write(&path, b"// caf\xe9").unwrap();
    assert_eq!(&*PacScript::open(name).unwrap().text, "// caf\u{e9}");
    std::fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(matches!(PacScript::open(name), Err(PacError::TooLarge { .. })));
    std::fs::remove_dir_all(&folder).unwrap();
    let error = PacScript::open(name).unwrap_err().to_string();
    assert!(error.contains("x.pac cannot be read"), "{error}");
}
