//! A document of an exact size whose references end at exact bytes.

use super::carrier::Carrier;
use super::filler::comment;
use super::link;
use super::script::HELPERS;

/// The icon keeps a browser from asking for `/favicon.ico`, which is not part of the page.
const OPENING: &str = "<!doctype html><link rel=icon href=data:,>";
/// Links in a head are not rendered; so the references stand in a body.
const BODY: &str = "<body>";
/// Something to be painted.
const TEXT: &str = "<style>img{width:64px;height:48px}</style>farlink ";

/// One reference.
pub(super) struct Reference {
    /// As many bytes of the document end with it, or more where it does not fit.
    pub(super) at: u64,
    pub(super) markup: String,
}

/// A document of `bytes` bytes (more, if the references need it). `scripted`: some code in it or in
/// its scripts uses the helpers.
pub(super) fn document(bytes: u64, references: &[Reference], scripted: bool) -> Vec<u8> {
    let first = references.first();
    let room =
        first.map_or(bytes, |first| first.at.min(bytes).saturating_sub(first.markup.len() as u64));
    let helpers = if scripted { HELPERS } else { "" };
    // HTML needs none of it (HTML standard, section 13.1.2.4, optional tags).
    let openings = [
        format!("{OPENING}{helpers}{BODY}{TEXT}"),
        format!("{OPENING}{helpers}{BODY}"),
        format!("{helpers}{BODY}"),
        helpers.to_owned(),
    ];
    let fits = openings.iter().find(|opening| opening.len() as u64 <= room);
    let least = if scripted { &openings[1] } else { &openings[3] };
    let mut text = fits.unwrap_or(least).clone().into_bytes();
    for Reference { at, markup } in references {
        let at = (*at).min(bytes) as usize;
        comment(&mut text, at.saturating_sub(markup.len()), "<!--", "-->");
        text.extend_from_slice(markup.as_bytes());
    }
    comment(&mut text, bytes as usize, "<!--", "-->");
    text
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
