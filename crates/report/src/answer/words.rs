//! The answer in sentences.

use super::{Answer, Gap, Moment, RankedArm, Ranking, SMALL};
use statistics::{Comparison, FEWEST_FOR_MEDIAN, NoInterval, percent};

/// Maximum number of arms that a sentence names.
const MOST_NAMES: usize = 4;

/// Maximum number of leads that are named one by one.
const MOST_LEADS: usize = 3;

impl Answer {
    /// The answer: the winner, then load time and first render with their figures, then the unranked arms.
    pub fn sentences(&self) -> Vec<String> {
        let ranked = self.load.placed().count();
        if !self.is_loaded {
            return vec!["The page did not load.".to_owned()];
        }
        let mut sentences = Vec::new();
        match ranked {
            0 => sentences.push("No arm loaded the whole page, so none is ranked.".to_owned()),
            1 => sentences.push(self.alone()),
            _ => sentences.push(self.headline()),
        }
        if ranked > 1 {
            sentences.push(format!("Load time: {}.", self.figures(Moment::Load)));
        }
        if self.render.placed().count() > 0 {
            sentences.push(format!("{}: {}.", self.render_name(), self.figures(Moment::Render)));
        }
        sentences.extend(self.warnings());
        sentences
    }

    /// One sentence on the best by load time and by first render.
    pub fn headline(&self) -> String {
        let (load, render) = (self.load.first(), self.render.first());
        let (loads, shows) = (self.names_of(load), self.names_of(render));
        let render_is_open =
            render.is_empty() || (self.render.winner().is_none() && self.render.ranks().len() == 1);
        let load_is_open = self.load.ranks().len() == 1;
        match (self.load.winner(), self.render.winner()) {
            (Some(one), Some(other)) if one == other => {
                format!("{} loads first and shows something first.", self.names[one])
            }
            (Some(_), _) if render.is_empty() => format!("{loads} loads first."),
            (Some(_), _) if render_is_open => {
                format!("{loads} loads first; in first render {}.", self.tie(&self.render))
            }
            (_, Some(_)) if load_is_open => {
                format!("{shows} shows something first; in load time {}.", self.tie(&self.load))
            }
            _ if self.disagrees() => format!(
                "It depends on the metric: {loads} {}, but {shows} {} something first.",
                verb(load, "loads first", "load first"),
                verb(render, "shows", "show")
            ),
            _ if load_is_open && render.is_empty() => {
                format!("In load time {}.", self.tie(&self.load))
            }
            _ if load_is_open && render_is_open => {
                let (load, render) = (self.tie(&self.load), self.tie(&self.render));
                match load == render {
                    true => format!("In load time and first render {load}."),
                    false => format!("In load time {load}; in first render {render}."),
                }
            }
            _ if render.is_empty() => {
                format!("{loads} {}.", verb(load, "loads first", "load first"))
            }
            _ => format!(
                "{loads} {}; {shows} {} something first.",
                verb(load, "loads first", "load first"),
                verb(render, "shows", "show")
            ),
        }
    }

    /// Reasons to look twice: arms that are not ranked, rankings that disagree.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self
            .incomplete
            .iter()
            .map(|arm| {
                format!("Not ranked, because the page was incomplete: {}: {}.", arm.name, arm.why)
            })
            .collect();
        if self.disagrees() {
            warnings.push(
                "Load time and first render disagree: the arm that completes first is not the one that shows something first."
                    .to_owned(),
            );
        }
        warnings
    }

    /// The name of first render: measured or estimated.
    pub fn render_name(&self) -> &'static str {
        match self.paints {
            true => "First contentful paint",
            false => "First render (estimated)",
        }
    }

    fn alone(&self) -> String {
        let only = &self.load.first()[0];
        let (name, median) = (&self.names[only.arm], span(only.median_ns));
        match self.over_floor {
            Some(ratio) => format!("{name} takes {median} here, {ratio:.2} times the floor."),
            None => format!("{name} takes {median} here."),
        }
    }

    /// The best median and its leads, over many arms in summary:
    /// "h3 7.62 s, 21 % (18-24 %) ahead of h2 (9.65 s)".
    fn figures(&self, moment: Moment) -> String {
        let ranking = self.ranking(moment);
        let Some((best, tied)) = ranking.first().split_first() else {
            return "not known".to_owned();
        };
        let behind: Vec<&RankedArm> = ranking.ranks().iter().skip(1).flatten().collect();
        let mut parts = vec![format!("{} {}", self.names[best.arm], span(best.median_ns))];
        match tied {
            [] => {}
            [one] => parts.push(self.lead_over(one, true)),
            several => parts.push(self.lead_over_all(several)),
        }
        let (told, rest) = behind.split_at(behind.len().min(MOST_LEADS));
        parts.extend(
            told.iter()
                .enumerate()
                .map(|(place, one)| self.lead_over(one, place == 0 && tied.is_empty())),
        );
        if let Some(last) = rest.last() {
            let most = last
                .behind
                .map_or_else(String::new, |gap| format!(", up to {}", percent(gap.advantage)));
            parts.push(format!("and further ahead of {} more{most}", rest.len()));
        }
        parts.join(", ")
    }

    fn lead_over(&self, other: &RankedArm, is_first: bool) -> String {
        let name = self.with_median(other);
        match &other.behind {
            None => format!("no load in common with {name}"),
            Some(comparison) => lead(comparison, &name, is_first),
        }
    }

    /// The relation to several arms of the same rank.
    fn lead_over_all(&self, tied: &[RankedArm]) -> String {
        let names: Vec<String> = tied.iter().map(|one| self.with_median(one)).collect();
        let names = list(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let compared = || tied.iter().filter_map(|one| one.behind);
        let most = compared().map(|gap| gap.advantage).fold(0.0, f64::max);
        match compared().map(|gap| Gap::of(&gap)).max() {
            None | Some(Gap::None) => format!("the same as {names}"),
            Some(Gap::Small) => {
                format!("practically the same as {names}: at most {} apart", percent(most))
            }
            Some(Gap::Unclear | Gap::Clear | Gap::Untested) => {
                format!("no clear difference from {names}: at most {} apart", percent(most))
            }
        }
    }

    fn with_median(&self, placed: &RankedArm) -> String {
        format!("{} ({})", self.names[placed.arm], span(placed.median_ns))
    }

    /// The relation of arms that share the first rank.
    fn tie(&self, ranking: &Ranking) -> String {
        let names = self.names_of(ranking.first());
        let gaps = ranking.first().iter().filter_map(|one| one.behind.as_ref().map(Gap::of));
        match gaps.max() {
            None | Some(Gap::None) => format!("{names} are the same"),
            Some(Gap::Small) => format!("{names} are practically the same"),
            Some(Gap::Unclear | Gap::Clear) => {
                format!("there is no clear difference between {names}")
            }
            Some(Gap::Untested) => {
                format!(
                    "{names} cannot be told apart with so few repetitions (at least {FEWEST_FOR_MEDIAN} are needed)"
                )
            }
        }
    }

    /// The arms by name; for a long list, their number.
    fn names_of(&self, placed: &[RankedArm]) -> String {
        let names: Vec<&str> = placed.iter().map(|one| self.names[one.arm].as_str()).collect();
        match names.len() {
            many if many > MOST_NAMES && many == self.names.len() => format!("all {many} arms"),
            many if many > MOST_NAMES => {
                let more = format!("{} more", many - MOST_NAMES);
                list(&[&names[..MOST_NAMES], &[more.as_str()]].concat())
            }
            _ => list(&names),
        }
    }
}

/// The lead of the best over `other`, with its interval.
fn lead(comparison: &Comparison, other: &str, is_first: bool) -> String {
    let by = percent(comparison.advantage);
    let level = if is_first { "95 % interval " } else { "" };
    let interval = match &comparison.interval {
        Ok(interval) => format!(" ({level}{})", interval.percent()),
        Err(NoInterval::NoSpread) if is_first => {
            " (no spread: every repetition is the same)".to_owned()
        }
        Err(few @ NoInterval::TooFew { .. }) if is_first => {
            format!(" (no confidence interval: {few})")
        }
        Err(_) => String::new(),
    };
    match Gap::of(comparison) {
        Gap::None => format!("the same as {other}"),
        Gap::Clear => format!("{by}{interval} ahead of {other}"),
        Gap::Small => format!(
            "practically the same as {other}: {by}{interval} apart, under {}",
            percent(SMALL)
        ),
        Gap::Unclear => format!("no clear difference from {other}: {by}{interval} apart"),
        Gap::Untested => format!("{by}{interval} below {other}"),
    }
}

fn verb<'a>(placed: &[RankedArm], one: &'a str, several: &'a str) -> &'a str {
    if placed.len() == 1 { one } else { several }
}

/// "h1", "h1 and h2", "h1, h2 and h3".
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A span of nanoseconds as seconds or milliseconds, with three figures.
pub fn span(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e8 => format!("{:.0} ms", ns / 1e6),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.2} ms", ns / 1e6),
    }
}
