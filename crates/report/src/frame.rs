//! Frame of every HTML file that farlink writes: styles, scripts and data are inline, nothing is fetched.

use super::escape::html;

/// Colours, tables and type of all pages.
pub const STYLE: &str = include_str!("../assets/report.css");
const D3: &str = include_str!("../assets/d3.min.js");
const PLOT: &str = include_str!("../assets/plot.umd.min.js");

/// Content security policy: no fetches, inline content only.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The parts that differ between documents.
pub struct PageFrame<'a> {
    /// Title, as plain text.
    pub title: &'a str,
    /// The version of farlink that measured, as plain text.
    pub version: &'a str,
    /// Its body, as HTML.
    pub sections: &'a str,
    /// Data of its charts, as JSON that is safe in a script element.
    pub data: &'a str,
    /// Script that draws them.
    pub script: &'static str,
}

/// The whole file.
pub fn frame(frame: &PageFrame<'_>) -> String {
    let PageFrame { sections, data, script, .. } = frame;
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"farlink {version}\">\n\
         <title>{title} - farlink</title>\n<style>\n{STYLE}</style></head>\n\
         <body><main>\n{sections}</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{D3}</script>\n<script>{PLOT}</script>\n<script>\n{script}</script>\n\
         </body></html>\n",
        title = html(frame.title),
        version = html(frame.version),
    )
}
