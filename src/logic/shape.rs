//! Gate 2: whether a body is a turn, and the line that it becomes.
//!
//! Strict, since parsers disagree on what is strange: whatever passes here
//! means the same to the engine as it did to the gateway, and can never be two
//! lines. Values are looked at and never rewritten: key order, numbers and
//! escapes stay as they were sent. The body is not copied, and checking it
//! takes less than ten times its size.

mod walk;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::{self, FromStr};

use walk::{Field, walk};

/// The deepest nesting that can be allowed. The parser underneath stops at 128.
pub const DEPTH_MAX_LIMIT: usize = 127;

/// Longest `kind`, in Unicode scalar values.
pub const KIND_CHARS_MAX: usize = 64;

/// Most of a client's text that is repeated to it, in Unicode scalar values.
const QUOTE_CHARS_MAX: usize = 64;

/// The kind of a game's first turn, which has a route of its own.
pub const NEW: &str = "new";

/// The white space of JSON (RFC 8259, 2).
const BLANKS: [u8; 4] = *b" \t\n\r";

/// Values of `kind` that a turn may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kinds {
    /// Every string of 1 to [`KIND_CHARS_MAX`] characters but `new`.
    Any,
    /// These, as they came.
    Listed(Vec<String>),
}

/// Text that is no [`Kinds`]: one sentence for the operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadKinds(String);

impl Kinds {
    /// Whether `/api/turn` takes this kind.
    pub fn takes(&self, kind: &str) -> bool {
        match self {
            Self::Any => {
                !kind.is_empty() && kind != NEW && kind.chars().nth(KIND_CHARS_MAX).is_none()
            }
            Self::Listed(kinds) => kinds.iter().any(|listed| listed == kind),
        }
    }
}

impl FromStr for Kinds {
    type Err = BadKinds;

    /// The word `any`, or kinds with commas between them; white space around a
    /// kind is no part of it.
    fn from_str(text: &str) -> Result<Self, BadKinds> {
        if text.trim() == "any" {
            return Ok(Self::Any);
        }
        let mut kinds: Vec<String> = Vec::new();
        for kind in text.split(',').map(str::trim) {
            let fault = if kind.is_empty() {
                "an empty kind"
            } else if kind.chars().nth(KIND_CHARS_MAX).is_some() {
                "is longer than a kind may be"
            } else if kind.chars().any(char::is_control) {
                "has a control character"
            } else if kind == NEW {
                "is the kind of /api/new and can be no other"
            } else if kind == "any" {
                "takes every kind, so it stands alone"
            } else if kinds.iter().any(|listed| listed == kind) {
                "is there twice"
            } else {
                kinds.push(kind.to_owned());
                continue;
            };
            let quoted = quote(kind);
            return Err(BadKinds(match kind {
                "" => format!("{fault}; it takes `any`, or kinds with commas between them"),
                _ => format!("{quoted} {fault}"),
            }));
        }
        Ok(Self::Listed(kinds))
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => out.write_str("any"),
            Self::Listed(kinds) => out.write_str(&kinds.join(",")),
        }
    }
}

/// What a body is held against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Kinds that [`Route::Turn`] takes.
    pub kinds: Kinds,
    /// Longest `input`, in Unicode scalar values.
    pub input_chars_max: usize,
    /// Deepest nesting, the body's own object being 1. More than
    /// [`DEPTH_MAX_LIMIT`] counts as that.
    pub depth_max: usize,
}

/// Where a body was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// `/api/turn`.
    Turn,
    /// `/api/new`.
    New,
}

/// A checked turn: one line of JSON. Only [`check`] makes one.
#[derive(Clone, PartialEq, Eq)]
pub struct Turn {
    line: Vec<u8>,
    kind: String,
}

impl Turn {
    /// The line for the engine. It ends in `\n`, the only one in it.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Its `kind`, unescaped. With [`Kinds::Any`] it is text of the client's
    /// own, and may hold anything.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The line and the kind, to keep.
    pub fn into_parts(self) -> (Vec<u8>, String) {
        (self.line, self.kind)
    }
}

/// Without the line: what a client says is nobody's business in a log.
impl fmt::Debug for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Turn")
            .field("kind", &self.kind)
            .field("line_bytes", &self.line.len())
            .finish_non_exhaustive()
    }
}

/// Why a body is no turn: one sentence for a person, with a line and column or
/// a name. Columns count bytes from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadShape(String);

/// Checks a body and makes it one line.
///
/// Refused is what is not UTF-8, has a byte order mark, is anything but one
/// JSON object (RFC 8259), has a top-level name twice after unescaping, an
/// unpaired surrogate escape, a number no double can hold, too deep a nesting,
/// a wrong `kind`, or an `input` that is no string or too long. A body for
/// [`Route::New`] may also be blank; `"kind":"new"` is put in where it is
/// missing.
pub fn check(body: Vec<u8>, route: Route, rules: &Rules) -> Result<Turn, BadShape> {
    if body.starts_with("\u{feff}".as_bytes()) {
        return bad("the body starts with a byte order mark");
    }
    let text = match str::from_utf8(&body) {
        Ok(text) => text,
        Err(fault) => {
            let at = fault.valid_up_to() + 1;
            return bad(format!("the body is not UTF-8 at byte {at}"));
        }
    };
    let first = body.iter().find(|byte| !BLANKS.contains(byte));
    match (first, route) {
        (Some(b'{'), _) => {}
        (Some(_), _) => return bad("the body is not a JSON object"),
        (None, Route::Turn) => return bad("the body is empty, and should be a JSON object"),
        (None, Route::New) => return Ok(put_in_line(b"{}".to_vec(), None, true)),
    }
    let mut object = match walk(text, rules.depth_max.min(DEPTH_MAX_LIMIT)) {
        Ok(object) => object,
        Err(fault) if fault.is_data() => {
            return bad(format!("the body is nested too deep: {fault}"));
        }
        Err(fault) => return bad(format!("the body is not valid JSON: {fault}")),
    };
    if let Some(name) = object.names.doubled() {
        return bad(format!("{} is there twice", quote(name)));
    }
    check_input(&object.input, rules)?;
    let is_empty = object.names.is_empty();
    let kind = check_kind(object.kind, route, rules)?.map(Cow::into_owned);
    Ok(put_in_line(body, kind, is_empty))
}

fn check_input(input: &Field, rules: &Rules) -> Result<(), BadShape> {
    match input {
        Field::Absent => Ok(()),
        Field::NoString => bad("`input` is not a string"),
        Field::Text(text) if text.chars().nth(rules.input_chars_max).is_none() => Ok(()),
        Field::Text(_) => {
            let most = rules.input_chars_max;
            bad(format!("`input` is longer than {most} characters"))
        }
    }
}

/// The kind, or `None` where `new` is still to be put in.
fn check_kind<'a>(
    kind: Field<'a>,
    route: Route,
    rules: &Rules,
) -> Result<Option<Cow<'a, str>>, BadShape> {
    match (route, kind) {
        (_, Field::NoString) => bad("`kind` is not a string"),
        (Route::New, Field::Absent) => Ok(None),
        (Route::New, Field::Text(kind)) if kind == NEW => Ok(Some(kind)),
        (Route::New, Field::Text(kind)) => {
            let kind = quote(&kind);
            bad(format!("`kind` is {kind}, and /api/new takes only \"new\""))
        }
        (Route::Turn, Field::Absent) => bad("`kind` is missing"),
        (Route::Turn, Field::Text(kind)) if kind == NEW => {
            bad("`kind` is \"new\", which only /api/new takes")
        }
        (Route::Turn, Field::Text(kind)) if rules.kinds.takes(&kind) => Ok(Some(kind)),
        (Route::Turn, Field::Text(kind)) => {
            let kind = quote(&kind);
            bad(format!("`kind` is {kind}, which is not known here"))
        }
    }
}

/// Makes a checked object the one line that it stays, in place.
fn put_in_line(mut body: Vec<u8>, kind: Option<String>, is_empty: bool) -> Turn {
    let is_token = |byte: &u8| !BLANKS.contains(byte);
    body.truncate(body.iter().rposition(is_token).map_or(0, |last| last + 1));
    body.drain(..body.iter().position(is_token).unwrap_or(0));
    // Inside a string they would have been refused, so they stand between
    // tokens, where a space says the same.
    for byte in &mut body {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    let kind = kind.unwrap_or_else(|| {
        let missing = if is_empty {
            r#""kind":"new""#
        } else {
            r#""kind":"new","#
        };
        body.reserve_exact(missing.len() + 1);
        body.splice(1..1, missing.bytes());
        NEW.to_owned()
    });
    body.reserve_exact(1);
    body.push(b'\n');
    Turn { line: body, kind }
}

fn bad<T>(sentence: impl Into<String>) -> Result<T, BadShape> {
    Err(BadShape(sentence.into()))
}

/// Text of somebody else's, short and harmless, in quotes.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    let mut chars = text.chars();
    for char in chars.by_ref().take(QUOTE_CHARS_MAX) {
        // Writing to a `String` cannot fail.
        let _ = write!(quoted, "{}", char.escape_debug());
    }
    if chars.next().is_some() {
        quoted.push('…');
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
