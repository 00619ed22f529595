//! Flattened pages: the document names all objects for which no source states who names them.

use crate::{After, Edge, Page, Provenance};

/// Makes objects with inferred or default dependencies wait for the document alone.
pub(super) fn flat(page: &mut Page) -> String {
    let document = page.document();
    let mut count = 0;
    for (index, object) in page.objects.iter_mut().enumerate() {
        let is_guess =
            |edge: &Edge| matches!(edge.provenance, Provenance::Inferred | Provenance::Defaulted);
        let elsewhere = object.waits_for.iter().any(|edge| edge.object != document);
        let behind = index > document.0 as usize && elsewhere;
        if behind && object.waits_for.iter().all(is_guess) {
            let compute = object.waits_for[0].compute;
            let provenance = Provenance::Defaulted;
            object.waits_for =
                vec![Edge { object: document, after: After::End, compute, provenance }];
            count += 1;
        }
    }
    format!("{count} objects with guessed causes named by the document")
}
