//! Targeted cache control (RFC 9213), `CDN-Cache-Control` above all.

use http::HeaderName;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use crate::date::Seconds;
use crate::directives::ResponseDirectives;
use crate::fields::Fields;

/// The directives in the first of the `targets` that a response has and that can be parsed (section 2.2); `None` if `Cache-Control`
/// and `Expires` count.
pub(crate) fn directives(
    fields: &(impl Fields + ?Sized),
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
fn seconds(value: &BareItem) -> Seconds {
    let number = match value {
        BareItem::Integer(number) => u64::try_from(i64::from(*number)).ok(),
        _ => None,
    };
    number.map_or(Seconds::ZERO, Seconds::new)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(d.targeted && d.no_cache && d.max_age == Some(Seconds::new(60)));
        let d = of(&[
            ("CDN-Cache-Control", "max-age=600"),
            ("CDN-Cache-Control", "must-revalidate"),
            ("Farlink-Cache-Control", "max-age=60, NoCase"),
        ]);
        let d = d.expect("directives");
        assert!(d.must_revalidate && d.max_age == Some(Seconds::new(600)));
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
            (Some(Seconds::new(7)), vec![HeaderName::from_static("x-user")])
        );
        for stale in ["max-age=-1", "max-age=6.0", "max-age=\"60\"", "max-age=soon", "max-age"] {
            let d = of(&[("cdn-cache-control", stale)]).expect("directives");
            assert_eq!(d.max_age, Some(Seconds::ZERO), "{stale}");
        }
    }
}
