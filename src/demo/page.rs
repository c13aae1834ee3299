//! The page's assets, baked into the binary so that `kidoban demo` needs no file at run time.
//!
//! The page asks for nothing but these three files and the gateway's own `/api/`; it works under
//! `default-src 'self'; img-src 'self' data:`. Nothing here may come to depend on another host.

/// Every file of the page: its path as asked for over HTTP, and its bytes.
pub const ASSETS: &[(&str, &[u8])] = &[
    ("/index.html", include_bytes!("page/index.html")),
    ("/style.css", include_bytes!("page/style.css")),
    ("/app.js", include_bytes!("page/app.js")),
];

#[cfg(test)]
mod tests {
    use super::ASSETS;

    fn text(path: &str) -> &'static str {
        let (_, bytes) = ASSETS.iter().find(|(name, _)| *name == path).unwrap();
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_page_names_no_other_host() {
        assert_eq!(ASSETS.len(), 3);
        for (path, _) in ASSETS {
            // The one exception names a vocabulary inside the favicon; nothing is fetched from it.
            let text = text(path).replace("http://www.w3.org/2000/svg", "");
            for far in ["http:", "https:", "@import", "//cdn", "url(//"] {
                assert!(!text.contains(far), "{path} holds {far}");
            }
        }
    }

    #[test]
    fn a_strict_content_security_policy_is_enough() {
        let html = text("/index.html");
        for inline in ["<style", "style=", "onclick=", "onload=", "javascript:"] {
            assert!(!html.contains(inline), "index.html holds {inline}");
        }
        assert_eq!(
            html.matches("<script").count(),
            html.matches("<script src=").count()
        );
        let script = text("/app.js");
        for unsafe_sink in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "document.write",
        ] {
            assert!(!script.contains(unsafe_sink), "app.js holds {unsafe_sink}");
        }
    }

    /// The names of the texts of one language in the script, in order.
    fn names(block: &str) -> Vec<&str> {
        // Every second piece lies between quotation marks, and is prose.
        let code = block.split(['"', '`']).step_by(2);
        code.flat_map(|code| code.split([' ', '\n', '{']))
            .filter_map(|word| word.strip_suffix(':'))
            .collect()
    }

    #[test]
    fn the_page_speaks_both_languages() {
        let script = text("/app.js");
        let (_, words) = script.split_once("\n  ja: {").unwrap();
        let (japanese, english) = words.split_once("\n  en: {").unwrap();
        let (english, _) = english.split_once("\n};").unwrap();
        let japanese = names(japanese);
        assert!(japanese.len() > 30, "found only {japanese:?}");
        assert_eq!(japanese, names(english));
    }

    #[test]
    fn every_file_is_named_by_the_page() {
        let html = text("/index.html");
        assert!(html.contains("href=\"style.css\"") && html.contains("src=\"app.js\""));
    }
}
