//! The page, in a real browser, before a real server: what people see, press and type, and what comes of it.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::page::{Asked, Browser, DARK, Hearing, LIGHT, Look, PHONE, Window};
use mayi_server_tests::{Client, Options, Server, told};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A server, an agent that asks it, and a browser.
struct House {
    server: Server,
    agent: Client,
    browser: Browser,
}

impl House {
    async fn open(name: &str) -> Result<Self> {
        let options = Options::sqlite(&format!("page-{name}"))?;
        options.settings(&json!({"permissions": {"allow": ["Bash(make:*)"], "deny": ["Bash(sudo:*)"]}}))?;
        // A project of its own: the rules that people write stay in it.
        fs::create_dir_all(options.home.join(".git"))?;
        let server = Server::start(options)?;
        let agent = server.client("agent")?;
        let begun = json!({"id": "s1", "agent": "claude-code", "directory": "/w", "host": "build-07"});
        let begun = agent.post("/v1/sessions", &begun).await?;
        ensure!(begun.status == 201, "{begun:?}");
        Ok(Self { server, agent, browser: Browser::open()? })
    }

    fn line(command: &str) -> Value {
        json!({"tool": "Bash", "input": {"command": command}, "cwd": "/w", "session": "s1", "agent": "claude-code", "host": "build-07"})
    }

    /// Asks about a command and goes on: the name of the question.
    async fn ask(&self, command: &str) -> Result<String> {
        let reply = self.agent.post("/v1/decide", &Self::line(command)).await?;
        reply.text("/approval/id")
    }

    /// Asks about a command and waits for a person.
    fn wait_for(&self, command: &str) -> JoinHandle<Result<Value>> {
        let mut line = Self::line(command);
        line["wait_seconds"] = 120.into();
        let agent = self.agent.clone();
        tokio::spawn(async move { agent.post("/v1/decide", &line).await?.json() })
    }

    /// Somebody who came in by the link.
    fn person(&self, look: Look) -> Result<Window> {
        let window = self.browser.window("admin", &self.server.sign_in_link()?, look)?;
        window.see("#top")?;
        Ok(window)
    }

    /// Somebody who came in with the token of a role.
    fn holder(&self, role: &str, hearing: Hearing) -> Result<Window> {
        let window = self.browser.window_that(hearing, role, (&self.server.base(), LIGHT))?;
        window.fill("#token", self.server.options().tokens.get(role).context("no token")?)?;
        window.click("Sign in")?;
        Ok(window)
    }

    async fn approval(&self, id: &str) -> Result<Value> {
        self.server.client("auditor")?.get(&format!("/v1/approvals/{id}")).await?.json()
    }
}

/// The answer that a window sent.
fn answer_of(asked: &[Asked]) -> Result<&Asked> {
    let answer = asked.iter().find(|one| one.method == "POST" && one.address.ends_with("/answer"));
    answer.with_context(|| format!("no answer among {asked:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_comes_up_by_itself_and_a_yes_reaches_the_agent_that_waits() -> Result<()> {
    let house = House::open("approve").await?;
    let person = house.person(LIGHT)?;
    person.read("main", "Nothing waits for you.")?;
    assert_eq!(person.run("document.title")?, "mayi");
    let waiting = house.wait_for("git push origin main");
    person.read(".command", "git push origin main")?;
    assert_eq!(person.run("document.title")?, "(1) mayi");
    assert_eq!(person.attribute("#icon", "href")?, "/icon-1.svg");
    for (part, words) in [
        (".facts", "claude-code"),
        (".facts", "build-07"),
        (".facts", "/w"),
        (".why", "sends to the network"),
        (".path", "fallback"),
        (".effects", "sends to the network"),
    ] {
        person.read(part, words)?;
    }
    person.click("Approve once")?;
    person.read(".settled", "Allowed once by")?;
    let told = waiting.await??;
    assert_eq!((&told["verdict"], &told["step"]), (&json!("allow"), &json!("4e")), "{told:#}");
    assert_eq!(person.run("document.title")?, "mayi");
    let asked = person.asked()?;
    assert!(answer_of(&asked)?.body.get("rule").is_none_or(Value::is_null), "once brings no rule");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_takes_its_comment_to_the_agent() -> Result<()> {
    let house = House::open("deny").await?;
    let person = house.person(LIGHT)?;
    let waiting = house.wait_for("npm publish");
    person.read(".command", "npm publish")?;
    person.click("Deny")?;
    person.fill("#comment", "Not from a laptop: the release job <b>publishes</b>.")?;
    person.click_on("dialog button.deny")?;
    person.read(".settled", "the release job <b>publishes</b>.")?;
    let told = waiting.await??;
    assert_eq!(told["verdict"], "deny", "{told:#}");
    assert!(told["message"].as_str().is_some_and(|words| words.contains("Not from a laptop")), "{told:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn always_writes_the_very_rule_that_was_shown() -> Result<()> {
    let house = House::open("always").await?;
    let person = house.person(LIGHT)?;
    let cases = [("Session", "session", "git push origin main"), ("Always", "always", "cargo add serde")];
    for (before, (button, remember, command)) in cases.into_iter().enumerate() {
        let id = house.ask(command).await?;
        person.go(&format!("{}/#/approvals/{id}", house.server.base()))?;
        person.read(".command", command)?;
        person.asked()?;
        person.click(button)?;
        let rule = person.text("dialog label:has(input[name=offer]:checked) .rule")?;
        let layer = person.text("dialog label:has(input[name=layer]:checked) strong")?;
        person.click("Approve and write the rule")?;
        person.read(".settled", &rule)?;
        // Everybody is told of the answer at once; whoever gave it, when the rule is written.
        person.wait(&format!(
            "document.getElementById('announce').textContent.split('by you').length > {}",
            before + 1
        ))?;
        let sent = answer_of(&person.asked()?)?.body.clone();
        assert_eq!(sent["rule"], json!(rule), "{button}");
        assert_eq!(sent["remember"], remember, "{button}");
        assert_eq!(sent["layer"].as_str().map(str::to_lowercase), Some(layer.to_lowercase()), "{button}");
        let kept = house.approval(&id).await?;
        assert_eq!(kept["answer"]["rule"], json!(rule), "{kept:#}");
        let again = house.agent.post("/v1/decide", &House::line(command)).await?;
        assert_eq!(again.text("/verdict")?, "allow", "{button}: {again:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_people_the_second_is_told_who_was_first() -> Result<()> {
    let house = House::open("race").await?;
    let id = house.ask("npm publish").await?;
    let (first, second) = (house.holder("approver", Hearing::Well)?, house.holder("admin", Hearing::Deaf)?);
    for window in [&first, &second] {
        window.read(".command", "npm publish")?;
    }
    first.click("Deny")?;
    first.click_on("dialog button.deny")?;
    first.read(".settled", "Denied")?;
    // The second has heard nothing and still sees the buttons.
    second.click("Approve once")?;
    second.read("#toast", "approver answered before you: denied")?;
    second.read(".settled", "Denied by first approver")?;
    let kept = house.approval(&id).await?;
    assert_eq!((&kept["answer"]["verdict"], &kept["answer"]["by"]), (&json!("deny"), &json!("first approver")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_was_writing_is_told_that_others_answered() -> Result<()> {
    let house = House::open("overtaken").await?;
    let id = house.ask("npm publish").await?;
    let person = house.person(LIGHT)?;
    person.click("Deny")?;
    person.see("dialog")?;
    let digest = house.approval(&id).await?["question"]["digest"].as_str().context("no digest")?.to_owned();
    let answered = house.server.client("approver")?.answer(&id, &digest, "allow").await?;
    ensure!(answered.status == 200, "{answered:?}");
    person.read("#toast", "approver was first: allowed")?;
    person.miss("dialog")?;
    person.read(".settled", "Allowed once by first approver")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_done_without_a_mouse() -> Result<()> {
    let house = House::open("keys").await?;
    let (one, two) = (house.ask("npm publish").await?, house.ask("git push origin main").await?);
    let person = house.person(LIGHT)?;
    person.press(&["g", "i"])?;
    person.read("h1", "Insights")?;
    person.press(&["g", "a"])?;
    person.read(".command", "npm publish")?;
    person.press(&["j"])?;
    person.read(".command", "git push origin main")?;
    person.press(&["k"])?;
    person.read(".command", "npm publish")?;
    person.see("button[data-key=d]:not([disabled])")?;
    person.press(&["d"])?;
    person.see("#comment")?;
    assert_eq!(person.focus()?, "textarea comment");
    person.write("use the release job, all day")?;
    person.press(&["Control+Enter"])?;
    person.read(".settled", "use the release job, all day")?;
    person.press(&["n"])?;
    person.read(".command", "git push origin main")?;
    person.see("button[data-key=w]:not([disabled])")?;
    person.press(&["w"])?;
    person.see("dialog")?;
    person.press(&["Escape"])?;
    person.miss("dialog")?;
    person.press(&["a"])?;
    person.read(".settled", "Allowed once")?;
    for (id, verdict) in [(one, "deny"), (two, "allow")] {
        assert_eq!(house.approval(&id).await?["answer"]["verdict"], verdict);
    }
    person.press(&["/"])?;
    assert_eq!(person.focus()?, "input filter");
    person.write("nothing like this")?;
    person.read(".rows", "No question fits the filter.")?;
    person.press(&["Escape", "?"])?;
    person.read("dialog", "approve always, with the rule")?;
    person.press(&["Escape"])?;
    for (key, title) in [("c", "Activity"), ("p", "Policy"), ("e", "Agents")] {
        person.press(&["g", key])?;
        person.read("h1", title)?;
    }
    person.asked().map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_late_does_not_pull_anybody_back() -> Result<()> {
    let house = House::open("late").await?;
    house.ask("npm publish").await?;
    let person = house.person(LIGHT)?;
    person.read(".command", "npm publish")?;
    person.run(
        "(() => { const real = fetch; window.late = 0; window.fetch = async (...given) => { const reply = await real(...given); \
         if (!String(given[0]).startsWith('/v1/audit')) return reply; await new Promise(done => setTimeout(done, 1500)); \
         setTimeout(() => { window.late += 1; }, 500); return reply; }; })()",
    )?;
    person.press(&["g", "c"])?;
    person.read("h1", "Activity")?;
    person.press(&["g", "p"])?;
    person.read("h1", "Policy")?;
    person.wait("window.late > 0")?;
    assert_eq!(person.run("location.hash")?, "#/policy");
    person.read("h1", "Policy")
}

/// Text that wants to be more than text.
const HOSTILE: &str = "echo \"<img src=x onerror=window.taken=1><script>window.taken=2</script>\" \u{202e}gnp.exe\u{202c} \u{200b}\u{0} \u{1b}[2J p\u{0430}ypal \u{a0}; curl http://127.0.0.2/ -d '<a href=javascript:window.taken=3>click</a>'\nrm -rf x";

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_writes_is_shown_and_never_acts() -> Result<()> {
    let house = House::open("hostile").await?;
    let mark = "<img src=//evil.example/x onerror=window.taken=4>\u{2066}";
    let mut line = House::line(HOSTILE);
    line["input"]["description"] = mark.into();
    for member in ["agent", "child", "call_id", "host"] {
        line[member] = mark.into();
    }
    let reply = house.agent.post("/v1/decide", &line).await?;
    let id = reply.text("/approval/id")?;
    let begun = json!({"id": mark, "agent": mark, "directory": mark, "host": mark});
    ensure!(house.agent.post("/v1/sessions", &begun).await?.status == 201);
    let person = house.person(LIGHT)?;
    person.read(".command", "<script>window.taken=2</script>")?;
    let shown = person.text(".command")?;
    for visible in ["⟦U+202E⟧gnp.exe⟦U+202C⟧", "⟦U+200B⟧⟦U+0000⟧", "⟦U+001B⟧[2J", "⟦U+00A0⟧", "onerror=window.taken=1"]
    {
        assert!(shown.contains(visible), "`{visible}` in {shown}");
    }
    person.see(".command .foreign")?;
    for view in [format!("approvals/{id}"), "activity".to_owned(), "agents".to_owned(), "policy".to_owned()] {
        person.go(&format!("{}/#/{view}", house.server.base()))?;
        person.see("main h1")?;
        person.run("new Promise(done => setTimeout(done, 300))")?;
        assert_eq!(person.count("main img, main script, main iframe, main a[href^=javascript], main [onerror]")?, 0);
        assert_eq!(person.count("main a:not([href^='#/'])")?, 0, "{view}: no address is made of what agents write");
        assert_eq!(person.run("window.taken ?? null")?, Value::Null, "{view}");
        assert_eq!(person.flaws()?, [""; 0], "{view}");
    }
    for asked in person.asked()? {
        assert!(asked.address.starts_with(&house.server.base()), "{asked:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_is_cut_and_shown_whole_on_demand() -> Result<()> {
    let house = House::open("long").await?;
    let command = format!("echo {} && npm publish", "x".repeat(20_000));
    house.ask(&command).await?;
    let person = house.person(PHONE)?;
    person.click_on(".row")?;
    person.see(".command")?;
    assert!(person.text(".command")?.len() < 4000);
    person.click("Show all")?;
    assert!(person.text(".command")?.contains("npm publish"));
    assert_eq!(person.flaws()?, [""; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_is_found_again() -> Result<()> {
    let mut house = House::open("restart").await?;
    let person = house.person(LIGHT)?;
    person.see("#connection[data-state=open]")?;
    let options = house.server.kill()?;
    person.read("#connection", "reconnecting")?;
    house.server = Server::start(options)?;
    house.agent = house.server.client("agent")?;
    let id = house.ask("npm publish").await?;
    person.see("#connection[data-state=open]")?;
    person.read(".command", "npm publish")?;
    person.click("Approve once")?;
    person.read(".settled", "Allowed once")?;
    assert_eq!(house.approval(&id).await?["state"], "answered");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_whose_time_is_over_says_so() -> Result<()> {
    let house = House::open("expired").await?;
    let id = house.ask("npm publish").await?;
    let mut question = house.approval(&id).await?["question"].clone();
    question["call_id"] = "second".into();
    let put = house.agent.post("/v1/approvals", &json!({"question": question, "timeout_seconds": 1})).await?;
    let short = put.text("/id")?;
    let person = house.person(LIGHT)?;
    person.go(&format!("{}/#/approvals/{short}", house.server.base()))?;
    person.read(".settled", "Expired")?;
    person.read(".settled", "so it was denied")?;
    assert_eq!(person.count(".answers button")?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn people_come_in_by_a_link_that_works_once_and_see_what_their_role_may() -> Result<()> {
    let house = House::open("roles").await?;
    house.ask("npm publish").await?;
    let link = house.server.sign_in_link()?;
    let person = house.person(LIGHT)?;
    let address = person.run("location.href")?;
    assert!(address.as_str().is_some_and(|address| !address.contains("sign-in")), "the code is gone: {address}");
    assert_eq!(person.run("document.cookie")?, "", "no script sees the cookie");
    let late = house.browser.window("late", &link, LIGHT)?;
    late.read(".problem", "each works once")?;
    assert!(!late.run("location.href")?.to_string().contains("sign-in="));
    let auditor = house.holder("auditor", Hearing::Well)?;
    auditor.read(".command", "npm publish")?;
    auditor.read(".foot", "others answer it")?;
    assert_eq!(auditor.count(".answers button")?, 0);
    auditor.press(&["a"])?;
    auditor.press(&["g", "e"])?;
    auditor.read(".tree", "claude-code")?;
    assert_eq!(auditor.count(".tree select, .tree button")?, 0);
    let agent = house.holder("agent", Hearing::Well)?;
    agent.read(".problem", "This token is for an agent")?;
    person.read(".command", "npm publish")?;
    person.click("Sign out")?;
    person.see("#token")?;
    person.go(&format!("{}/#/approvals", house.server.base()))?;
    person.see("#token")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_seen_as_they_are_made_and_their_path_is_drawn() -> Result<()> {
    let house = House::open("activity").await?;
    house.agent.post("/v1/decide", &House::line("make build")).await?;
    let person = house.person(LIGHT)?;
    person.press(&["g", "c"])?;
    person.read(".rows", "make build")?;
    house.agent.post("/v1/decide", &House::line("sudo reboot")).await?;
    person.read(".rows", "sudo reboot")?;
    person.choose("select[name=verdict]", "deny")?;
    person.wait("document.querySelectorAll('.row.decision').length === 1")?;
    person.click_on(".row.decision")?;
    person.read("article h2", "deny")?;
    person.read(".path", "Bash(sudo:*)")?;
    person.see(".map .stop[data-finding=deny]")?;
    person.read("article", "link of the chain")?;
    person.fill("input[name=text]", "no such text anywhere")?;
    person.read(".rows", "No")?;
    person.asked().map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_playground_decides_and_leaves_no_trace() -> Result<()> {
    let house = House::open("playground").await?;
    let person = house.person(LIGHT)?;
    person.press(&["g", "p"])?;
    person.read(".layers", "Bash(sudo:*)")?;
    person.read(".layers", "settings.json:")?;
    person.press(&["t"])?;
    person.write("sudo reboot")?;
    person.press(&["Enter"])?;
    person.read(".outcome", "deny")?;
    person.read(".result .path", "Bash(sudo:*)")?;
    person.choose("select[name=mode]", "bypassPermissions")?;
    person.fill("#playground", "npm publish")?;
    person.click("Decide")?;
    person.wait("!document.querySelector('.outcome').textContent.includes('deny')")?;
    let records = house.server.client("auditor")?.get("/v1/audit?kind=decision").await?.json()?;
    assert_eq!(records["records"], json!([]));
    let waiting = house.server.client("auditor")?.get("/v1/approvals").await?.json()?;
    assert_eq!(waiting["approvals"], json!([]));
    person.asked().map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_changed_and_ended_after_a_second_word() -> Result<()> {
    let house = House::open("agents").await?;
    let child = json!({"id": "s1-child", "agent": "explorer", "directory": "/w", "lead": "s1"});
    ensure!(house.agent.post("/v1/sessions", &child).await?.status == 201);
    let person = house.person(LIGHT)?;
    person.press(&["g", "e"])?;
    person.see("[data-session=s1] > ul > [data-session=s1-child]")?;
    person.choose("[data-session=s1] > .agent select", "plan")?;
    person.click("Cancel")?;
    let mode = |of: Value| of["mode"].clone();
    let sessions = house.server.client("auditor")?;
    assert_eq!(mode(sessions.get("/v1/sessions/s1").await?.json()?), "default", "nothing happens without it");
    person.choose("[data-session=s1] > .agent select", "plan")?;
    person.click("Change to Plan")?;
    person.see("[data-session=s1] > .agent select[data-mode=plan]")?;
    assert_eq!(mode(sessions.get("/v1/sessions/s1").await?.json()?), "plan");
    person.click("End session s1-child")?;
    person.click("End the session")?;
    person.miss("[data-session=s1-child]")?;
    assert!(sessions.get("/v1/sessions/s1-child").await?.json()?["ended"].is_u64());
    person.asked().map(drop)
}

/// Asks about a call of some tool and goes on: the name of the question.
async fn ask_about(house: &House, tool: &str, input: Value) -> Result<String> {
    let line = json!({"tool": tool, "input": input, "cwd": "/w", "session": "s1", "agent": "claude-code"});
    house.agent.post("/v1/decide", &line).await?.text("/approval/id")
}

/// The rows of a kind in the changes that are shown.
fn rows(window: &Window, kind: &str) -> Result<Vec<String>> {
    let all =
        format!("[...document.querySelectorAll('.diff .row[data-kind={kind}]')].map(row => row.textContent.trimEnd())");
    let found = window.run(&all)?;
    Ok(found.as_array().context("no rows")?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_shown_as_the_change_that_it_makes() -> Result<()> {
    let house = House::open("edits").await?;
    let person = house.person(LIGHT)?;
    let show = |id: &str| -> Result<()> {
        person.go(&format!("{}/#/approvals/{id}", house.server.base()))?;
        person.see(&format!("article[data-id={id}] .diff"))
    };
    let before = (0..30).map(|number| format!("line {number}\n")).collect::<String>();
    let after = before.replace("line 15\n", "\tline fifteen\n<img src=x onerror=window.taken=1>\u{202e}\n");
    let edit = json!({"file_path": "/w/.git/config", "old_string": before, "new_string": after});
    show(&ask_about(&house, "Edit", edit).await?)?;
    assert_eq!(rows(&person, "removed")?, ["-line 15"]);
    assert_eq!(rows(&person, "added")?, ["+\tline fifteen", "+<img src=x onerror=window.taken=1>⟦U+202E⟧"]);
    assert_eq!(rows(&person, "same")?.len(), 6, "a little of what stays around it");
    assert_eq!(rows(&person, "hunk")?, ["(12 unchanged)", "(11 unchanged)"]);
    person.picture(&pictures()?.join("edit-light.png"))?;
    let edits =
        json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "", "replace_all": true}]);
    show(&ask_about(&house, "MultiEdit", json!({"file_path": "/w/.git/x", "edits": edits})).await?)?;
    assert_eq!(
        (rows(&person, "removed")?, rows(&person, "added")?),
        (vec!["-a".into(), "-c".into()], vec!["+b".into()])
    );
    person.read("article", "wherever it stands in the file")?;
    let long = (0..500).map(|number| format!("{number}\n")).collect::<String>();
    show(&ask_about(&house, "Write", json!({"file_path": "/w/.git/y", "content": long})).await?)?;
    assert_eq!(rows(&person, "added")?.len(), 120, "a long text is cut");
    person.click("Show all (380 more lines)")?;
    assert_eq!(rows(&person, "added")?.len(), 500);
    let cell =
        json!({"notebook_path": "/w/.git/n.ipynb", "cell_id": "c1", "new_source": "print(1)", "edit_mode": "replace"});
    show(&ask_about(&house, "NotebookEdit", cell).await?)?;
    assert_eq!(rows(&person, "added")?, ["+print(1)"]);
    person.read("article", "edit_mode")?;
    assert_eq!(person.run("window.taken ?? null")?, Value::Null);
    assert_eq!(person.flaws()?, [""; 0]);
    person.asked().map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_that_came_along_is_shown_as_text() -> Result<()> {
    let house = House::open("preview").await?;
    let id = house.ask("npm publish").await?;
    let mut question = house.approval(&id).await?["question"].clone();
    let token = format!("ghp_{}", "a1B2".repeat(9));
    question["call_id"] = "previewed".into();
    question["preview"] =
        format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+<script>window.taken=1</script> {token}\n").into();
    let put = house.agent.post("/v1/approvals", &json!({"question": question, "timeout_seconds": 60})).await?;
    let person = house.person(DARK)?;
    person.go(&format!("{}/#/approvals/{}", house.server.base(), put.text("/id")?))?;
    person.read("article", "What it would change")?;
    assert_eq!(rows(&person, "added")?, ["+<script>window.taken=1</script> [secret]"]);
    assert_eq!(rows(&person, "file")?, ["--- a/x", "+++ b/x"]);
    assert_eq!(person.run("window.taken ?? null")?, Value::Null);
    person.picture(&pictures()?.join("preview-dark.png"))?;
    question["preview"] = "x".repeat(200_000).into();
    question["call_id"] = "too long".into();
    let put = house.agent.post("/v1/approvals", &json!({"question": question})).await?;
    ensure!(put.status == 422 && put.body.contains("preview"), "{put:?}");
    person.asked().map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_session_shows_what_was_decided_in_it_since_it_began() -> Result<()> {
    let house = House::open("counters").await?;
    let child = json!({"id": "s1-child", "agent": "explorer", "directory": "/w", "lead": "s1", "mode": "plan"});
    ensure!(house.agent.post("/v1/sessions", &child).await?.status == 201);
    let lines: Vec<String> = (0..600).map(|_| House::line("make build").to_string()).collect();
    let many = (&[("content-type", "application/x-ndjson")][..], lines.join("\n"));
    house.agent.send(reqwest::Method::POST, "/v1/decide", (many.0, &many.1)).await?.must(200)?;
    house.agent.post("/v1/decide", &House::line("sudo reboot")).await?.must(200)?;
    house.ask("npm publish").await?;
    let person = house.person(LIGHT)?;
    person.press(&["g", "e"])?;
    let of =
        |session: &str, verdict: &str| format!("[data-session={session}] > .agent .counters [data-verdict={verdict}]");
    person.read(&of("s1", "allow"), "600")?;
    person.read(&of("s1", "deny"), "1")?;
    person.read(&of("s1", "ask"), "1")?;
    person.read(&of("s1-child", "allow"), "0")?;
    // What happens meanwhile is added, and counted once.
    let mut line = House::line("make build");
    line["session"] = "s1-child".into();
    house.agent.post("/v1/decide", &line).await?.must(200)?;
    house.agent.post("/v1/decide", &House::line("make build")).await?.must(200)?;
    person.read(&of("s1", "allow"), "601")?;
    person.read(&of("s1-child", "allow"), "1")?;
    person.see("[data-session=s1] > ul > [data-session=s1-child] select[data-mode=plan]")?;
    let one = house.server.client("auditor")?.get("/v1/sessions/s1").await?.json()?;
    assert_eq!(one["counters"], json!({"allow": 601, "ask": 1, "deny": 1}));
    assert_eq!(one["limits"], json!({"inARow": 3, "total": 20}));
    person.asked().map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_classifier_used_is_shown_as_far_as_records_say_it() -> Result<()> {
    let house = House::open("classifier").await?;
    let person = house.person(LIGHT)?;
    person.press(&["g", "i"])?;
    person.read(".plots", "The model behind auto mode.")?;
    let at = person.run("Date.now()")?;
    let judged = |more: Value| {
        let ground = json!({"heard": {"spent": more}});
        json!({"v": 1, "at": at, "kind": "decision", "session": "s9", "tool": "Bash", "input": {"command": "make"},
            "verdict": "allow", "step": "4b.5", "ground": ground})
    };
    let spent =
        json!({"model": "claude-haiku-4-5", "requests": 2, "input": 1200, "output": 30, "usd": 0.0125, "took_ms": 900});
    let own = json!({"model": "own-judge", "requests": 1, "input": 100, "output": 3, "took_ms": 100});
    let records = json!([judged(spent), judged(own), judged(Value::Null)]);
    let shipment = json!({"source": "laptop", "first": 0, "records": records});
    house.agent.post("/v1/audit", &shipment).await?.must(200)?;
    person.press(&["2"])?;
    person.read(".plots", "3 calls, 1 of which do not say what they used.")?;
    person.read(".plots", "What the classifier costs")?;
    person.read(".bars li", "2 requests · 1,200 tokens read · 30 written · $0.0125 · 0.9 s a call")?;
    person.read(".bars li", "price not known")?;
    person.picture(&pictures()?.join("classifier-light.png"))?;
    assert_eq!(person.flaws()?, [""; 0]);
    person.asked().map(drop)
}

fn pictures() -> Result<PathBuf> {
    let folder = told("MAYI_SERVER_SCRATCH")?.join("screenshots");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Something on every view.
async fn lived_in(house: &House) -> Result<String> {
    let child = json!({"id": "s1-child", "agent": "explorer", "directory": "/w/src", "lead": "s1", "mode": "plan"});
    ensure!(house.agent.post("/v1/sessions", &child).await?.status == 201);
    for command in ["make build", "ls -la", "sudo reboot", "cargo test", "git status", "cat README.md", "cargo test"] {
        house.agent.post("/v1/decide", &House::line(command)).await?;
    }
    let settled = house.ask("npm publish").await?;
    let digest = house.approval(&settled).await?["question"]["digest"].as_str().context("no digest")?.to_owned();
    house.server.client("approver")?.answer(&settled, &digest, "deny").await?;
    house.ask("docker compose up -d").await?;
    house.ask("cargo test --workspace && git push --force origin release/2.4 # publish").await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_is_well_in_light_and_dark_and_on_a_phone() -> Result<()> {
    let house = House::open("views").await?;
    let question = lived_in(&house).await?;
    let newest = house.server.client("auditor")?.get("/v1/audit?kind=decision&limit=1").await?.json()?;
    let decision = format!("activity/{}", newest["records"][0]["number"]);
    for look in [LIGHT, DARK, PHONE] {
        let window = house.browser.window(look.name, &house.server.base(), look)?;
        window.see("#token")?;
        window.picture(&pictures()?.join(format!("sign-in-{}.png", look.name)))?;
        assert_eq!(window.flaws()?, [""; 0], "{} sign-in", look.name);
        window.fill("#token", house.server.options().tokens.get("admin").context("no token")?)?;
        window.click("Sign in")?;
        window.see("#connection[data-state=open]")?;
        for (view, ready) in [
            ("approvals", ".row"),
            (format!("approvals/{question}").as_str(), ".answers button:not([disabled])"),
            ("activity", ".row.decision"),
            (decision.as_str(), ".map"),
            ("policy", ".layer"),
            ("insights", ".plot"),
            ("agents", ".agent"),
        ] {
            window.run(&format!("void (location.hash = '#/{view}')"))?;
            window.see(ready)?;
            let (name, of) = view.split_once('/').unwrap_or((view, ""));
            let kind = if of.is_empty() { "" } else { "-one" };
            window.picture(&pictures()?.join(format!("{name}{kind}-{}.png", look.name)))?;
            assert_eq!(window.flaws()?, [""; 0], "{view} {}", look.name);
        }
        window.asked()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn light_and_dark_follow_the_system_until_somebody_chooses() -> Result<()> {
    let house = House::open("theme").await?;
    let person = house.person(DARK)?;
    let paper = |window: &Window| window.run("getComputedStyle(document.body).backgroundColor");
    let dark = paper(&person)?;
    person.click("Switch between light and dark")?;
    let light = paper(&person)?;
    assert_ne!(dark, light);
    person.run("void location.reload()")?;
    person.see("#top")?;
    assert_eq!(paper(&person)?, light, "the choice is kept");
    Ok(())
}
