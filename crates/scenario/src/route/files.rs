//! The PAC file of a route's clients, and parsing of routes that contain paths.

use super::{BEHIND, KnobProblem, Turn};

/// Path of a PAC file, or none. Its clients connect to the proxy on the ports that the file names, or to a host
/// itself (`DIRECT`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacFile(Option<String>);

impl PacFile {
    /// Path of the file, if there is one.
    pub fn path(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// True if there is one.
    pub fn is_named(&self) -> bool {
        self.0.is_some()
    }
}

/// Name of its knob.
const KNOB: &str = "pac";

impl Turn for PacFile {
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match (knob, value) {
            (KNOB, "") => Err(KnobProblem::Expected("the path of a PAC file, without a comma")),
            (KNOB, path) => {
                self.0 = Some(path.to_owned());
                Ok(())
            }
            _ => Err(KnobProblem::Unknown),
        }
    }

    fn turned(&self) -> Vec<String> {
        self.0.iter().map(|path| format!("{KNOB}={path}")).collect()
    }
}

/// The parts of a route between slashes. A slash in a path does not count, unless a proxy stands behind it:
/// `proxy,pac=a/b.pac/proxy`.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for (at, _) in text.match_indices(BEHIND) {
        if !is_in_path(&text[begin..at]) || is_proxy(&text[at + 1..]) {
            parts.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// True if a route's text ends within a path.
fn is_in_path(text: &str) -> bool {
    let last = text.rsplit(',').next().unwrap_or(text);
    last.split_once('=').is_some_and(|(knob, _)| knob.trim() == KNOB)
}

fn is_proxy(text: &str) -> bool {
    let name = text.split([',', ':', BEHIND]).next().unwrap_or(text);
    ["proxy", "caching-proxy"].contains(&name.trim())
}

#[cfg(test)]
mod tests {
    use super::super::Route;
    use super::*;

    #[test]
    fn slashes_of_paths_are_no_second_proxy() {
        assert_eq!(split("proxy/caching-proxy,rtt=5ms"), ["proxy", "caching-proxy,rtt=5ms"]);
        assert_eq!(split("proxy,pac=/a/b.pac"), ["proxy,pac=/a/b.pac"]);
        assert_eq!(
            split("proxy,pac=a/b.pac,at=first-hop/proxy"),
            ["proxy,pac=a/b.pac,at=first-hop", "proxy"]
        );
        assert_eq!(split("proxy,pac=a/b.pac/proxy:x"), ["proxy,pac=a/b.pac", "proxy:x"]);
    }

    #[test]
    fn a_file_is_a_part_of_the_route() {
        for text in [
            "proxy,via=connect,pac=/a/b.pac",
            "caching-proxy,rtt=50ms,cache=primed,pac=x.pac",
            "caching-proxy,at=first-hop,pac=a/b.pac/proxy:apache,rtt=50ms",
        ] {
            let route: Route = text.parse().unwrap();
            assert_eq!(route.to_string(), text);
            assert!(route.pac.path().is_some_and(|path| path.ends_with(".pac")));
        }
        for (text, says) in [
            ("direct,pac=x", "use it with the route `proxy`"),
            ("pep,pac=x", "use it with the route `proxy`"),
            ("socks,pac=x", "leave pac out"),
            ("proxy,at=first-hop/proxy,pac=x", "in front of the slash"),
            ("proxy,pac=", "the path of a PAC file"),
        ] {
            let error = text.parse::<Route>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
