//! Virtual hosts of a page behind one listener, selected by the name and port in a request (RFC 9110 section
//! 7.2).

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use http_stack::Push;
use http_stack::server::{Answer, Handler, RequestHead};
use page::Page;

use super::{Origin, PushPolicy, Site, Workers};

/// Hosts of a page, as one handler. They share a machine and therefore its workers.
pub struct VirtualHosts {
    origins: Vec<Origin>,
    by_name: BTreeMap<(String, Option<u16>), usize>,
}

impl VirtualHosts {
    /// These hosts of `page`, with their replies in `site`. `think_factors` has one entry per object.
    pub fn new(
        page: &Page,
        hosts: impl IntoIterator<Item = usize>,
        site: &Arc<Site>,
        workers: Workers,
        think_factors: &Rc<[f64]>,
    ) -> VirtualHosts {
        let mut origins: Vec<Origin> = Vec::new();
        let mut by_name = BTreeMap::new();
        for index in hosts {
            let mut origin =
                Origin::new(Arc::clone(site), index, workers, Rc::clone(think_factors));
            if let Some(first) = origins.first() {
                origin.workers.clone_from(&first.workers);
            }
            let host = &page.hosts[index];
            let name = host.name.to_ascii_lowercase();
            for port in [host.port, None] {
                by_name.entry((name.clone(), port)).or_insert(origins.len());
            }
            origins.push(origin);
        }
        VirtualHosts { origins, by_name }
    }

    /// The same hosts, which push objects with their documents.
    #[must_use]
    pub fn with_push(self, push: PushPolicy) -> VirtualHosts {
        let origins = self.origins.into_iter().map(|origin| origin.with_push(push)).collect();
        VirtualHosts { origins, ..self }
    }
}

impl Handler for VirtualHosts {
    /// An unknown name selects the first host, the document's, so that the page can be opened by an address.
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.origin(request).handle(request)
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        self.origin(request).pushes(request)
    }
}

impl VirtualHosts {
    /// The host of this name and port; if the page does not know the port, the first of this name.
    fn origin(&self, request: RequestHead<'_>) -> &Origin {
        let (name, port) = name_and_port(request.authority);
        let name = name.to_ascii_lowercase();
        let exactly = self.by_name.get(&(name.clone(), port));
        let found = exactly.or_else(|| self.by_name.get(&(name, None)));
        &self.origins[found.copied().unwrap_or(0)]
    }
}

/// The parts of an authority (RFC 3986 section 3.2).
fn name_and_port(authority: &str) -> (&str, Option<u16>) {
    let parts = authority.rsplit_once(':');
    match parts.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(hosts: &VirtualHosts, authority: &str, target: &str) -> u16 {
        let request = RequestHead::new("GET", authority, target);
        match hosts.handle(request) {
            Answer::Ready(reply) => reply.head.parts.status().as_u16(),
            Answer::Later(_) => panic!("no time to think was asked for"),
        }
    }

    #[test]
    fn a_request_reaches_the_host_that_it_names() {
        let page = page::open("synthetic:8x1KB@4hosts").unwrap();
        let site = Arc::new(Site::new(&page));
        let factors = vec![1.0; page.objects.len()].into();
        let hosts = VirtualHosts::new(&page, 0..4, &site, Workers::default(), &factors);
        for object in &page.objects {
            let own = page.host_of(object).name.as_str();
            assert_eq!(status(&hosts, own, &object.path), 200);
            assert_eq!(status(&hosts, &format!("{}:8443", own.to_uppercase()), &object.path), 200);
            let other = page.hosts.iter().find(|host| host.name != own).unwrap();
            assert_eq!(status(&hosts, &other.name, &object.path), 404);
        }
        let document = page.root();
        assert_eq!(document.host.0, 0);
        assert_eq!(status(&hosts, "127.0.0.1:8080", &document.path), 200);
        assert_eq!(status(&hosts, "[::1]", &document.path), 200);
    }

    #[test]
    fn ports_of_one_name_are_hosts_of_their_own() {
        let mut page = page::open("synthetic:8x1KB@3hosts").unwrap();
        page.hosts[1] = page::Host { port: Some(8443), ..page.hosts[0].clone() };
        let site = Arc::new(Site::new(&page));
        let factors = vec![1.0; page.objects.len()].into();
        let hosts = VirtualHosts::new(&page, 0..3, &site, Workers::default(), &factors);
        let name = page.hosts[0].name.as_str();
        for object in page.objects.iter().filter(|object| object.host.0 < 2) {
            let (own, other) = (name.to_owned(), format!("{name}:8443"));
            let [own, other] = if object.host.0 == 0 { [own, other] } else { [other, own] };
            assert_eq!(status(&hosts, &own, &object.path), 200);
            assert_eq!(status(&hosts, &other, &object.path), 404);
        }
    }
}
