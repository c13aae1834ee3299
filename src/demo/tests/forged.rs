//! What a player never sends: garbage, forged states, sentences in no language.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::ask;

const SPOTS: [&str; 9] = [
    "wicket", "house", "gallery", "stage", "dressing", "naraku", "hidden", "held", "gone",
];

prop_compose! {
    fn any_state()(
        at in 0..6usize, spots in prop::array::uniform5(0..9usize), lit: bool, met: bool,
        seen: u8, turns: u32,
    ) -> Value {
        let [lantern, candle, key, clappers, ticket] = spots.map(|spot| SPOTS[spot]);
        json!({
            "v": 1, "at": SPOTS[at], "lit": lit, "met": met, "seen": seen, "turns": turns,
            "lantern": lantern, "candle": candle, "key": key, "clappers": clappers, "ticket": ticket,
        })
    }
}

fn any_input() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "提灯",
        "を",
        "取る",
        "火",
        "鍵で",
        "箱",
        "開ける",
        "置く",
        "北",
        "下りる",
        "札",
        "甚兵衛",
        "渡す",
        "打つ",
        "柝",
        "take ",
        "use ",
        "the ",
        "lantern ",
        "candle ",
        "key ",
        "box ",
        "give ",
        "ticket ",
        "down ",
        "clappers ",
        "girl ",
        "tray ",
        "say ",
        "「",
        "ﾞ",
        "\u{3099}",
        "{}",
        " ",
    ]);
    prop_oneof![
        prop::collection::vec(word, 0..6).prop_map(|words| words.concat()),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn garbage_gets_one_line_of_json(line in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert_eq!(ask(&line)["ok"].clone(), json!(false));
    }

    #[test]
    fn every_state_and_sentence_has_an_answer(
        state in any_state(), input in any_input(), english: bool,
        kind in prop::sample::select(vec!["look", "move", "take", "use", "say"]),
    ) {
        let lang = if english { "en" } else { "ja" };
        let request = json!({"kind": kind, "input": input, "lang": lang, "state": state});
        let reply = ask(request.to_string().as_bytes());
        prop_assert_eq!(&reply["ok"], &json!(true));
        prop_assert!(!reply["text"].as_str().unwrap().is_empty());
        // A state that came out goes in again, and looking around leaves it as it was.
        let again = json!({"kind": "look", "lang": lang, "state": reply["state"]});
        prop_assert_eq!(&ask(again.to_string().as_bytes())["state"], &reply["state"]);
    }

    #[test]
    fn forged_states_never_panic(
        mut state in any_state(), name in prop::sample::select(vec!["v", "at", "lit", "seen", "key", "turns"]),
        value in prop_oneof![
            Just(Value::Null), Just(json!(-1)), Just(json!(1e300)), Just(json!([])), Just(json!({})),
            any::<String>().prop_map(Value::from),
        ],
    ) {
        state[name] = value;
        let request = json!({"kind": "look", "state": state});
        prop_assert!(ask(request.to_string().as_bytes())["ok"].is_boolean());
    }
}
