//! File of priors: the table with the totals, and distributions of everything else.

use serde::Deserialize;

use super::Sites;

/// Newest format of the file that is read.
const FORMAT: u32 = 1;

/// Priors of sites known by their totals.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priors {
    format: u32,
    /// Short name of the study, part of its host names.
    pub name: String,
    /// The table with the totals, relative to this file.
    pub table: String,
    /// Number of draws of each site.
    pub draws: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Columns of the table.
    pub columns: PriorColumns,
    /// Rounding of averages.
    pub counts: CountPriors,
    /// Shares of the types, if the table has none.
    pub types: Option<Types>,
    /// Distribution of bytes over objects.
    pub sizes: Sizes,
    /// Distribution of objects over hosts.
    pub domains: Domains,
    /// Discovery of objects.
    pub discovery: DiscoveryPrior,
    /// The client's work on top of its device's.
    pub compute: ComputePrior,
    /// Traffic after loading.
    pub beacons: Beacons,
    /// Think times of origins.
    pub origin: OriginPrior,
    /// Connections, which are an outcome and not drawn.
    pub connections: Option<Connections>,
}

/// The table's columns by name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorColumns {
    /// Name of the site.
    pub site: String,
    /// Its size in kilobytes (thousands of bytes).
    pub kilobytes: String,
    /// Number of its hosts.
    pub domains: String,
    /// Number of its objects, if types are not distinguished.
    pub objects: Option<String>,
    /// Number of its documents and other texts.
    pub text: Option<String>,
    /// Number of its scripts and style sheets.
    pub js_css: Option<String>,
    /// Number of all other objects.
    pub images_other: Option<String>,
}

/// Rounding of averages.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountPriors {
    /// The method; there is one.
    pub rounding: Rounding,
}

/// Method of rounding averages to whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Floor or ceiling, the ceiling with the fraction as its probability.
    ByFraction,
}

/// Shares of all objects.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Documents and other text.
    pub text: f64,
    /// Scripts and style sheets.
    pub js_css: f64,
    /// All others.
    pub images_other: f64,
}

/// A log-normal weight: `mean` is relative to other types'.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Its mean.
    pub mean: f64,
    /// The standard deviation of its natural logarithm.
    pub sigma_log: f64,
}

/// Distribution of a site's bytes over its objects.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Weights of documents and other texts.
    pub text: Weight,
    /// Weights of scripts and style sheets.
    pub js_css: Weight,
    /// Weights of all others.
    pub images_other: Weight,
    /// Minimum size of an object.
    pub least_bytes: u64,
    /// Choice of the document.
    pub document: DocumentIs,
}

/// Choice of the document.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum DocumentIs {
    /// The largest of the text objects.
    #[serde(rename = "largest text object")]
    LargestText,
}

/// Distribution of objects over hosts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domains {
    /// Share of the document's own host, uniform between the two.
    pub own_share: [f64; 2],
    /// Distribution of the rest.
    pub others: Others,
}

/// Distribution of objects over the hosts other than the document's.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum Others {
    /// In proportion to 1/rank, each host at least one object.
    #[serde(rename = "zipf:1")]
    Zipf,
}

/// Discovery of objects.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscoveryPrior {
    /// Share of sheets among scripts and sheets.
    pub sheets_of_js_css: f64,
    /// Share of scripts and sheets that the document's first tenth refers to.
    pub in_head_of_js_css: f64,
    /// Share of images named by the document; the three shares sum to 1.
    pub images_by_document: f64,
    /// See `images_by_document`.
    pub images_by_sheet: f64,
    /// See `images_by_document`.
    pub images_by_script: f64,
    /// Share of the scripts outside the head that are named by scripts.
    pub scripts_by_script: f64,
    /// Maximum distance of an object from the document.
    pub most_depth: u32,
}

/// The client's work on top of its device's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputePrior {
    /// Amount; there is one choice.
    pub extra: Extra,
}

/// The client's work on top of its device's.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extra {
    /// None.
    None,
}

/// Traffic of some sites after loading.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beacons {
    /// Share of sites with beacons.
    pub share_of_sites: f64,
    /// Seconds between two, uniform per site.
    pub period_s: Option<[f64; 2]>,
    /// Bytes of one, uniform per site.
    pub size_bytes: Option<[u64; 2]>,
}

/// Think times of origins.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginPrior {
    /// Time from a request's arrival to the first byte of its response.
    pub think_ms: Think,
}

/// An exponential time, cut at `most`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Its mean, before cutting.
    pub mean: f64,
    /// Its maximum.
    pub most: f64,
    /// The distribution; there is one.
    pub distribution: PriorDistribution,
}

/// Distribution of a time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum PriorDistribution {
    /// Values above the maximum become the maximum.
    #[serde(rename = "exponential, cut")]
    ExponentialCut,
}

/// Connections, which are an outcome.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Always false: none are drawn.
    pub drawn: bool,
}

impl Priors {
    /// Parses the text of a file; errors state the line.
    pub fn parse(text: &str) -> Result<Priors, String> {
        let priors: Priors = toml::from_str(text).map_err(|error| error.to_string())?;
        priors.check()?;
        Ok(priors)
    }

    /// Name of a site's host; host 0 is the document's own.
    pub(super) fn host_name(&self, site: usize, host: u64) -> String {
        match host {
            0 => format!("www.site{site}.{}.test", self.name),
            host => format!("host{host}.site{site}.{}.test", self.name),
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format = {}; this version reads {FORMAT}", self.format));
        }
        if self.connections.as_ref().is_some_and(|connections| connections.drawn) {
            return Err(
                "[connections] drawn = true: connections are an outcome here, write false".into()
            );
        }
        self.check_columns()?;
        for (field, share) in self.shares() {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{field} = {share}: a share lies between 0 and 1"));
            }
        }
        for (field, sum) in self.sums() {
            if (sum - 1.0).abs() > 1e-9 {
                return Err(format!("the shares {field} sum to {sum}, not to 1"));
            }
        }
        let Beacons { share_of_sites, period_s, size_bytes } = &self.beacons;
        let periods = period_s.is_some_and(|[least, most]| 0.0 < least && least <= most);
        let sizes = size_bytes.is_some_and(|[least, most]| least <= most);
        match *share_of_sites == 0.0 || (periods && sizes) {
            true => Ok(()),
            false => Err("[beacons] needs `period_s` and `size_bytes`, each [least, most], where any site has them".into()),
        }
    }

    fn check_columns(&self) -> Result<(), String> {
        let PriorColumns { objects, text, js_css, images_other, .. } = &self.columns;
        let by_type = text.is_some() && js_css.is_some() && images_other.is_some();
        let in_all = objects.is_some() && self.types.is_some();
        match by_type != in_all {
            true => Ok(()),
            false => Err("[columns] names either `text`, `js_css` and `images_other`, or `objects` beside [types]".into()),
        }
    }

    fn shares(&self) -> Vec<(&'static str, f64)> {
        let of = &self.discovery;
        vec![
            ("domains.own_share", self.domains.own_share[0]),
            ("domains.own_share", self.domains.own_share[1]),
            ("discovery.sheets_of_js_css", of.sheets_of_js_css),
            ("discovery.in_head_of_js_css", of.in_head_of_js_css),
            ("discovery.images_by_document", of.images_by_document),
            ("discovery.images_by_sheet", of.images_by_sheet),
            ("discovery.scripts_by_script", of.scripts_by_script),
            ("beacons.share_of_sites", self.beacons.share_of_sites),
        ]
    }

    fn sums(&self) -> Vec<(&'static str, f64)> {
        let of = &self.discovery;
        let images = of.images_by_document + of.images_by_sheet + of.images_by_script;
        let types =
            self.types.iter().map(|of| ("of [types]", of.text + of.js_css + of.images_other));
        types.chain([("discovery.images_by_*", images)]).collect()
    }
}

// Studies' priors that are built in: `erman2013-sites#7/3` equals `studies/erman2013/sites.toml#7/3`.

/// A study's priors and the table with its totals, as texts.
pub(crate) struct ShippedPriors {
    /// Name in specs.
    pub name: &'static str,
    priors: &'static str,
    table: &'static str,
}

/// `NAME-sites`, with the files of the study's folder.
macro_rules! sites {
    ($study:literal, $table:literal) => {
        ShippedPriors {
            name: concat!($study, "-sites"),
            priors: include_str!(concat!("../../../../studies/", $study, "/sites.toml")),
            table: include_str!(concat!("../../../../studies/", $study, "/published/", $table)),
        }
    };
}

static SHIPPED: [ShippedPriors; 2] =
    [sites!("cardaci2015", "table_1_sites.csv"), sites!("erman2013", "table_1_sites.csv")];

/// The study of that name.
pub(crate) fn shipped(name: &str) -> Option<&'static ShippedPriors> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

impl ShippedPriors {
    /// Sites drawn from them.
    pub(crate) fn sites(&self) -> Sites {
        let priors = Priors::parse(self.priors).expect("what is shipped is checked by its test");
        let known = super::parse_table(self.table.as_bytes(), &priors.columns);
        let known = known.expect("what is shipped is checked by its test");
        Sites { name: self.name.to_owned(), priors, known }
    }
}
