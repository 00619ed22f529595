//! Documents and style sheets of an exact size whose references end at exact bytes.

use url::Url;

use super::comment;
use super::script::{self, HELPERS};
use super::units::Carrier;

/// The icon keeps a browser from requesting `/favicon.ico`, which is not part of the page.
const OPENING: &str = "<!doctype html><link rel=icon href=data:,>";
/// Links in a head are not rendered, so the references go into the body.
const BODY: &str = "<body>";
/// Text to be painted, longest first: the first that fits is written at the first place with room.
const TEXTS: [&str; 2] = [
    "<h1>farlink</h1><p>This page stands in for a recorded one: it asks for the same objects at the \
     same times. Each box is an image, the larger the more bytes it has.<p>",
    "farlink ",
];

/// One reference.
pub(super) struct PositionedMarkup {
    /// Number of the document's bytes up to the end of the reference; more if it does not fit.
    pub(super) at: u64,
    pub(super) markup: String,
}

/// Code that a document needs.
#[derive(Clone, Copy, Default)]
pub(super) struct DocumentCode {
    /// True if code in it or in its scripts uses the helpers.
    pub(super) helpers: bool,
    /// Number of arrivals to wait for before anything is shown.
    pub(super) blocking: usize,
}

/// A document of `bytes` bytes (more, if the references need it).
pub(super) fn document(
    bytes: u64,
    references: &[PositionedMarkup],
    needs: DocumentCode,
) -> Vec<u8> {
    let first = references.first();
    let room =
        first.map_or(bytes, |first| first.at.min(bytes).saturating_sub(first.markup.len() as u64));
    let mut code = if needs.helpers { HELPERS.to_owned() } else { String::new() };
    if needs.blocking > 0 {
        code += &script::curtain(needs.blocking);
    }
    // All of these are optional in HTML (HTML standard, section 13.1.2.4, optional tags).
    let openings = [format!("{OPENING}{code}{BODY}"), format!("{code}{BODY}"), code.clone()];
    let fits = openings.iter().find(|opening| opening.len() as u64 <= room);
    let least = if code.is_empty() { &openings[2] } else { &openings[0] };
    let mut text = fits.unwrap_or(least).clone().into_bytes();
    let mut shows = false;
    for PositionedMarkup { at, markup } in references {
        let at = (*at).min(bytes) as usize;
        fill(&mut text, at.saturating_sub(markup.len()), &mut shows);
        text.extend_from_slice(markup.as_bytes());
    }
    fill(&mut text, bytes as usize, &mut shows);
    text
}

/// Pads `text` to `bytes`: with text to be painted if there has been none, and comments.
fn fill(text: &mut Vec<u8>, bytes: usize, shows: &mut bool) {
    let room = bytes.saturating_sub(text.len());
    if let Some(shown) = TEXTS.iter().find(|shown| !*shows && shown.len() <= room) {
        text.extend_from_slice(shown.as_bytes());
        *shows = true;
    }
    comment(text, bytes, "<!--", "-->");
}

/// Description of a tag.
pub(super) struct Tag<'a> {
    pub(super) carrier: Carrier,
    pub(super) link: &'a str,
    pub(super) urgent: bool,
    /// Code to run on its arrival.
    pub(super) then: &'a str,
    pub(super) id: Option<String>,
    pub(super) object: usize,
}

/// Markup that makes a browser request the object.
pub(super) fn tag(tag: &Tag<'_>) -> String {
    let url = attribute(tag.link);
    let mut more = String::new();
    if tag.urgent && matches!(tag.carrier, Carrier::Image | Carrier::Script | Carrier::Preload) {
        more += " fetchpriority=high";
    }
    if let Some(id) = &tag.id {
        more += &format!(" id={id}");
    }
    if !tag.then.is_empty() {
        more += &format!(" onload={} onerror=onload()", handler(tag.then));
    }
    match tag.carrier {
        Carrier::Image => format!("<img{more} src={url}>"),
        Carrier::Sheet => format!("<link rel=stylesheet{more} href={url}>"),
        Carrier::Script => format!("<script async{more} src={url}></script>"),
        Carrier::Navigation | Carrier::Frame => format!("<iframe{more} src={url}></iframe>"),
        Carrier::Preload | Carrier::Fetch => {
            format!("<link rel=preload as=image{more} href={url}>")
        }
        Carrier::Font => {
            let face = format!("f{}", tag.object);
            let source = css_url(tag.link);
            format!(
                "<link rel=preload as=font crossorigin{more} href={url}>\
                 <style>@font-face{{font-family:{face};src:{source}}}</style><i style=font-family:{face}>.</i>"
            )
        }
    }
}

/// Script that runs when the parser reaches it.
pub(super) fn inline(code: &str) -> String {
    format!("<script>{code}</script>")
}

// Links between files, and their quoting in HTML, CSS and JavaScript.

/// A host and a path on it, normalised as by a browser (WHATWG URL Standard).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileAddress {
    pub(super) host: String,
    pub(super) path: String,
}

impl FileAddress {
    /// A browser's spelling of `path` on `host`; `None` if that is not a URL.
    pub(super) fn new(host: &str, path: &str) -> Option<FileAddress> {
        let url = Url::parse(&format!("https://{host}{path}")).ok()?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        Some(FileAddress {
            host: url.host_str()?.to_owned(),
            path: format!("{}{query}", url.path()),
        })
    }

    /// Link from a file at `base` to this place: its path on the same host, else host and path, with the scheme of
    /// the page itself.
    pub(super) fn from(&self, base: &FileAddress) -> String {
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
pub(super) fn css_url(link: &str) -> String {
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

// Style sheets that request their references by themselves.
//
// Other sheets are imported. Images and fonts are used by the element that linked the sheet, so that two sheets
// never override each other; all fonts of a sheet form one family, each for a character of its own.

/// References of a sheet, as links from it.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) imports: Vec<String>,
    pub(super) images: Vec<String>,
    pub(super) fonts: Vec<String>,
}

impl References {
    /// Returns true if the sheet must refer to the element that links it.
    pub(super) fn need_an_element(&self) -> bool {
        !(self.images.is_empty() && self.fonts.is_empty())
    }

    /// Text of the sheet; `element` is the id of the element that links it.
    pub(super) fn css(&self, element: &str) -> String {
        let mut css: String =
            self.imports.iter().map(|import| format!("@import {};", css_url(import))).collect();
        let mut text = String::new();
        for (index, font) in self.fonts.iter().enumerate() {
            // Any character that needs no escaping will do.
            let character = 0x4e00 + index;
            css += &format!(
                "@font-face{{font-family:{element};src:{};unicode-range:U+{character:x}}}",
                css_url(font)
            );
            text += &format!("\\{character:x} ");
        }
        if !self.images.is_empty() {
            let images: Vec<String> = self.images.iter().map(|image| css_url(image)).collect();
            let images = images.join(",");
            css += &format!("#{element}{{display:block;height:9px;background-image:{images}}}");
        }
        if !text.is_empty() {
            css += &format!(
                "#{element}{{display:block}}#{element}::before{{content:\"{text}\";font-family:{element}}}"
            );
        }
        css
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spelt_as_browsers_do() {
        let place = FileAddress::new("WWW.A.test", "/a/../b c?x=\"1\"|").unwrap();
        assert_eq!((place.host.as_str(), place.path.as_str()), ("www.a.test", "/b%20c?x=%221%22|"));
        let other = FileAddress::new("b.test", "/").unwrap();
        assert_eq!(other.from(&place), "//b.test/");
        assert_eq!(place.from(&place), "/b%20c?x=%221%22|");
        assert_eq!(FileAddress::new("a b", "/"), None);
    }

    #[test]
    fn texts_stay_what_they_are() {
        assert_eq!(attribute("/a?b=1&copy=2&amp;x&lt"), "\"/a?b=1&copy=2&amp;amp;x&amp;lt\"");
        assert_eq!(handler("a('b')&&c"), "'a(&#39;b&#39;)&amp;&amp;c'");
        assert_eq!(js("</script>\"\\"), "\"\\x3c/script>\\\"\\\\\"");
        assert_eq!(css_url("/a(b)'"), "url(\"/a(b)'\")");
    }
}
