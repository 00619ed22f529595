//! Formats for other tools of an [observed visit](testbed::tour::ObservedVisit): its packets as pcapng, its TCP
//! connections as JSON lines, its connections as qlog, received bodies as a table, its pictures as a
//! filmstrip, all of it as a Perfetto trace. Documented in `docs/traces.md`.

use testbed::tour::ObservedVisit;

mod filmstrip;
mod packets;
mod perfetto;
mod qlogs;
mod series;
mod tcp_qlogs;

pub use filmstrip::filmstrip;
pub use packets::{Side, pcapng};
pub use perfetto::perfetto;
pub use qlogs::{Qlog, qlogs};
pub use series::{FORMAT, VERSION, tcp_lines};

// Received bodies, as CSV: one line per body, with its digest. Two ways of carrying a page that delivered the
// same bodies give the same lines.

/// The table, in the page's order: `object,url,body_bytes,blake3`. Responses from a cache and incomplete ones
/// have no line.
pub fn body_table(visit: &ObservedVisit<'_>) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: [&str; 4]| {
        table.write_record(fields).expect("a table in memory can be written to");
    };
    write(["object", "url", "body_bytes", "blake3"]);
    for body in visit.bodies() {
        let (object, bytes) = (body.object.to_string(), body.bytes.to_string());
        let record = visit.record.objects.iter().find(|record| record.object == body.object);
        let url = record.map_or("", |record| record.url.as_str());
        write([&object, url, &bytes, &body.digest]);
    }
    let bytes = table.into_inner().expect("a table in memory can be written to");
    String::from_utf8(bytes).expect("the table is made of text")
}
