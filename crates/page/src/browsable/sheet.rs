//! Style sheets that request their references by themselves.
//!
//! Other sheets are imported. Images and fonts are used by the element that linked the sheet, so that two sheets
//! never override each other; all fonts of a sheet form one family, each for a character of its own.

use super::link;

/// References of a sheet, as links from it.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) imports: Vec<String>,
    pub(super) images: Vec<String>,
    pub(super) fonts: Vec<String>,
}

impl References {
    /// Returns true if the sheet must refer to the element that links it.
    pub(super) fn need_an_element(&self) -> bool {
        !(self.images.is_empty() && self.fonts.is_empty())
    }

    /// Text of the sheet; `element` is the id of the element that links it.
    pub(super) fn css(&self, element: &str) -> String {
        let mut css: String =
            self.imports.iter().map(|import| format!("@import {};", link::css(import))).collect();
        let mut text = String::new();
        for (index, font) in self.fonts.iter().enumerate() {
            // Any character that needs no escaping will do.
            let character = 0x4e00 + index;
            css += &format!(
                "@font-face{{font-family:{element};src:{};unicode-range:U+{character:x}}}",
                link::css(font)
            );
            text += &format!("\\{character:x} ");
        }
        if !self.images.is_empty() {
            let images: Vec<String> = self.images.iter().map(|image| link::css(image)).collect();
            let images = images.join(",");
            css += &format!("#{element}{{display:block;height:9px;background-image:{images}}}");
        }
        if !text.is_empty() {
            css += &format!(
                "#{element}{{display:block}}#{element}::before{{content:\"{text}\";font-family:{element}}}"
            );
        }
        css
    }
}
