//! Proxy auto-configuration: the file by which browsers choose a proxy for each URL.
//!
//! A PAC file is JavaScript with one function, `FindProxyForURL(url, host)` (Netscape, 1996; browsers agree on no more than that). The file built
//! here chooses by host and by type, which a URL shows by its extension only, and spreads requests over several proxies: in turn, as the studies with
//! 20 ports did, or by a hash of the URL, which keeps an object at one proxy. Browsers may run the file in several threads at once, each with a turn
//! of its own.

use serde::{Deserialize, Serialize};

/// Settings of a PAC file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pac {
    /// Hosts for direct connections. A name that begins with a dot means all names below it.
    pub direct_hosts: Vec<String>,
    /// True to connect directly to names without a dot.
    pub direct_plain_names: bool,
    /// Proxies by host and type; the first matching rule counts.
    pub rules: Vec<PacRule>,
    /// Proxies if no rule matches.
    pub proxies: Vec<String>,
    /// Choice among several proxies.
    pub spread: ProxySpread,
    /// True to connect directly if no proxy answers.
    pub direct_fallback: bool,
}

/// Proxies for some URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacRule {
    /// Hosts, as in [`Pac::direct_hosts`]; empty for any.
    pub hosts: Vec<String>,
    /// Extensions of paths, without the dot; empty for any.
    pub types: Vec<String>,
    /// The proxies in PAC syntax: `PROXY host:port`, `HTTPS host:port`.
    pub proxies: Vec<String>,
}

/// Choice among several proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProxySpread {
    /// Each request uses the next.
    #[default]
    InTurn,
    /// The same URL always uses the same.
    ByUrl,
}

/// The media type of PAC files.
pub const MEDIA_TYPE: &str = "application/x-ns-proxy-autoconfig";

/// The constant part of the file.
const FUNCTIONS: &str = include_str!("../assets/find_proxy.js");

impl Pac {
    /// The text of the file. If no proxies are configured, `own` is used: the proxy that serves the file.
    pub fn text(&self, own: &str) -> String {
        let usual = match self.proxies.is_empty() {
            true => vec![own.to_owned()],
            false => self.proxies.clone(),
        };
        let mut rules: Vec<PacRule> = self.rules.clone();
        rules.push(PacRule { proxies: usual.clone(), ..PacRule::default() });
        for rule in &mut rules {
            rule.hosts
                .iter_mut()
                .chain(&mut rule.types)
                .for_each(|text| text.make_ascii_lowercase());
            if rule.proxies.is_empty() {
                rule.proxies.clone_from(&usual);
            }
        }
        let direct_hosts: Vec<String> =
            self.direct_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        format!(
            "// Which proxy a browser asks for a URL.\n\
             var directHosts = {};\nvar directPlainNames = {};\nvar byUrl = {};\nvar fallback = {};\nvar rules = {};\n{FUNCTIONS}",
            json(&direct_hosts),
            self.direct_plain_names,
            self.spread == ProxySpread::ByUrl,
            self.direct_fallback,
            json(&rules),
        )
    }
}

/// JSON is valid JavaScript, whatever the strings contain.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and lists serialise")
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    fn pac() -> Pac {
        Pac {
            direct_hosts: vec![".intra.test".to_owned()],
            direct_plain_names: true,
            rules: vec![PacRule {
                hosts: vec![".img.test".to_owned()],
                types: vec!["PNG".to_owned()],
                proxies: vec!["PROXY p:1".to_owned(), "PROXY p:2".to_owned()],
            }],
            ..Pac::default()
        }
    }

    #[test]
    fn what_is_not_said_means_the_proxy_itself() {
        let text = Pac::default().text("PROXY a.test:3128");
        assert!(
            text.contains(r#"[{"hosts":[],"types":[],"proxies":["PROXY a.test:3128"]}]"#),
            "{text}"
        );
    }

    #[test]
    fn quotes_in_names_end_no_string() {
        let pac = Pac { direct_hosts: vec!["\"];alert(1)//".to_owned()], ..Pac::default() };
        assert!(pac.text("PROXY a:1").contains(r#"["\"];alert(1)//"]"#));
    }

    /// Node.js's result for the file; `None` if Node.js is missing.
    fn evaluated(pac: &Pac, calls: &str) -> Option<String> {
        let script = format!("{}\nconsole.log([{calls}].join('|'));", pac.text("PROXY own:3128"));
        match Command::new("node").arg("-e").arg(script).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
            }
            Err(_) => {
                println!("skipped: no Node.js to run the file");
                None
            }
        }
    }

    #[test]
    fn a_script_engine_chooses_as_the_rules_say() {
        let find = |url, host| format!("FindProxyForURL('{url}','{host}')");
        let calls = [
            find("http://a.img.test/x.png?y", "a.IMG.test"),
            find("http://a.img.test/z.png", "a.img.test"),
            find("http://a.img.test/x.js", "a.img.test"),
            find("http://www.intra.test/", "www.intra.test"),
            find("http://printer/", "printer"),
            find("http://xintra.test/", "xintra.test"),
        ];
        if let Some(chosen) = evaluated(&pac(), &calls.join(",")) {
            let expected = "PROXY p:1; PROXY p:2|PROXY p:2; PROXY p:1|PROXY own:3128|DIRECT|DIRECT|PROXY own:3128";
            assert_eq!(chosen, expected);
        }
    }

    /// Result of farlink's own engine for the file: the first entry of each answer.
    fn chosen(pac: &Pac, asked: &[(&str, &str)]) -> Vec<String> {
        let surroundings = ::pac::PacEnvironment {
            resolve: Box::new(|_| None),
            own: [10, 0, 0, 1].into(),
            random: chance::RandomSource::new(1, 0).stream("test"),
            now: Duration::ZERO,
        };
        let script = ::pac::PacScript::new("proxy.pac", &pac.text("PROXY own:3128"));
        let engine = ::pac::Engine::start(&script, surroundings).unwrap();
        let chosen = asked.iter().map(|(url, host)| match engine.find(url, host).unwrap() {
            ::pac::Choice::Direct => "DIRECT".to_owned(),
            ::pac::Choice::Proxy(at) => format!("{} {}:{}", at.word, at.host, at.port),
        });
        chosen.collect()
    }

    /// Two engines, one file: rules by host and type, turns over ports, a hash of the URL.
    #[test]
    fn farlinks_engine_chooses_as_node_does() {
        let asked = [
            ("http://a.img.test/x.png?y", "a.IMG.test"),
            ("http://a.img.test/z.png", "a.img.test"),
            ("http://a.img.test/x.js", "a.img.test"),
            ("http://www.intra.test/", "www.intra.test"),
            ("http://printer/", "printer"),
            ("http://xintra.test/", "xintra.test"),
        ];
        let by_rules =
            ["PROXY p:1", "PROXY p:2", "PROXY own:3128", "DIRECT", "DIRECT", "PROXY own:3128"];
        assert_eq!(chosen(&pac(), &asked), by_rules);
        let proxies: Vec<String> = (0..4).map(|i| format!("PROXY p:{}", 8000 + i)).collect();
        let spread = |spread| Pac { proxies: proxies.clone(), spread, ..pac() };
        for pac in [pac(), spread(ProxySpread::InTurn), spread(ProxySpread::ByUrl)] {
            let calls = asked
                .map(|(url, host)| format!("FindProxyForURL('{url}', '{host}').split(';')[0]"));
            if let Some(others) = evaluated(&pac, &calls.join(",")) {
                assert_eq!(chosen(&pac, &asked).join("|"), others);
            }
        }
    }

    #[test]
    fn twenty_ports_take_turns() {
        let proxies = (0..20).map(|i| format!("PROXY p:{}", 8000 + i)).collect();
        let pac = Pac { proxies, direct_fallback: true, ..Pac::default() };
        let calls = "...Array.from({length: 40}, (_, i) => FindProxyForURL('http://a.test/' + i, 'a.test').split(';')[0])";
        if let Some(chosen) = evaluated(&pac, calls) {
            let ports: Vec<String> =
                (0..40).map(|i| format!("PROXY p:{}", 8000 + i % 20)).collect();
            assert_eq!(chosen, ports.join("|"));
        }
    }
}
