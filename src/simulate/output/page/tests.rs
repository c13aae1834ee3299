//! The page as a file: what it may load, what it must hold, and that nothing from outside
//! becomes a part of it.

use super::*;
use crate::logic::bucket::Limit;
use crate::simulate::output::figure::About;

const SECOND: Nanos = 1_000_000_000;

fn page(command: &str, asked: &[Asked]) -> String {
    let limit = Limit::new("10/10s".parse().unwrap(), "10".parse().unwrap()).unwrap();
    let about = About {
        command,
        moments: Moments::SinceStart,
        name: &|client| format!("</script><b>{client}"),
        outcomes: &[],
    };
    document(&Figure::draw(asked, &limit, &about), "n0nce")
}

fn two_clients() -> Vec<Asked> {
    let one = |n: u64| Asked {
        at: n * SECOND,
        client: (n % 2) as u32,
    };
    (0..10).map(one).collect()
}

#[test]
fn the_page_loads_nothing() {
    let text = page("kidoban simulate", &two_clients());
    let text = text.replace("http://www.w3.org/2000/svg", "");
    for far in [
        "http:", "https:", "@import", "src=\"", "url(//", "fetch(", "XMLHttp",
    ] {
        assert!(!text.contains(far), "it has {far}");
    }
    assert!(text.contains("default-src 'none'"));
    for inline in [
        "style=\"",
        "onclick=",
        "onload=",
        "javascript:",
        "innerHTML",
        "eval(",
    ] {
        assert!(!text.contains(inline), "it has {inline}");
    }
}

#[test]
fn each_algorithm_says_what_it_promises_and_keeps() {
    let text = page("kidoban simulate", &two_clients());
    let (_, table) = text.split_once("<details id=\"promises\">").unwrap();
    let (table, _) = table.split_once("</details>").unwrap();
    assert_eq!(table.matches("<th scope=\"row\">").count(), 10);
    for algorithm in Algorithm::ALL {
        for said in [
            algorithm.title(),
            &algorithm.guarantee().to_string(),
            &algorithm.state().to_string(),
            &escaped(algorithm.source()),
        ] {
            assert!(table.contains(said), "{said}: {table}");
        }
    }
    assert!(text.contains("a page with dials takes at most 5,000."));
}

#[test]
fn nothing_from_outside_becomes_a_part_of_it() {
    let text = page("kidoban </title><script>1</script> \"&", &two_clients());
    assert!(!text.contains("<script>1"));
    // The contents, and our own.
    assert_eq!(text.matches("<script").count(), 2);
    assert_eq!(text.matches("</script>").count(), 2);
    assert!(!text.contains("<b>0"));
}

#[test]
fn what_the_script_looks_for_is_there_once() {
    let text = page("kidoban simulate", &two_clients());
    let (page, script) = text.rsplit_once("\"use strict\"").unwrap();
    let mut seen = 0;
    for (start, call) in script.match_indices("at(\"") {
        if script[..start].ends_with(char::is_alphanumeric) {
            continue; // the end of a longer name
        }
        let id = script[start + call.len()..].split('"').next().unwrap();
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        seen += 1;
    }
    assert!(seen > 30, "only {seen}");
}
