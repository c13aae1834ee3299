//! The game as a player meets it: walked through in both languages and by buttons alone.

use serde_json::{Value, json};

use super::engine::{reply, run};

mod forged;

/// One game in progress.
struct Game {
    lang: &'static str,
    last: Value,
}

impl Game {
    fn new(lang: &'static str) -> Self {
        let line = json!({"kind": "new", "lang": lang}).to_string();
        Self {
            lang,
            last: ask(line.as_bytes()),
        }
    }

    fn turn(&mut self, kind: &str, input: &str) -> String {
        let request = json!({
            "kind": kind, "input": input, "lang": self.lang, "state": self.last["state"],
        });
        self.last = ask(request.to_string().as_bytes());
        assert_eq!(self.last["ok"], true, "{kind} {input}: {}", self.last);
        self.last["text"].as_str().unwrap().to_owned()
    }

    fn at(&self) -> &str {
        self.last["place"]["id"].as_str().unwrap()
    }

    fn holds(&self, id: &str) -> bool {
        self.last["state"][id] == "held"
    }

    fn ended(&self) -> bool {
        self.last["ended"] == true
    }
}

fn ask(line: &[u8]) -> Value {
    let reply = reply(line);
    assert!(!reply.contains(['\n', '\r']), "a raw line break in {reply}");
    serde_json::from_str(&reply).expect("a reply is JSON")
}

#[test]
fn japanese_sentences_reach_the_ending() {
    let mut game = Game::new("ja");
    for sentence in [
        "甚兵衛に話しかける",
        "提灯を取る",
        "北へ行く",
        "舞台へ行く",
        "楽屋に入る",
        "蝋燭を取ってください",
        "柝箱を開ける",
        "西へ",
        "客席に戻る",
        "二階に上がる",
        "煙草盆を調べる",
        "引き出しを開けてみる",
        "鍵を取る",
        "下りる",
        "木戸口へ戻る",
        "ろうそくを提灯に立てて火をつける",
        "北へ行く",
        "北",
        "奈落へ下りる",
        "女の子に話しかける",
        "上がる",
        "東へ行く",
        "鍵で箱を開ける",
        "拍子木を手に取る",
        "舞台に戻る",
        "ヒョウシギを打つ",
        "提灯を舞台の端に置く",
        "拍子木を打つ",
        "客席へ行く",
        "札を受け取る",
        "木戸口へ行く",
    ] {
        game.turn("say", sentence);
        assert!(!game.ended(), "ended early at {sentence}");
    }
    let text = game.turn("say", "木札を甚兵衛に渡す");
    assert!(game.ended() && text.contains("千穐楽"), "{text}");
    assert!(game.turn("say", "見る").contains("最初から"));
}

#[test]
fn english_sentences_reach_the_ending() {
    let mut game = Game::new("en");
    for sentence in [
        "Talk to the old man.",
        "take the lantern",
        "go north",
        "Go to the stage",
        "east",
        "Please pick up the candle",
        "open the box",
        "go west",
        "back",
        "climb the ladder",
        "look at the tobacco tray",
        "pull out the drawer",
        "Get the key",
        "go down",
        "go to the wicket",
        "put the candle in the lantern",
        "north",
        "n",
        "climb down into the naraku",
        "talk to the girl",
        "up",
        "go to the dressing room",
        "unlock the box with the small key",
        "I'd like to take the clappers, please",
        "w",
        "set the lantern down on the stage",
        "strike the clappers",
        "go south",
        "take the ticket from the girl",
        "return to the wicket",
    ] {
        game.turn("say", sentence);
        assert!(!game.ended(), "ended early at {sentence}");
    }
    let text = game.turn("say", "Give Jinbei the ticket");
    assert!(game.ended() && text.contains("curtain"), "{text}");
}

#[test]
fn buttons_alone_reach_the_ending() {
    for lang in ["ja", "en"] {
        let mut game = Game::new(lang);
        for (kind, input) in [
            ("take", "lantern"),
            ("move", "house"),
            ("move", "gallery"),
            ("use", "tray"),
            ("take", "key"),
            ("move", "house"),
            ("move", "stage"),
            ("move", "dressing"),
            ("take", "candle"),
            ("use", "candle"),
            ("use", "box"),
            ("take", "clappers"),
            ("move", "stage"),
            ("move", "house"),
            ("move", "wicket"),
            ("use", "lantern"),
            ("move", "house"),
            ("move", "stage"),
            ("use", "lantern"),
            ("move", "naraku"),
            ("say", "girl"),
            ("move", "stage"),
            ("use", "lantern"),
            ("use", "clappers"),
            ("move", "house"),
            ("take", "ticket"),
            ("move", "wicket"),
            ("use", "ticket"),
        ] {
            assert!(!game.ended(), "ended early at {kind} {input}");
            assert!(
                offers(&game.last, kind, input),
                "no button for {kind} {input}: {}",
                game.last
            );
            game.turn(kind, input);
        }
        assert!(game.ended());
        assert_eq!(game.last["things"], json!([]));
    }
}

/// Whether the last reply lets the page show a button for this turn.
fn offers(reply: &Value, kind: &str, id: &str) -> bool {
    let list = |name: &str| reply[name].as_array().unwrap().clone();
    if kind == "move" {
        return list("exits").iter().any(|exit| exit["id"] == id);
    }
    let mut all = list("things");
    all.extend(list("carried"));
    all.iter()
        .any(|thing| thing["id"] == id && thing["can"].as_array().unwrap().contains(&json!(kind)))
}

#[test]
fn the_keeper_always_knows_the_next_step() {
    let mut game = Game::new("en");
    let mut heard = Vec::new();
    for (kind, input) in [
        ("look", ""),
        ("take", "lantern"),
        ("take", "candle"),
        ("use", "lantern"),
        ("say", "girl"),
        ("use", "tray"),
        ("take", "key"),
        ("use", "box"),
        ("take", "clappers"),
        ("use", "lantern"),
        ("use", "clappers"),
        ("take", "ticket"),
    ] {
        let place = match input {
            "candle" | "box" | "clappers" if kind != "use" || input == "box" => "dressing",
            "girl" => "naraku",
            "tray" | "key" => "gallery",
            "lantern" if game.last["state"]["met"] == true => "stage",
            "clappers" => "stage",
            "ticket" => "house",
            _ => "wicket",
        };
        game.last["state"]["at"] = json!(place);
        game.turn(kind, input);
        game.last["state"]["at"] = json!("wicket");
        heard.push(game.turn("say", "ask Jinbei for a hint"));
    }
    assert_eq!(heard.len(), 12);
    let mut told = heard.clone();
    told.dedup();
    // Opening the drawer and taking the key out of it are one step of advice.
    assert_eq!(told.len(), 11, "{heard:#?}");
}

#[test]
fn the_dark_is_not_entered_without_a_light() {
    let mut game = Game::new("en");
    for sentence in ["take lantern", "north", "north", "down"] {
        game.turn("say", sentence);
    }
    assert_eq!(game.at(), "stage");
    assert!(game.last["text"].as_str().unwrap().contains("third rung"));
}

#[test]
fn widths_kana_case_and_politeness_make_no_difference() {
    for (lang, sentences) in [
        (
            "ja",
            [
                "提灯を取る",
                "ちょうちんをとってください",
                "チョウチンを取れ",
                "ﾁｮｳﾁﾝを取って",
                "提灯 を 取りたい",
                "提灯を持っていく",
                "そこの提灯を手に取ってみる",
            ]
            .as_slice(),
        ),
        (
            "en",
            [
                "TAKE THE LANTERN!",
                "ｔａｋｅ　ｌａｎｔｅｒｎ",
                "please take a lamp",
                "Could you pick up the paper lantern?",
                "chōchin: get the lamp",
                "I want to grab my lantern.",
                "take lamp",
            ]
            .as_slice(),
        ),
    ] {
        for sentence in sentences {
            let mut game = Game::new(lang);
            game.turn("say", sentence);
            let spoken = sentence.starts_with("chōchin");
            assert_eq!(
                game.holds("lantern"),
                !spoken,
                "{sentence}: {}",
                game.last["text"]
            );
        }
    }
}

#[test]
fn speech_is_spoken_and_answered() {
    for (lang, sentence, part) in [
        ("ja", "甚兵衛さん、こんばんは", "ようおいで"),
        ("ja", "あなたは誰ですか", "木戸番だ"),
        ("en", "I don't know what to do", "want a light"),
        ("en", "Where is the candle?", "mirror"),
        ("en", "I think it is late", "I think it is late"),
        ("ja", "ひとりですか", "ひとりですか"),
        ("ja", "提灯は取らない", "提灯は取らない"),
        ("ja", "火事のことを聞く", "半鐘"),
        ("en", "Good evening!", "welcome"),
        ("en", "It is a cold night, isn't it?", "It is a cold night"),
        ("en", "ask about the theatre", "timber"),
        ("en", "don't open the door", "don't open"),
    ] {
        let mut game = Game::new(lang);
        let text = game.turn("say", sentence);
        assert!(text.contains(part), "{sentence}: {text}");
        assert_eq!(game.at(), "wicket");
    }
    let mut game = Game::new("ja");
    game.turn("say", "北へ行く");
    assert!(game.turn("say", "ごめんください").contains("席についた"));
}

#[test]
fn a_kind_with_a_thing_typed_looks_at_it() {
    for input in [
        "ランプ",
        "lamp",
        "at the lamp",
        "提灯を見る",
        "look at the lamp",
    ] {
        let text = Game::new("en").turn("look", input);
        assert!(text.contains("brushed on its paper"), "{input}: {text}");
    }
    assert!(
        Game::new("en")
            .turn("look", "the moon")
            .contains("nothing of the kind")
    );
    assert!(Game::new("en").turn("look", "").contains("Jinbei sits"));
}

#[test]
fn wrong_attempts_get_answers_of_their_own() {
    let mut game = Game::new("ja");
    for (sentence, part) in [
        ("外へ出る", "不作法"),
        ("火鉢を取る", "年寄りの膝"),
        ("札掛けを取る", "札掛け"),
        ("傘を取る", "取れそう"),
        ("提灯に火をつける", "まだ手もとにない"),
        ("楽屋へ行く", "まずは平土間"),
        ("戸を開ける", "木戸をくぐる"),
        ("座布団を取る", "主がある"),
        ("持ち物", "何も持っていない"),
        ("あたりを見る", "平土間"),
        ("待つ", "雨の音"),
        ("ヒント", "木戸口へ戻って"),
        ("甚兵衛と話す", "見当たらない"),
    ] {
        let text = game.turn("say", sentence);
        assert!(text.contains(part), "{sentence}: {text}");
    }
}

#[test]
fn broken_requests_get_a_polite_no() {
    for line in [
        "",
        "[]",
        "nonsense",
        "{}",
        r#"{"kind":"dance"}"#,
        r#"{"kind":"look"}"#,
        r#"{"kind":"look","state":{"v":1}}"#,
        r#"{"kind":7}"#,
        r#"{"kind":"new","input":3}"#,
    ] {
        let reply = ask(line.as_bytes());
        assert_eq!(reply["ok"], false, "{line}");
        assert!(!reply["error"].as_str().unwrap().is_empty());
    }
    let english = ask(br#"{"kind":"look","lang":"en","state":{"v":1,"at":"moon"}}"#);
    assert!(english["error"].as_str().unwrap().contains("begin again"));
}

#[test]
fn lines_end_at_line_feeds_only() {
    let input =
        b"{\"kind\":\"new\"}\n\xff\xfe\r\x0b\n{\"kind\":\n{\"kind\":\"new\",\"lang\":\"en\"}";
    let mut output = Vec::new();
    run(&input[..], &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let oks: Vec<bool> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["ok"] == true)
        .collect();
    assert_eq!(oks, [true, false, false, true]);
    assert!(text.ends_with('\n'));
}
