//! What holds for the algorithms: the published figures, that those which should decide
//! alike do, what each promises and that it keeps exactly that, and that each does what its
//! plain definition in [`reference`] says.

use proptest::prelude::*;

use super::*;

mod reference;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;

fn limit(rate: &str, burst: u64) -> Limit {
    Limit::new(rate.parse().unwrap(), burst.to_string().parse().unwrap()).unwrap()
}

/// One client's arrivals through one algorithm.
fn verdicts(algorithm: Algorithm, limit: &Limit, arrivals: &[Nanos]) -> Vec<Verdict> {
    let mut limiter = algorithm.start(limit);
    arrivals.iter().map(|at| limiter.decide(0, *at)).collect()
}

/// When the turns that were let in were served, in order.
fn served(algorithm: Algorithm, limit: &Limit, arrivals: &[Nanos]) -> Vec<Nanos> {
    let moment = |(verdict, at): (Verdict, &Nanos)| match verdict {
        Verdict::Admitted => Some(*at),
        Verdict::Delayed(until) => Some(until),
        Verdict::Refused => None,
    };
    let verdicts = verdicts(algorithm, limit, arrivals);
    verdicts
        .into_iter()
        .zip(arrivals)
        .filter_map(moment)
        .collect()
}

/// The most of these that lie in any one window.
fn worst_window(served: &[Nanos], window: Nanos) -> u64 {
    let within = |(i, from): (usize, &Nanos)| {
        served[i..].iter().filter(|at| *at - from < window).count() as u64
    };
    served.iter().enumerate().map(within).max().unwrap_or(0)
}

/// How many are let in, and how many of them within one window.
fn let_in(algorithm: Algorithm, limit: &Limit, arrivals: &[Nanos]) -> (usize, u64) {
    let served = served(algorithm, limit, arrivals);
    (served.len(), worst_window(&served, limit.window_nanos()))
}

fn every(step: Nanos, count: u64) -> Vec<Nanos> {
    (0..count).map(|n| n * step).collect()
}

#[test]
fn ten_at_once_under_two_a_second() {
    let limit = limit("2", 2);
    for algorithm in Algorithm::ALL {
        let expected = match algorithm {
            Algorithm::GcraNoBurst => 1,
            Algorithm::TokenBucket
            | Algorithm::Gcra
            | Algorithm::LeakyBucket
            | Algorithm::LeakyQueue
            | Algorithm::FixedWindow
            | Algorithm::FixedWindowFirst
            | Algorithm::FixedWindowOffset
            | Algorithm::SlidingLog
            | Algorithm::SlidingWindow => 2,
        };
        let name = algorithm.name();
        assert_eq!(let_in(algorithm, &limit, &[0; 10]).0, expected, "{name}");
    }
}

#[test]
fn forty_six_turns_over_five_seconds_under_two_a_second() {
    let limit = limit("2", 2);
    for (step, expected) in [(108 * MS, 11), (111_112 * MS / 1_000, 12)] {
        let arrivals = every(step, 46);
        let name = format!("every {step} ns");
        assert_eq!(
            let_in(Algorithm::TokenBucket, &limit, &arrivals).0,
            expected,
            "{name}"
        );
    }
}

/// How many of which arrivals get in, and how many within one window.
struct Figure {
    edge: (usize, u64),
    five_a_second: (usize, u64),
}

fn figure(algorithm: Algorithm) -> Figure {
    let (edge, five_a_second) = match algorithm {
        Algorithm::TokenBucket | Algorithm::Gcra | Algorithm::LeakyBucket => ((10, 10), (49, 19)),
        Algorithm::GcraNoBurst => ((1, 1), (40, 10)),
        Algorithm::LeakyQueue => ((10, 10), (49, 10)),
        Algorithm::FixedWindow => ((20, 20), (40, 10)),
        // Client 0's edges lie at 1.17 s and every 10 s from there: none between the bursts,
        // but four in the 40 s, so that there is a piece of a fifth window.
        Algorithm::FixedWindowOffset => ((10, 10), (46, 16)),
        // The first one's window, opened at 9.5 s, is still open at 10 s.
        Algorithm::FixedWindowFirst | Algorithm::SlidingLog | Algorithm::SlidingWindow => {
            ((10, 10), (40, 10))
        }
    };
    Figure {
        edge,
        five_a_second,
    }
}

#[test]
fn ten_on_each_side_of_an_edge_and_five_a_second_under_ten_in_ten_seconds() {
    let limit = limit("10/10s", 10);
    let edge = [[9_500 * MS; 10], [10 * SECOND; 10]].concat();
    let five_a_second = every(200 * MS, 200);
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        let expected = figure(algorithm);
        assert_eq!(let_in(algorithm, &limit, &edge), expected.edge, "{name}");
        assert_eq!(
            let_in(algorithm, &limit, &five_a_second),
            expected.five_a_second,
            "{name}"
        );
    }
}

#[test]
fn the_queue_makes_ten_at_once_wait_up_to_ten_seconds() {
    let limit = limit("10/10s", 10);
    let edge = [[9_500 * MS; 10], [10 * SECOND; 10]].concat();
    let served = served(Algorithm::LeakyQueue, &limit, &edge);
    let expected: Vec<_> = (1..=10).map(|n| 9_500 * MS + n * SECOND).collect();
    assert_eq!(served, expected);
}

#[test]
fn what_comes_slower_than_the_rate_is_let_in_by_every_algorithm() {
    let limit = limit("10/10s", 10);
    let arrivals = every(1_250 * MS, 32);
    for algorithm in Algorithm::ALL {
        assert_eq!(
            let_in(algorithm, &limit, &arrivals).0,
            32,
            "{}",
            algorithm.name()
        );
    }
}

/// GitHub's 5,000 an hour.
#[test]
fn the_fixed_window_lets_in_twice_the_limit_around_an_edge() {
    let limit = limit("5000/h", 5_000);
    assert_eq!(limit.window_nanos(), 3_600 * SECOND);
    let edge = [3_599 * SECOND, 3_600 * SECOND]
        .map(|at| vec![at; 6_000])
        .concat();
    let let_in = |algorithm| let_in(algorithm, &limit, &edge);
    assert_eq!(let_in(Algorithm::FixedWindow), (10_000, 10_000));
    assert_eq!(let_in(Algorithm::SlidingLog), (5_000, 5_000));
    assert_eq!(let_in(Algorithm::TokenBucket), (5_001, 5_001));
}

/// Three a second: an interval is no whole number of nanoseconds, and yet the seconds of 2026
/// begin where the clock's do.
#[test]
fn the_clocks_edges_are_kept_where_the_rate_does_not_divide_a_second() {
    for (rate, burst, window) in [("3", 3, SECOND), ("7/min", 7, 60 * SECOND)] {
        let limit = limit(rate, burst);
        let minute = 1_796_000_040 * SECOND;
        let edge = [minute - 1, minute].map(|at| vec![at; 10]).concat();
        let twice = usize::try_from(2 * burst).unwrap();
        assert_eq!(
            let_in(Algorithm::FixedWindow, &limit, &edge),
            (twice, 2 * burst)
        );
        let look = Algorithm::FixedWindow.start(&limit).look(0, minute);
        assert_eq!(look.window, Some((minute, minute + window)), "{rate}");
    }
}

/// `OpenAI`'s former free tier: 200 a day, one every 432 s.
#[test]
fn two_hundred_a_day_is_two_hundred_at_once_and_then_one_every_432_seconds() {
    let limit = limit("200/d", 200);
    let mut arrivals = vec![0; 201];
    arrivals.extend((1..=2_000).map(|n| n * SECOND));
    let served = served(Algorithm::TokenBucket, &limit, &arrivals);
    let mut expected = vec![0; 200];
    expected.extend((1..=4).map(|n| n * 432 * SECOND));
    assert_eq!(served, expected);
}

#[test]
fn what_is_exactly_one_window_old_has_expired() {
    let limit = limit("1", 3);
    let window = limit.window_nanos();
    // On the clock's edge, so that all windows begin there.
    let start = 7 * window;
    for algorithm in [
        Algorithm::FixedWindow,
        Algorithm::FixedWindowFirst,
        Algorithm::SlidingLog,
    ] {
        let name = algorithm.name();
        let mut limiter = algorithm.start(&limit);
        for _ in 0..3 {
            assert_eq!(limiter.decide(0, start), Verdict::Admitted, "{name}");
        }
        assert_eq!(
            limiter.decide(0, start + window - 1),
            Verdict::Refused,
            "{name}"
        );
        assert_eq!(
            limiter.decide(0, start + window),
            Verdict::Admitted,
            "{name}"
        );
    }
    // The counter still sees all three at the edge, and a little less right after it.
    let mut counter = Algorithm::SlidingWindow.start(&limit);
    for _ in 0..3 {
        assert_eq!(counter.decide(0, start), Verdict::Admitted);
    }
    assert_eq!(counter.decide(0, start + window), Verdict::Refused);
    assert_eq!(counter.decide(0, start + window + 1), Verdict::Admitted);
    for n in 0..3 {
        let verdict = counter.decide(0, start + 3 * window);
        assert_eq!(verdict, Verdict::Admitted, "{n} after two windows");
    }
}

/// Arrivals that make an algorithm let in as many within one window as it ever does.
fn worst_arrivals(algorithm: Algorithm, limit: &Limit) -> Vec<Nanos> {
    let burst = burst(limit);
    let interval = limit.rate().interval_nanos();
    let window = limit.window_nanos();
    let start = 1_000 * window;
    let (_, edge) = algorithm
        .start(limit)
        .look(0, start)
        .window
        .unwrap_or((0, start));
    let at_once = |at| (0..burst).map(move |_| at);
    let each_interval = |from| (0..burst).map(move |n| from + n * interval);
    match algorithm {
        Algorithm::TokenBucket | Algorithm::Gcra | Algorithm::LeakyBucket => {
            at_once(start).chain(each_interval(start).skip(1)).collect()
        }
        Algorithm::GcraNoBurst => each_interval(start).collect(),
        Algorithm::LeakyQueue | Algorithm::SlidingLog => at_once(start).collect(),
        Algorithm::FixedWindow | Algorithm::FixedWindowOffset => {
            at_once(edge - 1).chain(at_once(edge)).collect()
        }
        Algorithm::FixedWindowFirst => std::iter::once(start)
            .chain(at_once(start + window - 1).skip(1))
            .chain(at_once(start + window))
            .collect(),
        Algorithm::SlidingWindow => at_once(edge - 1).chain(each_interval(edge + 1)).collect(),
    }
}

/// How an arrival follows the one before, with all the moments at which something happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    AtOnce,
    /// So many intervals, and one nanosecond more, less or neither.
    Intervals(u64, i8),
    /// So many windows, likewise.
    Windows(u64, i8),
    /// To the clock's next edge, likewise.
    Edge(i8),
    /// So many thousandths of an interval.
    Part(u64),
    /// So many thousandths of a window.
    PartOfWindow(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::AtOnce),
        3 => (1u64..5, -1i8..=1).prop_map(|(n, off)| Step::Intervals(n, off)),
        2 => (1u64..4, -1i8..=1).prop_map(|(n, off)| Step::Windows(n, off)),
        2 => (-1i8..=1).prop_map(Step::Edge),
        4 => (0u64..2_500).prop_map(Step::Part),
        2 => (0u64..2_500).prop_map(Step::PartOfWindow),
    ]
}

impl Step {
    fn from(self, now: Nanos, limit: &Limit) -> Nanos {
        let interval = limit.rate().interval_nanos();
        let window = limit.window_nanos();
        let near = |at: Nanos, off: i8| at.saturating_add_signed(off.into()).max(now);
        match self {
            Self::AtOnce => now,
            Self::Intervals(n, off) => near(now + n * interval, off),
            Self::Windows(n, off) => near(now + n * window, off),
            Self::Edge(off) => near((now / window + 1) * window, off),
            Self::Part(n) => now + interval / 1_000 * n,
            Self::PartOfWindow(n) => now + window / 1_000 * n,
        }
    }
}

/// Small bursts, so that a few dozen arrivals see every side of them.
fn any_limit() -> impl Strategy<Value = Limit> {
    let rate = prop_oneof![
        (1u32..2_000).prop_map(|n| n.to_string()),
        (1u32..90, 1u32..90).prop_map(|(n, s)| format!("{n}/{s}s")),
        Just("200/d".to_owned()),
        Just("1000000".to_owned()),
    ];
    (rate, 1u64..12).prop_map(|(rate, burst)| limit(&rate, burst))
}

/// The corners of what a limit can be: one nanosecond's rounding, ten years' filling.
fn extreme_limit() -> impl Strategy<Value = Limit> {
    let corners = [
        ("1000000", 1),
        ("1000000", 1_000_000),
        ("0.000001", 1),
        ("0.000001", 315),
        ("1/d", 3_650),
        ("7/13s", 999_999),
    ];
    prop::sample::select(corners.to_vec()).prop_map(|(rate, burst)| limit(rate, burst))
}

/// A limit, and one client's arrivals under it, from the Unix epoch of 2023 or from 0.
fn any_arrivals() -> impl Strategy<Value = (Limit, Vec<Nanos>)> {
    let start = prop_oneof![Just(0), 1_700_000_000 * SECOND..1_700_000_100 * SECOND];
    let steps = prop::collection::vec(any_step(), 1..80);
    (any_limit(), start, steps).prop_map(|(limit, start, steps)| {
        let next = |now: &mut Nanos, step: Step| {
            *now = step.from(*now, &limit);
            Some(*now)
        };
        let arrivals = steps.into_iter().scan(start, next).collect();
        (limit, arrivals)
    })
}

/// Any moments at all, in order.
fn extreme_arrivals() -> impl Strategy<Value = Vec<Nanos>> {
    let moment = prop_oneof![
        any::<u64>(),
        0u64..1_000_000,
        (0u64..1_000_000).prop_map(|n| u64::MAX - n),
        (0u64..1_000_000).prop_map(|n| MOMENT_MAX - n),
        (0u64..1_000_000).prop_map(|n| MOMENT_MAX + n),
    ];
    prop::collection::vec(moment, 1..60).prop_map(|mut moments| {
        moments.sort_unstable();
        moments
    })
}

/// The level at which the next turn is refused.
fn refuses(algorithm: Algorithm, look: Look) -> bool {
    match algorithm {
        Algorithm::TokenBucket => look.level < 1.0,
        Algorithm::Gcra | Algorithm::GcraNoBurst | Algorithm::LeakyBucket => {
            look.level > look.full - 1.0
        }
        Algorithm::LeakyQueue
        | Algorithm::FixedWindow
        | Algorithm::FixedWindowFirst
        | Algorithm::FixedWindowOffset
        | Algorithm::SlidingLog
        | Algorithm::SlidingWindow => look.level >= look.full,
    }
}

/// Within the rounding of an `f64` of a whole number of turns, where a verdict may turn.
fn is_close_to_whole(level: f64) -> bool {
    let off = (level - level.round()).abs();
    off > 0.0 && off < 1e-9
}

proptest! {
    #[test]
    fn each_does_what_its_definition_says((limit, arrivals) in any_arrivals()) {
        for algorithm in Algorithm::ALL {
            let mut limiter = algorithm.start(&limit);
            let mut history = Vec::new();
            for at in &arrivals {
                let expected = reference::decide(algorithm, &limit, &history, *at);
                let verdict = limiter.decide(0, *at);
                prop_assert_eq!(verdict, expected, "{} at {}, after {:?}", algorithm.name(), at, history);
                history.push((*at, verdict));
            }
        }
    }

    #[test]
    fn three_decide_alike_and_the_queue_takes_what_they_let_in((limit, arrivals) in any_arrivals()) {
        let expected = verdicts(Algorithm::TokenBucket, &limit, &arrivals);
        prop_assert_eq!(&verdicts(Algorithm::Gcra, &limit, &arrivals), &expected);
        prop_assert_eq!(&verdicts(Algorithm::LeakyBucket, &limit, &arrivals), &expected);
        let queued = verdicts(Algorithm::LeakyQueue, &limit, &arrivals);
        for ((queued, expected), at) in queued.into_iter().zip(expected).zip(arrivals) {
            match queued {
                Verdict::Refused => prop_assert_eq!(expected, Verdict::Refused),
                Verdict::Admitted => prop_assert!(false, "a queue always delays"),
                Verdict::Delayed(until) => {
                    prop_assert_eq!(expected, Verdict::Admitted);
                    prop_assert!(until > at && until - at <= limit.fill_nanos());
                }
            }
        }
    }

    #[test]
    fn three_decide_alike_at_the_ends_of_time(
        limit in extreme_limit(),
        arrivals in extreme_arrivals(),
    ) {
        let expected = verdicts(Algorithm::TokenBucket, &limit, &arrivals);
        prop_assert_eq!(&verdicts(Algorithm::Gcra, &limit, &arrivals), &expected);
        prop_assert_eq!(&verdicts(Algorithm::LeakyBucket, &limit, &arrivals), &expected);
    }

    #[test]
    fn no_window_holds_more_than_is_guaranteed((limit, arrivals) in any_arrivals()) {
        for algorithm in Algorithm::ALL {
            let (_, worst) = let_in(algorithm, &limit, &arrivals);
            let most = algorithm.guarantee().turns(&limit);
            prop_assert!(worst <= most, "{}: {} in one window, not {}", algorithm.name(), worst, most);
        }
    }

    #[test]
    fn some_window_holds_as_many_as_is_guaranteed(limit in any_limit()) {
        for algorithm in Algorithm::ALL {
            let arrivals = worst_arrivals(algorithm, &limit);
            let (_, worst) = let_in(algorithm, &limit, &arrivals);
            prop_assert_eq!(worst, algorithm.guarantee().turns(&limit), "{}", algorithm.name());
        }
    }

    #[test]
    fn the_log_never_exceeds_the_limit_and_the_fixed_window_never_twice((limit, arrivals) in any_arrivals()) {
        let burst = burst(&limit);
        prop_assert!(let_in(Algorithm::SlidingLog, &limit, &arrivals).1 <= burst);
        prop_assert!(let_in(Algorithm::FixedWindow, &limit, &arrivals).1 <= 2 * burst);
    }

    /// In order or not, a client more or less: nothing panics, nothing overflows.
    #[test]
    fn nothing_panics_or_overflows(
        limit in prop_oneof![any_limit(), extreme_limit()],
        arrivals in extreme_arrivals(),
        clients in prop::collection::vec(0u32..70_000, 1..60),
        shuffled in any::<bool>(),
    ) {
        for algorithm in Algorithm::ALL {
            let mut limiter = algorithm.start(&limit);
            for (n, client) in clients.iter().enumerate() {
                let at = arrivals[if shuffled { n * 7 } else { n } % arrivals.len()];
                let verdict = limiter.decide(*client, at);
                if let Verdict::Delayed(until) = verdict {
                    prop_assert!(until >= at, "served before it came");
                }
                let look = limiter.look(*client, at.saturating_add(1));
                prop_assert!(look.level >= 0.0 && look.level.is_finite());
                prop_assert!(look.window.is_none_or(|(start, end)| start < end));
                limiter.look(u32::MAX, at);
            }
        }
    }

    /// Nobody's turns count against anybody else.
    #[test]
    fn clients_have_nothing_to_do_with_each_other(
        (limit, arrivals) in any_arrivals(),
        clients in prop::collection::vec(0u32..4, 80),
    ) {
        for algorithm in Algorithm::ALL {
            let mut together = algorithm.start(&limit);
            let mut alone: Vec<_> = (0..4).map(|_| algorithm.start(&limit)).collect();
            for (at, client) in arrivals.iter().zip(&clients) {
                prop_assert_eq!(
                    together.decide(*client, *at),
                    alone[*client as usize].decide(*client, *at),
                    "{}", algorithm.name()
                );
            }
        }
    }

    /// The state that is shown says what will be decided, and lies within what is full.
    #[test]
    fn a_look_explains_the_next_verdict((limit, arrivals) in any_arrivals()) {
        for algorithm in Algorithm::ALL {
            let name = algorithm.name();
            let mut limiter = algorithm.start(&limit);
            for at in &arrivals {
                let look = limiter.look(0, *at);
                prop_assert_eq!(limiter.look(0, *at), look, "looking changes nothing");
                let verdict = limiter.decide(0, *at);
                if !is_close_to_whole(look.level) {
                    let is_refused = verdict == Verdict::Refused;
                    prop_assert_eq!(refuses(algorithm, look), is_refused, "{} {:?}", name, look);
                }
                let after = limiter.look(0, *at);
                let is_estimate = algorithm == Algorithm::SlidingWindow;
                let over = if is_estimate { 1.0 } else { 1e-9 };
                prop_assert!(after.level >= 0.0 && after.level < after.full + over, "{} {:?}", name, after);
                if let Some((start, end)) = after.window {
                    prop_assert!(start <= *at && *at < end, "{} {:?}", name, after);
                }
                if verdict == Verdict::Refused && !is_close_to_whole(look.level) {
                    prop_assert_eq!(after, look, "a refusal leaves no trace");
                }
            }
        }
    }
}

#[test]
fn offsets_are_spread_over_the_window() {
    let limit = limit("10/10s", 10);
    let window = limit.window_nanos();
    let limiter = Algorithm::FixedWindowOffset.start(&limit);
    let mut tenths = [0; 10];
    for client in 0..10_000 {
        let (start, end) = limiter.look(client, 100 * window).window.unwrap();
        assert_eq!(end - start, window);
        tenths[usize::try_from(end % window / SECOND).unwrap()] += 1;
    }
    assert!(
        tenths.iter().all(|n| (900..=1_100).contains(n)),
        "{tenths:?}"
    );
}

#[test]
fn names_are_as_documented_and_states_are_small() {
    let limit = limit("10/10s", 10);
    let expected = [
        ("token-bucket", 8),
        ("gcra", 8),
        ("gcra-no-burst", 8),
        ("leaky-bucket", 16),
        ("leaky-queue", 8),
        ("fixed-window", 16),
        ("fixed-window-first", 16),
        ("fixed-window-offset", 16),
        ("sliding-log", 164),
        ("sliding-window", 16),
    ];
    let told = Algorithm::ALL.map(|a| (a.name(), a.state().most(&limit)));
    assert_eq!(told, expected);
}
