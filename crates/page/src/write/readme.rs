//! README beside the files: instructions for serving them, and differences from the page.

use std::collections::BTreeSet;

use super::PAGE_FILE;
use crate::{Browsable, Page};

/// The README's text.
pub(super) fn text(page: &Page, browsable: &Browsable) -> String {
    let served = &browsable.page;
    let folder = |object| served.host_of(object).name.as_str();
    let folders: BTreeSet<&str> = served.objects.iter().map(folder).collect();
    let document = served.root();
    let mut text = format!(
        "# {}\n\n{}\n\n{} files on {} host(s), written by farlink. `{PAGE_FILE}` is the page itself; \
         farlink opens it by that path.\n\n## Serving it\n\nOne folder is one host: let a web server \
         answer for each name with the folder of that name, without compression, and let the client \
         resolve all names to that server (`/etc/hosts`, or Chromium's \
         `--host-resolver-rules=\"MAP * 127.0.0.1:8080\"`). \
         Browsers load some well-known names, such as wikipedia.org, over HTTPS only.\n\n",
        page.name,
        page.origin,
        served.objects.len(),
        folders.len(),
    );
    for folder in folders {
        text += &format!("- `{folder}/` is `{folder}`\n");
    }
    text += &format!("\nOpen `http://{}{}`.\n", folder(document), document.path);
    if !browsable.notes.is_empty() {
        text += "\n## What differs from the page\n\n";
        for note in &browsable.notes {
            text += &format!("- {note}\n");
        }
    }
    text
}
