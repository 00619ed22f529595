//! All of a page's hosts behind one listener, told apart by the name a request gives (RFC 9110 section
//! 7.2).

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use http_stack::Push;
use http_stack::server::{Answer, Handler, RequestHead};
use page::Page;

use super::{Origin, PushPolicy, Site, Workers};

/// Every host of a page, as one handler. They share a machine, hence its workers.
pub struct VirtualHosts {
    origins: Vec<Origin>,
    by_name: BTreeMap<String, usize>,
}

impl VirtualHosts {
    /// All hosts of `page`, whose replies `site` holds. `think_factors` has one entry an object.
    pub fn new(
        page: &Page,
        site: &Arc<Site>,
        workers: Workers,
        think_factors: &Rc<[f64]>,
    ) -> VirtualHosts {
        let mut origins: Vec<Origin> = Vec::with_capacity(page.hosts.len());
        for index in 0..page.hosts.len() {
            let mut origin =
                Origin::new(Arc::clone(site), index, workers, Rc::clone(think_factors));
            if let Some(first) = origins.first() {
                origin.workers.clone_from(&first.workers);
            }
            origins.push(origin);
        }
        let names = page.hosts.iter().enumerate();
        let by_name = names.map(|(index, host)| (host.name.to_ascii_lowercase(), index)).collect();
        VirtualHosts { origins, by_name }
    }

    /// The same, which push objects with their documents.
    #[must_use]
    pub fn with_push(self, push: PushPolicy) -> VirtualHosts {
        let origins = self.origins.into_iter().map(|origin| origin.with_push(push)).collect();
        VirtualHosts { origins, ..self }
    }
}

impl Handler for VirtualHosts {
    /// A name that is none of the page's means its document's host, so that the page can be opened by
    /// an address.
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.origin(request).handle(request)
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        self.origin(request).pushes(request)
    }
}

impl VirtualHosts {
    fn origin(&self, request: RequestHead<'_>) -> &Origin {
        let name = host_name(request.authority).to_ascii_lowercase();
        &self.origins[self.by_name.get(&name).copied().unwrap_or(0)]
    }
}

/// The host of an authority: without its port (RFC 3986 section 3.2).
fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
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
        let hosts = VirtualHosts::new(&page, &site, Workers::default(), &factors);
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
}
