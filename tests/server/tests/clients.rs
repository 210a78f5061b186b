//! `mayi hook` with a server, as agents run it: its people answer, its policy binds, its books get every record.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use mayi_server_tests::{Client, Options, Server, audit, told, until};
use serde_json::{Value, json};

/// An agent's machine: a home with settings that name a server, and a project.
struct Machine {
    home: PathBuf,
    token: String,
}

impl Machine {
    fn set(name: &str, server: &Server, settings: &Value) -> Result<Self> {
        let home = told("MAYI_SERVER_SCRATCH")?.join(name);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(home.join(".config/mayi"))?;
        fs::create_dir_all(home.join("project"))?;
        let mut settings = settings.clone();
        settings["server"]["url"] = server.base().into();
        fs::write(home.join(".config/mayi/settings.json"), settings.to_string())?;
        Ok(Self { home, token: server.options().tokens.get("agent").context("no token")?.clone() })
    }

    fn mayi(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(told("MAYI_BINARY")?);
        command.args(arguments).env_clear().env("HOME", &self.home).env("PATH", "/usr/bin:/bin");
        command.env("MAYI_SERVER_TOKEN", &self.token).current_dir(self.home.join("project"));
        Ok(command)
    }

    /// Starts the hook of an agent that nobody sits before, for one command.
    fn hook(&self, call: &str, command: &str) -> Result<Child> {
        let message = json!({
            "session_id": "session-1", "transcript_path": "", "cwd": self.home.join("project"), "tool_use_id": call,
            "hook_event_name": "PreToolUse", "permission_mode": "default",
            "tool_name": "Bash", "tool_input": {"command": command},
        });
        let mut hook = self.mayi(&["hook", "claude-code", "--unattended"])?;
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        child.stdin.take().context("no standard input")?.write_all(message.to_string().as_bytes())?;
        Ok(child)
    }

    /// What a hook answers: the decision, and everything that it said.
    fn answer(child: Child) -> Result<(String, String)> {
        let output = child.wait_with_output()?;
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_str(&out).with_context(|| format!("no answer: {said}"))?;
        let decision = answer.pointer("/hookSpecificOutput/permissionDecision").and_then(Value::as_str);
        Ok((decision.with_context(|| format!("no decision: {said}"))?.to_owned(), said))
    }

    /// Carries the records to the server.
    fn ship(&self) -> Result<()> {
        let project = self.home.join("project").display().to_string();
        let output = self.mayi(&["ship", "--cwd", &project])?.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

/// The only question that waits, once there is one: its name and digest.
async fn question(approver: &Client) -> Result<(String, String)> {
    until("the question", || async {
        let list = approver.get("/v1/approvals?state=pending").await?.must(200)?;
        Ok(list.text("/approvals/0/id").ok().zip(list.text("/approvals/0/question/digest").ok()))
    })
    .await
}

/// The commands of this machine's decisions that the server's audit has, in order.
async fn commands(auditor: &Client) -> Result<Vec<String>> {
    let records = audit::exported(auditor).await?;
    let decisions = records.iter().filter(|record| record["kind"] == "decision");
    Ok(decisions.filter_map(|record| Some(record.pointer("/input/command")?.as_str()?.to_owned())).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_at_the_server_answers_for_an_agent_that_nobody_sits_before() -> Result<()> {
    let server = Server::start(Options::sqlite("answers-server")?)?;
    let machine = Machine::set("answers", &server, &json!({}))?;
    let approver = server.client("approver")?;
    for (call, verdict, comment) in [("call-1", "allow", "go on"), ("call-2", "deny", "use the vendored one")] {
        let hook = machine.hook(call, "npm install left-pad")?;
        let (id, digest) = question(&approver).await?;
        let answer = json!({"verdict": verdict, "digest": digest, "comment": comment});
        approver.post(&format!("/v1/approvals/{id}/answer"), &answer).await?.must(200)?;
        let (decision, said) = tokio::task::spawn_blocking(|| Machine::answer(hook)).await??;
        assert_eq!(decision, verdict, "{said}");
        assert!(verdict == "allow" || said.contains(comment), "{said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_organisation_forbids_at_the_server_is_forbidden_at_the_agent() -> Result<()> {
    let mut options = Options::sqlite("forbids-server")?;
    let managed = options.home.join("managed.json");
    fs::write(&managed, json!({"permissions": {"deny": ["Bash(git push:*)"]}}).to_string())?;
    let script = format!(
        "mount -t tmpfs tmpfs /etc && mkdir /etc/mayi && cp '{}' /etc/mayi/managed.json && exec \"$@\"",
        managed.display()
    );
    let words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
    options.before = words.map(str::to_owned).into();
    let server = Server::start(options)?;
    let machine = Machine::set("forbids", &server, &json!({"permissions": {"allow": ["Bash(git push:*)"]}}))?;
    let (decision, said) = Machine::answer(machine.hook("call-1", "git push origin main")?)?;
    assert_eq!(decision, "deny", "{said}");
    // What it fetched binds also while the server is away.
    let options = server.kill()?;
    let (decision, said) = Machine::answer(machine.hook("call-2", "git push origin main")?)?;
    assert_eq!(decision, "deny", "{said}");
    drop(options);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn records_wait_while_the_server_is_away_and_arrive_once() -> Result<()> {
    let server = Server::start(Options::sqlite("spool-server")?)?;
    let machine = Machine::set("spool", &server, &json!({}))?;
    let (decision, said) = Machine::answer(machine.hook("call-0", "git status")?)?;
    assert_eq!(decision, "allow", "{said}");
    let mut options = server.kill()?;
    let mut expected = vec!["git status".to_owned()];
    for round in 1..4 {
        for number in 0..3 {
            let command = format!("git log -{round}{number}");
            let (decision, said) = Machine::answer(machine.hook(&format!("call-{round}-{number}"), &command)?)?;
            assert_eq!(decision, "allow", "what needs nobody goes on: {said}");
            expected.push(command);
        }
        let server = Server::start(options)?;
        let auditor = server.client("auditor")?;
        // A hook may have sent somebody off already, who carries them meanwhile.
        until("the records", || async {
            machine.ship()?;
            Ok((commands(&auditor).await?.len() >= expected.len()).then_some(()))
        })
        .await?;
        // A second time brings nothing twice.
        machine.ship()?;
        assert_eq!(commands(&auditor).await?, expected);
        audit::verified(&auditor).await?;
        options = server.kill()?;
    }
    Ok(())
}
