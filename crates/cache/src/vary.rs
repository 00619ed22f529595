//! `Vary`: selection among the responses stored under one key (RFC 9111 section 4.1).
//!
//! A stored response keeps the names that its `Vary` lists and their values in the request that fetched it, in a normal form: lines joined, white
//! space around commas removed. The lines of `Cookie` are one list of pairs, separated by semicolons (RFC 9113 section 8.2.3). Values that mean the
//! same but are spelled differently (`gzip, br` and `br, gzip`) do not match: that costs a miss at most. Languages match in any case, as they are
//! compared (RFC 4647 section 2), but in their order alone, by which some servers choose.

use http::HeaderName;

use crate::fields::{FieldLines, members};

/// The secondary key of a stored response: empty for most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vary(Box<[SelectingField]>);

/// A field's name, and its value in the request.
type SelectingField = (HeaderName, Option<Box<[u8]>>);

/// `Vary: *`, or a member that is not a field name: no other request is known to get the same response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariesOnAnything;

impl Vary {
    /// The secondary key of the response to `request`.
    pub fn of(
        request: &(impl FieldLines + ?Sized),
        response: &(impl FieldLines + ?Sized),
    ) -> Result<Vary, VariesOnAnything> {
        let mut names = Vec::new();
        let mut anything = false;
        response.values("vary", |value| {
            for member in members(value) {
                // Not a field name: `*`, or malformed.
                match HeaderName::from_bytes(member) {
                    Ok(name) if member != b"*" => names.push(name),
                    _ => anything = true,
                }
            }
        });
        if anything {
            return Err(VariesOnAnything);
        }
        names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        names.dedup();
        Ok(Vary(
            names
                .into_iter()
                .map(|name| {
                    let value = normal(request, &name);
                    (name, value)
                })
                .collect(),
        ))
    }

    /// Returns true if the response matches a request with these fields.
    pub fn matches(&self, request: &(impl FieldLines + ?Sized)) -> bool {
        self.0.iter().all(|(name, value)| same(request, name, value.as_deref()))
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &HeaderName> {
        self.0.iter().map(|(name, _)| name)
    }

    /// The fields that selected the response, in normal form.
    pub(crate) fn chosen_by(&self) -> Vec<(&str, &[u8])> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?))).collect()
    }

    /// Memory beside the structure itself.
    pub(crate) fn weight(&self) -> usize {
        let values = self.0.iter().map(|(_, value)| value.as_ref().map_or(0, |value| value.len()));
        size_of_val(&*self.0) + values.sum::<usize>()
    }
}

fn normal(fields: &(impl FieldLines + ?Sized), name: &HeaderName) -> Option<Box<[u8]>> {
    let mut joined: Option<Vec<u8>> = None;
    let separator = separator(name);
    fields.values(name.as_str(), |value| {
        let joined = joined.get_or_insert_default();
        for member in parts(value, separator) {
            if !joined.is_empty() {
                joined.push(separator);
            }
            joined.extend_from_slice(member);
        }
    });
    if ignores_case(name) {
        joined.iter_mut().for_each(|joined| joined.make_ascii_lowercase());
    }
    joined.map(Vec::into_boxed_slice)
}

/// True if the case of a field's values is of no consequence.
fn ignores_case(name: &HeaderName) -> bool {
    *name == http::header::ACCEPT_LANGUAGE
}

/// The rest of `text` behind `member`, which may differ in case if the field ignores that.
fn behind<'t>(text: &'t [u8], member: &[u8], ignores_case: bool) -> Option<&'t [u8]> {
    let (begin, rest) = text.split_at_checked(member.len())?;
    let is_same = if ignores_case { begin.eq_ignore_ascii_case(member) } else { begin == member };
    is_same.then_some(rest)
}

/// Returns true if the field has that normal form, compared without allocation.
fn same(fields: &(impl FieldLines + ?Sized), name: &HeaderName, expected: Option<&[u8]>) -> bool {
    let (mut present, mut same, mut rest) = (false, true, expected.unwrap_or_default());
    let (mut first, separator, ignores_case) = (true, separator(name), ignores_case(name));
    fields.values(name.as_str(), |value| {
        present = true;
        for member in parts(value, separator) {
            let after = if first { Some(rest) } else { rest.strip_prefix(&[separator]) };
            first = false;
            match after.and_then(|rest| behind(rest, member, ignores_case)) {
                Some(after) => rest = after,
                None => same = false,
            }
        }
    });
    same && rest.is_empty() && present == expected.is_some()
}

/// Separator of the members of a field's lines.
fn separator(name: &HeaderName) -> u8 {
    if *name == http::header::COOKIE { b';' } else { b',' }
}

/// The members of one line.
fn parts(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let pairs = (separator == b';').then(|| value.split(|byte| *byte == b';'));
    let pairs = pairs.into_iter().flatten().map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty());
    let list = (separator == b',').then(|| members(value)).into_iter().flatten();
    pairs.chain(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vary(request: &[(&str, &str)], response: &str) -> Vary {
        Vary::of(request, &[("Vary", response)][..]).unwrap()
    }

    #[test]
    fn a_request_matches_if_the_named_fields_do() {
        let stored =
            vary(&[("Accept-Encoding", "gzip,  br"), ("User-Agent", "a")], "accept-encoding");
        assert!(stored.matches(&[("accept-encoding", "gzip,br"), ("user-agent", "b")][..]));
        assert!(
            stored.matches(&[("accept-encoding", "gzip"), ("Accept-Encoding", " br")][..]),
            "lines are one list"
        );
        assert!(!stored.matches(&[("accept-encoding", "gzip")][..]));
        assert!(!stored.matches(&[("accept-encoding", "gzip,br,x")][..]));
        assert!(!stored.matches(&[("user-agent", "a")][..]), "absent there, absent here");
    }

    /// RFC 9113 section 8.2.3: a client may split the field anywhere, it is the same cookie.
    #[test]
    fn cut_cookies_match_whole_ones() {
        let stored = vary(&[("cookie", "a=1"), ("cookie", "b=2,3")], "cookie");
        assert!(stored.matches(&[("Cookie", "a=1; b=2,3")][..]));
        assert!(!stored.matches(&[("Cookie", "a=1, b=2,3")][..]));
        assert!(!stored.matches(&[("Cookie", "a=1; b=2; 3")][..]));
        assert!(
            vary(&[("cookie", "a=1; b=2")], "cookie")
                .matches(&[("cookie", "a=1"), ("cookie", "b=2")][..])
        );
    }

    #[test]
    fn languages_match_in_any_case() {
        let stored = vary(&[("accept-language", "de-CH, en;q=0.5")], "accept-language");
        assert!(stored.matches(&[("Accept-Language", "DE-ch,EN;q=0.5")][..]));
        assert!(!stored.matches(&[("accept-language", "en;q=0.5, de-CH")][..]));
        let other = vary(&[("user-agent", "Agent")], "user-agent");
        assert!(!other.matches(&[("user-agent", "agent")][..]));
    }

    #[test]
    fn absent_is_not_empty() {
        let absent = vary(&[], "x");
        assert!(absent.matches(&[("y", "1")][..]));
        assert!(!absent.matches(&[("x", "")][..]));
        assert!(vary(&[("x", "")], "x").matches(&[("x", " ")][..]));
    }

    #[test]
    fn a_star_or_nonsense_matches_nothing() {
        for text in ["*", "accept, *", "a b"] {
            assert_eq!(
                Vary::of(&[("a", "b")][..], &[("vary", text)][..]),
                Err(VariesOnAnything),
                "{text}"
            );
        }
    }

    #[test]
    fn no_vary_matches_everything() {
        assert!(Vary::default().matches(&[("a", "b")][..]));
        assert_eq!(Vary::of(&[("a", "b")][..], &[("etag", "b")][..]), Ok(Vary::default()));
    }

    proptest! {
        #[test]
        fn matching_is_equality_of_normal_forms(a in prop::collection::vec("[ab, ]{0,6}", 0..3), b in prop::collection::vec("[ab, ]{0,6}", 0..3)) {
            let fields = |values: &[String]| values.iter().map(|v| ("x", v.clone())).collect::<Vec<_>>();
            let (a, b) = (fields(&a), fields(&b));
            let of = |request: &[(&'static str, String)]| Vary::of(request, &[("vary", "x")][..]).unwrap();
            prop_assert!(of(&a).matches(&a[..]));
            prop_assert_eq!(of(&a) == of(&b), of(&a).matches(&b[..]));
        }
    }
}
