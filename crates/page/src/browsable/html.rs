//! Documents of an exact size whose references end at exact bytes.

use super::carrier::Carrier;
use super::filler::comment;
use super::link;
use super::script::{self, HELPERS};

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
pub(super) struct Reference {
    /// Number of the document's bytes up to the end of the reference; more if it does not fit.
    pub(super) at: u64,
    pub(super) markup: String,
}

/// Code that a document needs.
#[derive(Clone, Copy, Default)]
pub(super) struct Needs {
    /// True if code in it or in its scripts uses the helpers.
    pub(super) helpers: bool,
    /// Number of arrivals to wait for before anything is shown.
    pub(super) blocking: usize,
}

/// A document of `bytes` bytes (more, if the references need it).
pub(super) fn document(bytes: u64, references: &[Reference], needs: Needs) -> Vec<u8> {
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
    for Reference { at, markup } in references {
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
    let url = link::attribute(tag.link);
    let mut more = String::new();
    if tag.urgent && matches!(tag.carrier, Carrier::Image | Carrier::Script | Carrier::Preload) {
        more += " fetchpriority=high";
    }
    if let Some(id) = &tag.id {
        more += &format!(" id={id}");
    }
    if !tag.then.is_empty() {
        more += &format!(" onload={} onerror=onload()", link::handler(tag.then));
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
            let source = link::css(tag.link);
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
