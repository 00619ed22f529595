//! What makes a browser request an object.

use crate::{Kind, Object, Priority};

/// The element, rule or call that requests an object. It decides what its body must be, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Navigation: the page's own document.
    Navigation,
    /// `iframe`.
    Frame,
    /// `link rel=stylesheet`, `@import`.
    Sheet,
    /// `script async`: requested when found, run when there, blocking no parser.
    Script,
    /// `img`, `url()` of CSS. Whatever the load event waits for and nothing else fits.
    Image,
    /// `@font-face`, `FontFace`.
    Font,
    /// `link rel=preload as=image`: a GET that the load event does not wait for.
    Preload,
    /// `fetch()`: other methods, and what a page asks for twice. The load event does not wait for it.
    Fetch,
}

impl Carrier {
    /// What requests `object`, which is what a chain of redirects leads to if there is one.
    /// `first` is the chain's first, and `repeated` whether an earlier object has its method and URL.
    pub(super) fn of(first: &Object, object: &Object, repeated: bool) -> Carrier {
        if first.method != "GET" || repeated {
            return Carrier::Fetch;
        }
        if !object.blocks_load {
            return Carrier::Preload;
        }
        match object.kind {
            // A browser takes what has failed as nothing but an image.
            _ if !(200..300).contains(&object.status) || is_bodiless(object.status) => {
                Carrier::Image
            }
            Kind::Document => Carrier::Frame,
            Kind::Stylesheet => Carrier::Sheet,
            Kind::Script => Carrier::Script,
            Kind::Font => Carrier::Font,
            Kind::Image | Kind::Media | Kind::Data | Kind::Redirect | Kind::Other => Carrier::Image,
        }
    }

    /// Whether it is a document, with references and a window of its own.
    pub(super) fn is_document(self) -> bool {
        matches!(self, Carrier::Navigation | Carrier::Frame)
    }

    /// The media type to be served with. What a foreign page may not read must be of a type that it
    /// might show (ORB, <https://github.com/annevk/orb>), or the browser breaks off its transfer.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Carrier::Navigation | Carrier::Frame => "text/html; charset=utf-8",
            Carrier::Sheet => "text/css",
            Carrier::Script => "text/javascript",
            Carrier::Font => "font/woff2",
            Carrier::Image | Carrier::Preload | Carrier::Fetch => "image/gif",
        }
    }
}

/// Whether an answer of this status has no body (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5).
pub(super) fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

/// Whether the page's priority is above what a browser gives by itself to what a document or script
/// requests (Low).
pub(super) fn is_urgent(object: &Object) -> bool {
    matches!(object.priority, Priority::Highest | Priority::High)
}
