//! Lists of the words of scripts, for the documentation.

/// The quantities that `expect` can check at an endpoint: name and meaning.
pub fn quantities() -> impl Iterator<Item = (&'static str, &'static str)> {
    crate::endpoint::quantities()
}

/// The causes that `drop` can name.
pub fn causes_of_drops() -> impl Iterator<Item = &'static str> {
    crate::link::causes()
}
