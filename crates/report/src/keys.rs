//! Properties of a scenario, by name: fixed, varying, and compared ones.

use scenario::{Push, Scenario, Scheduler, Tls, View};

use super::number::plain;

/// Role of a property in the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A way that is compared: protocol, security, connections, settings of TCP.
    Arm,
    /// A circumstance under which ways are compared.
    Condition,
}

/// One property of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name, for people.
    pub name: &'static str,
    /// Its role in the question.
    pub role: Role,
    /// Its value, for people, unit included; empty if the property does not apply to the scenario.
    pub text: String,
    /// Its value as a number with its unit, if it can span an axis.
    pub number: Option<f64>,
    /// The number's unit.
    pub unit: &'static str,
    /// The value as part of a label without the property's name: "h2", "TLS 1.3", "RTT 100 ms".
    pub label: String,
}

/// All properties of a visit's scenario, in the order in which a reader asks for them; `page` is the visit's
/// page within a list.
pub fn of(scenario: &Scenario, view: &str, page: Option<&str>) -> Vec<Key> {
    let mut keys = Keys(Vec::with_capacity(24));
    keys.page(scenario, page);
    keys.conditions(scenario, view);
    keys.arms(scenario);
    keys.0
}

struct Keys(Vec<Key>);

impl Keys {
    /// The visited page, and the way that led to it.
    fn page(&mut self, scenario: &Scenario, page: Option<&str>) {
        let role = Role::Condition;
        let spec = scenario.page.spec.as_str();
        let visited = page.unwrap_or(spec);
        self.name(super::pages::PAGE, role, visited, visited.to_owned());
        let list = if page.is_some() { spec } else { "" };
        self.name("list of pages", role, list, list.to_owned());
        let journey = &scenario.journey;
        self.0.push(Key {
            name: "passes",
            role,
            text: journey.times.to_string(),
            number: Some(f64::from(journey.times)),
            unit: "",
            label: format!("{} times", journey.times),
        });
        let is_one = scenario.visits_each() == 1 || scenario.client.view != View::Cold;
        let mut tell = |name, text: String, label: String| match is_one {
            // Not meaningful for a single visit.
            true => self.name(name, role, "", String::new()),
            false => self.name(name, role, &text, label),
        };
        let order = journey.order.to_string();
        tell("order of pages", order.clone(), format!("{order} pages"));
        let pace = journey.pace.to_string();
        tell("pace", pace.clone(), format!("pace {pace}"));
        let keeps = journey.keeps.to_string();
        tell("kept between visits", keeps.clone(), format!("keeping {keeps}"));
    }

    fn conditions(&mut self, scenario: &Scenario, view: &str) {
        let Scenario { network, client, clients, server, .. } = scenario;
        let Scenario { nuisance, world, release, traffic, resolution, keep_alive, hosting, .. } =
            scenario;
        let recorded = match scenario.record.is_nothing() {
            true => "nothing".to_owned(),
            false => scenario.record.to_string(),
        };
        let role = Role::Condition;
        self.name("recorded", role, &recorded, format!("recording {recorded}"));
        let base = network.base.as_deref().unwrap_or("custom");
        self.name("network", role, base, base.to_owned());
        self.quantity("RTT", network.rtt_ns.map(|ns| ns as f64 / 1e6), "ms");
        self.quantity("rate down", network.down_bit_per_s.map(|r| r as f64 / 1e6), "Mbit/s");
        self.quantity("rate up", network.up_bit_per_s.map(|r| r as f64 / 1e6), "Mbit/s");
        self.quantity("loss", network.loss_ratio.map(|ratio| ratio * 100.0), "%");
        let queue = network.queue.map_or(PROFILE.to_owned(), |queue| queue.to_string());
        self.name("queue", role, &queue, format!("queue {queue}"));
        let others = network.others.iter().map(|(key, value)| format!("{key}={value}"));
        let others = others.collect::<Vec<_>>().join(", ");
        let others = if others.is_empty() { PROFILE.to_owned() } else { others };
        self.name("other network settings", role, &others, others.clone());
        self.name("client", role, client.program.name(), client.program.to_string());
        let count = clients.count;
        self.0.push(Key {
            name: "clients",
            role,
            text: count.to_string(),
            number: Some(f64::from(count)),
            unit: "",
            label: format!("{count} clients"),
        });
        self.name(
            "cross traffic",
            role,
            clients.cross_traffic.name(),
            format!("cross traffic: {}", clients.cross_traffic),
        );
        let spacing = clients.start_spacing.to_string();
        self.name("start spacing", role, &spacing, format!("spacing {spacing}"));
        self.name("device", role, &client.device, format!("device {}", client.device));
        self.quantity("CPU slowdown", Some(client.cpu_multiplier), "times");
        self.name("browser policy", role, &client.browser, client.browser.clone());
        self.name("cache", role, view, format!("{view} cache"));
        let blocked = match client.blocked_hosts.is_empty() {
            true => "none".to_owned(),
            false => client.blocked_hosts.join(", "),
        };
        self.name("blocked hosts", role, &blocked, format!("blocked: {blocked}"));
        self.name("origins", role, server.origins.name(), format!("{} origins", server.origins));
        let workers = server.workers.map_or("unlimited".to_owned(), |n| n.to_string());
        self.name("server workers", role, &workers, format!("{workers} workers"));
        self.quantity("service time", Some(server.service_time_ns as f64 / 1e6), "ms");
        self.name("hosting", role, hosting.name(), format!("hosts {hosting}"));
        let kept = match keep_alive.is_usual() {
            true => "default".to_owned(),
            false => keep_alive.to_string(),
        };
        self.name("keep-alive", role, &kept, format!("keep-alive {kept}"));
        self.name("nuisance", role, nuisance.name(), format!("nuisance {nuisance}"));
        self.name("world", role, world.name(), world.to_string());
        self.name("release", role, release.name(), format!("{release} packets"));
        let traffic = traffic.to_string();
        self.name("background traffic", role, &traffic, format!("traffic {traffic}"));
        let dns = resolution.to_string();
        self.name("DNS", role, &dns, format!("DNS {dns}"));
        let heads = scenario.request_heads;
        self.name("request headers", role, heads.name(), format!("request headers {heads}"));
        let stretch = scenario.route.stretch;
        let beyond = stretch.rtt_ns.unwrap_or(0) as f64 / 1e6;
        self.beyond("RTT beyond the proxy", Some(beyond), "0 ms", "ms");
        let beyond = stretch.rate_bit_per_s.map(|rate| rate as f64 / 1e6);
        self.beyond("rate beyond the proxy", beyond, "unlimited", "Mbit/s");
        let beyond = stretch.loss_ratio.map(|ratio| ratio * 100.0);
        self.beyond("loss beyond the proxy", beyond, "0 %", "%");
    }

    fn arms(&mut self, scenario: &Scenario) {
        let Scenario { stack, transport, quic, discovery, multiplexing, security, .. } = scenario;
        let role = Role::Arm;
        let route = scenario.route.without_stretch().to_string();
        self.name("route", role, &route, route.clone());
        self.name("protocol", role, stack.protocol.name(), stack.protocol.to_string());
        let tls = match stack.tls {
            Tls::None => "no TLS",
            Tls::Tls10 => "TLS 1.0 (modelled)",
            Tls::Tls12 => "TLS 1.2",
            Tls::Tls13 => "TLS 1.3",
        };
        self.name("security", role, tls, tls.to_owned());
        let knobs = if security.is_usual() { "default".to_owned() } else { security.to_string() };
        self.arms_own(stack.tls != Tls::None, "TLS settings", &knobs, format!("TLS {knobs}"));
        let policy = |limit: Option<u32>| limit.map_or("policy".to_owned(), |n| n.to_string());
        let per_host = policy(stack.connections_per_host);
        self.name("connections per host", role, &per_host, format!("{per_host} conn./host"));
        let total = policy(stack.connections_total);
        self.name("connections in total", role, &total, format!("{total} conn. in total"));
        let depth = policy(stack.pipeline_depth);
        self.name("pipeline depth", role, &depth, format!("pipelines of {depth}"));
        let server = transport.server.to_string();
        self.name("TCP", role, &server, server.clone());
        let client = match transport.client == transport.server {
            true => "the same".to_owned(),
            false => transport.client.to_string(),
        };
        self.name("client TCP", role, &client, format!("client TCP {client}"));
        let knobs = if quic.is_usual() { "default".to_owned() } else { quic.to_string() };
        let is_quic = stack.protocol.is_quic();
        self.arms_own(is_quic, "QUIC", &knobs, format!("QUIC {knobs}"));
        let found = discovery.h3.name();
        self.arms_own(is_quic, "HTTP/3 discovery", found, format!("HTTP/3 by {found}"));
        let udp = discovery.udp.name();
        self.arms_own(is_quic, "UDP", udp, format!("UDP {udp}"));
        let knobs = match multiplexing.is_usual() {
            true => "Chrome's".to_owned(),
            false => multiplexing.to_string(),
        };
        let label = format!("multiplexing {knobs}");
        self.arms_own(stack.protocol.is_multiplexed(), "multiplexing", &knobs, label);
        self.order(scenario);
    }

    /// The order of responses.
    fn order(&mut self, scenario: &Scenario) {
        let Scenario { serving, priorities, stack, .. } = scenario;
        let role = Role::Arm;
        let mapping = priorities.as_ref().map_or("the page's own", |it| it.name.as_str());
        self.name("priorities", role, mapping, format!("priorities {mapping}"));
        let scheduler = serving.scheduler.map_or("protocol's", Scheduler::name);
        self.name("scheduler", role, scheduler, scheduler.to_owned());
        let push = serving.push.map_or("nothing", Push::name);
        self.arms_own(stack.protocol.pushes(), "pushed", push, format!("push {push}"));
        let frame = serving.frame_bytes.map_or("default".to_owned(), |bytes| format!("{bytes} B"));
        self.name("DATA frames", role, &frame, format!("frames {frame}"));
        let unsent = serving.notsent_lowat.map_or("default".to_owned(), |limit| limit.to_string());
        self.name("notsent lowat", role, &unsent, format!("notsent lowat {unsent}"));
    }

    /// A property whose value is a name.
    fn name(&mut self, name: &'static str, role: Role, text: &str, label: String) {
        self.0.push(Key { name, role, text: text.to_owned(), number: None, unit: "", label });
    }

    /// A property of some arms: where it does not apply (`concerns` is false), it has no value and does not
    /// distinguish arms.
    fn arms_own(&mut self, concerns: bool, name: &'static str, text: &str, label: String) {
        match concerns {
            true => self.name(name, Role::Arm, text, label),
            false => self.name(name, Role::Arm, "", String::new()),
        }
    }

    /// A condition of the stretch between the proxy and the hosts.
    fn beyond(
        &mut self,
        name: &'static str,
        number: Option<f64>,
        without: &str,
        unit: &'static str,
    ) {
        let text = number.map_or(without.to_owned(), |n| format!("{} {unit}", plain(n)));
        let label = format!("{text} beyond");
        self.0.push(Key { name, role: Role::Condition, text, number, unit, label });
    }

    /// A numeric condition; `None` stands for the network profile's value.
    fn quantity(&mut self, name: &'static str, number: Option<f64>, unit: &'static str) {
        let text = number.map_or(PROFILE.to_owned(), |n| format!("{} {unit}", plain(n)));
        let label = format!("{name} {text}");
        self.0.push(Key { name, role: Role::Condition, text, number, unit, label });
    }
}

/// Text for a value that is left to the network's profile.
const PROFILE: &str = "profile default";

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{NetworkSpec, Protocol};

    /// The value of a property for a protocol with all its options turned on.
    fn text(protocol: Protocol, name: &str) -> String {
        let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
        scenario.stack.protocol = protocol;
        scenario.quic = "iw=20".parse().unwrap();
        scenario.serving.push = Some(Push::Css);
        let keys = of(&scenario, "cold", None);
        keys.into_iter().find(|key| key.name == name).expect("there is such a property").text
    }

    #[test]
    fn what_does_not_concern_an_arm_has_no_value() {
        let all = |name| {
            let arms = [Protocol::H1, Protocol::H2, Protocol::Spdy, Protocol::H3Matched];
            arms.map(|protocol| text(protocol, name))
        };
        assert_eq!(all("QUIC"), ["", "", "", "iw=20"]);
        assert_eq!(all("pushed"), ["", "css", "css", ""]);
        assert_eq!(all("multiplexing"), ["", "Chrome's", "Chrome's", ""]);
        assert_eq!(all("HTTP/3 discovery"), ["", "", "", "prior-knowledge"]);
    }
}
