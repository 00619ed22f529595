//! A testbed's TCP, set as a transport of ours says.

use kernel::Settings;

use crate::testbed::ip;
use crate::{Error, Side, Testbed};

impl Testbed {
    /// Lets connections that one end opens or accepts from now on behave as `settings` say: sysctls of its namespace, options of its interface and
    /// of its routes. What they remember of earlier connections is forgotten with the testbed.
    ///
    /// # Errors
    /// If the kernel lacks a setting, or refuses it.
    pub fn set_tcp(&self, side: Side, settings: &Settings) -> Result<(), Error> {
        let settings = settings.clone();
        self.namespace(side).run(move || {
            settings.write_sysctls()?;
            let mut commands = match settings.link_options().as_str() {
                "" => String::new(),
                options => format!("link set eth0 {options}\n"),
            };
            let options = settings.route_options();
            let mut replace = |route: String| {
                commands += &format!("route replace {route} {options}\n");
            };
            routes(side).into_iter().for_each(&mut replace);
            if has_ipv6()? {
                routes_v6(side).into_iter().for_each(&mut replace);
            }
            ip(&commands)
        })
    }
}

/// The routes that packets take to the other end, as the testbed has laid them.
fn routes(side: Side) -> Vec<String> {
    let mut routes = vec![format!("10.0.0.0/24 dev eth0 scope link src {}", side.address())];
    if side == Side::Client {
        routes.push(format!("default via {}", side.peer().address()));
    }
    routes
}

/// The same of IPv6; a route is replaced by one of the same metric only.
fn routes_v6(side: Side) -> Vec<String> {
    let mut routes = vec!["fd00:fa::/64 dev eth0 metric 256".to_owned()];
    if side == Side::Client {
        routes.push(format!("default via {} metric 1024", side.peer().address_v6()));
    }
    routes
}

/// Whether the calling thread's namespace has addresses of IPv6 on the wire.
fn has_ipv6() -> Result<bool, Error> {
    let path = "/proc/thread-self/net/if_inet6";
    match std::fs::read_to_string(path) {
        Ok(addresses) => Ok(addresses.lines().any(|line| line.ends_with(" eth0"))),
        // A kernel without IPv6.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(format!("failed to read {path}"))(error)),
    }
}
