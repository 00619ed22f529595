//! A page as a human-readable table - objects, their dependencies, and the provenance of each value - and its counts.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::{
    After, BodySource, Edge, Object, Page, PageHost, Provenance, SizeEstimate, SkipReason,
};

/// Displays a page as `farlink pages show` prints it.
#[derive(Clone, Copy, Debug)]
pub struct PageTable<'a>(pub &'a Page);

/// Maximum length of URLs before they are cut.
const URL_CHARS: usize = 60;

impl fmt::Display for PageTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = self.0;
        let summary = page.summary();
        head(f, page, &summary)?;
        writeln!(
            f,
            "{:>4}  {:<10} {:>9} {:>6} {:>9}  {:<8} {:<5}  {:<28} url",
            "#", "kind", "body B", "head B", "think", "priority", "load", "waits for"
        )?;
        for (index, object) in page.objects.iter().enumerate() {
            row(f, page, index, object)?;
        }
        if !page.skipped.is_empty() {
            writeln!(f, "\nskipped:")?;
        }
        for entry in &page.skipped {
            writeln!(f, "  {}: {}", entry.reason, entry.url)?;
        }
        writeln!(
            f,
            "\nunmarked: measured, `~`: inferred, `?`: default; `load`: delays the load event, \
             waits for it, and the first `paint` too"
        )
    }
}

fn head(f: &mut fmt::Formatter<'_>, page: &Page, summary: &PageSummary) -> fmt::Result {
    writeln!(f, "{}\n{}", page.name, page.origin)?;
    if let Some(network) = &page.recorded_network {
        writeln!(f, "recorded over: {network}")?;
        writeln!(f, "think times fitted by simulation over {}", network.spec())?;
        writeln!(f, "load over it: {}", network.load())?;
        for misfit in network.misfits() {
            writeln!(f, "warning: {misfit}")?;
        }
    }
    for caution in &page.cautions {
        writeln!(f, "warning: {caution}")?;
    }
    writeln!(
        f,
        "{} requests, {} hosts, {} bytes of bodies; {} delay the load event",
        summary.requests, summary.hosts, summary.body_bytes, summary.blocking
    )?;
    for (what, counts) in
        [("edges", summary.edges), ("think times", summary.think), ("head sizes", summary.headers)]
    {
        writeln!(
            f,
            "{what}: {} measured,{} {} inferred, {} defaulted",
            counts.measured,
            if counts.read > 0 {
                format!(" {} read in bodies,", counts.read)
            } else {
                String::new()
            },
            counts.inferred,
            counts.defaulted
        )?;
    }
    let guessed = summary.edges.inferred + summary.edges.defaulted;
    if guessed * 4 > summary.edges.total() {
        writeln!(
            f,
            "warning: {guessed} of {} edges are guesses, about a third of them wrong; `farlink load` tells \
             whether the answer depends on them",
            summary.edges.total()
        )?;
    }
    let blocking = page.objects.iter().filter(|object| object.blocks_render).count();
    writeln!(f, "{blocking} objects block the first paint (`load`: `paint`)")?;
    let sources: Vec<String> =
        summary.body_sources.iter().map(|(source, n)| format!("{n} {source:?}")).collect();
    writeln!(f, "body sizes from: {}", sources.join(", "))?;
    for host in &page.hosts {
        writeln!(
            f,
            "host {}: {}{}, +{} round trip",
            authority(host),
            host.recorded_protocol.as_deref().unwrap_or("protocol not recorded"),
            match (host.recorded_tls, host.in_clear) {
                (true, _) => " over TLS",
                (false, true) => ", loaded in clear",
                (false, false) => "",
            },
            span(host.extra_rtt),
        )?;
    }
    writeln!(f)
}

/// Name and port, as in URLs.
fn authority(host: &PageHost) -> String {
    match host.port {
        None => host.name.clone(),
        Some(port) => format!("{}:{port}", host.name),
    }
}

fn row(f: &mut fmt::Formatter<'_>, page: &Page, index: usize, object: &Object) -> fmt::Result {
    writeln!(
        f,
        "{index:>4}  {:<10} {:>9} {:>6} {:>9}  {:<8} {:<5}  {:<28} {}",
        format!("{:?}", object.kind),
        object.body_bytes,
        format!("{}{}", mark(object.header_provenance), object.response_header_bytes),
        span(object.think),
        format!("{:?}", object.priority),
        match (object.blocks_load, object.blocks_render) {
            (_, true) => "paint",
            (true, false) => "yes",
            (false, false) => "no",
        },
        waits(page, &object.waits_for),
        middle_cut(&object.url),
    )
}

/// `~#0@260/6220+1.5ms`: after 260 of the 6220 bytes of object 0, and 1.5 ms of work.
fn waits(page: &Page, edges: &[Edge]) -> String {
    let one = |edge: &Edge| {
        let parent = &page.objects[edge.object.0 as usize];
        let point = match edge.after {
            After::Head => "@head".to_owned(),
            After::Bytes(bytes) => format!("@{bytes}/{}", parent.body_bytes),
            After::End => String::new(),
        };
        let work = match edge.compute.value {
            Duration::ZERO => String::new(),
            _ => format!("+{}", span(edge.compute)),
        };
        format!("{}#{}{point}{work}", mark(edge.provenance), edge.object.0)
    };
    match edges {
        [] => "-".to_owned(),
        _ => edges.iter().map(one).collect::<Vec<_>>().join(" "),
    }
}

fn span(estimate: SizeEstimate) -> String {
    format!("{}{:.1}ms", mark(estimate.provenance), estimate.value.as_secs_f64() * 1e3)
}

fn mark(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Measured | Provenance::Read => "",
        Provenance::Inferred => "~",
        Provenance::Defaulted => "?",
    }
}

/// `url`, cut in the middle if long: both ends tell more than either half.
pub(crate) fn middle_cut(url: &str) -> String {
    let chars: Vec<char> = url.chars().collect();
    if chars.len() <= URL_CHARS {
        return url.to_owned();
    }
    let half = (URL_CHARS - 3) / 2;
    let (head, tail) = (&chars[..half], &chars[chars.len() - half..]);
    format!("{}...{}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

/// Number of values of one sort, by provenance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceCounts {
    /// Stated by the source.
    pub measured: usize,
    /// Read in recorded bodies.
    pub read: usize,
    /// Derived from other values.
    pub inferred: usize,
    /// Our default.
    pub defaulted: usize,
}

/// Contents of a page, and the share of them that its source states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSummary {
    /// Objects.
    pub requests: usize,
    /// Servers.
    pub hosts: usize,
    /// Total size of all bodies on the wire.
    pub body_bytes: u64,
    /// Edges of the graph.
    pub edges: ResourceCounts,
    /// Server think times.
    pub think: ResourceCounts,
    /// Head sizes.
    pub headers: ResourceCounts,
    /// Objects that the load event waits for.
    pub blocking: usize,
    /// Sources of the bodies' sizes.
    pub body_sources: BTreeMap<BodySource, usize>,
    /// Entries of the source that are not objects.
    pub skipped: BTreeMap<SkipReason, usize>,
}

impl ResourceCounts {
    fn of(values: impl Iterator<Item = Provenance>) -> ResourceCounts {
        let mut counts = ResourceCounts::default();
        for value in values {
            match value {
                Provenance::Measured => counts.measured += 1,
                Provenance::Read => counts.read += 1,
                Provenance::Inferred => counts.inferred += 1,
                Provenance::Defaulted => counts.defaulted += 1,
            }
        }
        counts
    }

    /// Total.
    pub fn total(&self) -> usize {
        self.measured + self.read + self.inferred + self.defaulted
    }
}

impl Page {
    /// Counts over this page.
    pub fn summary(&self) -> PageSummary {
        let objects = &self.objects;
        let mut body_sources = BTreeMap::new();
        for object in objects {
            *body_sources.entry(object.body_source).or_default() += 1;
        }
        let mut skipped = BTreeMap::new();
        for entry in &self.skipped {
            *skipped.entry(entry.reason).or_default() += 1;
        }
        PageSummary {
            requests: objects.len(),
            hosts: self.hosts.len(),
            body_bytes: self.body_bytes(),
            edges: ResourceCounts::of(
                objects.iter().flat_map(|o| &o.waits_for).map(|e| e.provenance),
            ),
            think: ResourceCounts::of(objects.iter().map(|o| o.think.provenance)),
            headers: ResourceCounts::of(objects.iter().map(|o| o.header_provenance)),
            blocking: objects.iter().filter(|o| o.blocks_load).count(),
            body_sources,
            skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synthetic_page_reads_like_this() {
        let page = crate::open("synthetic:2x1KB").unwrap();
        let text = PageTable(&page).to_string();
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("http://")).collect();
        assert_eq!(
            rows,
            [
                "   0  Document         340   ?300    ?0.0ms  Highest  yes    -                            http://www.page.test/",
                "   1  Image           1000   ?300    ?0.0ms  Low      yes    #0@260/340                   http://www.page.test/o/0001.png",
                "   2  Image           1000   ?300    ?0.0ms  Low      yes    #0@320/340                   http://www.page.test/o/0002.png",
            ]
        );
    }

    #[test]
    fn long_urls_keep_both_ends() {
        let cut = middle_cut(&format!("http://a/{}.png", "x".repeat(100)));
        assert!(cut.starts_with("http://a/x") && cut.ends_with("x.png"));
        assert!(cut.len() <= URL_CHARS);
    }
}
