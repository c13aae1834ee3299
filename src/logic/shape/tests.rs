//! Tables of bodies that pass and that do not, and what holds for all of them.

use super::*;
use proptest::prelude::*;
use serde_json::Value as Json;

fn rules() -> Rules {
    Rules {
        kinds: "look,move,take,use,say".parse().unwrap(),
        input_chars_max: 200,
        depth_max: 64,
    }
}

fn any_kind() -> Rules {
    Rules {
        kinds: Kinds::Any,
        ..rules()
    }
}

fn turn(body: impl AsRef<[u8]>) -> Result<Turn, BadShape> {
    check(body.as_ref().to_vec(), Route::Turn, &rules())
}

fn new(body: impl AsRef<[u8]>) -> Result<Turn, BadShape> {
    check(body.as_ref().to_vec(), Route::New, &rules())
}

fn line(checked: Result<Turn, BadShape>) -> String {
    String::from_utf8(checked.unwrap().into_parts().0).unwrap()
}

/// A turn whose `x` is arrays, so that the whole is `levels` deep.
fn nested(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
    format!(r#"{{"kind":"look","x":{open}{close}}}"#)
}

#[test]
fn a_turn_is_passed_on_as_it_was_sent() {
    let same = [
        r#"{"kind":"look"}"#,
        r#"{"z":1,"kind":"say","input":"\u3042 \"a\"\n","a":[1.0,1e2,-0,12345678901234567890]}"#,
        r#"{ "kind" :	"look" }"#,
        r#"{"k\u0069nd":"l\u006fok"}"#,
        r#"{"kind":"look","x":{"a":1,"a":2}}"#,
        r#"{"kind":"look","":"\ud83d\ude00"}"#,
        r#"{"kind":"look","x":-1.7976931348623157e308,"y":5e-324,"z":1e-999}"#,
        "{\"kind\":\"say\",\"input\":\"\u{2028}\u{2029}\u{85}\u{7f}\u{feff}\u{0301}\"}",
    ];
    for body in same {
        assert_eq!(line(turn(body)), format!("{body}\n"));
    }
    assert_eq!(turn(r#"{"k\u0069nd":"l\u006fok"}"#).unwrap().kind(), "look");
}

/// Digits around the largest double: what passes is held by one, and what does not is not.
#[test]
fn numbers_at_the_edge_of_a_double() {
    let largest = format!("{}", f64::MAX);
    for (number, passes) in [
        (largest.as_str(), true),
        ("1.7976931348623158e308", true),
        ("179769313486231570000e288", true),
        ("1.79769313486231580e308", true),
        ("1.79769313486231585e308", false),
        ("179769313486231589e291", false),
    ] {
        let body = format!(r#"{{"kind":"look","x":{number}}}"#);
        assert_eq!(turn(&body).is_ok(), passes, "{number}");
        assert_eq!(number.parse::<f64>().unwrap().is_finite(), passes);
    }
}

#[test]
fn a_pretty_printed_body_is_one_line() {
    let body = " \n{\n  \"kind\": \"look\",\r\n\t\"x\": [\r1,\n 2]\n}\r\n\n";
    let expected = "{   \"kind\": \"look\",  \t\"x\": [ 1,  2] }\n";
    assert_eq!(line(turn(body)), expected);
}

/// Each body is refused, and the sentence has this part.
fn assert_refused(cases: &[(&[u8], &str)]) {
    for (body, part) in cases {
        let told = turn(body).unwrap_err().to_string();
        let body = String::from_utf8_lossy(body);
        assert!(told.contains(part), "{body}: {told}");
    }
}

#[test]
fn what_is_no_json_object_is_refused() {
    assert_refused(&[
        (b"", "the body is empty, and should be a JSON object"),
        (b" \r\n\t", "the body is empty, and should be a JSON object"),
        (
            b"\xef\xbb\xbf{\"kind\":\"look\"}",
            "the body starts with a byte order mark",
        ),
        (b"\xc0\xaf", "not UTF-8 at byte 1"),
        (
            b"{\"kind\":\"look\",\"x\":\"\xed\xa0\x80\"}",
            "not UTF-8 at byte 21",
        ),
        (b"{\"kind\":\"look\"}\xff", "not UTF-8 at byte 16"),
        (b"[\"say\",\"x\"]", "not a JSON object"),
        (b"\"say\"", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"\x0c{\"kind\":\"look\"}", "not a JSON object"),
        (
            b"{\"kind\":\"look\"}x",
            "trailing characters at line 1 column 16",
        ),
        (
            b"{\"kind\":\"look\"}\n{}",
            "trailing characters at line 2 column 1",
        ),
        (
            b"{\"kind\":\"look\"}\0",
            "trailing characters at line 1 column 16",
        ),
        (
            b"{\"kind\":\"look\"",
            "EOF while parsing an object at line 1 column 14",
        ),
        (
            b"{\"kind\":\"look\",}",
            "trailing comma at line 1 column 16",
        ),
        (
            b"{kind:\"look\"}",
            "key must be a string at line 1 column 2",
        ),
        (b"{1:\"look\"}", "key must be a string at line 1 column 2"),
        (b"{\"kind\":'look'}", "expected value at line 1 column 9"),
        (
            b"{\"kind\":\"look\",\"x\":NaN}",
            "expected value at line 1 column 20",
        ),
        (
            b"{\"kind\":\"look\",\"x\":01}",
            "invalid number at line 1 column 21",
        ),
        (
            b"{\"kind\":\"say\",\"input\":\"a\nb\"}",
            "control character",
        ),
        (
            b"{\"kind\":\"say\",\"input\":\"a\0b\"}",
            "control character",
        ),
        (
            b"{\"kind\":\"say\",\"input\":\"a\tb\"}",
            "control character",
        ),
        (b"{\"kind\":\"say\",\"a\rb\":1}", "control character"),
        (
            b"{\"kind\":\"look\",\"x\":1e999}",
            "number out of range at line 1 column 24",
        ),
        (
            b"{\"kind\":\"look\",\"x\":[{\"y\":-1e309}]}",
            "number out of range",
        ),
        (br#"{"kind":"look","x":"\ud800"}"#, "not valid JSON: "),
        (br#"{"kind":"look","x":{"\udc00":1}}"#, "not valid JSON: "),
        (br#"{"kind":"look","x":"\ud800\u0041"}"#, "not valid JSON: "),
    ]);
}

#[test]
fn an_object_that_is_no_turn_is_refused() {
    assert_refused(&[
        (br#"{"a":1,"a":2}"#, "\"a\" is there twice"),
        (
            br#"{"kind":"say","\u006bind":"look"}"#,
            "\"kind\" is there twice",
        ),
        (
            br#"{"input":"x","b":1,"kind":"say","input":"y"}"#,
            "\"input\" is there twice",
        ),
        (br#"{"x":1}"#, "`kind` is missing"),
        (br#"{"kind":["look"]}"#, "`kind` is not a string"),
        (br#"{"kind":null}"#, "`kind` is not a string"),
        (br#"{"kind":"new"}"#, "only /api/new takes"),
        (
            br#"{"kind":"Look"}"#,
            "`kind` is \"Look\", which is not known here",
        ),
        (br#"{"kind":"look","input":7}"#, "`input` is not a string"),
        (
            br#"{"kind":"look","input":null}"#,
            "`input` is not a string",
        ),
    ]);
}

#[test]
fn long_bodies_that_are_wrong_are_refused() {
    let open = format!(r#"{{"kind":"look","x":{}"#, "[".repeat(30_000));
    let told = turn(open).unwrap_err().to_string();
    assert_eq!(
        told,
        "the body is nested too deep: no further level is allowed at line 1 column 83"
    );
    let digits = format!(r#"{{"kind":"look","x":{}}}"#, "9".repeat(60_000));
    let told = turn(digits).unwrap_err().to_string();
    assert!(told.contains("number out of range"), "{told}");
    let digits = format!(r#"{{"kind":"look","x":0.{}}}"#, "9".repeat(60_000));
    assert_eq!(line(turn(&digits)), digits + "\n");
}

#[test]
fn depth_is_counted_from_the_top_level_object() {
    for depth_max in [1, 2, 64, DEPTH_MAX_LIMIT] {
        let rules = Rules {
            depth_max,
            ..rules()
        };
        let check = |body: String| check(body.into_bytes(), Route::Turn, &rules);
        assert!(check(nested(depth_max + 1)).is_err(), "{depth_max}");
        if depth_max > 1 {
            assert!(check(nested(depth_max)).is_ok(), "{depth_max}");
        }
        assert!(check(r#"{"kind":"look"}"#.into()).is_ok());
    }
    let objects = r#"{"kind":"look","x":{"y":{}}}"#.as_bytes();
    for (depth_max, passes) in [(2, false), (3, true)] {
        let rules = Rules {
            depth_max,
            ..rules()
        };
        let checked = check(objects.to_vec(), Route::Turn, &rules);
        assert_eq!(checked.is_ok(), passes);
    }
    let beyond = Rules {
        depth_max: 1000,
        ..rules()
    };
    assert!(check(nested(128).into_bytes(), Route::Turn, &beyond).is_err());
}

#[test]
fn input_is_counted_in_scalar_values() {
    for char in ["a", "あ", "😀", "\\u3042", "\\ud83d\\ude00", "\\n"] {
        for (count, passes) in [(0, true), (200, true), (201, false)] {
            let input = char.repeat(count);
            let body = format!(r#"{{"kind":"say","input":"{input}"}}"#);
            assert_eq!(turn(&body).is_ok(), passes, "{count} times {char}");
            let body = format!(r#"{{"input":"{input}"}}"#);
            assert_eq!(new(&body).is_ok(), passes, "{count} times {char}");
        }
    }
}

#[test]
fn new_gets_its_kind() {
    let cases = [
        ("", r#"{"kind":"new"}"#),
        (" \r\n\t", r#"{"kind":"new"}"#),
        ("{}", r#"{"kind":"new"}"#),
        ("{ }", r#"{"kind":"new" }"#),
        ("\r\n{\r\n}\r\n", r#"{"kind":"new"  }"#),
        (r#"{"seed":7}"#, r#"{"kind":"new","seed":7}"#),
        ("{\n \"seed\":7}\n", r#"{"kind":"new",  "seed":7}"#),
        (
            r#"{"x":{"kind":"say"}}"#,
            r#"{"kind":"new","x":{"kind":"say"}}"#,
        ),
        (r#"{"seed":7,"kind":"new"}"#, r#"{"seed":7,"kind":"new"}"#),
        (r#"{"kind":"n\u0065w"}"#, r#"{"kind":"n\u0065w"}"#),
    ];
    for (body, expected) in cases {
        let checked = new(body).unwrap();
        assert_eq!(checked.kind(), "new");
        assert_eq!(line(Ok(checked)), format!("{expected}\n"), "{body}");
    }
    for body in [
        r#"{"kind":"look"}"#,
        r#"{"kind":""}"#,
        r#"{"kind":false}"#,
        r#"{"kind":"new","kind":"new"}"#,
        "[]",
        "null",
        "{",
        "\u{feff}",
        "\u{a0}",
    ] {
        assert!(new(body).is_err(), "{body}");
    }
}

#[test]
fn any_takes_every_kind_but_new() {
    let check = |kind: &str| {
        let body = serde_json::json!({ "kind": kind }).to_string();
        check(body.into_bytes(), Route::Turn, &any_kind())
    };
    for kind in ["x", "New", "any", "\n\0", &"あ".repeat(64)] {
        assert_eq!(check(kind).unwrap().kind(), kind);
    }
    for kind in ["", "new", &"あ".repeat(65)] {
        assert!(check(kind).is_err(), "{kind}");
    }
}

#[test]
fn sentences_repeat_little_and_nothing_raw() {
    let kind = format!(r"\u001b[31m\r\n\u202e{}", "あ".repeat(1000));
    for body in [
        format!(r#"{{"kind":"{kind}"}}"#),
        format!(r#"{{"{kind}":1,"{kind}":1}}"#),
    ] {
        let told = turn(body).unwrap_err().to_string();
        assert!(told.chars().count() < 160, "{told}");
        assert!(!told.chars().any(char::is_control), "{told:?}");
        assert!(told.contains(r"\u{1b}[31m\r\n\u{202e}ああ"), "{told}");
    }
    let logged = format!("{:?}", turn(r#"{"kind":"say","input":"secret"}"#));
    assert!(!logged.contains("secret"), "{logged}");
}

#[test]
fn kinds_as_operators_write_them() {
    let listed = Kinds::Listed(vec!["look".into(), "話す".into()]);
    assert_eq!("look, 話す".parse(), Ok(listed.clone()));
    assert_eq!(listed.to_string(), "look,話す");
    assert_eq!("any".parse(), Ok(Kinds::Any));
    assert_eq!(Kinds::Any.to_string(), "any");
    assert!("あ".repeat(64).parse::<Kinds>().is_ok());
    let long = "あ".repeat(65);
    for (text, part) in [
        ("", "an empty kind; it takes `any`"),
        ("look,,say", "an empty kind"),
        ("look,", "an empty kind"),
        ("look,new", "\"new\" is the kind of /api/new"),
        ("look,any", "\"any\" takes every kind"),
        ("look,say,look", "\"look\" is there twice"),
        ("lo\nok", "\"lo\\nok\" has a control character"),
        (&long, "is longer than a kind may be"),
    ] {
        let told = text.parse::<Kinds>().unwrap_err().to_string();
        assert!(told.contains(part), "{text}: {told}");
    }
}

#[test]
fn a_body_of_names_weighs_less_than_ten_times_itself() {
    let mut body = String::from(r#"{"kind":"look""#);
    for at in 0..16_400 {
        let _ = write!(body, r#","{at:x}":1"#);
    }
    body.push('}');
    let object = walk(&body, 64).unwrap();
    // A buffer that grows stands beside its half for a moment.
    let most_bytes = body.capacity() + object.names.held_bytes() * 3 / 2;
    assert!(most_bytes < 10 * body.len(), "{most_bytes}");
    assert!(turn(&body).is_ok());
    body.insert_str(1, r#""3fff":1,"#);
    let told = turn(&body).unwrap_err().to_string();
    assert_eq!(told, "\"3fff\" is there twice");
}

/// Any JSON value, as a program would send it.
fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e300..1e300).prop_map(Json::from),
        ".{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// Bytes of which many matter to the parser.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "{", "}", "[", "]", "\"", ":", ",", "\n", "\r", " ", "\\", "\\u", "d800", "1", "e9",
            "\"kind\":\"look\"", "\"kind\"", "\"input\":\"x\"", "true", "\u{2028}", "\u{feff}",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    (prop::bool::ANY, prop::collection::vec(piece, 0..20)).prop_map(|(whole, pieces)| {
        let inner = pieces.concat();
        if whole {
            [b"{\"kind\":\"look\",".as_slice(), &inner, b"}"].concat()
        } else {
            inner
        }
    })
}

/// One line, and the same value as was sent.
fn assert_same(sent: &[u8], checked: &Turn, route: Route) -> Result<(), TestCaseError> {
    let line = checked.line();
    let end = line.iter().position(|byte| *byte == b'\n');
    prop_assert_eq!(end, Some(line.len() - 1));
    prop_assert!(!line.contains(&b'\r'));
    let got: Json = serde_json::from_slice(line).unwrap();
    prop_assert_eq!(got.get("kind").and_then(Json::as_str), Some(checked.kind()));
    let mut expected = match serde_json::from_slice(sent) {
        Ok(expected) => expected,
        Err(_) => serde_json::json!({}),
    };
    if route == Route::New {
        expected["kind"] = "new".into();
    }
    prop_assert_eq!(got, expected);
    Ok(())
}

proptest! {
    #[test]
    fn what_passes_is_the_same_value_on_one_line(
        values in prop::collection::btree_map("[^\\pC]{1,4}", json(), 0..5),
        pretty in any::<bool>(),
        crlf in any::<bool>(),
        is_new in any::<bool>(),
    ) {
        let mut object: serde_json::Map<_, _> = values.into_iter().collect();
        object.remove("kind");
        object.remove("input");
        let route = if is_new { Route::New } else { Route::Turn };
        if !is_new {
            object.insert("kind".into(), "look".into());
        }
        let mut body = if pretty {
            serde_json::to_string_pretty(&object).unwrap()
        } else {
            serde_json::to_string(&object).unwrap()
        };
        if crlf {
            body = format!("\r\n{}\r\n", body.replace('\n', "\r\n"));
        }
        let checked = check(body.clone().into_bytes(), route, &rules());
        prop_assert!(checked.is_ok(), "{:?}", checked);
        assert_same(body.as_bytes(), &checked.unwrap(), route)?;
    }

    #[test]
    fn no_bytes_panic_and_what_passes_is_one_line(
        body in prop_oneof![noise(), prop::collection::vec(any::<u8>(), 0..40)],
        is_new in any::<bool>(),
    ) {
        let route = if is_new { Route::New } else { Route::Turn };
        match check(body.clone(), route, &any_kind()) {
            Ok(checked) => assert_same(&body, &checked, route)?,
            Err(told) => {
                let told = told.to_string();
                prop_assert!(!told.is_empty() && !told.chars().any(char::is_control), "{:?}", told);
            }
        }
    }

    #[test]
    fn numbers_pass_if_a_double_holds_them(digits in "1797693134862315[0-9]{1,20}", zeros in 0_usize..40) {
        let exponent = 309 - digits.len() - zeros;
        let number = format!("{digits}{}e{exponent}", "0".repeat(zeros));
        let is_held = number.parse::<f64>().unwrap().is_finite();
        let body = format!(r#"{{"kind":"look","x":{number}}}"#);
        prop_assert_eq!(turn(&body).is_ok(), is_held, "{}", number);
    }

    #[test]
    fn a_name_twice_is_found_wherever_it_stands(
        names in prop::collection::btree_set("[a-zあ\"]{0,3}", 1..20),
        twice in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
    ) {
        let mut names: Vec<String> = names.into_iter().collect();
        let body_of = |names: &[String]| {
            let pairs = names.iter().map(|name| format!("{}:0", Json::from(name.as_str())));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        };
        prop_assert!(new(body_of(&names)).is_ok());
        let name = twice.get(&names).clone();
        names.insert(at.index(names.len() + 1), name.clone());
        let told = new(body_of(&names)).unwrap_err().to_string();
        prop_assert_eq!(told, format!("{} is there twice", quote(&name)));
    }
}
