//! The page: the same picture with everything it is made of, so that a reader may try another
//! limit, add requests, and ask for the state at a moment. One file that loads nothing and
//! sends nothing. What is drawn at first is the drawing itself, so that it is there without
//! scripts too; `page/draw.js` draws it again when something changes.

use serde_json::{Value, json};

use crate::logic::bucket::Nanos;
use crate::logic::limiter::Algorithm;

use super::figure::svg::{self, STYLE};
use super::figure::{Asked, Figure, Moments, RERUN_MAX, Size, data, words};

/// The page as a file. `nonce` marks our own style and script: whatever else might get into
/// the file does not run. Letters and digits only, and another one for each file.
pub fn document(figure: &Figure, nonce: &str) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         img-src data:; base-uri 'none'; form-action 'none'"
    );
    let heading = escaped(&words::heading(figure));
    let wide = svg::part(figure, Size::Wide);
    let narrow = svg::part(figure, Size::Narrow);
    let readings = include_str!("page/readings.html");
    let readings = readings.replace("RERUN_MAX", &words::count(RERUN_MAX as u64));
    [
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        "<meta http-equiv=\"content-security-policy\" content=\"",
        &policy,
        "\">\n",
        include_str!("page/head.html"),
        "<title>",
        &heading,
        "</title>\n<style nonce=\"",
        nonce,
        "\">\n",
        STYLE,
        include_str!("page/page.css"),
        "</style>\n</head>\n<body>\n<header>\n<h1 id=\"heading\">",
        &heading,
        "</h1>\n<p class=\"command\"><code>",
        &escaped(&figure.command),
        "</code></p>\n<p id=\"lead\">The limit: <b>",
        &escaped(&words::limit(&figure.limit)),
        "</b>, given as <code>",
        &escaped(&words::options(&figure.limit)),
        "</code>. ",
        &escaped(&words::summary(figure)),
        "</p>\n</header>\n",
        include_str!("page/controls.html"),
        "<main>\n<div id=\"picture\">\n",
        &wide,
        &narrow,
        "</div>\n",
        &readings,
        &promises(),
        "</main>\n<script type=\"application/json\" id=\"data\">",
        &in_script(&contents(figure)),
        "</script>\n<script nonce=\"",
        nonce,
        "\">\n",
        include_str!("page/algorithms.js"),
        include_str!("page/story.js"),
        include_str!("page/draw.js"),
        include_str!("page/live.js"),
        "</script>\n</body>\n</html>\n",
    ]
    .concat()
}

/// What each algorithm promises, what it costs and where it comes from.
fn promises() -> String {
    let row = |algorithm: Algorithm| {
        let cells = [
            algorithm.guarantee().to_string(),
            algorithm.state().to_string(),
            algorithm.source().to_owned(),
        ];
        let cells = cells.map(|text| format!("<td>{}</td>", escaped(&text)));
        let title = escaped(algorithm.title());
        format!(
            "<tr><th scope=\"row\">{title}</th>{}</tr>\n",
            cells.concat()
        )
    };
    format!(
        "<details id=\"promises\">\n\
         <summary>What each promises, what it keeps, and where it comes from</summary>\n\
         <div class=\"scroll\">\n<table>\n<thead><tr><th scope=\"col\">Algorithm</th>\
         <th scope=\"col\">At most in any window</th><th scope=\"col\">Kept of each client</th>\
         <th scope=\"col\">Source</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n\
         </details>\n",
        Algorithm::ALL.map(row).concat()
    )
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    super::figure::escape(&mut escaped, text);
    escaped
}

/// Fit to stand in a script element: nothing in it can end the element, or begin another.
fn in_script(contents: &Value) -> String {
    contents.to_string().replace('<', "\\u003c")
}

/// What the page's script works on. Moments are texts, since they are whole nanoseconds.
fn contents(figure: &Figure) -> Value {
    let algorithms: Vec<Value> = Algorithm::ALL
        .into_iter()
        .map(|algorithm| {
            json!({
                "name": algorithm.name(),
                "title": algorithm.title(),
                "level": algorithm.level(),
            })
        })
        .collect();
    json!({
        "moments": match figure.moments {
            Moments::SinceStart => "start",
            Moments::SinceEpoch => "epoch",
        },
        "from": figure.from.to_string(),
        "to": figure.to.to_string(),
        "rate": figure.limit.rate().given(),
        "burst": figure.limit.burst().tickets(),
        "asked": figure.asked,
        "bar": figure.bar_nanos.map(|nanos| nanos.to_string()),
        "arrivals": figure.kept.as_deref().map(arrivals),
        "algorithms": algorithms,
        "lanes": data::lanes(figure),
        "bars": data::bars(figure),
        "layouts": {
            "wide": data::layout(figure, Size::Wide),
            "narrow": data::layout(figure, Size::Narrow),
        },
        "sizes": data::sizes(),
    })
}

/// Each as the time since the one before, and whose it is.
fn arrivals(asked: &[Asked]) -> Value {
    let mut last: Nanos = 0;
    let mut since = Vec::with_capacity(asked.len());
    for one in asked {
        since.push((one.at - last).to_string());
        last = one.at;
    }
    let clients: Vec<String> = asked.iter().map(|one| one.client.to_string()).collect();
    json!({ "since": since.join(" "), "clients": clients.join(" ") })
}

#[cfg(test)]
mod tests;
