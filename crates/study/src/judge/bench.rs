//! Synthetic curves for tests of the judging.

use std::collections::BTreeMap;

use super::{Cell, Draw, Expression, Frame, Measured, Quantity, Sources, Terms, Test, Value};
use crate::judge::{Fault, Filter, Finding};
use scenario::{NetworkSpec, Protocol, Scenario};

/// Curves of two arms over the round trip, of one experiment; curves are told apart by page.
pub struct Bench {
    measured: Measured,
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

impl Bench {
    /// An empty bench.
    pub fn new() -> Bench {
        let table = "rtt,plt\n50,1.0\n100,2.0\n150,3.0\n".to_owned();
        Bench {
            measured: Measured::new(),
            terms: toml::from_str(TERMS).expect("terms"),
            tables: BTreeMap::from([("t.csv".to_owned(), table)]),
        }
    }

    /// Adds a curve: these values at 50, 100, ... ms, each with repetitions spread by up to `noise` per cent
    /// around it.
    pub fn curve(mut self, protocol: Protocol, page: &str, values: &[f64], noise: f64) -> Bench {
        for (index, value) in values.iter().enumerate() {
            let network = format!("rtt={}ms,down=10mbit", 50 * (index + 1));
            let network = NetworkSpec::parse(&network).expect("a network");
            let mut scenario = Scenario::new(page, network);
            scenario.stack.protocol = protocol;
            let mut cell = Cell::new("sweep", &scenario, 0, None);
            let spread = |r: u32| value * (1.0 + noise / 100.0 * (f64::from(r) - 3.5) / 3.5);
            cell.values.insert(Quantity::Plt, (0..8).map(|r| (r, spread(r))).collect());
            cell.loads = 8;
            self.measured.add("sweep", cell);
        }
        self
    }

    /// The same, for one page without noise.
    pub fn exact(self, protocol: Protocol, values: &[f64]) -> Bench {
        self.curve(protocol, "10", values, 0.0)
    }

    /// The result of a test over a grid, on all curves together.
    pub fn judge(&self, grid: &str, test: &str) -> Result<Finding, Fault> {
        let test: Test = toml::from_str(test).expect("a test");
        self.frame(&test.leaves().into_iter().cloned().collect::<Vec<_>>(), grid)
            .and_then(|frame| test.judge(&frame, None, "a test"))
    }

    /// The measured value of an expression.
    pub fn value(&self, grid: &str, expression: &str) -> Result<Value, Fault> {
        let expression = Expression::try_from(expression.to_owned()).map_err(Fault::Clause)?;
        let leaves: Vec<_> = expression.leaves().into_iter().cloned().collect();
        let frame = self.frame(&leaves, grid)?;
        super::evaluate::value(&expression, &frame, &Draw::as_measured(None))
    }

    /// The same, place by place with its intervals.
    pub fn estimates(&self, grid: &str, expression: &str) -> Result<Vec<super::Estimate>, Fault> {
        let expression = Expression::try_from(expression.to_owned()).map_err(Fault::Clause)?;
        let leaves: Vec<_> = expression.leaves().into_iter().cloned().collect();
        super::estimates(&expression, &self.frame(&leaves, grid)?, "a figure")
    }

    fn frame(&self, leaves: &[super::Leaf], grid: &str) -> Result<Frame, Fault> {
        let sources =
            Sources { measured: &self.measured, terms: &self.terms, tables: &self.tables };
        Frame::new(sources, leaves, Some(grid), &Filter::default())
    }
}
