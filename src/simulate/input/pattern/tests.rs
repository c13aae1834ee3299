//! Every term's arrivals, and what is said of texts that are no pattern.

use proptest::prelude::*;

use super::*;

fn limit(rate: &str, burst: &str) -> Limit {
    Limit::new(rate.parse().unwrap(), burst.parse().unwrap()).unwrap()
}

/// Moments in nanoseconds, each with its client's name.
fn play(text: &str, limit: &Limit) -> Vec<(Nanos, String)> {
    let mut arrivals = Vec::new();
    let pattern: Pattern = text.parse().unwrap();
    assert_eq!(pattern.to_string(), text);
    let told = pattern
        .play(limit, &mut |arrival| arrivals.push(arrival))
        .unwrap();
    assert_eq!(told.arrivals, arrivals.len() as u64);
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at), "{text}");
    let name = |client| told.names.name(client).unwrap().to_string();
    arrivals
        .iter()
        .map(|arrival| (arrival.at, name(arrival.client)))
        .collect()
}

/// Milliseconds only, of one client.
fn millis(text: &str, limit: &Limit) -> Vec<u64> {
    let arrivals = play(text, limit);
    assert!(arrivals.iter().all(|(_, name)| name == ONE));
    arrivals.iter().map(|(at, _)| at / MILLIS).collect()
}

#[test]
fn terms_that_say_each_moment() {
    let two = limit("2", "2");
    let ten = limit("10/10s", "10");
    for (text, limit, expected) in [
        ("burst:3", &two, vec![0, 0, 0]),
        ("burst:2@9.5s", &two, vec![9_500, 9_500]),
        ("every:100ms:4", &two, vec![0, 100, 200, 300]),
        ("every:1.25s:3@1min", &two, vec![60_000, 61_250, 62_500]),
        (" every:2s:2 + burst:1@1s ", &two, vec![0, 1_000, 2_000]),
        ("edge", &two, vec![750, 750, 1_000, 1_000]),
        ("edge@1s", &two, vec![1_750, 1_750, 2_000, 2_000]),
        ("edge@750ms", &two, vec![750, 750, 1_000, 1_000]),
        ("edge", &ten, [[9_500; 10], [10_000; 10]].concat()),
        (
            "burst:10@9.5s+burst:10@10s",
            &ten,
            [[9_500; 10], [10_000; 10]].concat(),
        ),
    ] {
        assert_eq!(millis(text, limit), expected, "{text}");
    }
}

#[test]
fn poisson_comes_at_its_rate_and_by_its_seed() {
    let limit = limit("2", "2");
    let play = |text| play(text, &limit);
    let one = play("poisson:10:1000s:7");
    assert!((9_700..10_300).contains(&one.len()), "{}", one.len());
    assert!(one.last().unwrap().0 < 1_000 * SECONDS);
    assert_eq!(play("poisson:10:1000s:7"), one);
    assert_ne!(play("poisson:10:1000s:8"), one);
    assert_eq!(play("poisson:600/min:1000s:1"), play("poisson:10:1000s"));
    let later = play("poisson:10:1000s:7@1h");
    assert!(
        later
            .iter()
            .zip(&one)
            .all(|(later, one)| later.0 == one.0 + 3_600 * SECONDS)
    );
}

#[test]
fn a_flood_has_one_greedy_client_and_polite_ones() {
    let arrivals = play("flood", &limit("2", "2"));
    let of = |wanted: &str| -> Vec<u64> {
        let of = arrivals.iter().filter(|(_, name)| name == wanted);
        of.map(|(at, _)| at / MILLIS).collect()
    };
    let greedy = of("greedy");
    assert_eq!((greedy.len(), greedy[1], greedy[199]), (200, 50, 9_950));
    assert_eq!(
        of("polite 1"),
        (0..10).map(|n| n * 1_000).collect::<Vec<_>>()
    );
    assert_eq!(of("polite 4")[..2], [750, 1_750]);
    assert_eq!(arrivals.len(), 240);
    // Polite ones keep to half the rate, whatever it is.
    let arrivals = play("flood", &limit("7/min", "1"));
    let polite: Vec<_> = arrivals
        .iter()
        .filter(|(_, name)| name == "polite 2")
        .collect();
    assert!(
        polite
            .windows(2)
            .all(|two| two[1].0 - two[0].0 >= 2 * 60 * SECONDS / 7)
    );
}

#[test]
fn players_come_and_stay() {
    let limit = limit("2", "2");
    let arrivals = play("players:20:1h", &limit);
    let of = |number| -> Vec<Nanos> {
        let name = format!("player {number}");
        let of = arrivals.iter().filter(|(_, of)| *of == name);
        of.map(|(at, _)| *at).collect()
    };
    for number in 1..=20 {
        let moments = of(number);
        assert!(moments[0] < PLAYERS_COME_WITHIN);
        let last = moments[moments.len() - 1];
        assert!((3_300..3_600).contains(&(last / SECONDS)), "{last}");
    }
    // The same people, however many others there are.
    let few = play("players:3:1h", &limit);
    let third: Vec<_> = few.iter().filter(|(_, name)| name == "player 3").collect();
    assert!(third.iter().map(|(at, _)| *at).eq(of(3)));
    assert_ne!(play("players:3:1h:2", &limit), few);
    let later = play("players:3:1h@1d", &limit);
    let day = 86_400 * SECONDS;
    assert!(
        later
            .iter()
            .map(|(at, _)| at - day)
            .eq(few.iter().map(|(at, _)| *at))
    );
    let short = play("players:50:1s", &limit);
    assert!(short.len() >= 50, "everybody comes");
    assert!(short.iter().all(|(at, _)| *at < SECONDS));
}

#[test]
fn players_read_and_type() {
    let mut random = Random::of(SEED, 1);
    let pauses: Vec<_> = (0..100_000).map(|_| pause(&mut random)).collect();
    let between = |from: Nanos, to: Nanos| {
        pauses
            .iter()
            .filter(|pause| (from..to).contains(pause))
            .count()
    };
    let quick = between(QUICK.0, QUICK.1);
    assert!((12_000..13_000).contains(&quick), "{quick}");
    let reading = between(10 * SECONDS, 60 * SECONDS);
    assert!((75_000..82_000).contains(&reading), "{reading}");
    assert_eq!(quick + between(READING.0, READING.1 + 1), pauses.len());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, character, part, why) in [
        ("", 1, "", "takes burst:N"),
        ("burst:10+", 10, "", "takes burst:N"),
        ("bursts:10", 1, "bursts", "takes burst:N"),
        ("burst", 6, "", "`burst` goes on: takes a whole number"),
        ("burst:", 7, "", "takes a whole number"),
        ("burst:0", 7, "0", "takes a whole number"),
        ("burst:+1", 7, "", "takes a whole number"),
        ("burst:1:2", 9, "2", "is more than `burst` takes"),
        ("burst:1@x", 9, "x", "takes a start"),
        ("burst:1@1s@2s", 12, "2s", "has its start already"),
        ("burst:1 + every:0s:5", 17, "0s", "takes a duration"),
        ("every:10:5", 7, "10", "takes a duration"),
        ("every:1s", 9, "", "goes on"),
        ("every:1d:5000", 1, "every:1d:5000", "more than 10 years"),
        (
            "every:1ns:99999999999999999999",
            11,
            "99999999999999999999",
            "whole number",
        ),
        ("poisson:0:1s", 9, "0", "takes tickets per second"),
        ("poisson:2", 10, "", "takes a duration"),
        ("poisson:2:1s:x", 14, "x", "seed"),
        ("見:1+burst:1", 1, "見", "takes burst:N"),
        ("burst:1@見+edge:5", 9, "見", "takes a start"),
        ("edge:5", 6, "5", "is more than `edge` takes"),
        ("players:5:11000d", 11, "11000d", "at most 10 years"),
    ] {
        let told = text.parse::<Pattern>().unwrap_err();
        assert_eq!(
            (told.character, &*told.text),
            (character, part),
            "{text}: {told}"
        );
        assert!(told.why.contains(why), "{text}: {told}");
    }
    let long = "x".repeat(100);
    let told = long.parse::<Pattern>().unwrap_err();
    assert_eq!(told.text.chars().count(), 41);
    let many = ["edge"; TERMS_MAX + 1].join("+");
    let told = many.parse::<Pattern>().unwrap_err();
    assert_eq!(
        (told.character, &*told.why),
        (501, "takes at most 100 terms")
    );
    assert_eq!(
        "edge+burst:x".parse::<Pattern>().unwrap_err().to_string(),
        "at character 12, `x`: takes a whole number from 1"
    );
}

#[test]
fn a_pattern_has_an_end() {
    let deep = limit("1000000", "1000000");
    let slow = limit("2", "2");
    let arrivals = |text: &str, limit: &Limit, most: usize| {
        let mut arrivals = 0;
        let pattern: Pattern = text.parse().unwrap();
        let told = pattern.play_at_most(most, limit, &mut |_| arrivals += 1);
        told.map(|_| arrivals)
            .map_err(|why| (why.to_string(), arrivals))
    };
    assert_eq!(arrivals("edge", &deep, ARRIVALS_MAX), Ok(2_000_000));
    assert_eq!(arrivals("burst:500", &slow, 500), Ok(500));
    let told = "at character 9, `burst:500`: with it, there are more than 500 arrivals";
    assert_eq!(
        arrivals("burst:1+burst:500", &slow, 500),
        Err((told.to_owned(), 0))
    );
    for endless in [
        "flood",
        "burst:18446744073709551615",
        "poisson:1000000:3650d",
        "players:18446744073709551615:1s",
        "players:2:3650d@3650d",
    ] {
        let (told, given) = arrivals(endless, &deep, 500).unwrap_err();
        assert!(told.contains("more than 500 arrivals"), "{endless}: {told}");
        assert_eq!(given, 0, "{endless}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_told_off(
        text: String,
        like in "(burst|every|poisson|edge|flood|players|[@:+.0-9a-z ]){0,12}",
    ) {
        for text in [text, like] {
            if let Err(told) = text.parse::<Pattern>() {
                prop_assert!((1..=text.chars().count() + 1).contains(&told.character));
            }
        }
    }
}
