//! Synthetic curves for tests of the judging.

use std::collections::BTreeMap;

use super::{
    ClauseError, Criterion, Dataset, Estimate, Expression, Filter, Finding, Leaf, MeasuredCell,
    Measurements, Resample, Sources, Terms, Value,
};
use scenario::{NetworkSpec, Protocol, Scenario};

/// Curves of two arms over the round trip, of one experiment; curves are told apart by page.
pub struct Curves {
    measurements: Measurements,
    terms: Terms,
    tables: BTreeMap<String, String>,
}

const TERMS: &str = "
statistic = \"mean\"
arm.h1 = { protocol = \"h1\" }
arm.h2 = { protocol = \"h2\" }
arm.h3 = { protocol = \"h3-deployed\" }
grid.rtt = { experiments = [\"sweep\"], x = \"rtt_ms\", each = \"page\" }
grid.small = { experiments = [\"sweep\"], x = \"rtt_ms\", where = { page = \"10\" } }
grid.unrun = { experiments = [\"other\"], x = \"rtt_ms\" }
published.table = { file = \"t.csv\", x = \"rtt\", y = \"plt\" }
";

impl Curves {
    /// An empty set.
    pub fn new() -> Curves {
        let table = "rtt,plt\n50,1.0\n100,2.0\n150,3.0\n".to_owned();
        Curves {
            measurements: Measurements::default(),
            terms: toml::from_str(TERMS).expect("terms"),
            tables: BTreeMap::from([("t.csv".to_owned(), table)]),
        }
    }

    /// Adds a curve: these values at 50, 100, ... ms, each with repetitions spread by up to `noise` per cent
    /// around it.
    pub fn curve(mut self, protocol: Protocol, page: &str, values: &[f64], noise: f64) -> Curves {
        for (index, value) in values.iter().enumerate() {
            let network = format!("rtt={}ms,down=10mbit", 50 * (index + 1));
            let network = NetworkSpec::parse(&network).expect("a network");
            let mut scenario = Scenario::new(page, network);
            scenario.stack.protocol = protocol;
            let mut cell = MeasuredCell::new("sweep", &scenario, 0, None);
            let spread = |r: u32| value * (1.0 + noise / 100.0 * (f64::from(r) - 3.5) / 3.5);
            cell.values.insert("plt".to_owned(), (0..8).map(|r| (r, spread(r))).collect());
            cell.loads = 8;
            self.measurements.add("sweep", cell);
        }
        self
    }

    /// The same, for one page without noise.
    pub fn exact(self, protocol: Protocol, values: &[f64]) -> Curves {
        self.curve(protocol, "10", values, 0.0)
    }

    /// The result of a criterion over a grid, on all curves together.
    pub fn judge(&self, grid: &str, criterion: &str) -> Result<Finding, ClauseError> {
        let criterion: Criterion = toml::from_str(criterion).expect("a criterion");
        self.dataset(&criterion.leaves().into_iter().cloned().collect::<Vec<_>>(), grid)
            .and_then(|dataset| criterion.judge(&dataset, "a test"))
    }

    /// The measured value of an expression.
    pub fn value(&self, grid: &str, expression: &str) -> Result<Value, ClauseError> {
        let expression =
            Expression::try_from(expression.to_owned()).map_err(ClauseError::Invalid)?;
        let leaves: Vec<_> = expression.leaves().into_iter().cloned().collect();
        let dataset = self.dataset(&leaves, grid)?;
        super::value::value(&expression, &dataset, &Resample::as_measured(None))
    }

    /// The same, place by place with its intervals.
    pub fn estimates(&self, grid: &str, expression: &str) -> Result<Vec<Estimate>, ClauseError> {
        let expression =
            Expression::try_from(expression.to_owned()).map_err(ClauseError::Invalid)?;
        let leaves: Vec<_> = expression.leaves().into_iter().cloned().collect();
        super::resample::estimates(&expression, &self.dataset(&leaves, grid)?, "a figure")
    }

    fn dataset(&self, leaves: &[Leaf], grid: &str) -> Result<Dataset, ClauseError> {
        let sources =
            Sources { measurements: &self.measurements, terms: &self.terms, tables: &self.tables };
        Dataset::new(sources, leaves, Some(grid), &Filter::default())
    }
}
