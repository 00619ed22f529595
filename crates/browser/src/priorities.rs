//! Mappings of resource types to priorities, and their signals to servers. Data, in `data/priorities.toml` or a
//! user's file of the same form.

use std::collections::BTreeMap;

use http_stack::h2::{DependencyShape, Group};
use http_stack::schedule::Urgency;
use http_stack::{Precedence, Priority};
use page::Kind;
use serde::Deserialize;
use thiserror::Error;

use crate::named_table::{NamedTable, UnknownName};

/// A browser's priorities by resource type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priorities {
    /// One line for people.
    pub summary: String,
    /// The tree of HTTP/2's streams; `None`: no dependencies are sent.
    tree: Option<TreeShape>,
    /// True if requests have a `priority` field, for protocols that support it.
    field: bool,
    document: KindPriority,
    stylesheet: KindPriority,
    script: KindPriority,
    font: KindPriority,
    data: KindPriority,
    image: KindPriority,
    media: KindPriority,
    other: KindPriority,
}

/// Priorities of one resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindPriority {
    level: LevelName,
    spdy: Option<u8>,
    weight: Option<u16>,
    urgency: Option<u8>,
    #[serde(default)]
    incremental: bool,
    group: Option<GroupName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LevelName {
    Highest,
    High,
    Medium,
    Low,
    Lowest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TreeShape {
    Chain,
    Flat,
    Groups,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GroupName {
    UrgentStart,
    Leader,
    Other,
    Follower,
    Background,
}

/// Error in choosing a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrioritiesError {
    /// There is no mapping of that name.
    #[error("{0}; a file's name ends in `.toml`")]
    Unknown(#[from] UnknownName),
    /// The file cannot be read.
    #[error("cannot read the priorities `{path}`: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's error.
        why: String,
    },
    /// The file holds something else.
    #[error(
        "`{path}` is not a priorities file: {why}; it must contain one mapping with a row for each resource type (docs/priorities.md)"
    )]
    Malformed {
        /// The file.
        path: String,
        /// The error in it.
        why: String,
    },
}

static TABLE: NamedTable<Priorities> =
    NamedTable::new("mapping", include_str!("../data/priorities.toml"));

impl Priorities {
    /// The mapping called `spec`, or the one in the file of that name if it ends in `.toml`.
    ///
    /// # Errors
    /// If there is none of that name, or the file holds none.
    pub fn open(spec: &str) -> Result<Priorities, PrioritiesError> {
        if !spec.ends_with(".toml") {
            return Ok(TABLE.find(spec)?);
        }
        let path = || spec.to_owned();
        let text = std::fs::read_to_string(spec).map_err(|error| PrioritiesError::Unreadable {
            path: path(),
            why: error.to_string(),
        })?;
        Priorities::parse(&text).map_err(|why| PrioritiesError::Malformed { path: path(), why })
    }

    /// The one mapping that `text` holds.
    fn parse(text: &str) -> Result<Priorities, String> {
        let mut all: BTreeMap<String, Priorities> =
            toml::from_str(text).map_err(|error| error.to_string())?;
        match (all.pop_first(), all.len()) {
            (Some((_, priorities)), 0) => priorities.checked(),
            (None, _) => Err("it is empty".to_owned()),
            (Some(_), others) => Err(format!("it contains {} of them", others + 1)),
        }
    }

    /// All mappings by name.
    pub fn all() -> &'static BTreeMap<String, Priorities> {
        TABLE.all()
    }

    fn checked(self) -> Result<Priorities, String> {
        for (name, row) in self.rows() {
            let wrong = |key: &str, range: &str| Err(format!("{name}.{key} is not {range}"));
            if row.spdy.is_some_and(|bits| bits > 7) {
                return wrong("spdy", "0 to 7");
            }
            if row.weight.is_some_and(|weight| !(1..=256).contains(&weight)) {
                return wrong("weight", "1 to 256");
            }
            if row.urgency.is_some_and(|urgency| urgency > Urgency::LEAST) {
                return wrong("urgency", "0 to 7");
            }
        }
        Ok(self)
    }

    fn rows(&self) -> [(&'static str, &KindPriority); 8] {
        [
            ("document", &self.document),
            ("stylesheet", &self.stylesheet),
            ("script", &self.script),
            ("font", &self.font),
            ("data", &self.data),
            ("image", &self.image),
            ("media", &self.media),
            ("other", &self.other),
        ]
    }

    fn row(&self, kind: Kind) -> &KindPriority {
        match kind {
            Kind::Document | Kind::Redirect => &self.document,
            Kind::Stylesheet => &self.stylesheet,
            Kind::Script => &self.script,
            Kind::Font => &self.font,
            Kind::Data => &self.data,
            Kind::Image => &self.image,
            Kind::Media => &self.media,
            Kind::Other => &self.other,
        }
    }

    /// Shape of the dependencies between HTTP/2's streams, if any are sent.
    pub fn tree(&self) -> Option<DependencyShape> {
        self.tree.map(|tree| match tree {
            TreeShape::Chain => DependencyShape::Chain,
            TreeShape::Flat => DependencyShape::Flat,
            TreeShape::Groups => DependencyShape::Groups,
        })
    }

    /// Returns true if requests have a `priority` field.
    pub fn has_field(&self) -> bool {
        self.field
    }

    /// Precedence of a resource of this type.
    pub(crate) fn precedence(&self, kind: Kind) -> Precedence {
        let row = self.row(kind);
        let usual = Precedence::from(Priority::from(row.level));
        Precedence {
            spdy: row.spdy.unwrap_or(usual.spdy),
            weight: row.weight.unwrap_or(usual.weight),
            group: row.group.map_or(usual.group, Group::from),
            ..usual
        }
    }

    /// The `priority` field of a request for a resource of this type; `None` if it would be empty.
    pub(crate) fn field(&self, kind: Kind) -> Option<String> {
        let row = self.row(kind);
        let urgency = Urgency {
            level: row.urgency.unwrap_or(row.level as u8),
            is_incremental: row.incremental,
        };
        Some(urgency.to_string()).filter(|text| self.field && !text.is_empty())
    }
}

impl From<GroupName> for Group {
    fn from(name: GroupName) -> Group {
        match name {
            GroupName::UrgentStart => Group::UrgentStart,
            GroupName::Leader => Group::Leader,
            GroupName::Other => Group::Other,
            GroupName::Follower => Group::Follower,
            GroupName::Background => Group::Background,
        }
    }
}

impl From<LevelName> for Priority {
    fn from(level: LevelName) -> Priority {
        match level {
            LevelName::Highest => Priority::Highest,
            LevelName::High => Priority::High,
            LevelName::Medium => Priority::Medium,
            LevelName::Low => Priority::Low,
            LevelName::Lowest => Priority::Lowest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_every_row_is_sound() {
        assert!(Priorities::all().len() >= 4);
        for (name, priorities) in Priorities::all() {
            assert!(priorities.clone().checked().is_ok(), "{name}");
        }
    }

    #[test]
    fn chrome_says_what_chrome_says() {
        let chrome = Priorities::open("chrome").unwrap();
        let said = |kind| (chrome.precedence(kind), chrome.field(kind));
        let highest = Precedence::from(Priority::Highest);
        assert_eq!((highest.spdy, highest.weight), (0, 256));
        assert_eq!(said(Kind::Document), (highest, Some("u=0, i".to_owned())));
        assert_eq!(said(Kind::Stylesheet), (highest, Some("u=0".to_owned())));
        let low = Precedence::from(Priority::Low);
        assert_eq!((low.spdy, low.weight), (3, 147));
        assert_eq!(said(Kind::Image), (low, Some("i".to_owned())));
        let then = Priorities::open("chrome-2013").unwrap();
        assert_eq!((then.precedence(Kind::Stylesheet).spdy, then.field(Kind::Image)), (1, None));
    }

    #[test]
    fn firefox_says_what_a_request_is_for() {
        let firefox = Priorities::open("firefox").unwrap();
        assert_eq!(firefox.tree(), Some(DependencyShape::Groups));
        let said = |kind| {
            let Precedence { group, weight, .. } = firefox.precedence(kind);
            (group, weight)
        };
        assert_eq!(said(Kind::Document), (Group::UrgentStart, 42));
        assert_eq!(said(Kind::Stylesheet), (Group::Leader, 22));
        assert_eq!(said(Kind::Image), (Group::Follower, 12));
    }

    const ROWS: &str = r#"
        [mine]
        summary = "mine"
        field = true
        document = { level = "highest" }
        stylesheet = { level = "high", spdy = 7, weight = 1, urgency = 7 }
        script = { level = "high" }
        font = { level = "high" }
        data = { level = "high" }
        image = { level = "lowest" }
        media = { level = "lowest" }
        other = { level = "lowest" }
    "#;

    #[test]
    fn a_file_is_checked() {
        let mine = Priorities::parse(ROWS).unwrap();
        let sheet = mine.precedence(Kind::Stylesheet);
        assert_eq!(sheet, Precedence { spdy: 7, weight: 1, ..Priority::High.into() });
        assert_eq!((mine.field(Kind::Stylesheet), mine.tree()), (Some("u=7".to_owned()), None));
        let wrong = |from, to| Priorities::parse(&ROWS.replace(from, to)).unwrap_err();
        assert_eq!(wrong("weight = 1", "weight = 0"), "stylesheet.weight is not 1 to 256");
        assert_eq!(wrong("spdy = 7", "spdy = 8"), "stylesheet.spdy is not 0 to 7");
        assert!(wrong("other =", "others =").contains("others"));
        let error = Priorities::open("opera").unwrap_err().to_string();
        assert!(error.contains("chrome-2013") && error.contains(".toml"), "{error}");
        assert!(Priorities::open("/no/such.toml").unwrap_err().to_string().contains("no/such"));
    }
}
