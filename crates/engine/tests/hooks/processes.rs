//! Programs that hang, flood, fork away, do not read or cannot be started; and what they can see.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use mayi_core::call::Call;
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use mayi_engine::hooks::Runner;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{Stage, command, decides, environment, gone, message, on, prints, process, runs, verdict, with};

/// Far longer than any answer here takes, far shorter than what the hooks would like to take.
const GENEROUS: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_hook_that_never_ends_is_killed_with_all_it_started() {
    let stage = Stage::new();
    let line = "echo $$ > lead; sleep 300 & echo $! > child; (sleep 300 & echo $! > orphan); wait; sleep 300";
    let start = Instant::now();
    let before = stage.before(&[with(command(line), json!({"timeout": 1}))]).await;
    assert!(start.elapsed() < GENEROUS);
    assert_eq!(verdict(&before), Some(Verdict::Ask));
    assert!(message(&before).contains("no answer within 1 s"), "{before:?}");
    for file in ["lead", "child", "orphan"] {
        assert!(gone(process(&stage.path(file))).await, "{file}");
    }
}

#[tokio::test]
async fn a_part_of_a_second_is_a_time_too() {
    let before = Stage::new().before(&[with(command("sleep 300"), json!({"timeout": 0.2}))]).await;
    assert!(message(&before).contains("no answer within 0.2 s"), "{before:?}");
}

#[tokio::test]
async fn a_hook_that_ignores_polite_signals_is_killed_too() {
    let stage = Stage::new();
    let line = "trap '' TERM INT HUP; echo $$ > lead; while :; do sleep 1; done";
    let before = stage.before(&[with(command(line), json!({"timeout": 1, "onFailure": "block"}))]).await;
    assert_eq!(verdict(&before), Some(Verdict::Deny));
    assert!(gone(process(&stage.path("lead"))).await);
}

#[tokio::test]
async fn an_answer_that_comes_with_a_hang_does_not_count() {
    let stage = Stage::new();
    let line = format!("{}; sleep 300", prints(&decides("allow")));
    let before = stage.before(&[with(command(&line), json!({"timeout": 1}))]).await;
    assert_eq!(verdict(&before), Some(Verdict::Ask));
}

#[tokio::test]
async fn what_holds_the_output_open_after_the_end_is_killed_and_the_answer_stands() {
    let stage = Stage::new();
    let line = format!("sleep 300 & echo $! > child; {}", prints(&decides("deny")));
    let start = Instant::now();
    let before = stage.before(&[with(command(&line), json!({"timeout": 60}))]).await;
    assert!(start.elapsed() < GENEROUS);
    assert_eq!((verdict(&before), message(&before)), (Some(Verdict::Deny), "reason to deny"));
    assert!(gone(process(&stage.path("child"))).await);
}

#[tokio::test]
async fn silence_that_is_still_held_open_is_a_failure() {
    let stage = Stage::new();
    let before = stage.before(&[command("(sleep 300 & echo $! > child)")]).await;
    assert_eq!(verdict(&before), Some(Verdict::Ask));
    assert!(message(&before).contains("holds its output open"), "{before:?}");
    assert!(gone(process(&stage.path("child"))).await);
    let before = stage.before(&[command("sleep 300 >/dev/null & echo $! > child")]).await;
    assert_eq!(verdict(&before), None, "only complaints were held open");
    assert!(gone(process(&stage.path("child"))).await);
}

#[tokio::test]
async fn a_process_that_left_the_group_cannot_hold_us_up() {
    let stage = Stage::new();
    let line = format!(
        "setsid sh -c 'echo $$ > away; exec sleep 300' & while [ ! -s away ]; do :; done; {}",
        prints(&decides("ask"))
    );
    let start = Instant::now();
    let before = stage.before(&[command(&line)]).await;
    let away = process(&stage.path("away"));
    assert!(runs(away), "nobody can stop what has a session of its own");
    kill_process(Pid::from_raw(away).unwrap(), Signal::KILL).unwrap();
    assert!(start.elapsed() < GENEROUS);
    assert_eq!(verdict(&before), Some(Verdict::Ask));
    assert!(gone(away).await);
}

#[tokio::test]
async fn what_a_hook_leaves_behind_with_its_streams_closed_may_live() {
    let stage = Stage::new();
    let before = stage.before(&[command("sleep 300 </dev/null >/dev/null 2>&1 & echo $! > child")]).await;
    let child = process(&stage.path("child"));
    assert!(runs(child));
    kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).unwrap();
    assert_eq!((verdict(&before), before.problems.len()), (None, 0));
}

#[tokio::test]
async fn nobody_waiting_any_more_kills_the_hook() {
    let stage = Stage::new();
    let runner =
        stage.runner(on("PreToolUse", &[with(command("echo $$ > lead; exec sleep 300"), json!({"timeout": 60}))]));
    let (call, occasion) = (Call::shell("ls"), stage.occasion());
    {
        let mut asking = std::pin::pin!(runner.before(&call, &occasion));
        while stage.read("lead").is_empty() {
            let patience = tokio::time::timeout(Duration::from_millis(10), &mut asking);
            assert!(patience.await.is_err(), "the hook never ends");
        }
    }
    assert!(gone(process(&stage.path("lead"))).await);
}

#[tokio::test]
async fn too_much_output_is_a_failure() {
    let stage = Stage::new();
    for line in [
        "head -c 10485760 /dev/zero | tr '\\0' x",
        "head -c 10485760 /dev/zero | tr '\\0' x >&2",
        "yes",
        "printf '{'; yes",
    ] {
        let before = stage.before(&[command(line)]).await;
        assert_eq!(verdict(&before), Some(Verdict::Ask), "{line}");
        assert!(message(&before).contains("more than 1 MiB"), "{line}: {before:?}");
    }
    let before = stage.before(&[command("head -c 1048576 /dev/zero | tr '\\0' x")]).await;
    assert_eq!(verdict(&before), None, "a whole MiB still fits");
}

#[tokio::test]
async fn a_hook_need_not_read_what_it_is_told() {
    let stage = Stage::new();
    let call = Call::shell(&format!("echo {}", "x".repeat(50_000_000)));
    for line in ["exit 0", "exec <&-; exit 0", "head -c 10 >/dev/null", "cat >/dev/null", "wc -c > size"] {
        let runner = stage.runner(on("PreToolUse", &[with(command(line), json!({"timeout": 60}))]));
        let before = runner.before(&call, &stage.occasion()).await.unwrap();
        assert_eq!((verdict(&before), before.problems.len()), (None, 0), "{line}: {:?}", before.problems);
    }
    assert!(stage.read("size").trim().parse::<usize>().unwrap() > 50_000_000);
}

#[tokio::test]
async fn a_hook_may_answer_before_it_reads_and_talk_all_along() {
    let stage = Stage::new();
    let call = Call::shell(&format!("echo {}", "x".repeat(5_000_000)));
    let line = format!("head -c 500000 /dev/zero | tr '\\0' ' '; cat >/dev/null; {}", prints(&decides("deny")));
    let runner = stage.runner(on("PreToolUse", &[command(&line)]));
    let before = runner.before(&call, &stage.occasion()).await.unwrap();
    assert_eq!(verdict(&before), Some(Verdict::Deny));
}

#[tokio::test]
async fn what_cannot_be_started_is_a_failure() {
    let stage = Stage::new();
    fs::write(stage.path("plain"), "exit 0").unwrap();
    fs::set_permissions(stage.path("plain"), fs::Permissions::from_mode(0o644)).unwrap();
    let plain = stage.path("plain");
    let exec = |program: &str| json!({"type": "command", "command": program, "args": []});
    for hook in [exec("/no/such/program"), exec(plain.to_str().unwrap()), exec("."), exec("no-such-program-anywhere")] {
        let before = stage.before(std::slice::from_ref(&hook)).await;
        assert_eq!(verdict(&before), Some(Verdict::Ask), "{hook}");
        assert!(message(&before).contains("could not be started"), "{hook}: {before:?}");
    }
    let before = stage.before(&[command(plain.to_str().unwrap())]).await;
    assert!(message(&before).contains("exit code 126"), "{before:?}");
    let nowhere = mayi_engine::hooks::Occasion { directory: stage.path("nowhere"), ..stage.occasion() };
    let runner = stage.runner(on("PreToolUse", &[command("exit 0")]));
    let before = runner.before(&Call::shell("ls"), &nowhere).await.unwrap();
    assert_eq!(verdict(&before), Some(Verdict::Ask));
}

#[tokio::test]
async fn arguments_go_to_the_program_and_to_no_shell() {
    let stage = Stage::new();
    let script = r#"printf '%s|' "$@" > said"#;
    let args = ["-c", script, "name", "a b", "$(touch evil)", "; touch evil", "${CLAUDE_PROJECT_DIR}/x"];
    let hook = json!({"type": "command", "command": "sh", "args": args});
    let before = stage.before(&[hook]).await;
    assert_eq!(verdict(&before), None, "{before:?}");
    let project = stage.path("x");
    assert_eq!(stage.read("said"), format!("a b|$(touch evil)|; touch evil|{}|", project.display()));
    assert!(!stage.path("evil").exists());
}

#[tokio::test]
async fn a_command_line_may_be_written_for_bash() {
    let stage = Stage::new();
    let line = "[[ ab == a* ]] && echo yes > said";
    let before = stage.before(&[command(line)]).await;
    if std::path::Path::new("/bin/bash").exists() {
        assert_eq!((stage.read("said").as_str(), verdict(&before)), ("yes\n", None));
    } else {
        assert_eq!(verdict(&before), Some(Verdict::Ask));
    }
}

#[tokio::test]
async fn a_hook_sees_no_variable_that_is_not_for_it() {
    let stage = Stage::new();
    let hooks = on("PreToolUse", &[with(command("env | sort > seen; pwd -P > where"), json!({}))]);
    let user = with(hooks.clone(), json!({"env": {"MINE": "1", "PATH": "/evil", "HOME": "/evil"}}));
    for (layer, mine) in [(Layer::User, true), (Layer::Managed, false)] {
        let runner = Runner::new(&stage.loaded(&[(layer, user.clone())]), environment());
        runner.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
        let seen = stage.read("seen");
        let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        let shells_own = ["SHLVL", "OLDPWD", "_"];
        let names: Vec<&str> = names.into_iter().filter(|name| !shells_own.contains(name)).collect();
        let mut expected = vec!["CLAUDE_PROJECT_DIR", "HOME", "LC_ALL", "MAYI_IN_HOOK", "MAYI_PROJECT_DIR"];
        expected.extend(mine.then_some("MINE"));
        expected.extend(["PATH", "PWD"]);
        assert_eq!(names, expected, "{layer}");
        assert!(seen.contains("HOME=/home/nobody") && !seen.contains("hush") && !seen.contains("/evil"), "{seen}");
        let folder = stage.path("").canonicalize().unwrap();
        assert_eq!(stage.read("where").trim(), folder.to_str().unwrap().trim_end_matches('/'));
    }
}

#[tokio::test]
async fn hooks_run_side_by_side() {
    let stage = Stage::new();
    let made = std::process::Command::new("mkfifo").arg(stage.path("pipe")).status().unwrap();
    assert!(made.success());
    // Each can end only while the other one runs.
    let before = stage.before(&[command("echo hello > pipe"), command("read word < pipe; echo $word > said")]).await;
    assert_eq!((verdict(&before), before.problems.len()), (None, 0), "{before:?}");
    assert_eq!(stage.read("said"), "hello\n");
}

#[tokio::test]
async fn the_time_of_all_hooks_together_is_limited() {
    let stage = Stage::new();
    let hooks = on("PreToolUse", &[with(command("echo $$ > lead; exec sleep 300"), json!({"timeout": 60}))]);
    let runner = stage.runner(hooks);
    let start = Instant::now();
    let short = runner.within(Duration::from_millis(700));
    let before = short.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
    assert!(start.elapsed() < GENEROUS);
    assert_eq!(verdict(&before), Some(Verdict::Ask));
    assert!(gone(process(&stage.path("lead"))).await);
    let before = short.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
    assert!(message(&before).contains("no time was left"), "{before:?}");
}

#[tokio::test]
async fn mayi_is_no_hook_of_its_own_and_hooks_have_no_hooks() {
    let stage = Stage::new();
    let own = json!({"type": "command", "command": "/usr/local/bin/mayi hook claude-code"});
    let runner = stage.runner(on("PreToolUse", std::slice::from_ref(&own)));
    assert_eq!(runner.before(&Call::shell("ls"), &stage.occasion()).await, None);
    // Whoever starts mayi from a hook is asked, and nothing goes round in circles.
    let loaded = stage.loaded(&[(Layer::User, on("PreToolUse", &[command("echo ran > ran")]))]);
    let within = environment().into_iter().chain([("MAYI_IN_HOOK".into(), "1".into())]).collect();
    let before = Runner::new(&loaded, within).before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
    assert_eq!((verdict(&before), stage.path("ran").exists()), (Some(Verdict::Ask), false));
}
