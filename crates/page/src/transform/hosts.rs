//! Distribution over hosts: domain sharding, so that browsers open more connections, and its reverse, everything from one host, as
//! from a CDN in front of the site and its third parties.

use url::Url;

use crate::{HostId, Page};

/// is the first.
pub(super) fn shard(page: &mut Page, hosts: u64) -> String {
    let own = page.root().host;
    let first = page.hosts.len() as u32;
    let host = page.hosts[own.0 as usize].clone();
    for number in 1..hosts {
        let name = format!("shard{number}.{}", host.name);
        page.hosts.push(crate::PageHost { name, ..host.clone() });
    }
    let names: Vec<String> = page.hosts.iter().map(|host| host.name.clone()).collect();
    let mut turns = (0..hosts as u32).cycle();
    let dealt = page.objects.iter_mut().skip(1).filter(|object| object.host == own);
    for (object, turn) in dealt.zip(&mut turns).filter(|(_, turn)| *turn > 0) {
        object.host = HostId(first + turn - 1);
        object.url = moved(&object.url, &names[object.host.0 as usize]);
    }
    format!("{} over {hosts} hosts in turn", host.name)
}

/// The same URL on another host.
fn moved(url: &str, host: &str) -> String {
    let Ok(mut moved) = Url::parse(url) else { return url.to_owned() };
    match moved.set_host(Some(host)) {
        Ok(()) => moved.into(),
        Err(_) => url.to_owned(),
    }
}

/// Moves all objects to the document's host, each below the name of its own: `https://site/cdn.test/a.js`.
pub(super) fn one_host(page: &mut Page) -> String {
    let hosts = std::mem::take(&mut page.hosts);
    let own = page.root().host;
    page.hosts = vec![hosts[own.0 as usize].clone()];
    let mut moved_count = 0;
    for object in &mut page.objects {
        if object.host != own {
            let host = &hosts[object.host.0 as usize].name;
            let below = moved(&object.url, &page.hosts[0].name);
            if let Ok(mut url) = Url::parse(&below) {
                url.set_path(&format!("/{host}{}", url.path()));
                object.url = url.into();
            }
            object.path = format!("/{host}{}", object.path);
            moved_count += 1;
        }
        object.host = HostId(0);
    }
    format!("{moved_count} objects moved to {}", page.hosts[0].name)
}
