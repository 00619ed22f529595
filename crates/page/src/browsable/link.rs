//! Links between files, and their quoting in HTML, CSS and JavaScript.

use url::Url;

/// A host and a path on it, normalised as by a browser (WHATWG URL Standard).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) path: String,
}

impl Place {
    /// A browser's spelling of `path` on `host`; `None` if that is not a URL.
    pub(super) fn new(host: &str, path: &str) -> Option<Place> {
        let url = Url::parse(&format!("https://{host}{path}")).ok()?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        Some(Place { host: url.host_str()?.to_owned(), path: format!("{}{query}", url.path()) })
    }

    /// Link from a file at `base` to this place: its path on the same host, else host and path, with the scheme of
    /// the page itself.
    pub(super) fn from(&self, base: &Place) -> String {
        match self.host == base.host && !self.path.starts_with("//") {
            true => self.path.clone(),
            false => format!("//{}{}", self.host, self.path),
        }
    }
}

/// A text in double quotes for JavaScript. It contains nothing that could end a script element.
pub(super) fn js(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('<', "\\x3c"))
}

/// A `url()` for CSS.
pub(super) fn css(link: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !"\"'()\\".contains(c);
    match link.chars().all(plain) {
        true => format!("url({link})"),
        false => format!("url(\"{}\")", link.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// A link in double quotes for an HTML attribute. An ampersand needs no escaping before `name=` (HTML standard,
/// section 13.2.5.73: no reference in an attribute is followed by `=` or a letter).
pub(super) fn attribute(link: &str) -> String {
    let mut text = String::from("\"");
    for (index, part) in link.split('&').enumerate() {
        let name = part.chars().take_while(char::is_ascii_alphanumeric).count();
        let plain = part[name..].starts_with('=');
        text += match index {
            0 => "",
            _ if plain => "&",
            _ => "&amp;",
        };
        text += &part.replace('"', "&quot;");
    }
    text + "\""
}

/// Code in single quotes for an event handler's attribute.
pub(super) fn handler(code: &str) -> String {
    format!("'{}'", code.replace('&', "&amp;").replace('\'', "&#39;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spelt_as_browsers_do() {
        let place = Place::new("WWW.A.test", "/a/../b c?x=\"1\"|").unwrap();
        assert_eq!((place.host.as_str(), place.path.as_str()), ("www.a.test", "/b%20c?x=%221%22|"));
        let other = Place::new("b.test", "/").unwrap();
        assert_eq!(other.from(&place), "//b.test/");
        assert_eq!(place.from(&place), "/b%20c?x=%221%22|");
        assert_eq!(Place::new("a b", "/"), None);
    }

    #[test]
    fn texts_stay_what_they_are() {
        assert_eq!(attribute("/a?b=1&copy=2&amp;x&lt"), "\"/a?b=1&copy=2&amp;amp;x&amp;lt\"");
        assert_eq!(handler("a('b')&&c"), "'a(&#39;b&#39;)&amp;&amp;c'");
        assert_eq!(js("</script>\"\\"), "\"\\x3c/script>\\\"\\\\\"");
        assert_eq!(css("/a(b)'"), "url(\"/a(b)'\")");
    }
}
