//! Numbers of objects by type, and of hosts.

use chance::Stream;

use super::by_fraction;
use super::priors::{Priors, Rounding};
use super::table::{Objects, Site};

/// Counts of a drawn site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    /// Includes the document.
    pub text: u64,
    pub js_css: u64,
    pub images_other: u64,
    pub domains: u64,
}

impl Counts {
    pub fn objects(self) -> u64 {
        self.text + self.js_css + self.images_other
    }
}

pub(super) fn draw(priors: &Priors, site: &Site, stream: &mut Stream) -> Counts {
    let Rounding::ByFraction = priors.counts.rounding;
    let (text, js_css, images_other) = match (site.objects, &priors.types) {
        (Objects::ByType { text, js_css, images_other }, _) => (
            by_fraction(text, stream),
            by_fraction(js_css, stream),
            by_fraction(images_other, stream),
        ),
        (Objects::InAll(objects), types) => {
            let objects = by_fraction(objects, stream);
            let share = |share: f64| objects as f64 * share;
            let [text, js_css] =
                types.as_ref().map_or([1.0, 0.0], |types| [share(types.text), share(types.js_css)]);
            let text = by_fraction(text, stream);
            let js_css = by_fraction(js_css, stream).min(objects.saturating_sub(text));
            (text, js_css, objects.saturating_sub(text + js_css))
        }
    };
    let counts = Counts { text: text.max(1), js_css, images_other, domains: 1 };
    let domains = by_fraction(site.domains, stream).clamp(1, counts.objects());
    Counts { domains, ..counts }
}
