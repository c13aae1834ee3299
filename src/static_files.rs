//! Static files: a folder read into memory once, and the answers to GET and HEAD made from it.
//!
//! A request is a look-up in a map and never touches the disk, so no spelling of a path can leave the folder and no
//! slow disk can hold a turn. Reading never follows a link out of the folder, never opens a pipe, socket or device,
//! and never takes more memory than [`TOTAL_BYTES_MAX`]. What is left out is told, never dropped silently.

mod read;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

pub use read::{DEPTH_MAX, ENTRIES_MAX, LEFT_OUT_MAX, LeftOut, ReadError, TOTAL_BYTES_MAX, Why};

/// What the built-in page may load. A user's own page may need anything, so it gets no policy.
const BUILT_IN_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'",
);

/// Files by the path they are asked for.
#[derive(Debug, Default)]
pub struct StaticFiles {
    assets: HashMap<String, Asset>,
}

impl StaticFiles {
    /// Reads a folder and all folders in it. The second value is what was left out and why, at most [`LEFT_OUT_MAX`]
    /// of them and one more for the rest.
    ///
    /// A link counts by where it leads: inside the folder it is read like the file or folder it names, under its own
    /// name; outside it is left out. Blocks on the disk: not for a thread that serves requests.
    ///
    /// An error means that the folder as a whole cannot be served: it is not there, it is too large, or the machine
    /// failed (no memory, no descriptors, a broken disk). A caller that holds older files keeps those.
    pub fn read(folder: &Path) -> Result<(Self, Vec<LeftOut>), ReadError> {
        let (files, left_out) = read::read(folder, read::Limits::default())?;
        Ok((Self::assemble(&files, None), left_out))
    }

    /// Files that are part of the program, each under the path it is asked for (`/index.html`). Their HTML is
    /// answered with a content security policy.
    pub fn from_assets(assets: &[(&str, &'static [u8])]) -> Self {
        let files = assets
            .iter()
            .map(|&(path, body)| (path.to_owned(), Bytes::from_static(body)))
            .collect();
        Self::assemble(&files, Some(&BUILT_IN_POLICY))
    }

    fn assemble(files: &HashMap<String, Bytes>, html_policy: Option<&HeaderValue>) -> Self {
        let assets = files
            .iter()
            .map(|(path, body)| {
                let neighbour = |coding: Coding| {
                    let body = files.get(&format!("{path}{}", coding.suffix()))?;
                    Some(Form::new(body.clone(), coding))
                };
                let content_type = content_type(path);
                let is_html = content_type.as_bytes().starts_with(b"text/html");
                let asset = Asset {
                    content_type,
                    policy: html_policy.filter(|_| is_html).cloned(),
                    plain: Form::new(body.clone(), Coding::Identity),
                    packed: [Coding::Brotli, Coding::Gzip]
                        .into_iter()
                        .filter_map(neighbour)
                        .collect(),
                };
                (path.clone(), asset)
            })
            .collect();
        Self { assets }
    }

    /// The file for a path, percent-encoded as it stands in the request target, without the query. Exact paths only:
    /// `/` is `/index.html`, and no other folder has an index.
    pub fn find(&self, path: &str) -> Option<&Asset> {
        if path == "/" {
            return self.assets.get("/index.html");
        }
        self.assets.get(&decode(path)?)
    }
}

/// One file, and its `.br` and `.gz` neighbours where it has any.
#[derive(Debug)]
pub struct Asset {
    content_type: HeaderValue,
    policy: Option<HeaderValue>,
    plain: Form,
    /// Best first.
    packed: Vec<Form>,
}

impl Asset {
    /// 200 with the file, or 304 if `If-None-Match` names what would be sent.
    pub fn answer(&self, request: &HeaderMap) -> Response<Bytes> {
        let form = self.choose(request);
        let mut answer = Response::new(Bytes::new());
        let headers = answer.headers_mut();
        headers.insert(header::ETAG, form.etag.clone());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if !self.packed.is_empty() {
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        if names_etag(request, &form.etag) {
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            return answer;
        }
        headers.insert(header::CONTENT_TYPE, self.content_type.clone());
        headers.insert(header::CONTENT_LENGTH, form.body.len().into());
        if let Some(name) = form.coding.name() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        if let Some(policy) = &self.policy {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy.clone());
        }
        *answer.body_mut() = form.body.clone();
        answer
    }

    /// The form that the client weighs highest; of equals the first, smallest as a rule. The plain one is never
    /// refused: RFC 9110, 12.5.3 lets a server send it when nothing else is acceptable.
    fn choose(&self, request: &HeaderMap) -> &Form {
        let mut best = &self.plain;
        // Not named, the plain form is acceptable and comes last.
        let mut best_weight = accepted_weight(request, Coding::Identity).unwrap_or(0);
        for form in self.packed.iter().rev() {
            match accepted_weight(request, form.coding) {
                Some(weight) if weight > 0 && weight >= best_weight => {
                    best = form;
                    best_weight = weight;
                }
                _ => {}
            }
        }
        best
    }
}

/// One representation of a file.
#[derive(Debug)]
struct Form {
    body: Bytes,
    etag: HeaderValue,
    coding: Coding,
}

impl Form {
    fn new(body: Bytes, coding: Coding) -> Self {
        let etag = etag(&body, coding);
        Self { body, etag, coding }
    }
}

/// A content coding that a neighbour can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Brotli,
    Gzip,
}

impl Coding {
    /// As in `Content-Encoding`.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
        }
    }

    /// What a neighbour adds to the file's name.
    fn suffix(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }

    /// Whether `Accept-Encoding` means this coding by `token`.
    fn is_named(self, token: &str) -> bool {
        let names: &[&str] = match self {
            Self::Identity => &["identity"],
            Self::Brotli => &["br"],
            Self::Gzip => &["gzip", "x-gzip"],
        };
        names.iter().any(|name| token.eq_ignore_ascii_case(name))
    }
}

/// Decodes a path once and strictly. `None` for what no file of the map can be meant by, told apart here so that no
/// two spellings with different segments ever become the same name.
fn decode(path: &str) -> Option<String> {
    let mut decoded = String::with_capacity(path.len());
    for segment in path.strip_prefix('/')?.split('/') {
        let segment = decode_segment(segment)?;
        if matches!(segment.as_str(), "" | "." | "..") || segment.contains(['/', '\\', '\0']) {
            return None;
        }
        decoded.push('/');
        decoded.push_str(&segment);
    }
    Some(decoded)
}

fn decode_segment(segment: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex_value(bytes.next()?)? << 4 | hex_value(bytes.next()?)?,
            _ => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

fn hex_value(digit: u8) -> Option<u8> {
    // A digit of base 16 is below 16.
    #[allow(clippy::cast_possible_truncation)]
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The content type that a path's name says. Everything that is text says that it is UTF-8.
fn content_type(path: &str) -> HeaderValue {
    let mime = mime_guess::from_path(path).first_or_octet_stream();
    let is_text = mime.type_() == "text"
        || mime
            .suffix()
            .is_some_and(|suffix| suffix == "xml" || suffix == "json")
        || matches!(mime.subtype().as_str(), "javascript" | "json" | "xml");
    let text = if is_text {
        format!("{}; charset=utf-8", mime.essence_str())
    } else {
        mime.essence_str().to_owned()
    };
    HeaderValue::from_str(&text).expect("a media type is visible ASCII")
}

/// A strong entity tag: the content's hash and length, and the coding, since two representations must not share one
/// (RFC 9110, 8.8.3.3). The hash may change with the compiler's version; that costs one download.
fn etag(body: &[u8], coding: Coding) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    hasher.write(body);
    let mut tag = format!("\"{:016x}-{:x}", hasher.finish(), body.len());
    if let Some(name) = coding.name() {
        tag.push('-');
        tag.push_str(name);
    }
    tag.push('"');
    HeaderValue::from_str(&tag).expect("hex digits, dashes and quotes are visible ASCII")
}

/// Whether `If-None-Match` holds this tag or `*` (RFC 9110, 13.1.2: compared weakly). Splitting at commas may cut a
/// foreign tag that holds one, but a piece with both its quotes is always a whole tag.
fn names_etag(request: &HeaderMap, etag: &HeaderValue) -> bool {
    request.get_all(header::IF_NONE_MATCH).iter().any(|line| {
        let line = line.as_bytes().trim_ascii();
        line == b"*"
            || line.split(|&byte| byte == b',').any(|tag| {
                let tag = tag.trim_ascii();
                tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes()
            })
    })
}

/// What `Accept-Encoding` gives a coding, in thousandths; `None` where it says nothing about it.
fn accepted_weight(request: &HeaderMap, coding: Coding) -> Option<u16> {
    let mut of_any = None;
    let lines = request.get_all(header::ACCEPT_ENCODING);
    for member in lines
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
    {
        let (token, parameters) = member.split_once(';').unwrap_or((member, ""));
        if coding.is_named(token.trim()) {
            return Some(weight(parameters));
        }
        if token.trim() == "*" {
            of_any = Some(weight(parameters));
        }
    }
    of_any
}

/// `q=0.5` in thousandths. What is not well formed is 0: the plain form suits everybody.
fn weight(parameters: &str) -> u16 {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return 1000;
    }
    let value = parameters
        .strip_prefix(['q', 'Q'])
        .and_then(|rest| rest.strip_prefix('='));
    let Some((whole, fraction)) = value.map(|value| value.split_once('.').unwrap_or((value, "")))
    else {
        return 0;
    };
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match whole {
        "1" if digits && fraction.bytes().all(|byte| byte == b'0') => 1000,
        "0" if digits => format!("{fraction:0<3}").parse().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SITE: &[(&str, &[u8])] = &[
        ("/index.html", b"<p>top"),
        ("/sub/index.html", b"<p>sub"),
        ("/a b.txt", b"space"),
        ("/札/木戸番.txt", "木戸番".as_bytes()),
        ("/100%.txt", b"percent"),
        ("/%2e%2e", b"doubly encoded"),
        ("/app.js", b"plain"),
        ("/app.js.br", b"brotli"),
        ("/app.js.gz", b"gzip"),
        ("/only.css", b"plain"),
        ("/only.css.gz", b"gzip"),
    ];

    fn site() -> StaticFiles {
        StaticFiles::from_assets(SITE)
    }

    fn request(fields: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn get(files: &StaticFiles, path: &str, fields: &[(&str, &str)]) -> Response<Bytes> {
        files
            .find(path)
            .unwrap_or_else(|| panic!("{path} is not found"))
            .answer(&request(fields))
    }

    fn field<'a>(answer: &'a Response<Bytes>, name: &str) -> &'a str {
        answer
            .headers()
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn paths_that_mean_a_file_find_it() {
        let cases = [
            ("/", "<p>top"),
            ("/index.html", "<p>top"),
            ("/%69ndex.html", "<p>top"),
            ("/sub/index.html", "<p>sub"),
            ("/a%20b.txt", "space"),
            ("/%E6%9C%AD/%e6%9c%a8%e6%88%b8%e7%95%aa.txt", "木戸番"),
            ("/札/木戸番.txt", "木戸番"),
            ("/100%25.txt", "percent"),
            // Decoded once and no further.
            ("/%252e%252e", "doubly encoded"),
        ];
        for (path, body) in cases {
            assert_eq!(get(&site(), path, &[]).body(), body, "{path}");
        }
    }

    #[test]
    fn all_other_paths_find_nothing() {
        let cases = [
            "",
            "*",
            "index.html",
            "//",
            "//index.html",
            "/sub",
            "/sub/",
            "/sub//index.html",
            "/sub/index.html/",
            "/./index.html",
            "/%2e/index.html",
            "/sub/../index.html",
            "/sub/%2e%2E/index.html",
            "/%2e%2e",
            "/..",
            "/sub%2findex.html",
            "/sub%2Findex.html",
            "/sub\\index.html",
            "/sub%5cindex.html",
            "/index.html%00",
            "/index.html%",
            "/index.html%2",
            "/index.html%zz",
            "/index.html%+1",
            "/100%.txt",
            "/%ff",
            "/INDEX.HTML",
            "/index.html?",
        ];
        for path in cases {
            assert!(site().find(path).is_none(), "{path:?} finds something");
        }
        // The map alone would refuse most of the above; these would be found if decoding let them through.
        let odd = StaticFiles::from_assets(&[
            ("/sub/../a", b""),
            ("//a", b""),
            ("/.", b""),
            ("/back\\slash", b""),
            ("/nul\0", b""),
            ("/\u{fffd}", b""),
        ]);
        let odd_paths = [
            "/sub/../a",
            "/sub/%2e./a",
            "/sub%2f../a",
            "//a",
            "/%2fa",
            "/.",
            "/%2e",
            "/back\\slash",
            "/back%5Cslash",
            "/nul%00",
            "/%ff",
        ];
        for path in odd_paths {
            assert!(odd.find(path).is_none(), "{path:?} finds something");
        }
    }

    #[test]
    fn a_file_is_answered_with_all_its_fields() {
        let answer = get(&site(), "/index.html", &[]);
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(field(&answer, "content-type"), "text/html; charset=utf-8");
        assert_eq!(field(&answer, "content-length"), "6");
        assert_eq!(field(&answer, "cache-control"), "no-cache");
        assert_eq!(field(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(field(&answer, "vary"), "");
        assert_eq!(field(&answer, "content-encoding"), "");
        let etag = field(&answer, "etag");
        assert!(
            etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'),
            "{etag}"
        );
    }

    #[test]
    fn only_the_built_in_html_has_a_policy() {
        let policy = |files: &StaticFiles, path| {
            field(&get(files, path, &[]), "content-security-policy").to_owned()
        };
        let built_in = site();
        assert!(policy(&built_in, "/index.html").starts_with("default-src 'self'; img-src"));
        assert_eq!(policy(&built_in, "/app.js"), "");

        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.html"), "<p>mine").unwrap();
        let (users_own, left_out) = StaticFiles::read(folder.path()).unwrap();
        assert_eq!(left_out, []);
        assert_eq!(get(&users_own, "/", &[]).body(), "<p>mine");
        assert_eq!(policy(&users_own, "/index.html"), "");
    }

    #[test]
    fn names_say_the_content_type_and_text_is_utf_8() {
        let cases = [
            ("/a.html", "text/html; charset=utf-8"),
            ("/a.css", "text/css; charset=utf-8"),
            ("/a.txt", "text/plain; charset=utf-8"),
            ("/a.js", "text/javascript; charset=utf-8"),
            ("/a.json", "application/json; charset=utf-8"),
            ("/a.svg", "image/svg+xml; charset=utf-8"),
            ("/a.webmanifest", "application/manifest+json; charset=utf-8"),
            ("/a.png", "image/png"),
            ("/a.woff2", "font/woff2"),
            ("/a.wasm", "application/wasm"),
            ("/a.js.gz", "application/gzip"),
            ("/a.js.br", "application/octet-stream"),
            ("/a", "application/octet-stream"),
        ];
        for (path, expected) in cases {
            assert_eq!(content_type(path), expected, "{path}");
        }
    }

    #[test]
    fn the_etag_follows_the_content_and_the_coding() {
        assert_eq!(etag(b"a", Coding::Identity), etag(b"a", Coding::Identity));
        assert_ne!(etag(b"a", Coding::Identity), etag(b"b", Coding::Identity));
        assert_ne!(etag(b"a", Coding::Identity), etag(b"a", Coding::Gzip));
        assert_ne!(etag(b"a", Coding::Brotli), etag(b"a", Coding::Gzip));
    }

    #[test]
    fn if_none_match_that_names_the_etag_is_answered_with_304() {
        let files = site();
        let etag = field(&get(&files, "/app.js", &[]), "etag").to_owned();
        let matching = [
            etag.clone(),
            format!("W/{etag}"),
            format!("\"other\", {etag}"),
            format!("\"o,ther\",\t W/{etag} ,\"x\""),
            "*".to_owned(),
            " * ".to_owned(),
        ];
        for value in &matching {
            let answer = get(&files, "/app.js", &[("if-none-match", value)]);
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{value}");
            assert_eq!(answer.body(), "");
            assert_eq!(field(&answer, "etag"), etag);
            assert_eq!(field(&answer, "vary"), "accept-encoding");
            assert_eq!(field(&answer, "cache-control"), "no-cache");
            assert_eq!(field(&answer, "content-length"), "");
        }
        let two_lines = [
            ("if-none-match", "\"other\""),
            ("if-none-match", etag.as_str()),
        ];
        assert_eq!(
            get(&files, "/app.js", &two_lines).status(),
            StatusCode::NOT_MODIFIED
        );

        let bare = etag.trim_matches('"');
        for value in [
            "\"other\"",
            "",
            "\"*\"",
            bare,
            &format!("w/{etag}"),
            &etag[1..],
        ] {
            let answer = get(&files, "/app.js", &[("if-none-match", value)]);
            assert_eq!(answer.status(), StatusCode::OK, "{value}");
            assert_eq!(answer.body(), "plain", "{value}");
        }
    }

    #[test]
    fn a_form_is_only_not_modified_against_its_own_etag() {
        let files = site();
        let plain = field(&get(&files, "/app.js", &[]), "etag").to_owned();
        let packed = [("accept-encoding", "br"), ("if-none-match", plain.as_str())];
        assert_eq!(get(&files, "/app.js", &packed).status(), StatusCode::OK);
        let known = get(&files, "/app.js", &[("if-none-match", &plain)]);
        assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn neighbours_are_chosen_by_what_the_client_accepts() {
        let cases = [
            ("", "plain", ""),
            ("br", "brotli", "br"),
            ("BR", "brotli", "br"),
            ("gzip", "gzip", "gzip"),
            ("x-gzip", "gzip", "gzip"),
            ("gzip, deflate, br, zstd", "brotli", "br"),
            ("gzip;q=1.0, br;q=0.5", "gzip", "gzip"),
            ("br;q=0, gzip", "gzip", "gzip"),
            ("br;q=0.000,gzip;q=0", "plain", ""),
            ("br ; q=0.001", "brotli", "br"),
            ("*", "brotli", "br"),
            ("*;q=0", "plain", ""),
            ("*, br;q=0", "gzip", "gzip"),
            ("identity;q=0, *;q=0", "plain", ""),
            ("identity, br;q=0.5", "plain", ""),
            ("identity;q=0.5, br;q=0.5", "brotli", "br"),
            ("deflate", "plain", ""),
            ("br;q=2", "plain", ""),
            ("br;q=nan", "plain", ""),
            ("br;q=0.0001", "plain", ""),
            ("br;level=3", "plain", ""),
            ("brotli", "plain", ""),
        ];
        let files = site();
        for (accepted, body, coding) in cases {
            let answer = get(&files, "/app.js", &[("accept-encoding", accepted)]);
            assert_eq!(answer.body(), body, "{accepted:?}");
            assert_eq!(field(&answer, "content-encoding"), coding, "{accepted:?}");
            assert_eq!(field(&answer, "vary"), "accept-encoding", "{accepted:?}");
            assert_eq!(
                field(&answer, "content-type"),
                "text/javascript; charset=utf-8",
                "{accepted:?}"
            );
        }
        let two_lines = [("accept-encoding", "deflate"), ("accept-encoding", "gzip")];
        assert_eq!(get(&files, "/app.js", &two_lines).body(), "gzip");
    }

    #[test]
    fn a_file_with_one_neighbour_varies_too() {
        let files = site();
        let both = [("accept-encoding", "br, gzip")];
        assert_eq!(get(&files, "/only.css", &both).body(), "gzip");
        assert_eq!(
            field(&get(&files, "/only.css", &[]), "vary"),
            "accept-encoding"
        );
    }

    #[test]
    fn a_neighbour_stays_reachable_by_its_own_path() {
        let answer = get(&site(), "/app.js.gz", &[("accept-encoding", "gzip")]);
        assert_eq!(answer.body(), "gzip");
        assert_eq!(field(&answer, "content-encoding"), "");
        assert_eq!(field(&answer, "content-type"), "application/gzip");
        assert_eq!(field(&answer, "vary"), "");
    }
}
