//! The gateway's promises about time and order, with the clock in our hands: each holds
//! to the millisecond, and none of these tests waits for anything.

mod beats;
mod deaths;
mod operator;
mod panics;
mod swaps;
mod world;

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use world::{Ends, World, settled};

/// How late a timer may be: tokio's turn by whole milliseconds, and rounding up may cost one more.
const TIMER_STEP: Duration = Duration::from_millis(2);

/// An engine that takes this long for each turn.
async fn steady(mut ends: Ends, pace: Duration) {
    while let Some(line) = ends.line().await {
        sleep(pace).await;
        ends.reply(&line).await;
    }
}

/// Does what the mark says: `hang`, `die`, or the seconds to take.
async fn told_by_mark(mut ends: Ends) {
    while let Some(line) = ends.line().await {
        match line["mark"].as_str() {
            Some("hang") => std::future::pending().await,
            Some("die") => return,
            _ => {}
        }
        sleep(Duration::from_secs(line["mark"].as_u64().unwrap_or(0))).await;
        ends.reply(&line).await;
    }
}

#[track_caller]
fn took_exactly(took: Duration, expected: Duration) {
    let late = took.checked_sub(expected);
    assert!(
        late.is_some_and(|late| late <= TIMER_STEP),
        "{took:?} is not {expected:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_turn() {
    let world = World::up(&[], |ends| steady(ends, Duration::ZERO)).await;
    let answer = world.ask("m-1").await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, json!({ "mark": "m-1", "engine": 1 }));
    assert_eq!(world.health().await.body["waiting"], 0);
}

/// The last of them waits for 31 s and is answered all the same.
#[tokio::test(start_paused = true)]
async fn the_reply_timer_starts_when_the_engine_gets_the_line() {
    let pace = Duration::from_secs(1);
    let world = World::up(&["--reply-timeout", "2s", "--queue", "32"], move |ends| {
        steady(ends, pace)
    })
    .await;
    let asked: Vec<_> = (0..32).map(|n| world.ask(n)).collect();
    let mut last = Duration::ZERO;
    for (n, asked) in asked.into_iter().enumerate() {
        let answer = asked.await.unwrap();
        assert_eq!(
            (answer.status, &answer.body["mark"]),
            (200, &json!(n)),
            "{answer:?}"
        );
        assert_eq!(answer.body["engine"], 1, "no engine was killed");
        last = answer.took;
    }
    assert!(
        last >= Duration::from_secs(32) && last < Duration::from_secs(33),
        "{last:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_shed_at_its_time() {
    let options = ["--max-wait", "5s", "--reply-timeout", "1h"];
    let world = World::up(&options, told_by_mark).await;
    let first = world.ask(12);
    settled().await;
    let early = world.ask("early");
    sleep(Duration::from_secs(2)).await;
    let late = world.ask("late");
    for asked in [early, late] {
        let answer = asked.await.unwrap();
        assert_eq!((answer.status, answer.code()), (503, "shed"));
        assert_eq!(answer.retry_after, Some(1), "no turn was served yet");
        took_exactly(answer.took, Duration::from_secs(5));
    }
    assert_eq!(world.health().await.body["waiting"], 1);
    let answer = first.await.unwrap();
    assert_eq!(answer.status, 200, "the engine's time is no waiting time");
    assert_eq!(world.seen(), [json!(12)], "the engine never saw the others");
    assert_eq!(world.health().await.body["waiting"], 0);
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_while_waiting_leaves_the_queue() {
    let world = World::up(&["--queue", "3"], told_by_mark).await;
    let mut asked = vec![world.ask(3)];
    settled().await;
    asked.extend([world.ask("leaves"), world.ask("stays")]);
    settled().await;
    assert_eq!(world.health().await.body["waiting"], 3);

    asked.remove(1).abort();
    settled().await;
    assert_eq!(world.health().await.body["waiting"], 2);
    asked.push(world.ask("takes the place"));
    for (asked, mark) in asked
        .into_iter()
        .zip([json!(3), json!("stays"), json!("takes the place")])
    {
        let answer = asked.await.unwrap();
        assert_eq!((answer.status, &answer.body["mark"]), (200, &mark));
    }
    assert_eq!(
        world.seen(),
        [json!(3), json!("stays"), json!("takes the place")]
    );
}

#[tokio::test(start_paused = true)]
async fn who_hangs_up_in_mid_turn_leaves_a_reply_to_nobody() {
    let world = World::up(&["--queue", "2"], told_by_mark).await;
    let leaves = world.ask(3);
    settled().await;
    let next = world.ask("next");
    settled().await;
    leaves.abort();
    settled().await;
    assert_eq!(
        world.health().await.body["waiting"],
        2,
        "its place is kept until the reply"
    );
    assert_eq!(world.ask("no room").await.unwrap().code(), "queue_full");

    let answer = next.await.unwrap();
    assert_eq!(answer.body, json!({ "mark": "next", "engine": 1 }));
    assert!(
        answer.took > Duration::from_secs(2),
        "it waited for the turn's end"
    );
    assert_eq!(world.seen(), [json!(3), json!("next")]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_too_long_is_504_and_the_engine_is_replaced() {
    let world = World::up(&["--reply-timeout", "2s"], told_by_mark).await;
    let hangs = world.ask("hang");
    settled().await;
    let next = world.ask("next");
    let answer = hangs.await.unwrap();
    assert_eq!((answer.status, answer.code()), (504, "engine_timeout"));
    assert_eq!(answer.retry_after, None);
    took_exactly(answer.took, Duration::from_secs(2));
    assert_eq!(
        next.await.unwrap().body,
        json!({ "mark": "next", "engine": 2 })
    );
    assert_eq!(
        world.seen(),
        [json!("hang"), json!("next")],
        "never sent twice"
    );
}

#[tokio::test(start_paused = true)]
async fn the_turn_in_the_engine_counts_against_the_bound() {
    let world = World::up(&["--queue", "3"], told_by_mark).await;
    let asked: Vec<_> = [2, 1, 1].into_iter().map(|mark| world.ask(mark)).collect();
    settled().await;
    let refused = world.ask("fourth").await.unwrap();
    assert_eq!((refused.status, refused.code()), (429, "queue_full"));
    assert_eq!(refused.retry_after, Some(1));
    let health = world.health().await;
    assert_eq!(
        (health.status, &health.body["waiting"]),
        (200, &json!(3)),
        "busy is not ill"
    );
    for asked in asked {
        assert_eq!(asked.await.unwrap().status, 200);
    }
    assert_eq!(world.ask("fifth").await.unwrap().status, 200);
    let one_turn = world.ask(9);
    settled().await;
    let asked: Vec<_> = (0..2).map(|_| world.ask(0)).collect();
    settled().await;
    let refused = world.ask("again").await.unwrap();
    assert_eq!(refused.code(), "queue_full");
    assert!(refused.body["retry_after_ms"].is_u64(), "{refused:?}");
    for asked in asked.into_iter().chain([one_turn]) {
        assert_eq!(asked.await.unwrap().status, 200);
    }
}

/// Writes 60,000 bytes before it reads on; the line is as long, and a pipe holds 4 KiB.
#[tokio::test(start_paused = true)]
async fn an_engine_that_writes_before_it_reads_blocks_nobody() {
    let world = World::up(&["--max-input", "100000"], |mut ends: Ends| async move {
        loop {
            // The first byte of a turn is there.
            tokio::io::AsyncBufReadExt::fill_buf(&mut ends.stdin)
                .await
                .unwrap();
            ends.say(&format!("{{\"fill\":\"{}\",", "x".repeat(60_000)))
                .await;
            let Some(line) = ends.line().await else {
                return;
            };
            ends.say(&format!("\"mark\":{}}}\n", line["mark"])).await;
        }
    })
    .await;
    for mark in 0..3 {
        let turn = json!({ "kind": "say", "mark": mark, "input": "y".repeat(60_000) });
        let answer = world.send("POST", "/api/turn", turn.to_string());
        let answer = answer.await.unwrap();
        assert_eq!((answer.status, &answer.body["mark"]), (200, &json!(mark)));
        took_exactly(answer.took, Duration::ZERO);
    }
}
