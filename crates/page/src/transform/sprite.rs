//! Sprites: small images of one host joined into one.

use std::collections::BTreeMap;

use url::Url;

use super::remove;
use crate::{After, HostId, Kind, ObjectId, Page};

/// Joins images of at most `most` bytes that one host serves and one object names. The sprite takes the place of the
/// first and has the bytes of all.
pub(super) fn sprite(page: &mut Page, most: u64) -> String {
    let mut joined = vec![false; page.objects.len()];
    let mut sprites = 0;
    for images in groups(page, most).into_values().filter(|images| images.len() > 1) {
        sprites += 1;
        join(page, &images, sprites);
        images[1..].iter().for_each(|image| joined[*image] = true);
    }
    let images = joined.iter().filter(|joined| **joined).count() + sprites;
    remove(page, &joined);
    format!("{images} images of at most {most} bytes joined into {sprites} sprites")
}

/// Images that can be joined, by host and by the object that names them.
fn groups(page: &Page, most: u64) -> BTreeMap<(HostId, ObjectId), Vec<usize>> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, object) in page.objects.iter().enumerate() {
        let is_plain = object.kind == Kind::Image && object.method == "GET" && object.status == 200;
        if let [edge] = object.waits_for.as_slice()
            && is_plain
            && object.body_bytes <= most
        {
            groups.entry((object.host, edge.object)).or_default().push(index);
        }
    }
    groups
}

fn join(page: &mut Page, images: &[usize], number: usize) {
    let bytes = images.iter().map(|image| page.objects[*image].body_bytes).sum();
    let is_cacheable = images.iter().all(|image| page.objects[*image].cacheable);
    let sprite = &mut page.objects[images[0]];
    sprite.path = format!("/sprite-{number}.png");
    sprite.url = Url::parse(&sprite.url)
        .and_then(|url| url.join(&sprite.path))
        .map_or_else(|_| sprite.path.clone(), String::from);
    (sprite.body_bytes, sprite.cacheable) = (bytes, is_cacheable);
    let first = ObjectId(images[0] as u32);
    for edge in page.objects.iter_mut().flat_map(|object| &mut object.waits_for) {
        if images.contains(&(edge.object.0 as usize)) {
            (edge.object, edge.after) = (first, After::End);
        }
    }
}
