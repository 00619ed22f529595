//! A document of an exact size whose references end at exact bytes.

use super::carrier::Carrier;
use super::filler::comment;
use super::link;
use super::script::{self, HELPERS};

/// The icon keeps a browser from asking for `/favicon.ico`, which is not part of the page.
const OPENING: &str = "<!doctype html><link rel=icon href=data:,>";
/// Links in a head are not rendered; so the references stand in a body.
const BODY: &str = "<body>";
/// Something to be painted, the longest first: the first that fits is written where it first fits.
const TEXTS: [&str; 2] = [
    "<h1>farlink</h1><p>This page stands in for a recorded one: it asks for the same objects at the \
     same times. Each box is an image, the larger the more bytes it has.<p>",
    "farlink ",
];

/// One reference.
pub(super) struct Reference {
    /// As many bytes of the document end with it, or more where it does not fit.
    pub(super) at: u64,
    pub(super) markup: String,
}

/// What a document's code needs.
#[derive(Clone, Copy, Default)]
pub(super) struct Needs {
    /// Some code in it or in its scripts uses the helpers.
    pub(super) helpers: bool,
    /// So many arrivals are waited for before anything is shown.
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
    // HTML needs none of it (HTML standard, section 13.1.2.4, optional tags).
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

/// Fills `text` up to `bytes`: with something to be painted if there has been none, and comments.
fn fill(text: &mut Vec<u8>, bytes: usize, shows: &mut bool) {
    let room = bytes.saturating_sub(text.len());
    if let Some(shown) = TEXTS.iter().find(|shown| !*shows && shown.len() <= room) {
        text.extend_from_slice(shown.as_bytes());
        *shows = true;
    }
    comment(text, bytes, "<!--", "-->");
}

/// What a tag is to be.
pub(super) struct Tag<'a> {
    pub(super) carrier: Carrier,
    pub(super) link: &'a str,
    pub(super) urgent: bool,
    /// Run when it has arrived.
    pub(super) then: &'a str,
    pub(super) id: Option<String>,
    pub(super) object: usize,
}

/// The markup that makes a browser request it.
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

/// Code run when the parser comes to it.
pub(super) fn inline(code: &str) -> String {
    format!("<script>{code}</script>")
}
