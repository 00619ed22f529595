//! Redaction of credentials in header fields. URLs and bodies stay as they are.
//!
//! Values are replaced by as many `x`, so that heads keep their sizes.

use crate::{Exchange, Fields, RecordedLoad};

/// Fields whose values are credentials (RFC 9110 section 11, RFC 6265).
const CREDENTIALS: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-csrf-token"];

/// Redacts the credentials in the header fields of all requests and responses. Returns their number.
pub fn credentials(load: &mut RecordedLoad) -> usize {
    fields(load, &CREDENTIALS)
}

/// Redacts the header fields with these names in all requests and responses. Returns their number.
pub fn fields(load: &mut RecordedLoad, names: &[impl AsRef<str>]) -> usize {
    load.exchanges.iter_mut().map(|exchange| fields_of(exchange, names)).sum()
}

/// Redacts the credentials in the header fields of one exchange. Returns their number.
pub fn exchange(exchange: &mut Exchange) -> usize {
    fields_of(exchange, &CREDENTIALS)
}

fn fields_of(exchange: &mut Exchange, names: &[impl AsRef<str>]) -> usize {
    let response = exchange.response.as_mut().map(|response| redacted(&mut response.fields, names));
    redacted(&mut exchange.request.fields, names) + response.unwrap_or_default()
}

fn redacted(fields: &mut Fields, names: &[impl AsRef<str>]) -> usize {
    let is_one = |name: &str| names.iter().any(|it| name.eq_ignore_ascii_case(it.as_ref()));
    let mut count = 0;
    for (name, value) in fields {
        if is_one(name) {
            *value = "x".repeat(value.len());
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exchange, RecordedResponse};

    #[test]
    fn credentials_are_replaced_and_sizes_kept() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut exchange = Exchange::default();
        exchange.request.fields = vec![field("Cookie", "id=secret"), field("accept", "*/*")];
        let fields = vec![field("set-cookie", "a=b"), field("Set-Cookie", "c=de")];
        exchange.response = Some(RecordedResponse { fields, ..RecordedResponse::default() });
        let mut load = RecordedLoad { exchanges: vec![exchange], ..RecordedLoad::default() };
        assert_eq!(credentials(&mut load), 3);
        let fields = &load.exchanges[0].request.fields;
        assert_eq!(fields, &[field("Cookie", "xxxxxxxxx"), field("accept", "*/*")]);
        let fields = &load.exchanges[0].response.as_ref().unwrap().fields;
        assert_eq!(fields, &[field("set-cookie", "xxx"), field("Set-Cookie", "xxxx")]);
    }
}
