//! Parser of suites (`docs/validation-suites.md` documents the format), from keys as typed to checked values.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use scenario::experiment::{
    Catalogue, ExperimentError, NameError, Node, OneOrMany, Problem, Scalar, Source, Tree, cells,
    check_format, integer, leaves, missing, once, take, text, untyped, value,
};
use scenario::nearest;
use serde::Deserialize;
use toml::Spanned;

use super::suite::{Loads, MoreLoads, Needs, Part, Suite};
use super::target::{ChromiumFigure, Gauge, Target};
use crate::cell::Figure;

impl Suite {
    /// The suite that `source` holds; parts that name no page get `pages`.
    ///
    /// # Errors
    /// The first mistake in it, with its position; also if a part has no page.
    pub fn read(
        source: &Source,
        pages: &[String],
        catalogue: &dyn Catalogue,
    ) -> Result<Suite, ExperimentError> {
        check_format(source)?;
        let raw: RawSuite =
            toml::from_str(source.text()).map_err(|error| untyped(source, &error))?;
        let count = |key, typed: &Typed, default| count(source, key, typed, 1, default);
        let mut targets = limits(source, &raw.targets, target)?;
        targets.extend(limits(source, &raw.better_than_lantern, better_than_lantern)?);
        targets.sort_by_key(|target| target.gauge);
        let mut suite = Suite {
            name: once(source, &raw.name, text("name"))?.unwrap_or("suite".to_owned()),
            seed: once(source, &raw.seed, integer("seed", 0..=i64::MAX))?.unwrap_or(1) as u64,
            side_by_side: count("side_by_side", &raw.side_by_side, 4)?,
            needs: needs(source, &raw.needs)?,
            more_loads: raw.more_loads.map(|raw| more_loads(source, &raw)).transpose()?,
            targets,
            calibrated: None,
            parts: Vec::new(),
            text: source.text().to_owned(),
        };
        if raw.part.is_empty() {
            return Err(missing(source, "part", "write [[part]] with pages, networks and stacks"));
        }
        for raw in raw.part {
            suite.parts.push(part(source, raw, pages, catalogue)?);
        }
        check_distinct(source, &suite.parts)?;
        Ok(suite)
    }
}

/// A whole number of at least `least`.
fn count(
    source: &Source,
    key: &str,
    typed: &Typed,
    least: i64,
    default: u32,
) -> Result<u32, ExperimentError> {
    let number = once(source, typed, integer(key, least..=1_000_000))?;
    Ok(number.map_or(default, |number| number as u32))
}

fn needs(source: &Source, raw: &RawNeeds) -> Result<Needs, ExperimentError> {
    let count =
        |key, typed: &Typed, default| count(source, key, typed, 1, default).map(|n| n as usize);
    Ok(Needs {
        cells: count("needs.cells", &raw.cells, 4)?,
        emu_lossless: count("needs.emu_lossless", &raw.emu_lossless, 3)?,
        sim_lossy: count("needs.sim_lossy", &raw.sim_lossy, 100)?,
        emu_lossy: count("needs.emu_lossy", &raw.emu_lossy, 50)?,
        chromium: count("needs.chromium", &raw.chromium, 3)?,
    })
}

fn more_loads(source: &Source, raw: &RawMoreLoads) -> Result<MoreLoads, ExperimentError> {
    let count = |key, typed: &Typed| count(source, key, typed, 0, 0);
    let loads = Loads {
        sim: count("more_loads.sim", &raw.sim)?,
        emu: count("more_loads.emu", &raw.emu)?,
        coalesced: count("more_loads.coalesced", &raw.coalesced)?,
        chromium: count("more_loads.chromium", &raw.chromium)?,
    };
    let beyond = percentage("more_loads.beyond", raw.beyond.get_ref())
        .map_err(|problem| ExperimentError::at(source, raw.beyond.span(), problem))?;
    Ok(MoreLoads { beyond, loads })
}

/// Keys of a part that are not settings.
const OWN: [&str; 5] = ["name", "sim_loads", "emu_loads", "coalesced_loads", "chromium_loads"];

/// Settings that a suite or its loads determine.
const NOT_FOR_PARTS: [(&str, &str); 3] = [
    ("client.program", "nothing: emu_loads and chromium_loads say what loads the page"),
    ("world", "nothing: sim_loads and emu_loads say where the page is loaded"),
    ("release", "nothing: coalesced_loads says how packets are released"),
];

fn part(
    source: &Source,
    mut tree: Tree,
    pages: &[String],
    catalogue: &dyn Catalogue,
) -> Result<Part, ExperimentError> {
    let [name, sim, emu, coalesced, chromium] = OWN.map(|key| take(&mut tree, key));
    let at = name.as_ref().map_or(0..0, Spanned::span);
    let Some(name) = once(source, &name, text("part.name"))? else {
        return Err(missing(source, "part.name", "give every [[part]] a name"));
    };
    let count = |key, typed: &Typed| count(source, key, typed, 0, 0);
    let loads = Loads {
        sim: count("part.sim_loads", &sim)?,
        emu: count("part.emu_loads", &emu)?,
        coalesced: count("part.coalesced_loads", &coalesced)?,
        chromium: count("part.chromium_loads", &chromium)?,
    };
    for leaf in leaves(&tree) {
        if let Some((key, expected)) = NOT_FOR_PARTS.iter().find(|(key, _)| *key == leaf.key) {
            let (key, found, expected) = (key.to_string(), "given".into(), expected.to_string());
            let problem = Problem::Value { key, found, expected };
            return Err(ExperimentError::at(source, leaf.span, problem));
        }
    }
    if !tree.contains_key("page") {
        if pages.is_empty() {
            let example = "add [part.page] with a name, or give pages: --page FILE";
            let problem = Problem::Missing { key: "part.page", example };
            return Err(ExperimentError::at(source, at, problem));
        }
        tree.insert(unplaced("page".to_owned()), unplaced(named(pages)));
    }
    let grid = cells(source, &tree, &OWN, catalogue)?;
    if let Some(skipped) = grid.skipped.first() {
        // A suite counts its cells, so none is left out silently.
        let refusal = NameError { message: skipped.sentence(), hint: None };
        let problem = Problem::Refused { key: format!("part `{name}`"), refusal };
        return Err(ExperimentError::at(source, at, problem));
    }
    Ok(Part { name, loads, cells: grid.cells.into_iter().map(Arc::new).collect() })
}

/// The table `page` with these names.
fn named(pages: &[String]) -> Node {
    let names = pages.iter().map(|page| unplaced(Scalar::Text(page.clone()))).collect();
    let axis = Node::Axis(OneOrMany::Many(names));
    Node::Table(Tree::from([(unplaced("name".to_owned()), unplaced(axis))]))
}

/// A value that is not in the file.
fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// Refuses a suite with duplicate scenarios: they would count twice.
fn check_distinct(source: &Source, parts: &[Part]) -> Result<(), ExperimentError> {
    let mut known = BTreeSet::new();
    for part in parts {
        if !part.cells.iter().all(|cell| known.insert(cell.canonical())) {
            let problem = Problem::Twice { key: format!("part `{}`", part.name) };
            return Err(ExperimentError::at(source, 0..0, problem));
        }
    }
    Ok(())
}

/// The limits of a table, each read by `read`.
fn limits(
    source: &Source,
    table: &TypedLimits,
    read: fn(&str, &Scalar) -> Result<Target, Problem>,
) -> Result<Vec<Target>, ExperimentError> {
    let target = |(key, limit): (&Spanned<String>, &Spanned<Scalar>)| {
        let span = match gauge(key.get_ref()) {
            Ok(_) => limit.span(),
            Err(_) => key.span(),
        };
        read(key.get_ref(), limit.get_ref())
            .map_err(|problem| ExperimentError::at(source, span, problem))
    };
    table.iter().map(target).collect()
}

fn target(key: &str, limit: &Scalar) -> Result<Target, Problem> {
    let gauge = gauge(key)?;
    Ok(Target { gauge, limit: percentage(&format!("targets.{key}"), limit)? })
}

fn percentage(key: &str, given: &Scalar) -> Result<f64, Problem> {
    match given {
        Scalar::Text(text) => units::parse::ratio(text).map_err(|error| value(key, given, error)),
        other => Err(value(key, other, "a percentage in quotes: \"3%\"")),
    }
}

fn better_than_lantern(key: &str, limit: &Scalar) -> Result<Target, Problem> {
    let Gauge::Figure(figure) = gauge(key)? else { return Err(unknown(key)) };
    let limit = match limit {
        Scalar::Integer(times) if *times > 0 => *times as f64,
        Scalar::Float(times) if *times > 0.0 && times.is_finite() => *times,
        other => {
            let key = format!("better_than_lantern.{key}");
            return Err(value(
                &key,
                other,
                "how many times smaller than the Lantern-like model's: 3",
            ));
        }
    };
    Ok(Target { gauge: Gauge::BetterThanLantern(figure), limit })
}

fn gauge(key: &str) -> Result<Gauge, Problem> {
    let figure = Figure::from_str(key).map(Gauge::Figure);
    figure.or_else(|_| ChromiumFigure::from_str(key).map(Gauge::Chromium)).map_err(|_| unknown(key))
}

fn unknown(key: &str) -> Problem {
    let chromium = ChromiumFigure::ALL.iter().map(|f| f.name());
    let known = Figure::ALL.iter().map(|f| f.name()).chain(chromium);
    let known: Vec<String> = known.map(str::to_owned).collect();
    let hint = nearest(key, known.iter().map(String::as_str));
    let hint = hint.map(|name| format!("did you mean `{name}`?"));
    Problem::UnknownKey { key: key.to_owned(), known, hint }
}

// The suite as typed: keys only, without a check of their values.

/// A key with its value.
pub type Typed = Option<Spanned<Scalar>>;

/// Limits by the names of figures.
pub type TypedLimits = BTreeMap<Spanned<String>, Spanned<Scalar>>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSuite {
    /// Read before everything else, from the untyped table.
    #[serde(rename = "format")]
    pub _format: Spanned<Scalar>,
    pub name: Typed,
    pub seed: Typed,
    pub side_by_side: Typed,
    #[serde(default)]
    pub needs: RawNeeds,
    pub more_loads: Option<RawMoreLoads>,
    #[serde(default)]
    pub targets: TypedLimits,
    #[serde(default)]
    pub better_than_lantern: TypedLimits,
    #[serde(default)]
    pub part: Vec<Tree>,
}

/// `[needs]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNeeds {
    pub cells: Typed,
    pub emu_lossless: Typed,
    pub sim_lossy: Typed,
    pub emu_lossy: Typed,
    pub chromium: Typed,
}

/// `[more_loads]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawMoreLoads {
    pub beyond: Spanned<Scalar>,
    pub sim: Typed,
    pub emu: Typed,
    pub coalesced: Typed,
    pub chromium: Typed,
}

#[cfg(test)]
mod tests {
    use testbed::tour::Library;

    use super::*;
    use crate::{MeasuredWorld, Shipped};

    const SUITE: &str = r#"
format = 1
name = "small"

[targets]
ratio_median = "3%"
chromium_median = "10%"

[better_than_lantern]
lossless_median = 3

[[part]]
name = "lossless"
sim_loads = 5
emu_loads = 3
chromium_loads = 2
[part.page]
name = "synthetic:12x10KB"
[part.network]
down = "10mbit"
up = "5mbit"
rtt = ["20ms", "100ms"]
[part.stack]
protocol = ["h1", "h2"]
tls = "none"
"#;

    fn read(text: &str) -> Result<Suite, ExperimentError> {
        Suite::read(&Source::new("s.toml", text), &[], &Library::default())
    }

    fn refused(from: &str, to: &str) -> String {
        assert!(SUITE.contains(from), "{from}");
        read(&SUITE.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn a_suite_becomes_plans() {
        let suite = read(SUITE).unwrap();
        assert_eq!((suite.side_by_side, suite.targets.len()), (4, 3));
        let plans = suite.plans();
        let shapes: Vec<_> = plans.iter().map(|p| (p.way, p.plan.journey_count())).collect();
        // Chromium speaks HTTP/2 over TLS only, so it cannot load two of four cells.
        assert_eq!(
            shapes,
            [(MeasuredWorld::Sim, 20), (MeasuredWorld::Emu, 12), (MeasuredWorld::Chromium, 4)]
        );
        assert_eq!(plans[2].cells, [0, 2]);
        assert_eq!(plans[0].plan.name(), "small: lossless, sim");
        assert_ne!(plans[0].plan.digest(), plans[1].plan.digest());
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_place() {
        let message = refused("ratio_median", "ratio_medain");
        assert!(message.starts_with("s.toml:6:1: unknown key `ratio_medain`"), "{message}");
        let message = refused("\"3%\"", "3");
        assert!(
            message.contains("s.toml:6:16: `targets.ratio_median` is the number 3"),
            "{message}"
        );
        let message = refused("= 3\n\n[[part", "= \"3%\"\n\n[[part");
        assert!(message.contains("`better_than_lantern.lossless_median`"), "{message}");
        let message = refused("lossless_median", "chromium_median");
        assert!(message.contains("unknown key `chromium_median`"), "{message}");
        let message = refused("[targets]", "[more_loads]\nbeyond = \"2\"\n[targets]");
        assert!(message.contains("s.toml:6:10: `more_loads.beyond`"), "{message}");
        let message = refused("rtt = [\"20ms\",", "rtt = [\"20\",");
        assert!(message.contains("s.toml:22:8"), "{message}");
        let message = refused("sim_loads = 5", "sim_loads = -1");
        assert!(message.contains("`part.sim_loads` is the number -1"), "{message}");
        let message =
            refused("[part.stack]", "[part.client]\nprogram = \"chromium\"\n[part.stack]");
        assert!(message.contains("emu_loads and chromium_loads say"), "{message}");
        let message = refused("[part.page]\nname = \"synthetic:12x10KB\"\n", "");
        assert!(message.contains("give pages: --page FILE"), "{message}");
        assert!(message.contains("s.toml:13:8: `part.page`"), "{message}");
        let message = refused("name = \"lossless\"\n", "");
        assert!(message.contains("give every [[part]] a name"), "{message}");
    }

    #[test]
    fn a_scenario_may_be_there_once() {
        let (_, part) = SUITE.split_once("[[part]]").unwrap();
        let message = read(&format!("{SUITE}\n[[part]]{part}")).unwrap_err().to_string();
        assert!(message.contains("part `lossless`"), "{message}");
    }

    #[test]
    fn the_shipped_suites_read() {
        for shipped in Shipped::ALL {
            let pages = ["bth2013".to_owned(), "synthetic:12x10KB".to_owned()];
            let suite = Suite::read(&shipped.source(), &pages, &Library::default());
            let suite = suite.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(suite.name, shipped.name());
        }
        let full = Suite::read(&Shipped::Full.source(), &[], &Library::default()).unwrap();
        let compared = full.parts.iter().filter(|p| p.loads.sim > 0 && p.loads.emu > 0);
        let scenarios: usize = compared.map(|p| p.cells.len()).sum();
        assert!(scenarios >= 60, "{scenarios}");
        assert!(full.side_by_side >= 4);
    }
}
