//! The course of a journey: the sequence of pages that its client visits, their times, and the state dropped in
//! between.

use std::rc::Rc;

use browser::Session;
use chance::{Source, Stream};
use units::Time;

use super::{BETWEEN_VISITS, Visitor};
use scenario::{Itinerary, Keeps, Pace, PageOrder, Scenario, View, World};

/// Sequence of a client's visits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Course {
    steps: Vec<Step>,
    pace: Pace,
    keeps: Keeps,
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Index among the journey's pages.
    pub(super) page: usize,
    /// State of the browser's cache: warm after an earlier visit of the page.
    pub(super) view: View,
    /// True if it is recorded, false if it only prepares a later visit.
    pub(super) is_measured: bool,
}

impl Course {
    /// The course of a client of this scenario, which has `pages` pages.
    pub(crate) fn of(scenario: &Scenario, pages: usize, visitor: Visitor) -> Course {
        let step = |view, is_measured| Step { page: 0, view, is_measured };
        let (cold, warm) = (View::Cold, View::Warm);
        let steps = match scenario.client.view {
            View::Cold => return Course::through(&scenario.journey, pages, visitor),
            View::Warm => vec![step(cold, false), step(warm, true)],
            View::Both => vec![step(cold, true), step(warm, true)],
        };
        // A browser that is closed after its first visit, and has its cache and its sessions when it is restarted.
        let keeps = Keeps { cache: true, sessions: true, metrics: true, ..Keeps::NOTHING };
        Course { steps, pace: Pace::Think(BETWEEN_VISITS), keeps }
    }

    fn through(journey: &Itinerary, pages: usize, visitor: Visitor) -> Course {
        let source = match journey.order {
            PageOrder::Listed => None,
            PageOrder::Drawn(Some(seed)) => Some(Source::new(seed, 0)),
            // A plan would have set the seed.
            PageOrder::Drawn(None) | PageOrder::DrawnAnew => Some(visitor.journey_source()),
        };
        let mut draws = source.map(|source| source.stream("journey/order"));
        let mut steps: Vec<Step> = Vec::new();
        let mut was_there = vec![false; pages];
        for _ in 0..journey.times {
            for page in order(pages, draws.as_mut()) {
                let comes_back = std::mem::replace(&mut was_there[page], true);
                let view = match comes_back && journey.keeps.cache {
                    true => View::Warm,
                    false => View::Cold,
                };
                steps.push(Step { page, view, is_measured: true });
            }
        }
        Course { steps, pace: journey.pace, keeps: journey.keeps }
    }

    /// True if TCP's metrics are kept between visits.
    pub(crate) fn keeps_metrics(scenario: &Scenario) -> bool {
        scenario.client.view != View::Cold || scenario.journey.keeps.metrics
    }

    /// The visits in their order.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Waits between two visits, the first of which began at `began`.
    pub(super) async fn pause(&self, began: Time) {
        match self.pace {
            Pace::Think(span) => world::sleep(span).await,
            Pace::Every(span) => {
                if began + span > world::now() {
                    world::sleep_until(began + span).await;
                }
            }
        }
    }

    /// The browser after a visit: the same, or a restarted one if its connections are not kept or are of no use.
    pub(super) fn after_visit(&self, session: Rc<Session>) -> Rc<Session> {
        match self.keeps.connections && !session.has_given_up() {
            true => session,
            false => Rc::new(session.restarted()),
        }
    }

    /// Drops state of the previous visit that is not kept.
    pub(super) fn forget(&self, session: &Session) {
        let Keeps { sessions, metrics, cache, names, .. } = self.keeps;
        if !sessions {
            session.forget_servers();
        }
        if !metrics {
            world::forget_peers();
        }
        if !cache {
            session.empty_cache();
        }
        if !names {
            session.forget_names();
        }
    }
}

/// Each page once: in the list's order, or shuffled (Fisher and Yates).
fn order(pages: usize, draws: Option<&mut Stream>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pages).collect();
    if let Some(draws) = draws {
        for last in (1..pages).rev() {
            order.swap(last, draws.below(last as u64 + 1) as usize);
        }
    }
    order
}

/// A note for readers of results.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let forgets = scenario.visits_each() > 1 && !Course::keeps_metrics(scenario);
    (forgets && scenario.world == World::Emu).then(|| {
        "TCP's metrics are not kept: the kernel remembers nothing from one connection to the next, within a visit neither (tcp_no_metrics_save)".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::NetworkSpec;

    fn course(order: &str, keeps: &str, seed: u64) -> Vec<(usize, View)> {
        let mut scenario = Scenario::new("sites.toml", NetworkSpec::default());
        scenario.journey = Itinerary {
            times: 2,
            order: order.parse().unwrap(),
            keeps: keeps.parse().unwrap(),
            ..Itinerary::default()
        };
        let visitor = Visitor::all(&scenario, seed)[0];
        Course::of(&scenario, 8, visitor).steps().iter().map(|s| (s.page, s.view)).collect()
    }

    fn pages(order: &str, seed: u64) -> Vec<usize> {
        course(order, "nothing", seed).into_iter().map(|(page, _)| page).collect()
    }

    #[test]
    fn a_list_is_gone_through_in_its_order() {
        let listed: Vec<usize> = (0..8).chain(0..8).collect();
        assert_eq!(pages("listed", 1), listed);
        let cached = course("listed", "cache", 1);
        assert!(cached[..8].iter().all(|(_, view)| *view == View::Cold));
        assert!(cached[8..].iter().all(|(_, view)| *view == View::Warm));
    }

    #[test]
    fn an_order_is_drawn_for_all_or_for_each() {
        let drawn = pages("drawn=3", 1);
        assert_eq!(drawn, pages("drawn=3", 2), "every repetition has the same");
        assert_ne!(drawn, pages("drawn=4", 1));
        assert_ne!(drawn, pages("listed", 1));
        assert_ne!(pages("drawn-anew", 1), pages("drawn-anew", 2));
        assert_eq!(pages("drawn-anew", 1), pages("drawn-anew", 1), "arms are paired by their seed");
        let mut once = drawn[..8].to_vec();
        once.sort_unstable();
        assert_eq!(once, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_view_of_one_page_is_a_journey_of_two_visits() {
        let mut scenario = Scenario::new("a", NetworkSpec::default());
        scenario.client.view = View::Warm;
        let course = Course::of(&scenario, 1, Visitor::all(&scenario, 1)[0]);
        let measured: Vec<bool> = course.steps().iter().map(|step| step.is_measured).collect();
        assert_eq!(measured, [false, true]);
        assert_eq!(course.pace, Pace::Think(BETWEEN_VISITS));
    }
}
