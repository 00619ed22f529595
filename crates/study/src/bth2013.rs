//! Import and export of the files of bth2013's own programs (its appendix A): settings of `newrun.sh` and
//! `run.py` become an experiment, and its results become the documents that `run.py` stored.
//!
//! Nothing is executed: a case file, a shell script to its own program, is read as a list of assignments. No
//! database server is contacted.

mod documents;
mod input;

pub use self::documents::{DocumentError, Written, documents};
pub use self::input::{Config, InputError, Options};

use scenario::choice;

choice! {
    /// Protocol that carries the pages: `run.py`'s choices.
    pub enum Protocol, "protocol" {
        /// HTTP/1.1.
        Http = "http",
        /// SPDY/3.
        Spdy = "spdy",
        /// HTTP/1.1 with pipelining.
        HttpPipelining = "http-pipelining",
    }
    not_yet {}
}

choice! {
    /// Name of the network in the documents: `run.py`'s choices. It sets nothing.
    pub enum NetType, "network" {
        /// EDGE.
        Edge = "EDGE",
        /// 3G.
        ThirdGeneration = "3G",
        /// 4G.
        FourthGeneration = "4G",
        /// All three.
        All = "ALL",
    }
    not_yet {}
}

/// Conditions of a round of `newrun.sh`, or of a call of `run.py`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    protocol: Protocol,
    ssl: bool,
    network: NetType,
    /// The packet loss of both directions together: each has half of it.
    loss: f64,
    down_kbit: Vec<u64>,
    /// The rate up in kbit/s; `None`: half of the rate down, as in `newrun.sh`.
    up_kbit: Option<u64>,
    rtt_ms: Vec<u64>,
    /// Loads of each combination.
    times: u32,
    /// Settings that were ignored, with the reason.
    pub notes: Vec<String>,
}

impl Conditions {
    /// The experiment file that measures these conditions on `page`, with the values that `studies/bth2013` chose
    /// where the study does not say; `origin` names their source.
    pub fn experiment(&self, origin: &str, page: &str) -> String {
        let ssl = if self.ssl { "SSL" } else { "no SSL" };
        let Conditions { protocol, network, times, .. } = self;
        let notes: String =
            self.notes.iter().map(|note| format!("# Left out: {note}.\n")).collect();
        let down = values(&self.down_kbit, "kbit");
        let up = self.up_kbit.map_or("down/2".to_owned(), |rate| format!("{rate}kbit"));
        // Without the rounding error of binary fractions.
        let (rtt, loss) = (values(&self.rtt_ms, "ms"), (self.loss * 50.0 * 1e9).round() / 1e9);
        // Apache 2.2; with SPDY also mod_spdy's threads and frames.
        let (server, spoken) = match protocol {
            Protocol::Spdy => ("workers = 10\nframe = \"4KiB\"", "spdy/3"),
            Protocol::Http => ("keep_alive = \"idle=5s,requests=100\"", "h1"),
            Protocol::HttpPipelining => ("keep_alive = \"idle=5s,requests=100\"", "h1-pipelined"),
        };
        let tls = if self.ssl { "tls10" } else { "none" };
        let security = match (protocol, self.ssl) {
            (Protocol::Spdy, true) => "security = \"false-start=on\"\n",
            _ => "",
        };
        format!(
            "\
# {origin}, read as bth2013's programs read it (its appendix A). What the study does not say is chosen as in studies/bth2013/study.toml.
{notes}format = 1
name = \"bth2013: {protocol}, {ssl}, {network}\"
repetitions = {times}
seed = 2013
order = \"blocked\"

[page]
name = {page:?}

# Half of the loss is each direction's, as setnet.sh has it.
[network]
base = \"bth2013-dummynet\"
rtt = {rtt}
down = {down}
up = \"{up}\"
loss = \"{loss}%\"

[client]
device = \"desktop-2013\"
browser = \"chrome-2013\"
priorities = \"chrome-2013\"

[server]
{server}
notsent_lowat = \"unlimited\"

[transport]
tcp = \"linux-3.2\"

[stack]
connections_total = 256
protocol = \"{spoken}\"
tls = \"{tls}\"
{security}"
        )
    }
}

/// One value, or a list of several, ten a line.
fn values(all: &[u64], unit: &str) -> String {
    let texts: Vec<String> = all.iter().map(|value| format!("\"{value}{unit}\"")).collect();
    if let [only] = &texts[..] {
        return only.clone();
    }
    let lines: String = texts.chunks(10).map(|line| format!("  {},\n", line.join(", "))).collect();
    format!("[\n{lines}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_says_what_the_programs_were_told() {
        let conditions = Conditions {
            protocol: Protocol::Spdy,
            ssl: true,
            network: NetType::ThirdGeneration,
            loss: 0.03,
            down_kbit: vec![150],
            up_kbit: None,
            rtt_ms: (1..=12).map(|count| 50 * count).collect(),
            times: 5,
            notes: vec!["REMOTE=x: nothing".to_owned()],
        };
        let text = conditions.experiment("x.case", "bth2013");
        for says in [
            "# Left out: REMOTE=x: nothing.\n",
            "name = \"bth2013: spdy, SSL, 3G\"\nrepetitions = 5\n",
            "rtt = [\n  \"50ms\", \"100ms\",",
            "\"500ms\",\n  \"550ms\", \"600ms\",\n]\ndown = \"150kbit\"\nup = \"down/2\"\nloss = \"1.5%\"\n",
            "workers = 10\n",
            "protocol = \"spdy/3\"\ntls = \"tls10\"\nsecurity = \"false-start=on\"\n",
        ] {
            assert!(text.contains(says), "{says}: {text}");
        }
        let (protocol, up_kbit) = (Protocol::HttpPipelining, Some(64));
        let plain = Conditions { protocol, ssl: false, up_kbit, ..conditions };
        let text = plain.experiment("x.case", "bth2013");
        assert!(text.contains("up = \"64kbit\"\n"), "{text}");
        assert!(text.ends_with("protocol = \"h1-pipelined\"\ntls = \"none\"\n"), "{text}");
    }
}
