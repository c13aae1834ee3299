//! The status page, put together from its parts into the one document that is served.
//!
//! It asks for nothing but `status.json` and works under `default-src 'none'` with its one
//! `<style>` and its one `<script>` marked. Nothing here may come to depend on another
//! host, and no text from outside may ever become markup.

/// The whole page.
pub const DOCUMENT: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/style.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>\n",
    include_str!("page/words.js"),
    include_str!("page/chart.js"),
    include_str!("page/live.js"),
    "</script>\n</body>\n</html>\n",
);

#[cfg(test)]
mod tests {
    use super::DOCUMENT;

    /// Larger than this it would no longer be a page that one may leave open anywhere.
    const BYTES_MAX: usize = 48 * 1024;

    #[test]
    fn the_page_names_no_other_host_and_stays_small() {
        // The one exception names a vocabulary; nothing is fetched from it.
        let text = DOCUMENT.replace("http://www.w3.org/2000/svg", "");
        for far in ["http:", "https:", "@import", "src=", "url(//", "//cdn"] {
            assert!(!text.contains(far), "the page holds {far}");
        }
        assert!(DOCUMENT.len() < BYTES_MAX, "{} bytes", DOCUMENT.len());
    }

    #[test]
    fn a_strict_content_security_policy_is_enough() {
        for marked in ["<style>", "<script>"] {
            assert_eq!(DOCUMENT.matches(marked).count(), 1, "{marked}");
        }
        for inline in [
            "style=",
            "onclick=",
            "onload=",
            "javascript:",
            "<script ",
            "<style ",
        ] {
            assert!(!DOCUMENT.contains(inline), "the page holds {inline}");
        }
        for unsafe_sink in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "document.write",
        ] {
            assert!(
                !DOCUMENT.contains(unsafe_sink),
                "the page holds {unsafe_sink}"
            );
        }
    }

    #[test]
    fn what_the_script_fills_in_is_there_once() {
        let (html, script) = DOCUMENT.split_once("<script>").unwrap();
        let mut seen = 0;
        for (start, call) in script.match_indices("at(\"") {
            if script[..start].ends_with(char::is_alphanumeric) {
                continue; // the end of a longer name
            }
            let id = script[start + call.len()..].split('"').next().unwrap();
            let there = html.matches(&format!(" id=\"{id}\"")).count();
            assert_eq!(there, 1, "{id}");
            seen += 1;
        }
        assert!(seen > 30, "only {seen}");
    }
}
