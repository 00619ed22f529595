//! Override fields: a client could use them to pose as another client, or to request another host, path or method than the proxy has
//! judged and cached.
//!
//! Origins behind this proxy receive them only from trusted proxies. Variables of CGI or WSGI have underscores for hyphens (RFC 3875
//! section 4.1.18), so `X_Real_IP` counts as `X-Real-IP`.

use http::HeaderMap;
use http::header::HeaderName;

/// Names of such fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrides(Vec<HeaderName>);

/// Fields that servers and frameworks are known to honour.
const USUAL: [&str; 26] = [
    "cf-connecting-ip",
    "client-ip",
    "fastly-client-ip",
    "forwarded",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-host",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-originating-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-rewrite-url",
];

impl Default for Overrides {
    fn default() -> Overrides {
        Overrides(USUAL.map(HeaderName::from_static).to_vec())
    }
}

impl Overrides {
    /// Fields of these names.
    pub fn of(names: Vec<HeaderName>) -> Overrides {
        Overrides(names)
    }

    /// Removes them.
    pub fn strip(&self, fields: &mut HeaderMap) {
        let found: Vec<HeaderName> =
            fields.keys().filter(|name| self.covers(name)).cloned().collect();
        if !found.is_empty() {
            // Rebuilt, since removing one by one would change the order of the others.
            let kept = fields.iter().filter(|(name, _)| !found.contains(name));
            *fields = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        }
    }

    fn covers(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|own| is_same(own.as_str(), name.as_str()))
    }
}

/// Returns true if two names are the same variable.
fn is_same(one: &str, other: &str) -> bool {
    let folded = |byte: u8| if byte == b'_' { b'-' } else { byte };
    one.len() == other.len() && one.bytes().map(folded).eq(other.bytes().map(folded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(overrides: &Overrides, names: &[&'static str]) -> Vec<String> {
        let mut fields = HeaderMap::new();
        for name in names {
            fields.append(*name, "x".parse().expect("a value"));
        }
        overrides.strip(&mut fields);
        fields.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn other_spellings_are_the_same_field() {
        let names = [
            "x-real-ip",
            "accept",
            "x_forwarded_for",
            "x-forwarded_host",
            "x-http-method-override",
        ];
        assert_eq!(kept(&Overrides::default(), &names), ["accept"]);
        let own = Overrides::of(vec![HeaderName::from_static("x-tenant")]);
        assert_eq!(
            kept(&own, &["x_tenant", "x-tenant", "x-real-ip", "x-tenant2"]),
            ["x-real-ip", "x-tenant2"]
        );
    }
}
