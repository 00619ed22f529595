//! Limits of prefetching.

/// Limits of prefetching. Memory: at most `at_once` objects of `object_bytes`, and for each page that passes at most `page_bytes` of an
/// unfinished construct (a tag, a script).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Depth of discovery: 0 fetches nothing unasked, 1 the objects of a page, 2 those of its style sheets, too.
    pub depth: u32,
    /// Objects of one page.
    pub objects: usize,
    /// The largest object.
    pub object_bytes: usize,
    /// Maximum bytes of a page to scan, unpacked; the rest passes unread.
    pub page_bytes: usize,
    /// Objects being fetched at once, of all pages.
    pub at_once: usize,
    /// Compression for the leg of text that the server has not compressed.
    pub compression: Compression,
}

/// Compression of bodies for the leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Deflate, if it is likely to help.
    Deflate,
    /// Bodies cross the leg as servers send them.
    None,
}

impl Default for Settings {
    /// Two levels; 100 objects a page of 2 MiB at most, 16 at once: 32 MiB.
    fn default() -> Settings {
        Settings {
            depth: 2,
            objects: 100,
            object_bytes: 2 << 20,
            page_bytes: 1 << 20,
            at_once: 16,
            compression: Compression::Deflate,
        }
    }
}
