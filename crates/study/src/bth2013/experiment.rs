//! Experiments equivalent to those of bth2013's programs, with the values that `studies/bth2013` chose where
//! the study does not say.

use super::{Conditions, Protocol, Uplink};

/// Number of values per line.
const A_LINE: usize = 10;

impl Conditions {
    /// The experiment file that measures these conditions on `page`; `origin` names their source.
    pub fn experiment(&self, origin: &str, page: &str) -> String {
        let ssl = if self.ssl { "SSL" } else { "no SSL" };
        let Conditions { protocol, network, times, .. } = self;
        let notes: String =
            self.notes.iter().map(|note| format!("# Left out: {note}.\n")).collect();
        let down = values(&self.down_kbit, "kbit");
        let up = match self.up {
            Uplink::Half => "\"down/2\"".to_owned(),
            Uplink::Kbit(rate) => format!("\"{rate}kbit\""),
        };
        let (rtt, loss) = (values(&self.rtt_ms, "ms"), half_percent(self.loss));
        let (server, stack) = (self.server(), self.stack());
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
up = {up}
loss = \"{loss}%\"

[client]
device = \"desktop-2013\"
browser = \"chrome-2013\"
priorities = \"chrome-2013\"

[server]
{server}
[transport]
tcp = \"linux-3.2\"

[stack]
connections_total = 256
{stack}"
        )
    }

    /// Apache 2.2; with SPDY also mod_spdy's threads and frames.
    fn server(&self) -> &'static str {
        match self.protocol {
            Protocol::Spdy => "workers = 10\nframe = \"4KiB\"\nnotsent_lowat = \"unlimited\"\n",
            Protocol::Http | Protocol::HttpPipelining => {
                "keep_alive = \"idle=5s,requests=100\"\nnotsent_lowat = \"unlimited\"\n"
            }
        }
    }

    fn stack(&self) -> String {
        let protocol = match self.protocol {
            Protocol::Http => "h1",
            Protocol::HttpPipelining => "h1-pipelined",
            Protocol::Spdy => "spdy/3",
        };
        let tls = if self.ssl { "tls10" } else { "none" };
        let begins_early = self.ssl && self.protocol == Protocol::Spdy;
        let security = if begins_early { "security = \"false-start=on\"\n" } else { "" };
        format!("protocol = \"{protocol}\"\ntls = \"{tls}\"\n{security}")
    }
}

/// One value, or a list of several.
fn values(all: &[u64], unit: &str) -> String {
    let texts: Vec<String> = all.iter().map(|value| format!("\"{value}{unit}\"")).collect();
    if let [only] = &texts[..] {
        return only.clone();
    }
    let lines: String =
        texts.chunks(A_LINE).map(|line| format!("  {},\n", line.join(", "))).collect();
    format!("[\n{lines}]")
}

/// Half of a share, in per cent, without the rounding error of binary fractions.
fn half_percent(share: f64) -> f64 {
    (share * 50.0 * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::super::NetType;
    use super::*;

    fn conditions() -> Conditions {
        Conditions {
            protocol: Protocol::Spdy,
            ssl: true,
            network: NetType::ThirdGeneration,
            loss: 0.03,
            down_kbit: vec![150],
            up: Uplink::Half,
            rtt_ms: (1..=12).map(|count| 50 * count).collect(),
            times: 5,
            notes: vec!["REMOTE=x: nothing".to_owned()],
        }
    }

    #[test]
    fn an_experiment_says_what_the_programs_were_told() {
        let text = conditions().experiment("x.case", "bth2013");
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
        let plain = Conditions {
            protocol: Protocol::HttpPipelining,
            ssl: false,
            up: Uplink::Kbit(64),
            ..conditions()
        };
        let text = plain.experiment("x.case", "bth2013");
        assert!(text.contains("up = \"64kbit\"\n"), "{text}");
        assert!(text.ends_with("protocol = \"h1-pipelined\"\ntls = \"none\"\n"), "{text}");
    }
}
