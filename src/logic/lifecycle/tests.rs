//! The table walked: every state, every event, legal and illegal.

use proptest::prelude::*;

use super::{Action as A, Event as E, *};

const EVENTS: [Event; 12] = [
    E::StartDue,
    E::Started,
    E::CannotStart,
    E::TurnTaken,
    E::Replied,
    E::Failed,
    E::FailedUnsent,
    E::Reaped,
    E::SwapAsked,
    E::SuccessorReady,
    E::SuccessorFailed,
    E::OldGone,
];
const DOWN: State = State::Down { start_at: 0 };
const ENDING: State = State::Ending { start_at: 0 };

/// A way from the beginning, and what each legal event leads to after it.
type Row = (
    &'static [Event],
    &'static [(Event, State, Swap, &'static [Action])],
);

/// Walks each way, tries all events after it, and says how many were legal.
fn walk(has_probe: bool, table: &[Row]) -> usize {
    let mut seen = 0;
    for (way, legal) in table {
        for event in EVENTS {
            let mut life = Lifecycle::new(Duration::from_secs(10), has_probe);
            for step in *way {
                life.on(*step, 0, 0.5).unwrap();
            }
            let before = (life.state(), life.swap());
            let told = life.on(event, 0, 0.5);
            let after = (life.state(), life.swap());
            if let Some((_, state, swap, actions)) = legal.iter().find(|row| row.0 == event) {
                assert_eq!(told.unwrap(), *actions, "{way:?} {event:?}");
                assert_eq!(after, (*state, *swap), "{way:?} {event:?}");
                seen += 1;
            } else {
                assert!(told.is_err(), "{way:?} {event:?}: {told:?}");
                assert_eq!(after, before, "an illegal event changes nothing");
            }
        }
    }
    seen
}

#[test]
fn one_engine_without_a_probe() {
    let seen = walk(
        false,
        &[
            (
                &[],
                &[
                    (E::StartDue, State::Starting, Swap::None, &[A::Start]),
                    (E::SwapAsked, State::Starting, Swap::None, &[A::Start]),
                ],
            ),
            (
                &[E::StartDue],
                &[
                    (E::Started, State::Idle, Swap::None, &[]),
                    (E::CannotStart, DOWN, Swap::None, &[]),
                    (E::SwapAsked, State::Starting, Swap::None, &[]),
                ],
            ),
            (
                &[E::StartDue, E::Started],
                &[
                    (E::TurnTaken, State::Busy, Swap::None, &[]),
                    (E::Failed, ENDING, Swap::None, &[A::Kill]),
                    (
                        E::SwapAsked,
                        State::Idle,
                        Swap::Warming,
                        &[A::StartSuccessor],
                    ),
                ],
            ),
            (
                &[E::StartDue, E::Started, E::TurnTaken],
                &[
                    (E::Replied, State::Idle, Swap::None, &[A::Answer]),
                    (E::Failed, ENDING, Swap::None, &[A::FailTurn, A::Kill]),
                    (E::FailedUnsent, ENDING, Swap::None, &[A::PutBack, A::Kill]),
                    (
                        E::SwapAsked,
                        State::Busy,
                        Swap::Warming,
                        &[A::StartSuccessor],
                    ),
                ],
            ),
            (
                &[E::StartDue, E::Started, E::Failed],
                &[
                    (E::Reaped, DOWN, Swap::None, &[]),
                    (E::SwapAsked, ENDING, Swap::None, &[]),
                ],
            ),
        ],
    );
    assert_eq!(seen, 14);
}

#[test]
fn one_engine_with_a_probe() {
    let seen = walk(
        true,
        &[
            (
                &[E::StartDue],
                &[
                    (E::Started, State::Probing, Swap::None, &[A::Probe]),
                    (E::CannotStart, DOWN, Swap::None, &[]),
                    (E::SwapAsked, State::Starting, Swap::None, &[]),
                ],
            ),
            (
                &[E::StartDue, E::Started],
                &[
                    (E::Replied, State::Idle, Swap::None, &[]),
                    (E::Failed, ENDING, Swap::None, &[A::Kill]),
                    (
                        E::SwapAsked,
                        State::Probing,
                        Swap::Warming,
                        &[A::StartSuccessor],
                    ),
                ],
            ),
            // The successor may be up before the one that it was to follow.
            (
                &[E::StartDue, E::Started, E::SwapAsked],
                &[
                    (E::Replied, State::Idle, Swap::Warming, &[]),
                    (E::Failed, ENDING, Swap::Warming, &[A::Kill]),
                    (E::SwapAsked, State::Probing, Swap::Warming, &[]),
                    (
                        E::SuccessorReady,
                        State::Idle,
                        Swap::Leaving,
                        &[A::HandOver],
                    ),
                    (
                        E::SuccessorFailed,
                        State::Probing,
                        Swap::Leaving,
                        &[A::DropSuccessor],
                    ),
                ],
            ),
            (
                &[E::StartDue, E::Started, E::SwapAsked, E::Failed],
                &[
                    (E::Reaped, State::Probing, Swap::None, &[A::Promote]),
                    (E::SwapAsked, ENDING, Swap::Warming, &[]),
                    (E::SuccessorReady, ENDING, Swap::Ready, &[]),
                    (
                        E::SuccessorFailed,
                        ENDING,
                        Swap::Leaving,
                        &[A::DropSuccessor],
                    ),
                ],
            ),
        ],
    );
    assert_eq!(seen, 15);
}

#[test]
fn a_swap() {
    let seen = walk(
        false,
        &[
            (
                &[E::StartDue, E::Started, E::SwapAsked],
                &[
                    (E::TurnTaken, State::Busy, Swap::Warming, &[]),
                    (E::Failed, ENDING, Swap::Warming, &[A::Kill]),
                    (E::SwapAsked, State::Idle, Swap::Warming, &[]),
                    (
                        E::SuccessorReady,
                        State::Idle,
                        Swap::Leaving,
                        &[A::HandOver],
                    ),
                    (
                        E::SuccessorFailed,
                        State::Idle,
                        Swap::Leaving,
                        &[A::DropSuccessor],
                    ),
                ],
            ),
            (
                &[
                    E::StartDue,
                    E::Started,
                    E::SwapAsked,
                    E::TurnTaken,
                    E::SuccessorReady,
                ],
                &[
                    (
                        E::Replied,
                        State::Idle,
                        Swap::Leaving,
                        &[A::Answer, A::HandOver],
                    ),
                    (E::Failed, ENDING, Swap::Ready, &[A::FailTurn, A::Kill]),
                    (E::FailedUnsent, ENDING, Swap::Ready, &[A::PutBack, A::Kill]),
                    (E::SwapAsked, State::Busy, Swap::Ready, &[]),
                    (
                        E::SuccessorFailed,
                        State::Busy,
                        Swap::Leaving,
                        &[A::DropSuccessor],
                    ),
                ],
            ),
        ],
    );
    assert_eq!(seen, 10);
}

#[test]
fn what_comes_between() {
    let seen = walk(
        false,
        &[
            // The old one dies in the meantime: the successor takes over as it stands.
            (
                &[E::StartDue, E::Started, E::SwapAsked, E::Failed],
                &[
                    (E::Reaped, State::Idle, Swap::None, &[A::Promote]),
                    (E::SwapAsked, ENDING, Swap::Warming, &[]),
                    (E::SuccessorReady, ENDING, Swap::Ready, &[]),
                    (
                        E::SuccessorFailed,
                        ENDING,
                        Swap::Leaving,
                        &[A::DropSuccessor],
                    ),
                ],
            ),
            (
                &[E::StartDue, E::Started, E::SwapAsked, E::SuccessorReady],
                &[
                    (E::TurnTaken, State::Busy, Swap::Leaving, &[]),
                    (E::Failed, ENDING, Swap::Leaving, &[A::Kill]),
                    (E::SwapAsked, State::Idle, Swap::Leaving, &[]),
                    (E::OldGone, State::Idle, Swap::None, &[]),
                ],
            ),
            // Asked for again during a swap: remembered once.
            (
                &[
                    E::StartDue,
                    E::Started,
                    E::SwapAsked,
                    E::SwapAsked,
                    E::SwapAsked,
                    E::SuccessorReady,
                ],
                &[
                    (E::TurnTaken, State::Busy, Swap::Leaving, &[]),
                    (E::Failed, ENDING, Swap::Leaving, &[A::Kill]),
                    (E::SwapAsked, State::Idle, Swap::Leaving, &[]),
                    (E::OldGone, State::Idle, Swap::Warming, &[A::StartSuccessor]),
                ],
            ),
            (
                &[
                    E::StartDue,
                    E::Started,
                    E::SwapAsked,
                    E::SwapAsked,
                    E::Failed,
                ],
                &[
                    (
                        E::Reaped,
                        State::Idle,
                        Swap::Warming,
                        &[A::Promote, A::StartSuccessor],
                    ),
                    (E::SwapAsked, ENDING, Swap::Warming, &[]),
                    (E::SuccessorReady, ENDING, Swap::Ready, &[]),
                    (
                        E::SuccessorFailed,
                        ENDING,
                        Swap::Leaving,
                        &[A::DropSuccessor],
                    ),
                ],
            ),
            // Nothing runs: it is started now, and that is all.
            (
                &[E::StartDue, E::CannotStart],
                &[
                    (E::StartDue, State::Starting, Swap::None, &[A::Start]),
                    (E::SwapAsked, State::Starting, Swap::None, &[A::Start]),
                ],
            ),
        ],
    );
    assert_eq!(seen, 18);
}

/// Also while one is being killed: what follows it need not wait, unless a successor does already.
#[test]
fn asked_for_while_one_ends_the_next_starts_at_once() {
    let alone: &[Event] = &[];
    let old_leaves: &[Event] = &[E::SwapAsked, E::SuccessorReady];
    let fresh_leaves: &[Event] = &[E::SwapAsked, E::SuccessorFailed];
    for way in [alone, old_leaves, fresh_leaves] {
        let mut life = Lifecycle::new(Duration::from_secs(10), false);
        for death in [E::CannotStart; 9] {
            life.on(E::StartDue, 0, 0.5).unwrap();
            life.on(death, 0, 0.5).unwrap();
        }
        for step in [&[E::StartDue, E::Started], way, &[E::Failed]].concat() {
            life.on(step, 0, 0.5).unwrap();
        }
        let State::Ending { start_at } = life.state() else {
            panic!("{:?}", life.state());
        };
        assert!(start_at > 1_000_000_000, "a pause is due: {start_at}");
        assert!(life.on(E::SwapAsked, 7, 0.5).unwrap().is_empty());
        life.on(E::Reaped, 8, 0.5).unwrap();
        assert_eq!(life.state(), State::Down { start_at: 7 }, "{way:?}");
        if !way.is_empty() {
            assert!(life.on(E::OldGone, 9, 0.5).unwrap().is_empty());
        }
        assert_eq!(life.swap(), Swap::None);
    }
}

/// Asked to start while the old one ends, and then the successor fails: started now, not after the backoff.
#[test]
fn a_start_that_was_asked_for_is_not_forgotten() {
    let mut life = Lifecycle::new(Duration::from_secs(10), false);
    for event in [E::StartDue, E::Started, E::SwapAsked] {
        life.on(event, 0, 0.5).unwrap();
    }
    for _ in 0..9 {
        life.backoff.died(0, Duration::ZERO, 0.5);
    }
    for event in [E::Failed, E::SwapAsked, E::SuccessorFailed, E::Reaped] {
        life.on(event, 7, 0.5).unwrap();
    }
    assert_eq!(life.state(), State::Down { start_at: 7 });
}

#[test]
fn an_engine_that_cannot_start_waits_longer_and_longer() {
    let mut life = Lifecycle::new(Duration::from_secs(10), false);
    let mut now = 1;
    let mut waits = Vec::new();
    for _ in 0..8 {
        life.on(E::StartDue, now, 0.5).unwrap();
        life.on(E::CannotStart, now, 0.5).unwrap();
        let State::Down { start_at } = life.state() else {
            panic!("{:?}", life.state());
        };
        waits.push((start_at - now) / 1_000_000);
        now = start_at;
    }
    assert_eq!(waits, [0, 0, 0, 0, 0, 100, 200, 400]);
}

proptest! {
    /// Whatever happens in whatever order: each turn taken is ended exactly once, never
    /// more than two processes run and one leaves, and no action lacks its object.
    #[test]
    fn turns_and_processes_are_accounted_for(
        has_probe in any::<bool>(),
        picks in prop::collection::vec(0usize..EVENTS.len(), 1..400),
    ) {
        let mut life = Lifecycle::new(Duration::from_secs(10), has_probe);
        let (mut serving, mut successor, mut leaving, mut turn) = (false, false, false, false);
        for pick in picks {
            let event = EVENTS[pick];
            // What the world could not say.
            let possible = match event {
                E::Started | E::CannotStart => life.state() == State::Starting,
                E::OldGone => leaving,
                E::SuccessorReady | E::SuccessorFailed => successor,
                _ => true,
            };
            if !possible {
                continue;
            }
            let Ok(actions) = life.on(event, 0, 0.5) else { continue };
            match event {
                E::TurnTaken => {
                    prop_assert!(!turn);
                    turn = true;
                }
                E::CannotStart | E::Reaped => serving = false,
                E::OldGone => leaving = false,
                _ => {}
            }
            for action in actions {
                match action {
                    A::Start => {
                        prop_assert!(!serving);
                        serving = true;
                    }
                    A::Probe => prop_assert!(serving && has_probe),
                    A::Answer | A::FailTurn | A::PutBack => {
                        prop_assert!(turn);
                        turn = false;
                    }
                    A::Kill => prop_assert!(serving),
                    A::StartSuccessor => {
                        prop_assert!(!successor && !leaving);
                        successor = true;
                    }
                    A::HandOver => {
                        prop_assert!(serving && successor && !leaving && !turn);
                        (successor, leaving) = (false, true);
                    }
                    A::Promote => {
                        prop_assert!(!serving && successor);
                        (serving, successor) = (true, false);
                    }
                    A::DropSuccessor => {
                        prop_assert!(successor && !leaving);
                        (successor, leaving) = (false, true);
                    }
                }
            }
            prop_assert_eq!(turn, life.state() == State::Busy);
        }
    }
}
