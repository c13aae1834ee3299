//! Engines that die, each at a chosen moment: who is served by the next, and when it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kidoban::clock;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::world::{Ends, World, settled};
use super::{TIMER_STEP, told_by_mark};

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

/// Who exits closes its ends first. What is said of it is its exit, unless that does not come.
#[tokio::test(start_paused = true)]
async fn an_exit_is_told_from_a_closed_end() {
    for (exits_after, cause) in [(50, "exited"), (200, "stdout_closed")] {
        let world = World::up(&[], move |mut ends: Ends| async move {
            ends.line().await.unwrap();
            if ends.nth == 1 {
                drop(ends);
                sleep(Duration::from_millis(exits_after)).await;
                return;
            }
            ends.reply(&json!({ "mark": "next" })).await;
            std::future::pending::<()>().await;
        })
        .await;
        let answer = world.ask("dies").await.unwrap();
        assert_eq!(answer.code(), "engine_failed");
        let took = answer.took.as_millis();
        assert!((50..=101).contains(&took), "answered after {took} ms");
        assert_eq!(world.ask("next").await.unwrap().status, 200);
        assert_eq!(world.deaths(), [cause], "after {exits_after} ms");
    }
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
        let turn = world.ask("x").await.unwrap();
        let health_asked_at = clock::now();
        let health = world.health().await;
        for (asked_at, answer) in [(asked_at, turn), (health_asked_at, health)] {
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
