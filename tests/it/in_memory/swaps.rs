//! Probes and swaps to the millisecond: when a fresh engine counts as up, when it takes
//! over, and who is served by whom.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::world::{Ends, World, settled};
use super::{TIMER_STEP, told_by_mark, took_exactly};

const PROBE: [&str; 2] = ["--ready-probe", r#"{"kind":"look","mark":"probe"}"#];
const SECOND: Duration = Duration::from_secs(1);

/// Takes so long before it reads its first line.
async fn ready_after(time: Duration, ends: Ends) {
    sleep(time).await;
    told_by_mark(ends).await;
}

/// Which engine serves now.
async fn serving(world: &World) -> u64 {
    let answer = world.ask("who").await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["engine"].as_u64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_needs_8_s_to_start_is_up_after_8_s() {
    let world = World::up(&PROBE, |ends| ready_after(8 * SECOND, ends)).await;
    for _ in 0..7 {
        let health = world.health().await;
        assert_eq!(
            (health.status, &health.body["engine"]),
            (503, &json!("starting"))
        );
        assert_eq!(health.retry_after, Some(1));
        let refused = world.ask("early").await.unwrap();
        assert_eq!((refused.status, refused.code()), (503, "engine_down"));
        assert_eq!(refused.retry_after, Some(1));
        sleep(SECOND).await;
    }
    sleep(SECOND.checked_sub(Duration::from_millis(10)).unwrap()).await;
    assert_eq!(world.health().await.body["engine"], "starting");
    sleep(Duration::from_millis(10)).await;
    assert_eq!(world.health().await.body["engine"], "up");
    assert_eq!(serving(&world).await, 1);
    assert_eq!(
        world.seen(),
        ["probe", "who"],
        "one probe, and none refused"
    );
    assert_eq!(world.starts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_never_answers_its_probe_is_replaced_again_and_again() {
    let options = [&PROBE[..], &["--reply-timeout", "2s"]].concat();
    let world = World::new(&options, |mut ends: Ends| async move {
        let _ = ends.line().await;
        std::future::pending::<()>().await;
    });
    sleep(30 * SECOND).await;
    let starts = world.starts();
    let gaps: Vec<_> = starts.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.len() >= 10, "{gaps:?}");
    for gap in &gaps[..5] {
        took_exactly(*gap, 2 * SECOND);
    }
    for gap in &gaps {
        assert!(*gap >= 2 * SECOND, "{gaps:?}");
    }
    let marks = world.seen();
    assert_eq!(marks.len(), starts.len(), "one probe each");
    assert!(marks.iter().all(|mark| mark == "probe"));
}

/// Whoever waited when an engine died is served once the next has answered its probe.
#[tokio::test(start_paused = true)]
async fn waiting_turns_outlive_a_slow_start() {
    let world = World::up(&PROBE, |ends| {
        let slow = u32::from(ends.nth > 1);
        ready_after(8 * SECOND * slow, ends)
    })
    .await;
    let (dies, waits) = (world.ask("die"), world.ask("waits"));
    assert_eq!(dies.await.unwrap().code(), "engine_failed");
    let refused = world.ask("late").await.unwrap();
    assert_eq!(refused.code(), "engine_down");
    let answer = waits.await.unwrap();
    assert_eq!(answer.body, json!({ "mark": "waits", "engine": 2 }));
    took_exactly(answer.took, 8 * SECOND);
    assert_eq!(world.seen(), ["probe", "die", "probe", "waits"]);
}

/// Without a probe, to live for a second is the proof.
#[tokio::test(start_paused = true)]
async fn a_successor_takes_over_after_its_proof() {
    let answers_after = 3 * SECOND + Duration::from_millis(500);
    for (options, proven_after) in [(&[][..], SECOND), (&PROBE, answers_after)] {
        let world = World::up(options, move |ends| {
            let slow = ends.nth > 1 && proven_after > SECOND;
            ready_after(answers_after * u32::from(slow), ends)
        })
        .await;
        assert_eq!(serving(&world).await, 1);
        world.swap();
        settled().await;
        assert_eq!(world.starts().len(), 2, "at once");
        sleep(proven_after.checked_sub(3 * TIMER_STEP).unwrap()).await;
        assert_eq!(serving(&world).await, 1);
        sleep(4 * TIMER_STEP).await;
        assert_eq!(serving(&world).await, 2);
        assert_eq!(world.health().await.body["engine"], "up");
    }
}

/// The fresh one is ready in mid-turn, and serves from the very next.
#[tokio::test(start_paused = true)]
async fn a_turn_stays_in_its_engine_and_the_next_goes_to_the_successor() {
    let world = World::up(&[], told_by_mark).await;
    let slow = world.ask(5);
    settled().await;
    world.swap();
    let waits = world.ask("waits");
    sleep(2 * SECOND).await;
    assert_eq!(world.health().await.body["engine"], "up");
    assert_eq!(world.health().await.body["waiting"], 2);
    let slow = slow.await.unwrap();
    assert_eq!(slow.body, json!({ "mark": 5, "engine": 1 }));
    took_exactly(slow.took, 5 * SECOND);
    let waits = waits.await.unwrap();
    assert_eq!(waits.body, json!({ "mark": "waits", "engine": 2 }));
    assert_eq!(world.seen(), [json!(5), json!("waits")], "each line once");
}

/// Three more signals while one swap is under way are one more swap.
#[tokio::test(start_paused = true)]
async fn during_a_swap_a_signal_is_remembered_once() {
    let world = World::up(&[], told_by_mark).await;
    world.swap();
    for _ in 0..3 {
        settled().await;
        world.swap();
    }
    sleep(10 * SECOND).await;
    assert_eq!(world.starts().len(), 3);
    assert_eq!(serving(&world).await, 3);
    let gaps: Vec<_> = world.starts().windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps[1] >= SECOND, "one after the other: {gaps:?}");
}

/// What comes while the loser of a swap is still leaving is remembered as well.
#[tokio::test(start_paused = true)]
async fn while_the_old_one_leaves_a_signal_is_remembered() {
    let world = World::up(&[], |ends: Ends| async move {
        if ends.nth == 1 {
            // Does not mind that its stdin is closed.
            let _keep = ends;
            std::future::pending::<()>().await;
        } else {
            told_by_mark(ends).await;
        }
    })
    .await;
    world.swap();
    sleep(SECOND + 10 * TIMER_STEP).await;
    assert_eq!(serving(&world).await, 2);
    world.swap();
    sleep(SECOND).await;
    assert_eq!(world.starts().len(), 2, "never three at once");
    sleep(10 * SECOND).await;
    assert_eq!(world.starts().len(), 3);
    assert_eq!(serving(&world).await, 3);
}

#[tokio::test(start_paused = true)]
async fn an_old_engine_that_dies_makes_way_for_its_successor() {
    // Before its proof without a probe, before its answer with one.
    let cases = [
        (&[][..], 0, SECOND / 2, Duration::ZERO),
        (&PROBE, 8, 3 * SECOND, 5 * SECOND),
    ];
    for (options, warms_up, dies_at, waits_for) in cases {
        let world = World::up(options, move |ends| {
            ready_after(warms_up * SECOND * u32::from(ends.nth > 1), ends)
        })
        .await;
        world.swap();
        sleep(dies_at).await;
        let (dies, waits) = (world.ask("die"), world.ask("waits"));
        assert_eq!(dies.await.unwrap().code(), "engine_failed");
        let waits = waits.await.unwrap();
        assert_eq!(waits.body, json!({ "mark": "waits", "engine": 2 }));
        took_exactly(waits.took, waits_for);
        assert_eq!(world.starts().len(), 2, "no third one was started");
    }
}

/// In the middle of a long pause.
#[tokio::test(start_paused = true)]
async fn while_the_engine_is_down_it_starts_at_that_moment() {
    let world = World::new(&["--restart-delay-max", "1h"], |ends: Ends| async move {
        if ends.nth > 15 {
            told_by_mark(ends).await;
        }
    });
    // Pauses of 0.1 to 51.2 s, each a fifth more or less; then one of 82 s at the least.
    while world.starts().len() < 15 {
        sleep(Duration::from_millis(100)).await;
    }
    settled().await;
    let refused = world.ask("down").await.unwrap();
    assert_eq!(refused.code(), "engine_down");
    assert!(
        refused.retry_after.is_some_and(|wait| wait > 30),
        "{refused:?}"
    );
    world.swap();
    settled().await;
    assert_eq!(world.starts().len(), 16);
    assert_eq!(serving(&world).await, 16);
    sleep(200 * SECOND).await;
    assert_eq!(world.starts().len(), 16, "the old appointment is forgotten");
}
