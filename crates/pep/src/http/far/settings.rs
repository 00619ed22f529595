//! How much the far end fetches unasked.

/// Limits of prefetching. Memory: at most `at_once` objects of `object_bytes`, and of each page that passes what has begun and not ended of it
/// (a tag, a script), at most `page_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How deep it looks: 0 fetches nothing unasked, 1 what a page embeds, 2 what its style sheets embed, too.
    pub depth: u32,
    /// Objects of one page.
    pub objects: usize,
    /// The largest object.
    pub object_bytes: usize,
    /// So much of a page is looked through, unpacked; what follows passes unread.
    pub page_bytes: usize,
    /// Objects in hand at once, of all pages.
    pub at_once: usize,
    /// What text is compressed for the leg, if the server has not done it.
    pub compression: Compression,
}

/// Whether bodies are compressed for the leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// With deflate, where that is likely to help.
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
