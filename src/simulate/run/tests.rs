//! The measures, held against slow ones that look at everything at once.

use proptest::prelude::*;

use super::*;

const MS: Nanos = 1_000_000;

fn limit(rate: &str, burst: u64) -> Limit {
    Limit::new(rate.parse().unwrap(), burst.to_string().parse().unwrap()).unwrap()
}

fn run(limit: &Limit, arrivals: &[(Nanos, u32)]) -> Summary {
    let mut run = Run::new(limit, &Algorithm::ALL);
    for (at, client) in arrivals {
        run.arrive(*at, *client);
    }
    run.finish()
}

fn of(summary: &Summary, algorithm: Algorithm) -> &Outcome {
    let is_it = |outcome: &&Outcome| outcome.algorithm == algorithm;
    summary.outcomes.iter().find(is_it).unwrap()
}

/// The most of these within any stretch of so long.
fn worst(served: &[Nanos], stretch: Nanos) -> u64 {
    let within = |from: &Nanos| {
        let inside = |at: &&Nanos| *from <= **at && **at - from < stretch;
        served.iter().filter(inside).count() as u64
    };
    served.iter().map(within).max().unwrap_or(0)
}

/// The same as [`run`] for one algorithm, from the list of all verdicts.
fn slowly(algorithm: Algorithm, limit: &Limit, arrivals: &[(Nanos, u32)]) -> Outcome {
    let mut limiter = algorithm.start(limit);
    let mut served = Vec::new();
    let mut waits = Vec::new();
    for (at, client) in arrivals {
        let moment = match limiter.decide(*client, *at) {
            Verdict::Admitted => *at,
            Verdict::Delayed(until) => {
                waits.push(until - at);
                until
            }
            Verdict::Refused => continue,
        };
        served.push((moment, *client));
    }
    let mut clients: Vec<u32> = arrivals.iter().map(|(_, client)| *client).collect();
    clients.sort_unstable();
    clients.dedup();
    let moments = |whose: &dyn Fn(u32) -> bool| -> Vec<Nanos> {
        let own = served.iter().filter(|(_, client)| whose(*client));
        own.map(|(at, _)| *at).collect()
    };
    let asked = |client| {
        arrivals
            .iter()
            .filter(|(_, whose)| *whose == client)
            .count()
    };
    let got = |client| moments(&|whose| whose == client).len();
    let number = |count: usize| f64::from(u32::try_from(count).unwrap());
    let share = |client: &u32| number(got(*client)) / number(asked(*client));
    let shares: Vec<f64> = clients.iter().map(share).collect();
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let of_client = |client: &u32| worst(&moments(&|whose| whose == *client), limit.window_nanos());
    Outcome {
        algorithm,
        admitted: served.len() as u64,
        refused: (arrivals.len() - served.len()) as u64,
        delayed: waits.len() as u64,
        refused_clients: clients.iter().filter(|c| got(**c) < asked(**c)).count() as u64,
        worst_window: clients.iter().map(of_client).max().unwrap_or(0),
        // Which of several is not asked here.
        fullest: None,
        worst_second: worst(&moments(&|_| true), SECOND),
        longest_wait: Duration::from_nanos(waits.into_iter().max().unwrap_or(0)),
        fairness: sum * sum / (number(shares.len()) * squares),
        bytes_per_client: algorithm.state().most(limit),
    }
}

#[test]
fn a_burst_on_each_side_of_an_edge() {
    let limit = limit("10/10s", 10);
    let edge = [[(9_500 * MS, 0); 10], [(10_000 * MS, 0); 10]].concat();
    let summary = run(&limit, &edge);
    assert_eq!((summary.arrivals, summary.clients), (20, 1));
    let fixed = of(&summary, Algorithm::FixedWindow);
    assert_eq!((fixed.admitted, fixed.refused), (20, 0));
    assert_eq!((fixed.worst_window, fixed.worst_second), (20, 20));
    let bucket = of(&summary, Algorithm::TokenBucket);
    assert_eq!(
        (bucket.admitted, bucket.refused, bucket.delayed),
        (10, 10, 0)
    );
    assert_eq!((bucket.refused_clients, bucket.worst_window), (1, 10));
    let queue = of(&summary, Algorithm::LeakyQueue);
    assert_eq!((queue.admitted, queue.refused, queue.delayed), (10, 10, 10));
    assert_eq!((queue.worst_window, queue.worst_second), (10, 1));
    assert_eq!(queue.longest_wait, Duration::from_secs(10));
}

#[test]
fn one_greedy_client_beside_a_polite_one() {
    let limit = limit("1", 1);
    let arrivals: Vec<_> = (0..100)
        .flat_map(|n| {
            let greedy = (n * 100 * MS, 7);
            std::iter::once(greedy).chain((n % 10 == 0).then_some((n * 100 * MS, 3)))
        })
        .collect();
    let summary = run(&limit, &arrivals);
    assert_eq!((summary.arrivals, summary.clients), (110, 2));
    let bucket = of(&summary, Algorithm::TokenBucket);
    assert_eq!(
        (bucket.admitted, bucket.refused, bucket.refused_clients),
        (20, 90, 1)
    );
    assert_eq!((bucket.worst_window, bucket.worst_second), (1, 2));
    // Shares of 1 and 1/10: 1.1² ÷ (2 × 1.01).
    assert!(
        (bucket.fairness - 1.21 / 2.02).abs() < 1e-12,
        "{}",
        bucket.fairness
    );
}

#[test]
fn nothing_came_and_nothing_was_refused() {
    let summary = run(&limit("1", 1), &[]);
    assert_eq!((summary.arrivals, summary.clients), (0, 0));
    for outcome in summary.outcomes {
        assert_eq!((outcome.admitted, outcome.worst_window), (0, 0));
        assert!((outcome.fairness - 1.0).abs() < 1e-12);
    }
}

#[test]
fn outcomes_come_in_the_order_asked_for() {
    let asked = [Algorithm::LeakyQueue, Algorithm::GcraNoBurst];
    let mut run = Run::new(&limit("1", 2), &asked);
    run.arrive(0, 0);
    run.arrive(0, 0);
    let told = run.finish().outcomes;
    let told: Vec<_> = told.iter().map(|o| (o.algorithm, o.admitted)).collect();
    assert_eq!(told, [(asked[0], 2), (asked[1], 1)]);
}

/// Over many batches, and however long it goes on: each algorithm says what it says on its
/// own, and no more is held than what was served within one window.
#[test]
fn a_long_run_decides_alike_and_does_not_grow() {
    let limit = limit("10/10s", 10);
    let mut run = Run::new(&limit, &Algorithm::ALL);
    let arrivals = || (0..200_000).map(|n| (n * 10 * MS, u32::try_from(n % 5).unwrap()));
    for (at, client) in arrivals() {
        run.arrive(at, client);
    }
    // Five clients, ten algorithms, at most 20 turns each in any window.
    assert!(run.recent.room() <= 4_096, "room for {}", run.recent.room());
    assert!(run.waiting.len() <= 50, "{} wait", run.waiting.len());
    let summary = run.finish();
    assert_eq!((summary.arrivals, summary.clients), (200_000, 5));
    for outcome in summary.outcomes {
        let mut limiter = outcome.algorithm.start(&limit);
        let refused =
            |(at, client): &(Nanos, u32)| limiter.decide(*client, *at) == Verdict::Refused;
        let refused = arrivals().filter(refused).count() as u64;
        let expected = (200_000 - refused, refused);
        assert_eq!(
            (outcome.admitted, outcome.refused),
            expected,
            "{}",
            outcome.algorithm.name()
        );
    }
}

fn any_run() -> impl Strategy<Value = (Limit, Vec<(Nanos, u32)>)> {
    let rate = prop::sample::select(vec!["1", "3", "20", "10/10s", "200"]);
    let step = prop_oneof![Just(0), Just(SECOND), 0u64..50 * MS, 0u64..2 * SECOND,];
    let arrivals = prop::collection::vec((step, 0u32..4), 1..60);
    (rate, 1u64..6, arrivals).prop_map(|(rate, burst, arrivals)| {
        let next = |now: &mut Nanos, (step, client): (Nanos, u32)| {
            *now += step;
            Some((*now, client))
        };
        (
            limit(rate, burst),
            arrivals.into_iter().scan(0, next).collect(),
        )
    })
}

proptest! {
    #[test]
    fn the_measures_are_what_they_say((limit, arrivals) in any_run()) {
        for outcome in run(&limit, &arrivals).outcomes {
            let mut expected = slowly(outcome.algorithm, &limit, &arrivals);
            expected.fullest = outcome.fullest;
            let held = outcome.fullest.map_or(0, |(client, from)| {
                let mut limiter = outcome.algorithm.start(&limit);
                let served = arrivals.iter().filter_map(|(at, whose)| {
                    match limiter.decide(*whose, *at) {
                        Verdict::Admitted => Some((*at, *whose)),
                        Verdict::Delayed(until) => Some((until, *whose)),
                        Verdict::Refused => None,
                    }
                });
                let within = |(at, whose): &(Nanos, u32)| {
                    *whose == client && *at >= from && at - from < limit.window_nanos()
                };
                served.filter(within).count() as u64
            });
            prop_assert_eq!(held, outcome.worst_window);
            prop_assert!((outcome.fairness - expected.fairness).abs() < 1e-9);
            expected.fairness = outcome.fairness;
            prop_assert_eq!(outcome, expected);
        }
    }
}
