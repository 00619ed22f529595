//! Selection of the objects that an origin pushes with a document.

use page::{Kind, Object, Page, Priority};

/// Choice among the objects of a document's own host to push with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PushPolicy {
    /// None.
    #[default]
    None,
    /// Style sheets.
    Stylesheets,
    /// Style sheets, and scripts that browsers request ahead of images: render-blocking objects.
    Blocking,
    /// All.
    All,
}

impl PushPolicy {
    fn pushes(self, object: &Object) -> bool {
        match self {
            PushPolicy::None => false,
            PushPolicy::Stylesheets => object.kind == Kind::Stylesheet,
            PushPolicy::Blocking => match object.kind {
                Kind::Stylesheet => true,
                Kind::Script => matches!(object.priority, Priority::Highest | Priority::High),
                _ => false,
            },
            PushPolicy::All => true,
        }
    }
}

/// A page's document, and the objects that can be pushed with it.
#[derive(Debug)]
pub(super) struct Pushable {
    /// The document: the first object that is not a redirect.
    pub(super) document: usize,
    /// Objects of its host that a plain GET would fetch, each once, in the page's order.
    objects: Vec<Object>,
}

impl Pushable {
    pub(super) fn of(page: &Page) -> Option<Pushable> {
        let document = page.objects.iter().position(|object| object.kind != Kind::Redirect)?;
        let host = page.objects[document].host;
        let mut objects: Vec<Object> = Vec::new();
        for object in &page.objects[document + 1..] {
            let is_plain = object.method == "GET" && object.request_body_bytes == 0;
            let is_new = || objects.iter().all(|other| other.path != object.path);
            if object.host == host && is_plain && object.status == 200 && is_new() {
                objects.push(object.clone());
            }
        }
        Some(Pushable { document, objects })
    }

    /// The objects that `policy` pushes.
    pub(super) fn pushed(&self, policy: PushPolicy) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |object| policy.pushes(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_pushes_what_it_says() {
        let mut page = page::open("synthetic:6x1KB@2hosts").expect("a page");
        page.objects[1].host = page.objects[0].host;
        for (index, kind, priority) in [
            (1, Kind::Stylesheet, Priority::Highest),
            (2, Kind::Script, Priority::High),
            (3, Kind::Script, Priority::Low),
        ] {
            let object = &mut page.objects[index];
            (object.kind, object.priority, object.host) = (kind, priority, page::HostId(0));
        }
        page.objects[4].host = page::HostId(1);
        page.objects[5].host = page::HostId(0);
        page.objects[5].method = "POST".to_owned();
        page.objects[6].host = page::HostId(0);
        let pushable = Pushable::of(&page).expect("a document");
        assert_eq!(pushable.document, 0);
        let paths = |policy| pushable.pushed(policy).map(|o| o.path.clone()).collect::<Vec<_>>();
        let path = |index: usize| page.objects[index].path.clone();
        assert!(paths(PushPolicy::None).is_empty());
        assert_eq!(paths(PushPolicy::Stylesheets), [path(1)]);
        assert_eq!(paths(PushPolicy::Blocking), [path(1), path(2)]);
        assert_eq!(paths(PushPolicy::All), [1, 2, 3, 6].map(path));
    }
}
