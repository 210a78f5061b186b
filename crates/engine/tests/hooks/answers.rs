//! PreToolUse: every way to answer, every way to fail, and several answers together.

use mayi_core::call::Call;
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict::{self, Allow, Ask, Deny};
use mayi_engine::hooks::{Event, Runner};
use serde_json::{Value, json};

use crate::support::{Stage, command, decides, environment, message, on, prints, verdict, with};

fn own(members: Value) -> Value {
    let own = with(json!({"hookEventName": "PreToolUse"}), members);
    json!({ "hookSpecificOutput": own })
}

#[tokio::test]
async fn exit_codes_and_output() {
    let (allow, ask, deny) = (prints(&decides("allow")), prints(&decides("ask")), prints(&decides("deny")));
    let table: Vec<(&str, String, Option<Verdict>, &str)> = vec![
        ("0, silent", "exit 0".into(), None, ""),
        ("0, blank", "echo; echo ' '".into(), None, ""),
        ("0, plain text", "echo hello".into(), None, ""),
        ("0, a list is plain text", r#"echo '["x"]'"#.into(), None, ""),
        ("0, an empty object", "echo '{}'".into(), None, ""),
        ("0, an object about something else", r#"echo '{"status": "ok"}'"#.into(), None, ""),
        ("0, allow", allow.clone(), Some(Allow), "reason to allow"),
        ("0, ask", ask.clone(), Some(Ask), "reason to ask"),
        ("0, deny", deny.clone(), Some(Deny), "reason to deny"),
        ("0, deny after blanks", format!("echo; {deny}; echo"), Some(Deny), "reason to deny"),
        ("0, deny after a byte order mark", format!(r"printf '\357\273\277'; {deny}"), Some(Deny), "reason to deny"),
        (
            "0, a key twice",
            r#"echo '{"decision": "block", "decision": "approve"}'"#.into(),
            Some(Ask),
            "`decision` stands there twice",
        ),
        (
            "0, a key twice further in",
            r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecision": "allow"}}'"#
                .into(),
            Some(Ask),
            "not understood",
        ),
        ("0, bad JSON", "echo '{not json'".into(), Some(Ask), "no JSON"),
        ("0, two objects", format!("{allow}; {allow}"), Some(Ask), "no JSON"),
        ("0, text that is not UTF-8", r"printf '{\377}'".into(), Some(Ask), "no JSON"),
        ("2, stderr", "echo no way >&2; exit 2".into(), Some(Deny), "no way"),
        ("2, silent", "exit 2".into(), Some(Deny), "blocks this"),
        ("2 beats allow", format!("{allow}; echo no way >&2; exit 2"), Some(Deny), "no way"),
        ("2 with a reason in JSON", format!("{deny}; echo no way >&2; exit 2"), Some(Deny), "reason to deny"),
        ("2 with bad JSON", "echo '{not json'; echo no way >&2; exit 2".into(), Some(Deny), "no way"),
        ("1, silent", "echo boom >&2; exit 1".into(), Some(Ask), "exit code 1: boom"),
        ("1, plain text", "echo fine; exit 1".into(), Some(Ask), "exit code 1"),
        ("1, an object that decides nothing", "echo '{}'; exit 1".into(), Some(Ask), "exit code 1"),
        ("1, bad JSON", "echo '{not json'; exit 1".into(), Some(Ask), "exit code 1"),
        ("1, deny", format!("{deny}; exit 1"), Some(Deny), "reason to deny"),
        ("1, allow", format!("{allow}; exit 1"), Some(Allow), "reason to allow"),
        ("127, no such program", "no-such-program-anywhere".into(), Some(Ask), "exit code 127"),
        ("a signal", "kill -KILL $$".into(), Some(Ask), "signal 9"),
        ("a signal after deny", format!("{deny}; kill -KILL $$"), Some(Deny), "reason to deny"),
    ];
    let stage = Stage::new();
    for (name, line, expected, reason) in table {
        let before = stage.before(&[command(&line)]).await;
        assert_eq!(verdict(&before), expected, "{name}: {before:?}");
        assert!(message(&before).contains(reason), "{name}: {before:?}");
        let failed = expected == Some(Ask) && reason != "reason to ask";
        assert_eq!(before.problems.is_empty(), !failed, "{name}: {before:?}");
    }
}

#[tokio::test]
async fn what_the_object_says() {
    let table = vec![
        ("an old approval", json!({"decision": "approve", "reason": "x"}), Some(Allow), "x"),
        ("an old block", json!({"decision": "block", "reason": "old reason"}), Some(Deny), "old reason"),
        ("no reason", own(json!({"permissionDecision": "deny"})), Some(Deny), "blocks this"),
        ("further members", own(json!({"permissionDecision": "deny", "zzz": 1})), Some(Deny), ""),
        ("old block, new allow", with(decides("allow"), json!({"decision": "block"})), Some(Deny), ""),
        ("defer", decides("defer"), None, ""),
        ("nothing of its own", json!({"hookSpecificOutput": null}), None, ""),
        ("stop", json!({"continue": false, "stopReason": "enough"}), Some(Deny), "enough"),
        ("go on", json!({"continue": true}), None, ""),
        ("an unknown decision", decides("maybe"), Some(Ask), "`maybe`"),
        ("a decision that is no text", own(json!({"permissionDecision": true})), Some(Ask), "not understood"),
        ("an unknown old decision", json!({"decision": "denied"}), Some(Ask), "`denied`"),
        ("no event", json!({"hookSpecificOutput": {"permissionDecision": "deny"}}), Some(Ask), "hookEventName"),
        (
            "another event",
            json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": "deny"}}),
            Some(Ask),
            "hookEventName",
        ),
        ("an input that is no object", own(json!({"updatedInput": "ls"})), Some(Ask), "updatedInput"),
        ("a stop that is no flag", json!({"continue": "false"}), Some(Ask), "continue"),
    ];
    let stage = Stage::new();
    for (name, answer, expected, reason) in table {
        let before = stage.before(&[command(&prints(&answer))]).await;
        assert_eq!(verdict(&before), expected, "{name}: {before:?}");
        assert!(message(&before).contains(reason), "{name}: {before:?}");
        assert_eq!(before.ends_run.is_some(), name == "stop", "{name}");
        if name == "defer" {
            assert!(before.problems[0].contains("defer"), "{before:?}");
        }
    }
}

#[tokio::test]
async fn what_a_failure_means_is_for_settings_to_say() {
    let allow_then_fail = format!("{}; exit 1", prints(&decides("allow")));
    let ask_then_fail = format!("{}; exit 1", prints(&decides("ask")));
    let table = [
        ("exit 1", "continue", None),
        ("exit 1", "allow", None),
        ("exit 1", "ask", Some(Ask)),
        ("exit 1", "deny", Some(Deny)),
        ("exit 127", "block", Some(Deny)),
        ("echo '{bad'", "block", Some(Deny)),
        ("echo '{bad'", "allow", None),
        (&allow_then_fail, "block", Some(Deny)),
        (&allow_then_fail, "ask", Some(Ask)),
        (&allow_then_fail, "allow", Some(Allow)),
        (&ask_then_fail, "block", Some(Deny)),
        (&ask_then_fail, "allow", Some(Ask)),
        ("echo hello", "block", None),
        ("echo no >&2; exit 2", "allow", Some(Deny)),
    ];
    let stage = Stage::new();
    for (line, on_failure, expected) in table {
        let before = stage.before(&[with(command(line), json!({"onFailure": on_failure}))]).await;
        assert_eq!(verdict(&before), expected, "{line} {on_failure}: {before:?}");
    }
    let missing = json!({"type": "command", "command": "no-such-program-anywhere", "args": [], "onFailure": "block"});
    let before = stage.before(&[missing]).await;
    assert_eq!(verdict(&before), Some(Deny));
    assert!(message(&before).contains("could not be started"), "{before:?}");
    assert!(message(&before).contains("onFailure"), "{before:?}");
}

#[tokio::test]
async fn the_strictest_answer_counts() {
    let table: [(&[&str], Option<Verdict>, &str); 8] = [
        (&["allow", "ask"], Some(Ask), "reason to ask"),
        (&["ask", "allow"], Some(Ask), "reason to ask"),
        (&["ask", "deny"], Some(Deny), "reason to deny"),
        (&["deny", "allow"], Some(Deny), "reason to deny"),
        (&["allow", "defer"], Some(Allow), "reason to allow"),
        (&["allow", "allow"], Some(Allow), "reason to allow"),
        (&["defer", "defer"], None, ""),
        (&["allow", "maybe"], Some(Ask), "`maybe`"),
    ];
    let stage = Stage::new();
    for (decisions, expected, reason) in table {
        // The second is told apart from an identical first.
        let line = |(number, decision): (usize, &&str)| format!(": {number}; {}", prints(&decides(decision)));
        let hooks: Vec<Value> = decisions.iter().enumerate().map(line).map(|line| command(&line)).collect();
        let before = stage.before(&hooks).await;
        assert_eq!(verdict(&before), expected, "{decisions:?}: {before:?}");
        assert!(message(&before).starts_with(reason) || reason == "`maybe`", "{decisions:?}: {before:?}");
    }
}

#[tokio::test]
async fn everybody_who_denies_is_heard() {
    let stage = Stage::new();
    let hooks = [command("echo one >&2; exit 2"), command("echo two >&2; exit 2")];
    assert_eq!(message(&stage.before(&hooks).await), "one\ntwo");
}

#[tokio::test]
async fn a_changed_input_replaces_the_whole() {
    let stage = Stage::new();
    let to = |text: &str| json!({"updatedInput": {"command": text}});
    let allow = |text: &str| own(with(to(text), json!({"permissionDecision": "allow"})));
    let hooks = |answers: &[Value]| -> Vec<Value> {
        answers.iter().enumerate().map(|(at, answer)| command(&format!(": {at}; {}", prints(answer)))).collect()
    };
    let table = [
        ("alone, undecided", vec![own(to("pwd"))], None, Some("pwd")),
        ("with allow", vec![allow("pwd")], Some(Allow), Some("pwd")),
        ("with ask", vec![own(with(to("pwd"), json!({"permissionDecision": "ask"})))], Some(Ask), Some("pwd")),
        ("with deny", vec![own(with(to("pwd"), json!({"permissionDecision": "deny"})))], Some(Deny), None),
        ("no change", vec![allow("ls")], Some(Allow), None),
        ("the same change twice", vec![allow("pwd"), own(to("pwd"))], Some(Allow), Some("pwd")),
        ("different changes", vec![own(to("pwd")), own(to("date"))], Some(Ask), Some("pwd")),
        ("different changes, allowed", vec![allow("pwd"), allow("date")], Some(Ask), Some("pwd")),
        ("an allow of another input", vec![decides("allow"), own(to("pwd"))], None, Some("pwd")),
        ("an ask about another input", vec![decides("ask"), own(to("pwd"))], Some(Ask), Some("pwd")),
        ("denied by another", vec![allow("pwd"), decides("deny")], Some(Deny), None),
    ];
    for (name, answers, expected, changed) in table {
        let before = stage.before(&hooks(&answers)).await;
        assert_eq!(verdict(&before), expected, "{name}: {before:?}");
        assert_eq!(before.changed, changed.map(Call::shell), "{name}: {before:?}");
        let conflict = before.problems.iter().any(|problem| problem.contains("different ways"));
        assert_eq!(conflict, name.starts_with("different changes"), "{name}");
    }
}

#[tokio::test]
async fn words_for_the_model_and_the_person_are_kept_and_cut() {
    let stage = Stage::new();
    let answer = with(own(json!({"additionalContext": "read this"})), json!({"systemMessage": "look here"}));
    let before = stage.before(&[command(&prints(&answer))]).await;
    assert_eq!(
        (before.said, before.context, before.notices),
        (None, vec!["read this".into()], vec!["look here".into()])
    );
    let long = own(json!({"permissionDecision": "deny", "permissionDecisionReason": "ä".repeat(10_500)}));
    let before = stage.before(&[command(&prints(&long))]).await;
    assert_eq!(message(&before).chars().count(), 10_000);
}

#[tokio::test]
async fn identical_hooks_run_once() {
    let stage = Stage::new();
    let line = "echo ran >> ran";
    let entry = |matcher: &str| json!({"matcher": matcher, "hooks": [command(line)]});
    let user = json!({"hooks": {"PreToolUse": [entry("Bash"), entry("*"), entry("B.*")]}});
    let flag = json!({"hooks": {"PreToolUse": [entry("Bash")]}});
    let loaded = stage.loaded(&[(Layer::User, user), (Layer::Flag, flag)]);
    let runner = Runner::new(&loaded, environment());
    runner.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
    assert_eq!(stage.read("ran"), "ran\n");
}

#[tokio::test]
async fn only_matching_hooks_run() {
    let stage = Stage::new();
    let entry = |matcher: &str, condition: Option<&str>| {
        let hook = command(&format!("echo '{matcher}' >> ran"));
        let hook = condition.map_or(hook.clone(), |condition| with(hook, json!({"if": condition})));
        json!({"matcher": matcher, "hooks": [hook]})
    };
    let entries = [
        entry("Bash", None),
        entry("Edit.*", None),
        entry("(?=Bash)", None),
        entry("Bash|X", Some("Bash(git push *)")),
        entry("Bash|Y", Some("Bash(ls *)")),
        entry("Bash|Z", Some("Bash(ls")),
    ];
    let runner = stage.runner(json!({"hooks": {"PreToolUse": entries}}));
    let before = runner.before(&Call::shell("ls src"), &stage.occasion()).await.unwrap();
    let mut ran: Vec<String> = stage.read("ran").lines().map(str::to_owned).collect();
    ran.sort();
    assert_eq!(ran, ["(?=Bash)", "Bash", "Bash|Y", "Bash|Z"]);
    assert_eq!((before.said, before.problems.len()), (None, 2), "{:?}", before.problems);
    let notebook = Call::new("NotebookEdit", json!({"notebook_path": "x.ipynb", "new_source": ""}));
    runner.before(&notebook, &stage.occasion()).await.unwrap();
    assert!(stage.read("ran").contains("Edit.*"), "an unanchored pattern finds the longer name");
}

#[tokio::test]
async fn nothing_runs_where_no_hook_is() {
    let stage = Stage::new();
    let runner = stage.runner(on("PostToolUse", &[command("echo ran > ran")]));
    let watched: Vec<Event> = Event::ALL.into_iter().filter(|event| runner.watches(*event)).collect();
    assert_eq!(watched, [Event::PostToolUse]);
    assert_eq!(runner.before(&Call::shell("ls"), &stage.occasion()).await, None);
    assert_eq!(runner.request(&Call::shell("ls"), &stage.occasion()).await, None);
    assert!(!runner.denied(&Call::shell("ls"), &stage.occasion(), "no").await);
    assert!(!stage.path("ran").exists());
}

#[tokio::test]
async fn settings_say_which_hooks_may_run() {
    let stage = Stage::new();
    let hooks = |name: &str| on("PreToolUse", &[command(&format!("echo {name} >> ran"))]);
    let off = json!({"disableAllHooks": true});
    let table = [
        (vec![(Layer::Project, hooks("project"))], ""),
        (vec![(Layer::User, with(hooks("user"), off.clone()))], ""),
        (vec![(Layer::User, with(hooks("user"), off.clone())), (Layer::Managed, hooks("managed"))], "managed\n"),
        (vec![(Layer::Managed, with(hooks("managed"), off))], ""),
        (
            vec![
                (Layer::Managed, with(hooks("managed"), json!({"allowManagedHooksOnly": true}))),
                (Layer::User, hooks("user")),
            ],
            "managed\n",
        ),
    ];
    for (layers, expected) in table {
        let _ = std::fs::remove_file(stage.path("ran"));
        let runner = Runner::new(&stage.loaded(&layers), environment());
        let _ = runner.before(&Call::shell("ls"), &stage.occasion()).await;
        assert_eq!(stage.read("ran"), expected, "{layers:?}");
    }
}

/// What a hook is called by, and what it complains about, goes to the model: without the secrets in it, also where a long
/// line is cut within one.
#[tokio::test]
async fn a_failing_hook_is_told_of_without_its_secrets() {
    let token = format!("sk-ant-{}", "a1B2".repeat(10));
    let long = format!(": {}; Bearer {token}", "x".repeat(55));
    let hooks = [
        json!({"type": "http", "url": "http://user:hunter2pass@127.0.0.1:1/x"}),
        command(&format!("exit 1 # Bearer {token}")),
        command(&format!("echo {}{token} >&2; exit 3", "y ".repeat(95))),
        command(&long),
        command(&prints(&decides(&token))),
        with(command("exit 4"), json!({"if": format!("Bash({token}")})),
    ];
    let stage = Stage::new();
    let before = stage.before(&hooks).await;
    assert_eq!(before.problems.len(), 7, "{before:?}");
    let told = format!("{before:?}");
    assert!(told.contains("[secret]"), "{told}");
    for part in ["hunter2pass", "sk-ant-a1B2", "a1B2a1B2"] {
        assert!(!told.contains(part), "{part}: {told}");
    }
}

/// A hook that nobody can run is no reason to go without it.
#[tokio::test]
async fn a_hook_that_settings_do_not_say_whole_fails() {
    let stage = Stage::new();
    let said = async |event: &str, tool: &str, entries: Value| {
        let loaded = stage.loaded(&[(Layer::Managed, json!({"hooks": {event: entries}}))]);
        assert!(!loaded.problems().is_empty(), "{entries}");
        let (runner, call) = (Runner::new(&loaded, environment()), Call::new(tool, json!({"command": "ls"})));
        let before = runner.before(&call, &stage.occasion()).await;
        let asked = runner.request(&call, &stage.occasion()).await;
        (before.map(|before| (verdict(&before), message(&before).to_owned())), asked)
    };
    let bash = |handler: Value| json!([{"matcher": "Bash", "hooks": [handler]}]);
    let table = [
        (bash(json!({"type": "command"})), Some(Ask), "the hook (managed <managed>) cannot be run"),
        (bash(json!({"type": "command", "onFailure": "deny"})), Some(Deny), "onFailure"),
        (bash(json!({"type": "command", "onFailure": "allow"})), None, ""),
        (bash(json!({"type": "shell", "command": "x"})), Some(Ask), "`type`"),
        (bash(json!({"type": "command", "command": "true", "args": [1]})), Some(Ask), "`args`"),
        (json!([{"matcher": "Bash"}]), Some(Ask), "`matcher` and `hooks`"),
    ];
    for (entries, expected, reason) in table {
        let (before, _) = said("PreToolUse", "Bash", entries.clone()).await;
        let (verdict, message) = before.unwrap();
        assert_eq!(verdict, expected, "{entries}");
        assert!(message.contains(reason), "{entries}: {message}");
        assert_eq!(said("PreToolUse", "Read", entries).await.0, None, "its matcher does not name the tool");
    }
    for entries in [json!({}), json!([5]), json!([{"matcher": 5, "hooks": [{"type": "command"}]}])] {
        assert_eq!(said("PreToolUse", "Read", entries).await.0.unwrap().0, Some(Ask));
    }
    let (_, asked) = said("PermissionRequest", "Bash", bash(json!({"type": "command"}))).await;
    let asked = asked.unwrap();
    assert_eq!(asked.answer, None);
    assert!(asked.problems[0].contains("cannot be run"), "{asked:?}");
}
