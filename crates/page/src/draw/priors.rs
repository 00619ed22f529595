//! The file of priors: which table has the totals, and how all else is drawn.

use serde::Deserialize;

/// The newest format of the file that is read.
const FORMAT: u32 = 1;

/// How sites that are known by their totals are drawn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priors {
    format: u32,
    /// The study's short name, part of its hosts'.
    pub name: String,
    /// The table with the totals, relative to this file.
    pub table: String,
    /// How many draws of each site there are.
    pub draws: u64,
    /// What all draws come from.
    pub seed: u64,
    /// Which columns of the table tell what.
    pub columns: Columns,
    /// How averages become whole numbers.
    pub counts: Counts,
    /// Shares of the types, where the table has none.
    pub types: Option<Types>,
    /// How the bytes are shared out.
    pub sizes: Sizes,
    /// How objects are spread over hosts.
    pub domains: Domains,
    /// What names an object.
    pub discovery: Discovery,
    /// The client's work beside its device's.
    pub compute: Compute,
    /// What goes on being sent after loading.
    pub beacons: Beacons,
    /// What origins take to answer.
    pub origin: Origin,
    /// What is an outcome and not drawn.
    pub connections: Option<Connections>,
}

/// The table's columns by name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// What the site is called.
    pub site: String,
    /// Its bytes in thousands.
    pub kilobytes: String,
    /// Its hosts.
    pub domains: String,
    /// Its objects, where the types are not told apart.
    pub objects: Option<String>,
    /// Its documents and other text.
    pub text: Option<String>,
    /// Its scripts and style sheets.
    pub js_css: Option<String>,
    /// All other objects.
    pub images_other: Option<String>,
}

/// How averages become whole numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// The way; there is one.
    pub rounding: Rounding,
}

/// How averages become whole numbers.
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

/// A log-normal weight: `mean` counts relative to other types'.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Its mean.
    pub mean: f64,
    /// The standard deviation of its natural logarithm.
    pub sigma_log: f64,
}

/// How a site's bytes are shared out among its objects.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Of documents and other text.
    pub text: Weight,
    /// Of scripts and style sheets.
    pub js_css: Weight,
    /// Of all others.
    pub images_other: Weight,
    /// What an object has at least.
    pub least_bytes: u64,
    /// Which object is the document.
    pub document: DocumentIs,
}

/// Which object is the document.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum DocumentIs {
    /// The largest of the text objects.
    #[serde(rename = "largest text object")]
    LargestText,
}

/// How objects are spread over hosts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domains {
    /// The share of the document's own host, drawn evenly between the two.
    pub own_share: [f64; 2],
    /// How the rest is spread.
    pub others: Others,
}

/// How the objects of other hosts than the document's are spread.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum Others {
    /// In proportion to 1/rank, each host at least one object.
    #[serde(rename = "zipf:1")]
    Zipf,
}

/// What names an object.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    /// The share of sheets among scripts and sheets.
    pub sheets_of_js_css: f64,
    /// The share of scripts and sheets that the document's first tenth refers to.
    pub in_head_of_js_css: f64,
    /// Shares of what names an image; they sum to 1.
    pub images_by_document: f64,
    /// See `images_by_document`.
    pub images_by_sheet: f64,
    /// See `images_by_document`.
    pub images_by_script: f64,
    /// The share that scripts name, of the scripts that are not in the head.
    pub scripts_by_script: f64,
    /// How many steps an object may be from the document.
    pub most_depth: u32,
}

/// The client's work beside its device's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// How much; there is one way.
    pub extra: Extra,
}

/// The client's work beside its device's.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extra {
    /// None.
    None,
}

/// What some sites go on sending after loading.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beacons {
    /// How many of the sites do.
    pub share_of_sites: f64,
    /// Seconds between two, drawn evenly for a site.
    pub period_s: Option<[f64; 2]>,
    /// Bytes of one, drawn evenly for a site.
    pub size_bytes: Option<[u64; 2]>,
}

/// What origins take to answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// From a request's arrival to the first byte of its answer.
    pub think_ms: Think,
}

/// An exponential span that is cut at `most`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// Its mean, before it is cut.
    pub mean: f64,
    /// What it is cut at.
    pub most: f64,
    /// The way; there is one.
    pub distribution: Distribution,
}

/// How a span is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub enum Distribution {
    /// What is above the most becomes the most.
    #[serde(rename = "exponential, cut")]
    ExponentialCut,
}

/// Connections are an outcome.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Whether any are drawn: they are not.
    pub drawn: bool,
}

impl Priors {
    /// Reads the text of a file; the message says the line.
    pub fn parse(text: &str) -> Result<Priors, String> {
        let priors: Priors = toml::from_str(text).map_err(|error| error.to_string())?;
        priors.check()?;
        Ok(priors)
    }

    /// The name of one of a site's hosts, both counted from where they are.
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
        let Columns { objects, text, js_css, images_other, .. } = &self.columns;
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
