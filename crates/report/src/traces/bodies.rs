//! Received bodies, as CSV: one line per body, with its digest. Two ways of carrying a page that delivered the
//! same bodies give the same lines.

use testbed::tour::ObservedVisit;

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
