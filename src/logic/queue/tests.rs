//! What the queue promises, by example, by property and by simulation.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::super::address::Hop;
use super::*;

fn client(n: u32) -> Client {
    Client::of(Hop::new(IpAddr::V4(Ipv4Addr::from(n))), 64)
}

fn push<T>(queue: &mut Queue<T>, n: u32, turn: T) -> PlaceId {
    let (id, pushed_out) = queue
        .push(client(n), turn)
        .unwrap_or_else(|_| panic!("full"));
    assert!(pushed_out.is_none());
    id
}

fn pop<T>(queue: &mut Queue<T>) -> Option<T> {
    queue.pop().map(|(_, turn)| turn)
}

/// Pops everything, as one engine would.
fn drain<T>(queue: &mut Queue<T>) -> Vec<T> {
    let mut served = Vec::new();
    while let Some(turn) = pop(queue) {
        queue.finished();
        served.push(turn);
    }
    served
}

#[test]
fn the_turn_in_the_engine_keeps_its_place() {
    let mut queue = Queue::new(2, Order::Fair);
    push(&mut queue, 1, 'a');
    push(&mut queue, 2, 'b');
    assert_eq!(queue.push(client(3), 'c'), Err(Full));
    assert_eq!(pop(&mut queue), Some('a'));
    assert_eq!(queue.push(client(3), 'c'), Err(Full));
    queue.finished();
    assert!(queue.push(client(3), 'c').is_ok());
    assert_eq!((queue.taken(), queue.waiting()), (2, 2));
}

#[test]
fn who_left_is_never_popped() {
    let mut queue = Queue::new(3, Order::Fair);
    let a = push(&mut queue, 1, 'a');
    let b = push(&mut queue, 2, 'b');
    assert_eq!(queue.remove(a), Some('a'));
    assert_eq!(queue.remove(a), None);
    assert_eq!(pop(&mut queue), Some('b'));
    assert_eq!(queue.remove(b), None, "a turn in the engine is not waiting");
    assert_eq!(queue.pop(), None);
}

#[test]
fn one_turn_each_in_order_of_arrival_within_a_client() {
    let mut queue = Queue::new(10, Order::Fair);
    for (n, turn) in [
        (1, "a1"),
        (1, "a2"),
        (1, "a3"),
        (2, "b1"),
        (2, "b2"),
        (3, "c1"),
    ] {
        push(&mut queue, n, turn);
    }
    assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3"]);
}

#[test]
fn fifo_is_the_order_of_arrival() {
    let mut queue = Queue::new(4, Order::Fifo);
    for (n, turn) in [(1, "a1"), (1, "a2"), (2, "b1"), (1, "a3")] {
        push(&mut queue, n, turn);
    }
    assert_eq!(
        queue.push(client(3), "c1"),
        Err(Full),
        "nobody is pushed out"
    );
    assert_eq!(drain(&mut queue), ["a1", "a2", "b1", "a3"]);
}

/// RFC 8290, 4.2: a client in no rotation goes first; once served it is in it, even if empty.
#[test]
fn newcomers_go_first_and_only_once() {
    let mut queue = Queue::new(10, Order::Fair);
    for turn in ["a1", "a2", "a3"] {
        push(&mut queue, 1, turn);
    }
    assert_eq!(pop(&mut queue), Some("a1"));
    push(&mut queue, 2, "b1");
    assert_eq!(pop(&mut queue), Some("b1"), "new, so before a2");
    push(&mut queue, 2, "b2");
    assert_eq!(
        pop(&mut queue),
        Some("a2"),
        "b is in the rotation now, behind a"
    );
    assert_eq!(pop(&mut queue), Some("b2"));
}

#[test]
fn leaving_and_coming_back_does_not_make_a_client_new() {
    let mut queue = Queue::new(10, Order::Fair);
    for turn in ["a1", "a2", "a3"] {
        push(&mut queue, 1, turn);
    }
    let b1 = push(&mut queue, 2, "b1");
    assert_eq!(pop(&mut queue), Some("a1"));
    queue.remove(b1);
    assert_eq!(
        pop(&mut queue),
        Some("a2"),
        "b left; it is passed and stands behind a"
    );
    push(&mut queue, 2, "b2");
    assert_eq!(
        pop(&mut queue),
        Some("b2"),
        "its place in the rotation has come"
    );
    push(&mut queue, 2, "b3");
    assert_eq!(pop(&mut queue), Some("a3"));
}

#[test]
fn the_newest_turn_of_the_greediest_makes_room() {
    let mut queue = Queue::new(4, Order::Fair);
    for turn in ["a1", "a2", "a3"] {
        push(&mut queue, 1, turn);
    }
    push(&mut queue, 2, "b1");
    let (_, pushed_out) = queue.push(client(3), "c1").unwrap();
    assert_eq!(pushed_out, Some("a3"), "3 more than none");
    assert_eq!(
        queue.push(client(4), "d1"),
        Err(Full),
        "2 more are not enough"
    );
    assert_eq!(
        queue.push(client(1), "a4"),
        Err(Full),
        "nobody pushes themselves out"
    );
    assert_eq!(queue.taken(), 4);
    assert_eq!(drain(&mut queue), ["a1", "b1", "c1", "a2"]);
}

#[test]
fn nothing_is_remembered_when_nothing_waits() {
    let mut queue = Queue::new(4, Order::Fair);
    for n in 0..1_000 {
        push(&mut queue, n, n);
        assert_eq!(pop(&mut queue), Some(n));
        queue.finished();
        assert_eq!(queue.pop(), None);
    }
    assert!(queue.lines.is_empty() && queue.rotation.is_empty() && queue.newcomers.is_empty());
}

/// A stream of newcomers that never ends keeps the rotation from being walked.
#[test]
fn memory_is_bounded_while_newcomers_never_end() {
    let mut queue = Queue::new(4, Order::Fair);
    push(&mut queue, 0, 0);
    for n in 1..10_000 {
        push(&mut queue, n, n);
        assert_eq!(pop(&mut queue), Some(n - 1));
        queue.finished();
        assert!(queue.lines.len() <= 4 + EMPTY_LINES_MAX + 1);
        assert_eq!(
            queue.lines.len(),
            queue.rotation.len() + queue.newcomers.len()
        );
    }
}

/// Clients that come and leave while a turn takes long: nothing is popped, and yet nobody is kept for ever.
#[test]
fn memory_is_bounded_while_nothing_is_served() {
    let mut queue = Queue::new(4, Order::Fair);
    push(&mut queue, 0, 0);
    assert!(queue.pop().is_some());
    for n in 1..10_000 {
        let id = push(&mut queue, n, n);
        assert_eq!(queue.remove(id), Some(n));
        assert!(queue.lines.len() <= 4 + EMPTY_LINES_MAX + 1);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u32),
    /// And put back at once.
    Pop(bool),
    Finish,
    Remove(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u32..5).prop_map(Step::Push),
        2 => prop::bool::weighted(0.2).prop_map(Step::Pop),
        2 => Just(Step::Finish),
        1 => (0usize..8).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    /// The bound holds, no turn is lost or served twice, and within a client the order is that of arrival.
    #[test]
    fn no_turn_is_lost_or_served_twice(
        places in 1usize..9,
        order in prop_oneof![Just(Order::Fair), Just(Order::Fifo)],
        steps in steps(),
    ) {
        let mut queue = Queue::new(places, order);
        let mut arrived = 0u32;
        let mut in_engine = 0usize;
        let mut waiting: BTreeMap<u32, (u32, PlaceId)> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Push(n) => {
                    if let Ok((id, pushed_out)) = queue.push(client(n), arrived) {
                        if let Some(turn) = pushed_out {
                            let (owner, _) = waiting.remove(&turn).expect("it was waiting");
                            let newer = |(n, _): &(u32, PlaceId)| *n == owner;
                            prop_assert!(!waiting.range(turn..).any(|(_, place)| newer(place)));
                            prop_assert_ne!(owner, n);
                        }
                        waiting.insert(arrived, (n, id));
                        arrived += 1;
                    } else {
                        prop_assert_eq!(waiting.len() + in_engine, places);
                    }
                }
                Step::Pop(put_back) => match queue.pop() {
                    Some((id, turn)) if put_back => {
                        let again = (id, turn);
                        queue.put_back(id, turn);
                        prop_assert_eq!(queue.pop(), Some(again), "before all others");
                        queue.put_back(id, turn);
                    }
                    Some((_, turn)) => {
                        let (n, _) = waiting.remove(&turn).expect("it was waiting");
                        let earlier = |(n2, _): &(u32, PlaceId)| order == Order::Fifo || *n2 == n;
                        prop_assert!(waiting.range(..turn).all(|(_, place)| !earlier(place)));
                        in_engine += 1;
                    }
                    None => prop_assert!(waiting.is_empty()),
                },
                Step::Finish if in_engine > 0 => {
                    queue.finished();
                    in_engine -= 1;
                }
                Step::Remove(n) => {
                    if let Some((&turn, &(_, id))) = waiting.iter().nth(n) {
                        prop_assert_eq!(queue.remove(id), Some(turn));
                        waiting.remove(&turn);
                    }
                }
                Step::Finish => {}
            }
            prop_assert_eq!(queue.taken(), waiting.len() + in_engine);
            prop_assert_eq!(queue.waiting(), waiting.len());
            prop_assert!(queue.taken() <= places);
        }
    }

    /// Among a number of clients, whoever waits is served after at most two rounds, whatever the others do.
    #[test]
    fn no_client_starves(
        others in prop::collection::vec(prop::collection::vec(1u32..6, 0..4), 40),
    ) {
        let mut queue = Queue::new(1_000, Order::Fair);
        for n in 1..6 {
            push(&mut queue, n, n);
            push(&mut queue, n, n);
        }
        for _ in 0..3 {
            queue.pop();
        }
        push(&mut queue, 0, 0);
        let mut pops = 0;
        for arrivals in others {
            for n in arrivals {
                push(&mut queue, n, n);
            }
            pops += 1;
            if pop(&mut queue) == Some(0) {
                break;
            }
        }
        prop_assert!(pops <= 2 * 6, "served after {pops} turns");
    }
}

/// One client sends ten times what the engine can serve, 20 polite ones half of it
/// together. The share of the polite ones' turns that is served.
fn polite_share(order: Order, seed: u64) -> f64 {
    const TURN_MICROS: u64 = 15_000;
    const POLITE: u32 = 20;
    const SIMULATED_MICROS: u64 = 120_000_000;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut exponential = move |mean: f64| (-(1.0 - random.f64()).ln() * mean).ceil();
    let turn = 15_000.0;
    let means = |n: u32| {
        if n == 0 {
            turn / 10.0
        } else {
            turn * 2.0 * f64::from(POLITE)
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small and positive"
    )]
    let mut gap = move |n: u32| exponential(means(n)) as u64;
    let mut next: Vec<u64> = (0..=POLITE).map(&mut gap).collect();
    let mut queue = Queue::new(32, order);
    let mut engine_free_at: Option<u64> = None;
    let (mut asked, mut served) = (0u32, 0u32);
    loop {
        let (n, at) = (0..)
            .zip(next.iter().copied())
            .min_by_key(|(_, at)| *at)
            .unwrap();
        let free_at = engine_free_at.unwrap_or(u64::MAX);
        if at.min(free_at) > SIMULATED_MICROS {
            return f64::from(served) / f64::from(asked);
        }
        let now = if free_at <= at {
            queue.finished();
            engine_free_at = None;
            free_at
        } else {
            next[n] = at + gap(u32::try_from(n).unwrap());
            let polite = n > 0;
            asked += u32::from(polite);
            let n = u32::try_from(n).unwrap();
            let _ = queue.push(client(n), polite);
            at
        };
        if engine_free_at.is_none()
            && let Some(polite) = pop(&mut queue)
        {
            served += u32::from(polite);
            engine_free_at = Some(now + TURN_MICROS);
        }
    }
}

#[test]
fn polite_clients_are_served_beside_a_greedy_one() {
    for seed in 0..5 {
        let fair = polite_share(Order::Fair, seed);
        assert!(fair >= 0.99, "seed {seed}: {fair}");
        let fifo = polite_share(Order::Fifo, seed);
        assert!((0.05..0.15).contains(&fifo), "seed {seed}: {fifo}");
    }
}
