//! Resolution of a typed experiment to a plan.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::tree::{COMBINING_TABLES, Document, Leaf, Scalar, Tree, leaves, take, take_list};
use super::{Catalogue, ExperimentError, NameError, Problem, Source};
use crate::grid::{self, Axis, Combinations, Grid, GridError, GridFault, MOST_CELLS};
use crate::plan::{Keep, Order, Plan, StopRule};
use crate::settings::SETTINGS;
use crate::{ChoiceError, Scenario, nearest};

/// The experiment format that this version reads.
pub const FORMAT: i64 = 1;

/// The largest number of repetitions.
pub(super) const MOST_REPETITIONS: i64 = 1_000_000;

/// Top-level keys with one value for the whole experiment.
pub(super) const OWN: [&str; 8] =
    ["format", "name", "seed", "repetitions", "until", "most_repetitions", "order", "keep"];

/// Resolves `source` to its plan.
pub fn resolve(source: &Source, catalogue: &dyn Catalogue) -> Result<Plan, ExperimentError> {
    let mut document = read(source)?;
    let header = Header::take(source, &mut document.settings)?;
    let Grid { cells, skipped } = combined(source, &document, &own_keys(), catalogue)?;
    let repetitions = header.repetitions.unwrap_or(10);
    let order = header.order.unwrap_or_else(|| usual_order(&cells));
    let plan = Plan::new(header.name, header.seed, repetitions, order, cells);
    let plan = plan.without(skipped).keeping(header.keep);
    Ok(match header.until {
        None => plan,
        Some(rule) => plan.until(rule),
    })
}

/// Most pages whose cells take turns unless told otherwise: one page after the other, each is prepared once.
const MOST_ALTERNATED: usize = 64;

fn usual_order(cells: &[Scenario]) -> Order {
    let turns = cells.windows(2).filter(|two| two[0].page != two[1].page).count();
    if turns < MOST_ALTERNATED { Order::Alternated } else { Order::Blocked }
}

/// Top-level keys that are not settings.
pub(super) fn own_keys() -> Vec<&'static str> {
    OWN.into_iter().chain(["include"]).chain(COMBINING_TABLES).collect()
}

/// Reads a file and those that it includes.
fn read(source: &Source) -> Result<Document, ExperimentError> {
    let mut whole: Option<Document> = None;
    for (begin, file) in source.files() {
        check_format(&file)?;
        let mut document: Document =
            toml::from_str(file.text()).map_err(|error| untyped(&file, &error))?;
        for name in take_list(&mut document.settings, "include") {
            once(&file, &Some(name), text("include"))?;
        }
        let document = document.shifted(begin);
        match &mut whole {
            None => whole = Some(document),
            Some(whole) => whole.include(document),
        }
    }
    Ok(whole.unwrap_or_default())
}

/// Keys that hold for the whole experiment.
struct Header {
    name: String,
    seed: u64,
    repetitions: Option<u32>,
    until: Option<StopRule>,
    order: Option<Order>,
    keep: Keep,
}

impl Header {
    fn take(source: &Source, tree: &mut Tree) -> Result<Header, ExperimentError> {
        let [_, name, seed, repetitions, until, most, order, keep] = OWN.map(|key| take(tree, key));
        let seeds = 0..=i64::MAX;
        let counts = 1..=MOST_REPETITIONS;
        let repetitions = once(source, &repetitions, integer("repetitions", counts.clone()))?;
        let repetitions = repetitions.map(|it| it as u32);
        let read_most = once(source, &most, integer("most_repetitions", counts))?;
        let until = once(source, &until, |scalar| {
            let typed = text("until")(scalar)?;
            StopRule::parse(&typed, repetitions, read_most.map(|it| it as u32))
                .ok_or_else(|| value("until", scalar, StopRule::EXPECTED))
        })?;
        if let Some(most) = &most {
            let problem = |found: &str, expected: String| {
                let (key, found) = ("most_repetitions".to_owned(), found.to_owned());
                let problem = Problem::Value { key, found, expected };
                Err(ExperimentError::at(source, most.span(), problem))
            };
            match until {
                None => {
                    return problem(
                        "a limit without a rule",
                        "until = \"5%\" beside it".to_owned(),
                    );
                }
                Some(StopRule { fewest, most, .. }) if most < fewest => {
                    let expected =
                        format!("at least the {fewest} repetitions before the first look");
                    return problem("too small a limit", expected);
                }
                Some(_) => {}
            }
        }
        Ok(Header {
            name: once(source, &name, text("name"))?.unwrap_or("experiment".to_owned()),
            seed: once(source, &seed, integer("seed", seeds))?.unwrap_or(1) as u64,
            repetitions,
            until,
            order: once(source, &order, choice("order"))?,
            keep: once(source, &keep, choice("keep"))?.unwrap_or(Keep::All),
        })
    }
}

/// Reads a key that cannot be an axis.
pub fn once<T>(
    source: &Source,
    typed: &Option<Spanned<Scalar>>,
    read: impl Fn(&Scalar) -> Result<T, Problem>,
) -> Result<Option<T>, ExperimentError> {
    let Some(typed) = typed else { return Ok(None) };
    let fail = |problem| ExperimentError::at(source, typed.span(), problem);
    read(typed.get_ref()).map(Some).map_err(fail)
}

/// The grid of all settings in `tree`, from which the file's `own` keys have been taken.
pub fn cells(
    source: &Source,
    tree: &Tree,
    own: &[&str],
    catalogue: &dyn Catalogue,
) -> Result<Grid, ExperimentError> {
    let document = Document { settings: tree.clone(), ..Document::default() };
    combined(source, &document, own, catalogue)
}

/// The grid of a document, from which the file's `own` keys have been taken.
fn combined(
    source: &Source,
    document: &Document,
    own: &[&str],
    catalogue: &dyn Catalogue,
) -> Result<Grid, ExperimentError> {
    let mut all: Vec<(Leaf, Option<usize>)> =
        leaves(&document.settings).into_iter().map(|leaf| (leaf, None)).collect();
    for (number, linked) in document.linked.iter().enumerate() {
        let axes = leaves(linked.get_ref());
        if axes.len() < 2 {
            let message = "two axes or more vary together; this has fewer".to_owned();
            let refusal = NameError { message, hint: None };
            let problem = Problem::Refused { key: "linked".to_owned(), refusal };
            return Err(ExperimentError::at(source, linked.span(), problem));
        }
        all.extend(axes.into_iter().map(|leaf| (leaf, Some(number))));
    }
    for (leaf, _) in &mut all {
        find_pages(source, leaf, catalogue)?;
    }
    all.sort_by_key(|(leaf, _)| grid::position(&leaf.key));
    let excluded: Vec<Vec<Leaf>> =
        document.exclude.iter().map(|table| leaves(table.get_ref())).collect();
    let leaves: Vec<&Leaf> = all.iter().map(|(leaf, _)| leaf).collect();
    check_keys(source, &leaves, excluded.iter().flatten(), own)?;
    let linked = |number| {
        let is_there = |(at, (_, linked)): (usize, &(Leaf, Option<usize>))| {
            (*linked == Some(number)).then_some(at)
        };
        all.iter().enumerate().filter_map(is_there).collect()
    };
    let combinations = Combinations {
        axes: leaves.iter().map(|leaf| axis(leaf)).collect(),
        linked: (0..document.linked.len()).map(linked).collect(),
        excluded: excluded.iter().map(|table| table.iter().map(axis).collect()).collect(),
    };
    Grid::combined(&combinations, catalogue).map_err(|error| match error.exclusion {
        // An empty table has no key to point at.
        Some(number) if excluded[number].is_empty() => {
            let refusal = NameError {
                message: "it names no value, which would exclude all".to_owned(),
                hint: None,
            };
            let problem = Problem::Refused { key: "exclude".to_owned(), refusal };
            ExperimentError::at(source, document.exclude[number].span(), problem)
        }
        Some(number) => placed(source, &excluded[number][error.axis], error),
        None => placed(source, leaves[error.axis], error),
    })
}

/// Checks that all keys are settings, none is there twice, and the mandatory ones are there.
fn check_keys<'a>(
    source: &Source,
    leaves: &[&'a Leaf],
    excluded: impl Iterator<Item = &'a Leaf>,
    own: &[&str],
) -> Result<(), ExperimentError> {
    let mut named = leaves.iter().copied().chain(excluded);
    if let Some(unknown) = named.find(|leaf| !grid::is_key(&leaf.key)) {
        let problem = unknown_leaf(unknown, own);
        return Err(ExperimentError::at(source, unknown.key_span.clone(), problem));
    }
    let mut pairs = leaves.iter().zip(leaves.iter().skip(1));
    if let Some((_, again)) = pairs.find(|(one, other)| one.key == other.key) {
        let message = "it is given twice: linked to other axes and by itself, or in two links";
        let refusal = NameError { message: message.to_owned(), hint: None };
        let problem = Problem::Refused { key: again.key.clone(), refusal };
        return Err(ExperimentError::at(source, again.key_span.clone(), problem));
    }
    let is_there = |prefix: &str| leaves.iter().any(|leaf| leaf.key.starts_with(prefix));
    if !is_there("page.name") {
        let example = "write [page] with name = \"synthetic:100x10KB\"";
        return Err(missing(source, "page.name", example));
    }
    if !is_there("network") {
        let example = "write [network] with base = \"3g\", or with rtt, down and up";
        return Err(missing(source, "network", example));
    }
    Ok(())
}

/// Puts the pages that patterns stand for in the patterns' place.
fn find_pages(
    source: &Source,
    leaf: &mut Leaf,
    catalogue: &dyn Catalogue,
) -> Result<(), ExperimentError> {
    if leaf.key != "page.name" {
        return Ok(());
    }
    let mut values = Vec::with_capacity(leaf.values.len());
    for value in leaf.values.drain(..) {
        let found = catalogue.pages_like(&value.get_ref().typed()).map_err(|refusal| {
            let problem = Problem::Refused { key: leaf.key.clone(), refusal };
            ExperimentError::at(source, value.span(), problem)
        })?;
        let span = value.span();
        values.extend(found.into_iter().map(|page| Spanned::new(span.clone(), Scalar::Text(page))));
    }
    leaf.values = values;
    Ok(())
}

fn axis(leaf: &Leaf) -> Axis {
    let values = leaf.values.iter().map(|value| value.get_ref().typed()).collect();
    Axis { key: leaf.key.clone(), values }
}

/// Locates a grid's error at its key or value in the source.
fn placed(source: &Source, leaf: &Leaf, error: GridError) -> ExperimentError {
    let span = match error.value {
        Some(value) => leaf.values[value].span(),
        None => leaf.span.clone(),
    };
    let key = leaf.key.clone();
    let problem = match error.fault {
        GridFault::Refused(refusal) => Problem::Refused { key, refusal },
        GridFault::Twice => Problem::Twice { key },
        GridFault::Empty => Problem::EmptyAxis { key },
        GridFault::TooLarge(cells) => Problem::TooLarge { cells, most: MOST_CELLS },
    };
    ExperimentError::at(source, span, problem)
}

/// The problem of a key that is not a setting, with the known keys of its table or the table that has it.
fn unknown_leaf(leaf: &Leaf, own: &[&str]) -> Problem {
    let (table, name) = leaf.key.rsplit_once('.').unwrap_or(("", &leaf.key));
    let (table, name) = match leaf.key.strip_prefix("network.") {
        Some(name) => ("network", name),
        None => (table, name),
    };
    let keys = || SETTINGS.iter().map(|setting| setting.key);
    let siblings = keys().filter_map(|key| match table {
        "" => Some(key.split('.').next().unwrap_or(key)),
        _ => key.strip_prefix(table)?.strip_prefix('.'),
    });
    let mut known: Vec<String> = Vec::new();
    let own = own.iter().copied().filter(|_| table.is_empty());
    for key in own.chain(siblings) {
        if !known.iter().any(|known| known == key) {
            known.push(key.to_owned());
        }
    }
    if known.iter().any(|known| known == name) {
        let expected = format!("a table: a line [{name}], and its keys below");
        return Problem::Value { key: name.to_owned(), found: "a value".to_owned(), expected };
    }
    let elsewhere = keys().find(|key| key.rsplit('.').next() == Some(name));
    let hint = match elsewhere {
        Some(key) => Some(match key.rsplit_once('.') {
            Some((table, _)) => format!("`{name}` is a key of [{table}]"),
            None => format!("`{name}` is a top-level key: put it before any [table]"),
        }),
        None => nearest(name, known.iter().map(String::as_str))
            .map(|name| format!("did you mean `{name}`?")),
    };
    Problem::UnknownKey { key: name.to_owned(), known, hint }
}

/// Checks the format on the untyped table: a later format may hold keys that are unknown here.
pub fn check_format(source: &Source) -> Result<(), ExperimentError> {
    let table = DeTable::parse(source.text()).map_err(|error| untyped(source, &error))?;
    let Some(format) = table.get_ref().get("format") else {
        return Err(missing(source, "format", "write format = 1 on the first line"));
    };
    let fail = |problem| Err(ExperimentError::at(source, format.span(), problem));
    let found = match format.get_ref() {
        DeValue::Integer(number) => number.as_str().parse::<i64>().unwrap_or(i64::MAX),
        _ => 0,
    };
    match found {
        FORMAT => Ok(()),
        n if n > FORMAT => fail(Problem::Newer { found: n, known: FORMAT }),
        _ => fail(Problem::Value {
            key: "format".into(),
            found: "not a format that ever was".into(),
            expected: "1".into(),
        }),
    }
}

/// Converts an error of the TOML reader, with unknown keys told apart.
pub fn untyped(source: &Source, error: &toml::de::Error) -> ExperimentError {
    let message = error.message();
    let problem = unknown_key(message).unwrap_or_else(|| Problem::Syntax(message.to_owned()));
    ExperimentError::at(source, error.span().unwrap_or_default(), problem)
}

/// serde says "unknown field `a`, expected one of `b`, `c`", in these words since its first version.
fn unknown_key(message: &str) -> Option<Problem> {
    let names = message.strip_prefix("unknown field ")?;
    let mut quoted = names.split('`').skip(1).step_by(2).map(str::to_owned);
    let key = quoted.next()?;
    let known: Vec<String> = quoted.collect();
    let hint = nearest(&key, known.iter().map(String::as_str));
    let hint = hint.map(|name| format!("did you mean `{name}`?"));
    Some(Problem::UnknownKey { key, known, hint })
}

/// The error of a missing key.
pub fn missing(source: &Source, key: &'static str, example: &'static str) -> ExperimentError {
    ExperimentError::at(source, 0..0, Problem::Missing { key, example })
}

/// The problem of an unexpected value.
pub fn value(key: &str, found: &Scalar, expected: impl Display) -> Problem {
    Problem::Value { key: key.to_owned(), found: found.to_string(), expected: expected.to_string() }
}

/// Reader of text in quotes.
pub fn text(key: &str) -> impl Fn(&Scalar) -> Result<String, Problem> {
    move |scalar| match scalar {
        Scalar::Text(text) if !text.is_empty() => Ok(text.clone()),
        other => Err(value(key, other, "text in quotes")),
    }
}

/// Reader of a whole number within `range`.
pub fn integer(key: &str, range: RangeInclusive<i64>) -> impl Fn(&Scalar) -> Result<i64, Problem> {
    move |scalar| match scalar {
        Scalar::Integer(number) if range.contains(number) => Ok(*number),
        other => {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            Err(value(key, other, expected))
        }
    }
}

fn choice<T: FromStr<Err = ChoiceError>>(key: &str) -> impl Fn(&Scalar) -> Result<T, Problem> {
    move |scalar| {
        let name = text(key)(scalar)?;
        name.parse().map_err(|error: ChoiceError| {
            let refusal = NameError { hint: error.hint(), message: error.to_string() };
            Problem::Refused { key: key.to_owned(), refusal }
        })
    }
}
