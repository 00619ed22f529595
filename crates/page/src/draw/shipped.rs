//! Studies' priors that are built in: `erman2013-sites#7/3` equals `studies/erman2013/sites.toml#7/3`.

use super::{Priors, Sites, table};

/// A study's priors and the table with its totals, as texts.
pub(crate) struct Shipped {
    /// Name in specs.
    pub name: &'static str,
    priors: &'static str,
    table: &'static str,
}

/// `NAME-sites`, with the files of the study's folder.
macro_rules! sites {
    ($study:literal, $table:literal) => {
        Shipped {
            name: concat!($study, "-sites"),
            priors: include_str!(concat!("../../../../studies/", $study, "/sites.toml")),
            table: include_str!(concat!("../../../../studies/", $study, "/published/", $table)),
        }
    };
}

static SHIPPED: [Shipped; 2] =
    [sites!("cardaci2015", "table_1_sites.csv"), sites!("erman2013", "table_1_sites.csv")];

/// The study of that name.
pub(crate) fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

impl Shipped {
    /// Sites drawn from them.
    pub(crate) fn sites(&self) -> Sites {
        let priors = Priors::parse(self.priors).expect("what is shipped is checked by its test");
        let known = table::parse(self.table.as_bytes(), &priors.columns);
        let known = known.expect("what is shipped is checked by its test");
        Sites { name: self.name.to_owned(), priors, known }
    }
}
