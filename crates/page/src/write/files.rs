//! The bytes of each file: valid for its kind, of the stated size.

use super::html;
use super::plan::{Item, Plan};
use crate::Kind;

/// A PNG of one white pixel (W3C PNG section 5: signature, IHDR, IDAT, IEND). Decoders stop at its
/// end, so filler may follow.
const PNG: [u8; 67] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b,
    0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0x0f, 0x00, 0x01,
    0x01, 0x01, 0x00, 0x1c, 0xb0, 0x8c, 0x99, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae,
    0x42, 0x60, 0x82,
];

/// The body of the file of item `number`.
pub(super) fn body(plan: &Plan<'_>, number: usize) -> Vec<u8> {
    let item = &plan.items[number];
    let bytes = plan.page.objects[item.object].body_bytes;
    match item.kind {
        Kind::Document => {
            let references: Vec<(u64, String, Kind)> = plan
                .references(number)
                .into_iter()
                .map(|(at, child)| (at, plan.link(item, child), child.kind))
                .collect();
            html::document(bytes, &references)
        }
        Kind::Stylesheet => commented(sheet(plan, item, &plan.references(number)), bytes),
        Kind::Script => commented(script(plan, item, &plan.references(number)), bytes),
        Kind::Image => binary(&PNG, bytes),
        Kind::Data => quoted(bytes),
        _ => binary(&[], bytes),
    }
}

/// Appends `bytes` letters that compress badly and repeat exactly.
pub(super) fn filler(text: &mut Vec<u8>, bytes: usize) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    // Knuth's multiplier (TAOCP 3.3.4); the top bits of a linear congruence are random enough here.
    let mut state = text.len() as u64;
    text.extend((0..bytes).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        LETTERS[(state >> 58) as usize]
    }));
}

/// `code` and a comment up to the size; CSS and JavaScript share that comment's form.
fn commented(code: String, bytes: u64) -> Vec<u8> {
    let mut text = code.into_bytes();
    let missing = (bytes as usize).saturating_sub(text.len());
    match missing.checked_sub("/**/".len()) {
        Some(inside) => {
            text.extend_from_slice(b"/*");
            filler(&mut text, inside);
            text.extend_from_slice(b"*/");
        }
        None => text.resize(text.len() + missing, b' '),
    }
    text
}

/// A sheet that requests its references: sheets by import, the others for the element that linked
/// it, so that two sheets never override each other. All fonts are one family, each for a character
/// of its own, and a text has one of each: a browser loads a font when text needs it.
fn sheet(plan: &Plan<'_>, item: &Item, references: &[(u64, &Item)]) -> String {
    let (mut imports, mut fonts, mut text, mut images) =
        (String::new(), String::new(), String::new(), Vec::new());
    for (_, child) in references {
        let link = plan.link(item, child);
        match child.kind {
            Kind::Stylesheet => imports += &format!("@import url({link});"),
            Kind::Font => {
                let character = 0x4e00 + child.object;
                fonts += &format!(
                    "@font-face{{font-family:f;src:url({link});unicode-range:U+{character:x}}}"
                );
                text += &format!("\\{character:x} ");
            }
            _ => images.push(format!("url({link})")),
        }
    }
    let own = format!("link[href$=\"{}\"]", item.path);
    let mut css = imports + &fonts;
    if !images.is_empty() {
        let images = images.join(",");
        css += &format!("{own}{{display:block;height:1px;background-image:{images}}}");
    }
    if !text.is_empty() {
        css += &format!("{own}{{display:block}}{own}::before{{content:\"{text}\";font-family:f}}");
    }
    css
}

/// A script that requests its references when it runs.
fn script(plan: &Plan<'_>, item: &Item, references: &[(u64, &Item)]) -> String {
    let mut js = String::new();
    for (_, child) in references {
        let link = plan.link(item, child);
        let element = match child.kind {
            Kind::Image => Some(("img", "src", "")),
            Kind::Script => Some(("script", "src", "")),
            Kind::Document => Some(("iframe", "src", "")),
            Kind::Stylesheet => Some(("link", "href", "e.rel='stylesheet';")),
            _ => None,
        };
        js += &match element {
            Some((name, attribute, more)) => format!(
                "{{let e=document.createElement('{name}');{more}e.{attribute}='{link}';\
                 (document.body||document.head).append(e)}}"
            ),
            None => format!("fetch('{link}',{{mode:'no-cors'}});"),
        };
    }
    js
}

/// `start` and filler, cut to the size: what is smaller than the smallest valid file still is
/// requested, and still has its size.
fn binary(start: &[u8], bytes: u64) -> Vec<u8> {
    let mut body = start.to_vec();
    body.truncate(bytes as usize);
    let missing = bytes as usize - body.len();
    filler(&mut body, missing);
    body
}

/// A JSON text of the size: a string, or a digit where not even the quotes fit.
fn quoted(bytes: u64) -> Vec<u8> {
    let Some(inside) = (bytes as usize).checked_sub(2) else {
        return vec![b'0'; bytes as usize];
    };
    let mut text = vec![b'"'];
    filler(&mut text, inside);
    text.push(b'"');
    text
}
