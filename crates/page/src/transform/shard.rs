//! Domain sharding: the document's host is split into several, so that browsers open more connections.

use url::Url;

use crate::{HostId, Page};

/// Distributes the objects of the document's host, except the document, over `hosts` hosts in turn; the host itself
/// is the first.
pub(super) fn shard(page: &mut Page, hosts: u64) -> String {
    let own = page.root().host;
    let first = page.hosts.len() as u32;
    let host = page.hosts[own.0 as usize].clone();
    for number in 1..hosts {
        let name = format!("shard{number}.{}", host.name);
        page.hosts.push(crate::Host { name, ..host.clone() });
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
