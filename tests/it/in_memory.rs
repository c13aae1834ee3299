//! The gateway's promises about time and order, with the clock in our hands: each holds
//! to the millisecond, and none of these tests waits for anything.

mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kidoban::clock;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

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

#[tokio::test(start_paused = true)]
async fn waiting_turns_outlive_an_engine() {
    let world = World::up(&[], told_by_mark).await;
    let dies = world.ask("die");
    let asked: Vec<_> = ["a", "die", "b", "c"].map(|mark| world.ask(mark)).into();
    let answer = dies.await.unwrap();
    assert_eq!((answer.status, answer.code()), (502, "engine_failed"));
    let mut served = Vec::new();
    for asked in asked {
        let answer = asked.await.unwrap();
        served.push((answer.status, answer.body["engine"].clone()));
    }
    let expected = [
        (200, json!(2)),
        (502, Value::Null),
        (200, json!(3)),
        (200, json!(3)),
    ];
    assert_eq!(served, expected);
    assert_eq!(
        world.seen(),
        ["die", "a", "die", "b", "c"],
        "each line was sent once"
    );
}

/// An engine whose stdin is closed cannot have seen a byte of the next turn: that turn waits for the next engine.
#[tokio::test(start_paused = true)]
async fn a_turn_of_which_nothing_was_written_is_not_lost() {
    let world = World::up(&["--queue", "2"], |mut ends: Ends| async move {
        let line = ends.line().await.unwrap();
        ends.reply(&line).await;
        if ends.nth == 1 {
            let Ends { stdin, .. } = &mut ends;
            *stdin = tokio::io::BufReader::new(tokio::io::duplex(1).0);
            std::future::pending::<()>().await;
        }
    })
    .await;
    assert_eq!(world.ask("first").await.unwrap().body["engine"], 1);
    settled().await;
    assert_eq!(
        world.ask("second").await.unwrap().body,
        json!({ "mark": "second", "engine": 2 })
    );
    settled().await;
    assert_eq!(world.seen(), ["first", "second"]);
    assert_eq!(
        world.health().await.body["waiting"],
        0,
        "no place is leaked"
    );
}

/// Each engine falls out of step in another way, some time after its reply.
#[tokio::test(start_paused = true)]
async fn a_late_line_costs_the_engine_and_no_turn() {
    let world = World::up(&[], |mut ends: Ends| async move {
        while let Some(line) = ends.line().await {
            ends.reply(&line).await;
            sleep(Duration::from_secs(1)).await;
            ends.say(["{\"mark\":\"late\"}\n", "\n", "x"][ends.nth % 3])
                .await;
        }
    })
    .await;
    for n in 1..=6 {
        let answer = world.ask(n).await.unwrap();
        assert_eq!(answer.body, json!({ "mark": n, "engine": n }));
        // The next one is asked once the line was there; at once, it could not be told from a reply.
        sleep(Duration::from_secs(3)).await;
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

/// The exit, the reply and the deadline fall into one moment, in every order.
#[tokio::test(start_paused = true)]
async fn an_exit_at_the_very_deadline_crosses_nothing() {
    const TURNS: u64 = 500;
    let options = [
        "--reply-timeout",
        "10ms",
        "--restart-delay-max",
        "1ms",
        "--queue",
        "1000",
        "--max-wait",
        "24h",
    ];
    let world = World::up(&options, |mut ends: Ends| async move {
        while let Some(line) = ends.line().await {
            let n = line["mark"].as_u64().unwrap();
            sleep(Duration::from_millis([10, 10, 9, 11][(n / 5 % 4) as usize])).await;
            match n % 5 {
                0 => return,
                1 => return ends.reply(&line).await,
                2 => ends.reply(&line).await,
                3 => return ends.say("{\"mark\":").await,
                _ => {
                    ends.reply(&line).await;
                    ends.say("{\"mark\":\"late\"}\n").await;
                    return;
                }
            }
        }
    })
    .await;
    let asked: Vec<_> = (0..TURNS).map(|n| world.ask(n)).collect();
    let mut statuses = std::collections::BTreeMap::new();
    for (n, asked) in asked.into_iter().enumerate() {
        let answer = asked.await.unwrap();
        *statuses.entry(answer.status).or_insert(0) += 1;
        match answer.status {
            200 => assert!(
                answer.body["mark"] == n && matches!(n % 5, 1 | 2),
                "{n} {answer:?}"
            ),
            502 | 504 => {}
            _ => panic!("{n} {answer:?}"),
        }
    }
    assert!(statuses.keys().eq(&[200, 502, 504]), "{statuses:?}");
    assert!(
        world
            .seen()
            .iter()
            .eq(&(0..TURNS).map(Value::from).collect::<Vec<_>>())
    );
    assert_eq!(world.health().await.body["waiting"], 0);
}

/// From outside: 503 with the very wait, starts ever rarer, and all is forgotten after a good run.
#[tokio::test(start_paused = true)]
async fn an_engine_that_dies_is_started_ever_later() {
    let mended = Arc::new(AtomicBool::new(false));
    let life = {
        let mended = Arc::clone(&mended);
        move |ends: Ends| {
            let mended = mended.load(Ordering::Relaxed);
            async move {
                if mended {
                    told_by_mark(ends).await;
                }
            }
        }
    };
    let world = World::new(&["--restart-delay-max", "3s"], life);
    let mut told = Vec::new();
    for _ in 0..300 {
        sleep(Duration::from_millis(100)).await;
        let asked_at = clock::now();
        for answer in [world.ask("x").await.unwrap(), world.health().await] {
            if answer.status == 503 {
                told.push((asked_at, answer.retry_after.unwrap()));
            }
        }
    }
    let starts = world.starts();
    let gaps: Vec<f64> = starts
        .windows(2)
        .map(|two| (two[1] - two[0]).as_secs_f64())
        .collect();
    assert!(
        gaps[..5].iter().all(|gap| *gap < 0.005),
        "five at once: {gaps:?}"
    );
    for (n, gap) in gaps[5..].iter().enumerate() {
        let pause = 0.1 * f64::from(1u32 << n.min(10));
        let (least, most) = ((pause.min(3.0)) * 0.8, (pause * 1.2).min(3.0));
        assert!(
            *gap >= least && *gap <= most + 0.005,
            "{n}: {gap} in {gaps:?}"
        );
    }
    assert!(told.len() > 200, "{}", told.len());
    for (asked_at, retry_after) in told {
        let Some(start) = starts.iter().find(|start| **start > asked_at) else {
            continue;
        };
        let wait = (*start - asked_at).as_secs_f64();
        let told = Duration::from_secs(retry_after).as_secs_f64();
        assert!(
            wait <= told + 0.005 && (wait > told - 1.0 || retry_after == 1),
            "{wait} {told}"
        );
    }

    mended.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(3) + TIMER_STEP).await;
    assert_eq!(world.ask("up").await.unwrap().status, 200);
    sleep(Duration::from_secs(10)).await;
    let before: Instant = clock::now();
    assert_eq!(world.ask("die").await.unwrap().status, 502);
    settled().await;
    assert_eq!(world.ask("up").await.unwrap().status, 200);
    assert!(
        clock::now() - before < Duration::from_millis(10),
        "a good run is rewarded"
    );
}
