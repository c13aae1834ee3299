//! The picture against what it is made of: well-formed, whole, and as many marks as there are
//! verdicts.

use std::time::Duration;

use proptest::prelude::*;
use roxmltree::{Document, Node};

use super::*;
use crate::logic::bucket::Limit;
use crate::simulate::run::Run;

const MILLISECOND: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MILLISECOND;

fn limit(rate: &str, burst: &str) -> Limit {
    Limit::new(rate.parse().unwrap(), burst.parse().unwrap()).unwrap()
}

fn about(moments: Moments) -> About<'static> {
    About {
        command: "kidoban simulate --pattern <\"&\u{1b}",
        moments,
        name: &|client| format!("client {client} <&\u{7}>"),
        outcomes: &[],
    }
}

fn one(at: Nanos, client: u32) -> Asked {
    Asked { at, client }
}

/// Ten at 9.5 s and ten at 10 s.
fn edge() -> Vec<Asked> {
    let mut asked = vec![one(9_500 * MILLISECOND, 0); 10];
    asked.extend(vec![one(10 * SECOND, 0); 10]);
    asked
}

fn drawn(asked: &[Asked], limit: &Limit) -> (Figure, String) {
    let figure = Figure::draw(asked, limit, &about(Moments::SinceStart));
    let text = svg::document(&figure);
    (figure, text)
}

fn rows<'a>(document: &'a Document) -> Vec<Node<'a, 'a>> {
    let is_row = |node: &Node| node.attribute("class") == Some("row");
    document.descendants().filter(is_row).collect()
}

fn marks(within: Node, class: &str) -> usize {
    let is_one = |node: &Node| {
        let classes = node.attribute("class").unwrap_or_default();
        classes.split(' ').any(|one| one == class)
    };
    within.descendants().filter(is_one).count()
}

fn words(within: Node) -> String {
    let texts = within.descendants().filter(Node::is_text);
    let texts = texts.filter_map(|node| node.text());
    texts.collect::<Vec<_>>().join("|")
}

#[test]
fn the_picture_says_why_the_fixed_window_lets_twenty_through() {
    let (figure, text) = drawn(&edge(), &limit("10/10s", "10"));
    let document = Document::parse(&text).unwrap();
    let rows = rows(&document);
    let let_in = [10, 10, 1, 10, 10, 20, 10, 10, 10, 10];
    assert_eq!(rows.len(), ALGORITHMS);
    for ((row, node), let_in) in figure.rows.iter().zip(&rows).zip(let_in) {
        let name = row.algorithm.name();
        assert_eq!(row.numbers.let_in, let_in as u64, "{name}");
        assert_eq!(marks(*node, "in"), let_in, "{name}");
        assert_eq!(marks(*node, "no"), 20 - let_in, "{name}");
        assert_eq!(marks(*node, "curve"), 1, "{name}");
        assert_eq!(marks(*node, "worst"), 1, "{name}");
        // The sentence, on as many lines as it takes.
        let about = words(*node).replace('|', " ");
        assert!(about.contains(row.algorithm.about()), "{name}: {about}");
    }
    let fixed = rows[5];
    assert_eq!(marks(fixed, "over"), 2, "the bracket and its words");
    let said = words(fixed);
    assert!(
        said.contains("20 let in within 10 s: twice the limit"),
        "{said}"
    );
    assert_eq!(said.matches("counts from 0: 10 of 10").count(), 2, "{said}");
    assert!(
        rows.iter()
            .enumerate()
            .all(|(n, row)| n == 5 || marks(*row, "over") == 0)
    );
    assert_eq!(marks(rows[4], "wait"), 10, "a line for each that waits");
    assert!(words(rows[4]).contains("up to 10 s late"));
    assert!(words(rows[8]).contains("looks back 10 s"));
    assert!(text.contains("--rate 10/10s --burst 10"));
    let arrivals = document
        .descendants()
        .find(|node| node.attribute("class") == Some("arrivals"))
        .unwrap();
    assert_eq!(marks(arrivals, "ask"), 20);
}

/// GitHub's 5,000 an hour: seconds around the edge are a speck in an hour, and there are
/// bars; the edge and what was counted on either side of it are seen all the same.
#[test]
fn the_picture_says_why_the_fixed_window_lets_ten_thousand_through() {
    let edge = 3_600 * SECOND;
    let mut asked = vec![one(edge - 360 * MILLISECOND, 0); 5_000];
    asked.extend(vec![one(edge, 0); 5_000]);
    let (figure, text) = drawn(&asked, &limit("5000/h", "5000"));
    let document = Document::parse(&text).unwrap();
    let rows = rows(&document);
    let said = words(rows[5]);
    for expected in [
        "10,000 let in within 1 h: twice the limit",
        "counts from 0: 5,000 of 5,000",
        "|5,000 of 5,000",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(marks(rows[5], "edge"), 1);
    assert!(rows.iter().all(|row| marks(*row, "curve") == 1));
    assert!(words(rows[8]).contains("looks back 1 h"));
    let span = figure.to - figure.from;
    assert!(span < SECOND, "the axis is {span} ns long");
    let axis = document
        .descendants()
        .find(|node| node.attribute("class") == Some("axis"));
    let ticks = words(axis.unwrap());
    let mut names: Vec<_> = ticks
        .split('|')
        .filter(|name| !name.trim().is_empty())
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        2 * names.len(),
        all,
        "one name a tick, above and below: {ticks}"
    );
    assert!(names.contains(&"59:59.7"), "{names:?}");
    assert!(text.contains("from 59:59.64 to 1 h"));
}

/// Names with milliseconds are long: there are fewer of them.
#[test]
fn names_on_the_axis_leave_room_between_them() {
    let start = 1_796_048_921_000 * MILLISECOND;
    for gap in [1, 70, 700, 70_000] {
        let asked: Vec<_> = (0..60)
            .map(|n| one(start + n * gap * MILLISECOND, 0))
            .collect();
        let figure = Figure::draw(&asked, &limit("2", "2"), &about(Moments::SinceEpoch));
        let text = svg::document(&figure);
        let document = Document::parse(&text).unwrap();
        let axis = document
            .descendants()
            .find(|node| node.attribute("class") == Some("axis"))
            .unwrap();
        let names = axis.children().filter(|node| node.has_tag_name("text"));
        let above: Vec<_> = names
            .step_by(2)
            .map(|name| {
                let x: f64 = name.attribute("x").unwrap().parse().unwrap();
                (x, super::words::letters(name.text().unwrap()) * 6.0)
            })
            .collect();
        assert!(above.len() >= 2, "{gap} ms: {above:?}");
        for pair in above.windows(2) {
            let room = pair[1].0 - pair[0].0 - f64::midpoint(pair[0].1, pair[1].1);
            assert!(room > 2.0, "{gap} ms: {above:?}");
        }
    }
}

#[test]
fn the_summary_names_one_and_counts_several() {
    let said = |asked: &[Asked], rate: &str, burst: &str| {
        let figure = Figure::draw(asked, &limit(rate, burst), &about(Moments::SinceStart));
        super::words::summary(&figure)
    };
    let edge = said(&edge(), "10/10s", "10");
    assert!(
        edge.starts_with(
            "The fewest are let in by GCRA without burst (1), the most by the fixed window (20). \
             The fullest 10 s: 20 let in for one client by the fixed window, "
        ),
        "{edge}"
    );
    let at_once = said(&[one(0, 0); 5], "2", "2");
    let several = "by GCRA without burst (1), the most by 9 algorithms (2).";
    assert!(at_once.ends_with(several), "{at_once}");
}

/// Who does not see the picture hears the same.
#[test]
fn every_row_has_its_words() {
    let (_, text) = drawn(&edge(), &limit("10/10s", "10"));
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    assert!(root.attribute("viewBox").is_some());
    for named in ["aria-labelledby", "aria-describedby"] {
        let id = root.attribute(named).unwrap();
        let said = document
            .descendants()
            .find(|node| node.attribute("id") == Some(id));
        assert!(said.unwrap().text().unwrap().len() > 20, "{named}");
    }
    let titles: Vec<_> = rows(&document)
        .iter()
        .map(|row| {
            row.first_element_child()
                .unwrap()
                .text()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        titles[5],
        "Fixed window: 20 let in, 0 refused; at most 20 let in within 10 s: twice the limit."
    );
    assert_eq!(
        titles[4],
        "Leaky bucket (queue): 10 let in, 10 refused, the longest wait 10 s; \
         at most 10 served within 10 s."
    );
}

#[test]
fn the_file_asks_for_nothing() {
    let (_, text) = drawn(&edge(), &limit("10/10s", "10"));
    let text = text.replace("http://www.w3.org/2000/svg", "");
    for far in ["http:", "https:", "@import", "href", "<script", "<image"] {
        assert!(!text.contains(far), "it has {far}");
    }
}

#[test]
fn few_clients_have_lanes_of_their_own_and_of_many_the_noisiest() {
    let mut asked = Vec::new();
    for n in 0..20 {
        asked.push(one(n * 100 * MILLISECOND, 5));
        asked.push(one(n * 100 * MILLISECOND, (n % 3) as u32));
    }
    let limit = limit("2", "2");
    let names = |asked: &[Asked]| {
        let figure = Figure::draw(asked, &limit, &about(Moments::SinceStart));
        figure
            .lanes
            .into_iter()
            .map(|lane| lane.name)
            .collect::<Vec<_>>()
    };
    let shown = |n| format!("client {n} <&\\u{{7}}>");
    assert_eq!(names(&asked), [shown(0), shown(1), shown(2), shown(5)]);
    asked.push(one(20 * SECOND, 9));
    let noisiest = [shown(5), shown(0), shown(1), "2 others".to_owned()];
    assert_eq!(names(&asked), noisiest);
}

#[test]
fn many_arrivals_are_bars_that_hold_them_all() {
    let asked: Vec<_> = (0..600)
        .map(|n| one(n * 50 * MILLISECOND, (n % 7 % 5) as u32))
        .collect();
    let (figure, text) = drawn(&asked, &limit("2", "2"));
    let document = Document::parse(&text).unwrap();
    assert_eq!(figure.lanes[0].name, "everybody, 5 clients");
    assert_eq!(figure.lanes.len(), 4);
    for (row, node) in figure.rows.iter().zip(rows(&document)) {
        let Marks::Bars(bars) = &row.drawn[0].marks else {
            panic!("dots");
        };
        let let_in: u64 = bars.iter().map(|bar| bar.now + bar.later).sum();
        let refused: u64 = bars.iter().map(|bar| bar.refused).sum();
        assert_eq!((let_in, refused), (row.numbers.let_in, row.numbers.refused));
        assert_eq!(let_in + refused, 600);
        assert!(bars.len() <= bins::BARS_MAX);
        assert_eq!((marks(node, "in"), marks(node, "no")), (0, 0));
        assert_eq!(marks(node, "bar-no"), 4);
    }
}

/// Bursts with hours of silence between them, of a client that comes after others: the curve
/// follows it through the silence, and windows are counted.
#[test]
fn a_large_log_shows_the_state_through_a_silence() {
    let limit = limit("3600/h", "3600");
    let mut sketch = Sketch::new(&limit);
    let hour = 3_600 * SECOND;
    let run: Vec<(Nanos, u64)> = vec![(0, 9_000), (4 * hour, 2_000), (7 * hour, 12_000)];
    for (start, turns) in &run {
        for n in 0..*turns {
            sketch.add(start + n * MILLISECOND, 7);
        }
    }
    let figure = sketch.finish(&about(Moments::SinceStart));
    let state = |algorithm| {
        let row = figure.rows.iter().find(|row| row.algorithm == algorithm);
        row.unwrap().drawn[0].state.clone().unwrap()
    };
    let level_at = |state: &State, at: Nanos| {
        let next = state.curve.iter().position(|point| point.0 >= at).unwrap();
        let (after, before) = (state.curve[next], state.curve[next.saturating_sub(1)]);
        let seconds = |from: Nanos, to: Nanos| Duration::from_nanos(to - from).as_secs_f64();
        let share = seconds(before.0, at) / seconds(before.0, after.0).max(1e-9);
        before.1 + (after.1 - before.1) * share
    };
    let bucket = state(Algorithm::TokenBucket);
    assert!((bucket.curve[0].1 - 3_600.0).abs() < 1.0, "it begins full");
    for (halves, expected) in [(1, 1_800.0), (4, 3_600.0), (9, 3_400.0), (12, 3_600.0)] {
        let level = level_at(&bucket, halves * hour / 2);
        let is_near = (level - expected).abs() < 150.0;
        assert!(is_near, "after {halves} half hours: {level}");
    }
    let last = bucket.curve[bucket.curve.len() - 1];
    assert_eq!(last.0, figure.to);
    let fixed = state(Algorithm::FixedWindow);
    let counted: Vec<_> = fixed.windows.iter().map(|window| window.let_in).collect();
    assert_eq!(counted, [3_600, 0, 0, 0, 2_000, 0, 0, 3_600]);
    let log = state(Algorithm::SlidingLog);
    assert!(level_at(&log, 3 * hour).abs() < 1.0, "all expired");
}

/// 46 at once cannot be counted as dots.
#[test]
fn a_high_pile_is_a_bar() {
    let (figure, _) = drawn(&vec![one(0, 0); 46], &limit("2", "2"));
    assert!(figure.bar_nanos.is_some());
    let (figure, _) = drawn(&vec![one(0, 0); 20], &limit("2", "2"));
    assert!(figure.bar_nanos.is_none());
}

/// The part that does not keep arrivals sees the same as the part that does.
#[test]
fn what_is_not_kept_is_counted_all_the_same() {
    let limit = limit("2", "2");
    let mut sketch = Sketch::new(&limit);
    let mut run = Run::new(&limit, &Algorithm::ALL);
    let total = 40_000_u64;
    let mut expected = [0; 4];
    for n in 0..total {
        let client = if n % 4 == 0 {
            3
        } else {
            10 + (n % 1_000) as u32
        };
        expected[0] += u64::from(client == 3);
        sketch.add(n * 20 * MILLISECOND, client);
        run.arrive(n * 20 * MILLISECOND, client);
    }
    let outcomes = run.finish().outcomes;
    let about = About {
        outcomes: &outcomes,
        ..about(Moments::SinceStart)
    };
    let figure = sketch.finish(&about);
    assert!(figure.kept.is_none());
    assert_eq!(figure.asked, total);
    assert_eq!(figure.lanes[0].whose, Whose::Everybody);
    assert_eq!(figure.lanes[1].whose, Whose::Client(3));
    assert!(
        !figure.lanes[1].name.contains("from its"),
        "it was there from the start"
    );
    for (row, algorithm) in figure.rows.iter().zip(Algorithm::ALL) {
        let mut limiter = algorithm.start(&limit);
        let mut refused = 0;
        let mut levels = Vec::new();
        for n in 0..total {
            let client = if n % 4 == 0 {
                3
            } else {
                10 + (n % 1_000) as u32
            };
            let verdict = limiter.decide(client, n * 20 * MILLISECOND);
            refused += u64::from(verdict == Verdict::Refused);
            levels.push(limiter.look(3, n * 20 * MILLISECOND).level);
        }
        assert_eq!(row.numbers.refused, refused);
        // The client's state is drawn from the first arrival to its rest after the last one.
        assert!(row.drawn[0].state.is_none(), "that is everybody");
        let curve = &row.drawn[1].state.as_ref().unwrap().curve;
        assert!(curve.is_sorted_by_key(|(at, _)| *at));
        assert!(curve[0].0 < SECOND && curve[curve.len() - 1].0 >= figure.to);
        let drawn = curve.iter().map(|(_, level)| *level);
        let ends = |levels: &mut dyn Iterator<Item = f64>| {
            levels.fold((f64::MAX, f64::MIN), |(least, most), level| {
                (level.min(least), level.max(most))
            })
        };
        let (least, most) = ends(&mut drawn.into_iter());
        let (least_seen, most_seen) = ends(&mut levels.into_iter());
        let name = algorithm.name();
        let is_drawn = least <= least_seen && most >= most_seen;
        assert!(
            is_drawn,
            "{name}: {least} to {most}, not {least_seen} to {most_seen}"
        );
        assert_eq!(row.numbers.let_in, total - refused);
        for (lane, asked) in [(0, total), (1, expected[0])] {
            let Marks::Bars(bars) = &row.drawn[lane].marks else {
                panic!("dots");
            };
            assert_eq!(bars.iter().map(|bar| bar.asked()).sum::<u64>(), asked);
            assert!(bars.len() <= bins::BARS_MAX);
        }
        let worst = row.numbers.worst.unwrap();
        let outcome = outcomes.iter().find(|one| one.algorithm == algorithm);
        assert_eq!(worst.count, outcome.unwrap().worst_window);
        assert_eq!(worst.client, 3, "who asks most gets most");
        assert_eq!(row.drawn[1].worst, Some(worst));
        assert_eq!(row.drawn[0].worst, None);
    }
    Document::parse(&svg::document(&figure)).unwrap();
}

#[test]
fn a_client_that_comes_late_is_shown_with_what_is_missing() {
    let limit = limit("2", "2");
    let mut sketch = Sketch::new(&limit);
    for n in 0..20_u32 {
        for _ in 0..10 {
            sketch.add(u64::from(n) * SECOND, n);
        }
    }
    for n in 0..25_000 {
        sketch.add(20 * SECOND + n * MILLISECOND, 99);
    }
    let figure = sketch.finish(&about(Moments::SinceEpoch));
    assert_eq!(figure.lanes[1].whose, Whose::Client(99));
    let name = &figure.lanes[1].name;
    assert!(name.ends_with("from its request 26 on"), "{name}");
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let rates = ["0.000001", "2", "7", "1000000", "10/10s", "200/d", "5000/h"];
    let bursts = ["1", "2", "3", "10", "100"];
    (
        proptest::sample::select(rates.to_vec()),
        proptest::sample::select(bursts.to_vec()),
    )
        .prop_filter_map("it fills in time", |(rate, burst)| {
            Limit::new(rate.parse().unwrap(), burst.parse().unwrap()).ok()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any moments, near and far, any clients: drawn, well-formed, and each verdict once.
    #[test]
    fn anything_can_be_drawn(
        limit in any_limit(),
        start in prop_oneof![Just(0), Just(Nanos::MAX - 3), any::<Nanos>()],
        gaps in proptest::collection::vec(
            (prop_oneof![Just(0), Just(SECOND), Just(10 * SECOND), 0..3 * SECOND, any::<Nanos>().prop_map(|n| n >> 8)], 0..7_u32),
            1..80,
        ),
        since_epoch in any::<bool>(),
    ) {
        let mut at = start;
        let asked: Vec<_> = gaps
            .into_iter()
            .map(|(gap, client)| {
                at = Nanos::saturating_add(at, gap);
                one(at, client)
            })
            .collect();
        let moments = if since_epoch { Moments::SinceEpoch } else { Moments::SinceStart };
        let figure = Figure::draw(&asked, &limit, &about(moments));
        let text = svg::document(&figure);
        let document = Document::parse(&text).unwrap();
        prop_assert!(!text.contains("NaN") && !text.contains("inf"));
        let mut run = Run::new(&limit, &Algorithm::ALL);
        for one in &asked {
            run.arrive(one.at, one.client);
        }
        let outcomes = run.finish().outcomes;
        for ((row, node), outcome) in figure.rows.iter().zip(rows(&document)).zip(outcomes) {
            let numbers = row.numbers;
            prop_assert_eq!(numbers.let_in, outcome.admitted);
            prop_assert_eq!(numbers.refused, outcome.refused);
            prop_assert_eq!(numbers.later, outcome.delayed);
            prop_assert_eq!(numbers.refused_clients, outcome.refused_clients);
            prop_assert_eq!(u128::from(numbers.longest_wait), outcome.longest_wait.as_nanos());
            prop_assert_eq!(numbers.worst.map_or(0, |worst| worst.count), outcome.worst_window);
            if figure.bar_nanos.is_none() {
                prop_assert_eq!(marks(node, "in") as u64, row.numbers.let_in);
                prop_assert_eq!(marks(node, "no") as u64, row.numbers.refused);
                prop_assert_eq!(marks(node, "wait") as u64, row.numbers.later);
            }
        }
    }
}
