//! `Cache-Control` and `Pragma` (RFC 9111 sections 5.2 and 5.4), with RFC 5861's and RFC 8246's extensions, and targeted cache control (RFC 9213).
//!
//! A directive with a malformed number counts as zero where it limits reuse: section 4.2.1 has caches consider invalid freshness
//! information stale. The same holds for a directive given twice with different numbers.

use http::HeaderName;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use crate::date::DeltaSeconds;
use crate::fields::{FieldLines, members, unquoted};

/// Cache directives of a request (section 5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// No reuse without validation (section 5.2.1.4), or `Pragma: no-cache` alone (section 5.4).
    pub no_cache: bool,
    /// Nothing of this exchange may be stored (section 5.2.1.5).
    pub no_store: bool,
    /// Answer from the cache or not at all (section 5.2.1.7).
    pub only_if_cached: bool,
    /// The greatest acceptable age (section 5.2.1.1).
    pub max_age: Option<DeltaSeconds>,
    /// Acceptable staleness; [`DeltaSeconds::MAX`] if no number was given (section 5.2.1.2).
    pub max_stale: Option<DeltaSeconds>,
    /// Minimum remaining freshness (section 5.2.1.3).
    pub min_fresh: Option<DeltaSeconds>,
    /// Acceptable staleness of a response that stands in for an error (RFC 5861 section 4).
    pub stale_if_error: Option<DeltaSeconds>,
}

impl RequestDirectives {
    /// Parses one line of `Cache-Control`.
    pub(crate) fn read(&mut self, value: &[u8]) {
        for directive in members(value).map(Directive::of) {
            if directive.is("no-cache") {
                self.no_cache = true;
            } else if directive.is("no-store") {
                self.no_store = true;
            } else if directive.is("only-if-cached") {
                self.only_if_cached = true;
            } else if directive.is("max-age") {
                self.max_age = directive.agreeing(self.max_age);
            } else if directive.is("max-stale") {
                let any = directive.argument.is_none();
                self.max_stale =
                    if any { Some(DeltaSeconds::MAX) } else { directive.agreeing(self.max_stale) };
            } else if directive.is("min-fresh") {
                self.min_fresh = directive.agreeing(self.min_fresh);
            } else if directive.is("stale-if-error") {
                self.stale_if_error = directive.agreeing(self.stale_if_error);
            }
        }
    }
}

/// Cache directives of a response (section 5.2.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseDirectives {
    /// Not to be stored (section 5.2.2.5).
    pub no_store: bool,
    /// To be validated before each use (section 5.2.2.4, without field names).
    pub no_cache: bool,
    /// Not for shared caches (section 5.2.2.7, without field names).
    pub private: bool,
    /// May be stored even if that is otherwise forbidden (section 5.2.2.9).
    pub public: bool,
    /// Not to be used stale (section 5.2.2.2).
    pub must_revalidate: bool,
    /// Not to be used stale by shared caches (section 5.2.2.8).
    pub proxy_revalidate: bool,
    /// Only for caches that know the status code (section 5.2.2.3).
    pub must_understand: bool,
    /// Freshness lifetime (section 5.2.2.1).
    pub max_age: Option<DeltaSeconds>,
    /// Freshness lifetime in shared caches (section 5.2.2.10).
    pub s_maxage: Option<DeltaSeconds>,
    /// Permitted staleness while it is being validated (RFC 5861 section 3).
    pub stale_while_revalidate: Option<DeltaSeconds>,
    /// Permitted staleness when it stands in for an error (RFC 5861 section 4).
    pub stale_if_error: Option<DeltaSeconds>,
    /// Fields named by `no-cache` or `private`: a shared cache must not use them without validation, nor store them.
    pub withheld: Vec<HeaderName>,
    /// Set by a targeted field (RFC 9213): then neither `Cache-Control` nor `Expires` counts.
    pub targeted: bool,
}

impl ResponseDirectives {
    /// Reads the first of the `targets` that is present (RFC 9213), else all lines of `Cache-Control`.
    pub fn for_targets(
        fields: &(impl FieldLines + ?Sized),
        targets: &[HeaderName],
    ) -> ResponseDirectives {
        directives(fields, targets).unwrap_or_else(|| ResponseDirectives::of(fields))
    }

    /// Reads all lines of `Cache-Control`.
    pub fn of(fields: &(impl FieldLines + ?Sized)) -> ResponseDirectives {
        let mut directives = ResponseDirectives::default();
        fields.values("cache-control", |value| directives.read(value));
        directives
    }

    fn read(&mut self, value: &[u8]) {
        for directive in members(value).map(Directive::of) {
            if directive.is("no-store") {
                self.no_store = true;
            } else if directive.is("no-cache") {
                self.no_cache |= !self.withholds(&directive);
            } else if directive.is("private") {
                self.private |= !self.withholds(&directive);
            } else if directive.is("public") {
                self.public = true;
            } else if directive.is("must-revalidate") {
                self.must_revalidate = true;
            } else if directive.is("proxy-revalidate") {
                self.proxy_revalidate = true;
            } else if directive.is("must-understand") {
                self.must_understand = true;
            } else if directive.is("max-age") {
                self.max_age = directive.agreeing(self.max_age);
            } else if directive.is("s-maxage") {
                self.s_maxage = directive.agreeing(self.s_maxage);
            } else if directive.is("stale-while-revalidate") {
                self.stale_while_revalidate = directive.agreeing(self.stale_while_revalidate);
            } else if directive.is("stale-if-error") {
                self.stale_if_error = directive.agreeing(self.stale_if_error);
            }
        }
    }

    /// Notes the fields that a directive names. Returns false if it names none, or something that is not a field name: then the
    /// directive applies to the whole response.
    fn withholds(&mut self, directive: &Directive<'_>) -> bool {
        directive.argument.is_some_and(|argument| self.withhold(unquoted(argument)))
    }

    /// Notes the fields in a list of names; returns false if it is not such a list.
    fn withhold(&mut self, names: &[u8]) -> bool {
        let before = self.withheld.len();
        for name in members(names) {
            let Ok(name) = HeaderName::from_bytes(name) else { return false };
            self.withheld.push(name);
        }
        self.withheld.len() > before
    }
}

/// One directive: a name and the argument after its `=`.
struct Directive<'a> {
    name: &'a [u8],
    argument: Option<&'a [u8]>,
}

impl<'a> Directive<'a> {
    fn of(member: &'a [u8]) -> Directive<'a> {
        match member.iter().position(|byte| *byte == b'=') {
            None => Directive { name: member, argument: None },
            Some(at) => {
                let (name, argument) = (member[..at].trim_ascii(), member[at + 1..].trim_ascii());
                Directive { name, argument: Some(argument) }
            }
        }
    }

    /// Names compare case-insensitively (section 5.2).
    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The number, in either form (section 5.2 has recipients accept both a token and a quoted string).
    fn seconds(&self) -> DeltaSeconds {
        self.argument
            .and_then(|text| DeltaSeconds::parse(unquoted(text)))
            .unwrap_or(DeltaSeconds::ZERO)
    }

    /// The number, if it agrees with one given before.
    fn agreeing(&self, before: Option<DeltaSeconds>) -> Option<DeltaSeconds> {
        let now = self.seconds();
        Some(if before.is_none_or(|before| before == now) { now } else { DeltaSeconds::ZERO })
    }
}

// Targeted cache control (RFC 9213), `CDN-Cache-Control` above all.

/// The directives in the first of the `targets` that a response has and that can be parsed (section 2.2); `None` if `Cache-Control`
/// and `Expires` count.
pub(crate) fn directives(
    fields: &(impl FieldLines + ?Sized),
    targets: &[HeaderName],
) -> Option<ResponseDirectives> {
    targets.iter().find_map(|target| {
        let mut lines = Vec::new();
        fields.values(target.as_str(), |value| {
            if !lines.is_empty() {
                lines.push(b',');
            }
            lines.extend_from_slice(value);
        });
        // Section 2.1: an unparsable or empty field is treated as absent.
        let members: Dictionary = Parser::new(&lines).parse().ok()?;
        (!members.is_empty()).then(|| read(&members))
    })
}

fn read(members: &Dictionary) -> ResponseDirectives {
    let mut directives = ResponseDirectives { targeted: true, ..ResponseDirectives::default() };
    for (name, member) in members {
        let ListEntry::Item(item) = member else { continue };
        let value = &item.bare_item;
        let flag = *value != BareItem::Boolean(false);
        match name.as_str() {
            "no-store" => directives.no_store = flag,
            "no-cache" => directives.no_cache = flag && !withholds(&mut directives, value),
            "private" => directives.private = flag && !withholds(&mut directives, value),
            "public" => directives.public = flag,
            "must-revalidate" => directives.must_revalidate = flag,
            "proxy-revalidate" => directives.proxy_revalidate = flag,
            "must-understand" => directives.must_understand = flag,
            "max-age" => directives.max_age = Some(seconds(value)),
            "s-maxage" => directives.s_maxage = Some(seconds(value)),
            "stale-while-revalidate" => directives.stale_while_revalidate = Some(seconds(value)),
            "stale-if-error" => directives.stale_if_error = Some(seconds(value)),
            _ => {}
        }
    }
    directives
}

/// Notes the fields that a directive names, if it names any.
fn withholds(directives: &mut ResponseDirectives, value: &BareItem) -> bool {
    match value {
        BareItem::String(names) => directives.withhold(names.as_str().as_bytes()),
        _ => false,
    }
}

/// The number; anything else counts as stale (RFC 9111 section 4.2.1).
fn seconds(value: &BareItem) -> DeltaSeconds {
    let number = match value {
        BareItem::Integer(number) => u64::try_from(i64::from(*number)).ok(),
        _ => None,
    };
    number.map_or(DeltaSeconds::ZERO, DeltaSeconds::new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn response(value: &str) -> ResponseDirectives {
        ResponseDirectives::of(&[("Cache-Control", value)][..])
    }

    fn request(value: &str) -> RequestDirectives {
        let mut directives = RequestDirectives::default();
        directives.read(value.as_bytes());
        directives
    }

    #[test]
    fn names_are_read_in_any_case_and_numbers_in_both_forms() {
        let d = response("Max-Age=60, S-MAXAGE=\"120\" , public,,must-revalidate");
        assert_eq!(
            (d.max_age, d.s_maxage),
            (Some(DeltaSeconds::new(60)), Some(DeltaSeconds::new(120)))
        );
        assert!(d.public && d.must_revalidate && !d.private);
    }

    #[test]
    fn broken_and_contradictory_numbers_count_as_stale() {
        for text in ["max-age=1h", "max-age=", "max-age", "max-age=-5", "max-age=60, max-age=90"] {
            assert_eq!(response(text).max_age, Some(DeltaSeconds::ZERO), "{text}");
        }
        assert_eq!(response("max-age=60, max-age=60").max_age, Some(DeltaSeconds::new(60)));
    }

    #[test]
    fn several_lines_are_one_list() {
        let fields = [("cache-control", "public"), ("date", "x"), ("CACHE-CONTROL", "max-age=3")];
        let d = ResponseDirectives::of(&fields[..]);
        assert!(d.public && d.max_age == Some(DeltaSeconds::new(3)));
    }

    #[test]
    fn named_fields_are_withheld_and_the_rest_may_be_used() {
        let d = response(r#"no-cache="set-cookie, X-A", private=Authorization, max-age=5"#);
        assert!(!d.no_cache && !d.private);
        assert_eq!(d.withheld, ["set-cookie", "x-a", "authorization"]);
        // An argument that is not a list of names applies to the whole response.
        assert!(response(r#"private="a b""#).private);
        assert!(response(r#"no-cache="""#).no_cache);
    }

    #[test]
    fn max_stale_without_a_number_means_any() {
        assert_eq!(request("max-stale").max_stale, Some(DeltaSeconds::MAX));
        assert_eq!(request("max-stale=5, min-fresh=7").max_stale, Some(DeltaSeconds::new(5)));
        assert!(request("only-if-cached, no-store").only_if_cached);
    }

    proptest! {
        #[test]
        fn reading_never_panics(value in "[ -~]{0,60}") {
            request(&value);
            response(&value);
        }
    }

    const TARGETS: [HeaderName; 2] = [
        HeaderName::from_static("farlink-cache-control"),
        HeaderName::from_static("cdn-cache-control"),
    ];

    fn of(fields: &[(&str, &str)]) -> Option<ResponseDirectives> {
        directives(fields, &TARGETS)
    }

    /// RFC 9213 section 2.2.
    #[test]
    fn the_first_target_that_can_be_read_counts() {
        let d = of(&[
            ("CDN-Cache-Control", "max-age=600"),
            ("Farlink-Cache-Control", "max-age=60, no-cache"),
        ]);
        let d = d.expect("directives");
        assert!(d.targeted && d.no_cache && d.max_age == Some(DeltaSeconds::new(60)));
        let d = of(&[
            ("CDN-Cache-Control", "max-age=600"),
            ("CDN-Cache-Control", "must-revalidate"),
            ("Farlink-Cache-Control", "max-age=60, NoCase"),
        ]);
        let d = d.expect("directives");
        assert!(d.must_revalidate && d.max_age == Some(DeltaSeconds::new(600)));
        assert_eq!(of(&[("cache-control", "max-age=5")]), None);
    }

    /// RFC 9213 section 2.1.
    #[test]
    fn it_is_a_structured_field() {
        for unread in ["", "max-age=60,", "Max-Age=60", "max-age=", "max-age=60 no-store", "a=\"x"]
        {
            assert_eq!(of(&[("cdn-cache-control", unread)]), None, "{unread}");
        }
        let d = of(&[(
            "cdn-cache-control",
            "max-age=60;x=1, no-store=?0, private=\"x-user\", max-age=7",
        )]);
        let d = d.expect("directives");
        assert!(!d.no_store && !d.private);
        assert_eq!(
            (d.max_age, d.withheld),
            (Some(DeltaSeconds::new(7)), vec![HeaderName::from_static("x-user")])
        );
        for stale in ["max-age=-1", "max-age=6.0", "max-age=\"60\"", "max-age=soon", "max-age"] {
            let d = of(&[("cdn-cache-control", stale)]).expect("directives");
            assert_eq!(d.max_age, Some(DeltaSeconds::ZERO), "{stale}");
        }
    }
}
