//! The filmstrip of a visit as one HTML file: a real browser's screen over time.

use std::fmt::Write;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::escape::html;
use testbed::tour::{ObservedVisit, Png};

const STYLE: &str = "body{font:14px system-ui,sans-serif;margin:1.5rem;color-scheme:light dark}\
    ol{display:flex;flex-wrap:wrap;gap:.75rem;list-style:none;padding:0}\
    figure{margin:0}img{border:1px solid #8888;display:block;width:240px}";

/// The file; `None` if the visit was not filmed.
pub fn filmstrip(visit: &ObservedVisit<'_>) -> Option<String> {
    let film = &visit.shown()?.film;
    if film.is_empty() {
        return None;
    }
    let scenario = visit.scenario();
    let title = format!(
        "{} over {}, {}/{}",
        scenario.page.spec, scenario.network, scenario.stack.protocol, scenario.stack.tls
    );
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head>\n<body><h1>{title}</h1><p>{}</p><ol>\n",
        moments(visit),
        title = html(&title),
    );
    for (at_ns, picture) in film {
        let _ = writeln!(page, "<li>{}</li>", figure(*at_ns, picture));
    }
    page.push_str("</ol></body></html>\n");
    Some(page)
}

fn figure(at_ns: u64, picture: &Png) -> String {
    let (at, data) = (ms(at_ns), STANDARD.encode(&picture.0));
    format!(
        "<figure><img alt=\"after {at}\" src=\"data:image/png;base64,{data}\"><figcaption>{at}</figcaption></figure>"
    )
}

/// The visit's times in a line.
fn moments(visit: &ObservedVisit<'_>) -> String {
    let paint = visit.record.paint.unwrap_or_default();
    let moments = [
        ("first contentful paint", paint.first_contentful_paint_ns),
        ("Speed Index", paint.speed_index_ns),
        ("largest contentful paint", paint.largest_contentful_paint_ns),
        ("page load", visit.record.plt_ns()),
    ];
    let known = moments.iter().filter_map(|(what, ns)| Some(format!("{what} {}", ms((*ns)?))));
    known.collect::<Vec<_>>().join(", ")
}

fn ms(ns: u64) -> String {
    format!("{} ms", Duration::from_nanos(ns).as_millis())
}
