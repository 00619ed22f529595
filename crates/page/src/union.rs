//! Several pages as their servers see them: hosts that several pages name are one, and so are objects that several
//! pages request.
//!
//! A server does not know which page a request belongs to. If two pages have one URL with different responses - a
//! page that was recorded twice, generated pages of different sizes - the later page's gets a parameter of its own
//! (`page=2`), so that each page gets its own response, and no cache mixes them up.

use std::collections::BTreeMap;

use crate::{HostId, Object, Page};

/// Pages with everything that serves them.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// All hosts and objects. Never loaded by a browser: only its first document's objects wait for anything.
    pub whole: Page,
    /// The pages, in their order, with some URLs changed.
    pub members: Vec<UnionMember>,
    /// Changes made, human-readable: one sentence each.
    pub notes: Vec<String>,
}

/// A page among others.
#[derive(Clone, Debug, PartialEq)]
pub struct UnionMember {
    /// The page.
    pub page: Page,
    /// Index of each of its hosts in the whole.
    pub hosts: Vec<usize>,
    /// Index of each of its objects in the whole.
    pub objects: Vec<usize>,
}

/// Key by which a server distinguishes requests: host, method, path.
type RequestKey = (usize, String, String);

impl Union {
    /// Combines the pages under the name `name`.
    ///
    /// # Panics
    /// If `pages` is empty.
    pub fn of(name: &str, pages: Vec<Page>) -> Union {
        let mut pages = pages.into_iter();
        let first = pages.next().expect("a journey has a page");
        let mut union = Union { whole: first.clone(), members: Vec::new(), notes: Vec::new() };
        union.whole.name = name.to_owned();
        let (hosts, objects) = (0..first.hosts.len(), 0..first.objects.len());
        union.members.push(UnionMember {
            hosts: hosts.collect(),
            objects: objects.collect(),
            page: first,
        });
        pages.for_each(|page| union.add(page));
        union
    }

    fn add(&mut self, mut page: Page) {
        let hosts: Vec<usize> = page.hosts.iter().map(|host| self.host(host)).collect();
        let known = requests(&self.whole, |host| host);
        let mut own = requests(&page, |host| hosts[host]);
        let mut objects = vec![usize::MAX; page.objects.len()];
        let mut renamed = 0;
        own.retain(|key, asked| {
            let Some(there) = known.get(key) else { return true };
            let is_same = there.len() == asked.len()
                && there.iter().zip(&*asked).all(|(one, other)| {
                    is_same_response(&self.whole.objects[*one], &page.objects[*other])
                });
            if !is_same {
                renamed += asked.len();
                let number = self.members.len() + 1;
                asked.iter().for_each(|index| rename(&mut page.objects[*index], number));
                return true;
            }
            asked.iter().zip(there).for_each(|(index, whole)| objects[*index] = *whole);
            false
        });
        for (index, object) in page.objects.iter().enumerate() {
            if objects[index] == usize::MAX {
                objects[index] = self.whole.objects.len();
                let host = HostId(hosts[object.host.0 as usize] as u32);
                let waits_for = Vec::new();
                self.whole.objects.push(Object { host, waits_for, ..object.clone() });
            }
        }
        if renamed > 0 {
            self.notes.push(format!(
                "{}: {renamed} of its objects have the URLs of other pages' with other responses, and are asked for with page={}",
                page.name,
                self.members.len() + 1
            ));
        }
        self.members.push(UnionMember { page, hosts, objects });
    }

    /// The whole's host of this origin. Its first recorded properties are kept.
    fn host(&mut self, host: &crate::PageHost) -> usize {
        let hosts = &mut self.whole.hosts;
        hosts.iter().position(|known| known.is_same_origin(host)).unwrap_or_else(|| {
            hosts.push(host.clone());
            hosts.len() - 1
        })
    }
}

/// Objects of each request. A request that a page makes several times has one object for each.
fn requests(page: &Page, host: impl Fn(usize) -> usize) -> BTreeMap<RequestKey, Vec<usize>> {
    let mut all: BTreeMap<RequestKey, Vec<usize>> = BTreeMap::new();
    for (index, object) in page.objects.iter().enumerate() {
        let key = (host(object.host.0 as usize), object.method.clone(), object.path.clone());
        all.entry(key).or_default().push(index);
    }
    all
}

fn is_same_response(one: &Object, other: &Object) -> bool {
    let response = |object: &Object| {
        let Object { status, response_header_bytes, body_bytes, think, kind, cacheable, .. } =
            object;
        (*status, *response_header_bytes, *body_bytes, think.value, *kind, *cacheable)
    };
    response(one) == response(other)
}

/// Gives an object a URL of its own. Its request head keeps the page's size.
fn rename(object: &mut Object, number: usize) {
    let parameter = |text: &str| {
        let (text, fragment) = text.split_once('#').map_or((text, None), |(t, f)| (t, Some(f)));
        let separator = if text.contains('?') { '&' } else { '?' };
        let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
        format!("{text}{separator}page={number}{fragment}")
    };
    object.path = parameter(&object.path);
    object.url = parameter(&object.url);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;

    fn of(specs: &[&str]) -> Union {
        Union::of("all", specs.iter().map(|spec| open(spec).unwrap()).collect())
    }

    #[test]
    fn one_page_is_itself() {
        let union = of(&["synthetic:4x1KB@2hosts"]);
        let page = open("synthetic:4x1KB@2hosts").unwrap();
        assert_eq!(union.whole.objects, page.objects);
        assert_eq!(union.members[0].page, page);
        assert_eq!(union.members[0].objects, [0, 1, 2, 3, 4]);
        assert_eq!(union.notes.len(), 0);
    }

    #[test]
    fn a_page_twice_is_served_once() {
        let union = of(&["bth2013", "bth2013"]);
        assert_eq!(union.whole.objects.len(), open("bth2013").unwrap().objects.len());
        assert_eq!(union.members[0], union.members[1]);
    }

    #[test]
    fn every_object_is_found_among_the_wholes() {
        let union = of(&["synthetic:3x1KB", "synthetic:5x2KB@2hosts", "bth2013"]);
        for member in &union.members {
            assert_eq!(member.page.check(), Ok(()));
            for (object, whole) in member.page.objects.iter().zip(&member.objects) {
                let whole = &union.whole.objects[*whole];
                assert_eq!((&object.url, object.body_bytes), (&whole.url, whole.body_bytes));
                let (own, shared) = (member.page.host_of(object), union.whole.host_of(whole));
                assert_eq!(own.name, shared.name);
                assert_eq!(member.hosts[object.host.0 as usize], whole.host.0 as usize);
            }
        }
        let mut urls: Vec<(&str, &str)> = Vec::new();
        let asked = union.whole.objects.iter().map(|o| (o.method.as_str(), o.url.as_str()));
        urls.extend(asked);
        let all = urls.len();
        urls.sort_unstable();
        urls.dedup();
        assert_eq!(urls.len(), all, "no URL has two responses");
    }

    #[test]
    fn one_url_with_two_responses_becomes_two() {
        let union = of(&["synthetic:2x1KB", "synthetic:2x3KB"]);
        let images = |member: usize| &union.members[member].page.objects[1];
        assert_eq!(images(1).path, format!("{}?page=2", images(0).path));
        assert_ne!(union.members[0].objects[1], union.members[1].objects[1]);
        assert_eq!(union.notes.len(), 1);
        assert!(union.notes[0].contains("page=2"), "{:?}", union.notes);
    }
}
