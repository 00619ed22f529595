//! Carriers: the elements, rules and calls by which a browser requests objects.

use crate::{Kind, Object, Priority};

/// Element, rule or call that requests an object. It also determines the kind of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Navigation: the page's own document.
    Navigation,
    /// `iframe`.
    Frame,
    /// `link rel=stylesheet`, `@import`.
    Sheet,
    /// `script async`: requested when found, run on arrival, without blocking the parser.
    Script,
    /// `img`, `url()` of CSS. Also the fallback for anything that the load event waits for.
    Image,
    /// `@font-face`, `FontFace`.
    Font,
    /// `link rel=preload as=image`: a GET that the load event does not wait for.
    Preload,
    /// `fetch()`: other methods, and repeated requests. The load event does not wait for it.
    Fetch,
}

impl Carrier {
    /// Carrier of `object`, the target of a chain of redirects if there is one. `first` is the chain's first object;
    /// `repeated` is true if an earlier object has its method and URL.
    pub(super) fn of(first: &Object, object: &Object, repeated: bool) -> Carrier {
        if first.method != "GET" || repeated {
            return Carrier::Fetch;
        }
        if !object.blocks_load {
            return Carrier::Preload;
        }
        match object.kind {
            // A browser accepts a failed response only as an image.
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

    /// Returns true for a document, which has references and a window of its own.
    pub(super) fn is_document(self) -> bool {
        matches!(self, Carrier::Navigation | Carrier::Frame)
    }

    /// Media type to serve it with. Responses that a foreign page may not read need a type that it might show (ORB,
    /// <https://github.com/annevk/orb>), or the browser aborts the transfer.
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

/// Returns true if responses of this status have no body (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5).
pub(super) fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

/// Returns true if the page's priority exceeds a browser's default for requests of documents and scripts (Low).
pub(super) fn is_urgent(object: &Object) -> bool {
    matches!(object.priority, Priority::Highest | Priority::High)
}
