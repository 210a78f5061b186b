//! Clients that want more than they may: strangers, agents that would answer themselves, pages of other sites, bytes that
//! are almost HTTP, texts that are almost SQL.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::{Client, Options, Reply, Server, audit, raw, until};
use reqwest::Method;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A server with a question that waits.
struct Scene {
    server: Server,
    id: String,
    digest: String,
}

impl Scene {
    async fn set(name: &str) -> Result<Self> {
        let server = Server::start(Options::sqlite(name)?)?;
        let asked = server.client("agent")?.decide("the-question", "npm install left-pad").await?.must(200)?;
        let scene = Self { id: asked.text("/approval/id")?, digest: asked.text("/approval/digest")?, server };
        // Who was good before somebody guessed at the same address stays so.
        scene.is_pending().await?;
        Ok(scene)
    }

    fn answer_path(&self) -> String {
        format!("/v1/approvals/{}/answer", self.id)
    }

    fn answer(&self) -> Value {
        json!({"verdict": "allow", "digest": self.digest})
    }

    /// The question must still wait.
    async fn is_pending(&self) -> Result<()> {
        let kept = self.server.client("approver")?.get(&format!("/v1/approvals/{}", self.id)).await?.must(200)?;
        ensure!(kept.text("/state")? == "pending", "it was answered: {kept:?}");
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_that_is_known_nothing_is_told() -> Result<()> {
    let scene = Scene::set("tokens").await?;
    let stranger = Client::stranger(&scene.server.base())?;
    let token = scene.server.client("admin")?.token().context("no token")?.to_owned();
    let last = if token.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{last}", token.get(..token.len() - 1).unwrap_or_default());
    let (longer, other_role) = (format!("{token}A"), token.replacen("mayi_", "mayi_z", 1));
    let tokens = ["", "mayi_", "x", &changed, &longer, &other_role, "' OR 1=1 --", "mayi_a' OR '1'='1"];
    let paths = [
        "/v1/me",
        "/v1/approvals",
        "/v1/sessions",
        "/v1/audit",
        "/v1/audit/export",
        "/v1/policy",
        "/v1/policy/bundle",
        "/v1/insights",
        "/v1/tokens",
        "/v1/events",
    ];
    // After some of them nobody looks at what this address brings any more.
    let refused = |status: u16| [401, 429].contains(&status);
    for path in paths {
        assert_eq!(stranger.get(path).await?.status, 401, "{path}");
        for token in tokens {
            let reply = stranger.with(token).get(path).await?;
            assert!(refused(reply.status), "{path} {token}: {reply:?}");
        }
        let queried = stranger.get(&format!("{path}?token={token}&access_token={token}")).await?;
        assert_eq!(queried.status, 401, "a token has no place in an address: {path}");
        let basic = stranger.send(Method::GET, path, (&[("authorization", &format!("Basic {token}"))], "")).await?;
        assert!(refused(basic.status), "{path}: {basic:?}");
    }
    let call = json!({"tool": "Bash", "input": {"command": "ls"}});
    for (path, body) in [("/v1/decide", call), (&scene.answer_path(), scene.answer())] {
        assert!(refused(stranger.with(&changed).post(path, &body).await?.status), "{path}");
    }
    scene.is_pending().await?;
    let said = stranger.with(&changed).get("/v1/me").await?.body;
    assert!(!said.contains(&changed), "a token is not repeated: {said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_guesses_tokens_does_not_lock_out_those_who_have_one() -> Result<()> {
    let scene = Scene::set("guesses").await?;
    let (agent, stranger) = (scene.server.client("agent")?, Client::stranger(&scene.server.base())?);
    let guess = format!("mayi_a{}", "A".repeat(43));
    for round in 0..3 {
        for _ in 0..40 {
            stranger.with(&guess).get("/v1/me").await?;
        }
        // Longer than anything is believed without looking.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let reply = agent.decide(&format!("guesses-{round}"), "git status").await?;
        assert_eq!(reply.status, 200, "an agent at the same address is not served: {reply:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_dead_within_a_moment() -> Result<()> {
    let scene = Scene::set("revoked").await?;
    let admin = scene.server.client("admin")?;
    let made = admin.post("/v1/tokens", &json!({"name": "short-lived", "role": "approver"})).await?.must(201)?;
    let approver = Client::stranger(&scene.server.base())?.with(&made.text("/token")?);
    approver.get("/v1/approvals").await?.must(200)?;
    let listed = admin.get("/v1/tokens").await?.must(200)?;
    assert!(!listed.body.contains(&made.text("/token")?), "a token is shown once");
    let id = made.text("/id").or_else(|_| made.text("/state/id"))?;
    let gone = admin.send(Method::DELETE, &format!("/v1/tokens/{id}"), (&[], "")).await?;
    assert!((200..300).contains(&gone.status), "{gone:?}");
    // It may be believed for a moment longer.
    until("the end of the token", || async { Ok((approver.get("/v1/approvals").await?.status == 401).then_some(())) })
        .await?;
    assert_eq!(approver.post(&scene.answer_path(), &scene.answer()).await?.status, 401);
    scene.is_pending().await
}

/// Who may do what: everybody else gets 403 and changes nothing.
const ROLES: &[(&str, &str, &[&str])] = &[
    ("POST", "/v1/decide", &["agent", "admin"]),
    ("POST", "/v1/sessions", &["agent", "admin"]),
    ("POST", "/v1/approvals", &["agent", "admin"]),
    ("POST", "/v1/audit", &["agent", "admin"]),
    ("GET", "/v1/policy/bundle", &["agent", "admin"]),
    ("POST", "ANSWER", &["approver", "admin"]),
    ("PATCH", "/v1/sessions/nobody", &["approver", "admin"]),
    ("GET", "/v1/approvals", &["approver", "admin", "auditor"]),
    ("GET", "/v1/sessions", &["approver", "admin", "auditor"]),
    ("GET", "/v1/policy", &["approver", "admin", "auditor"]),
    ("GET", "/v1/insights", &["approver", "admin", "auditor"]),
    ("GET", "/v1/audit", &["admin", "auditor"]),
    ("GET", "/v1/audit/export", &["admin", "auditor"]),
    ("POST", "/v1/audit/verify", &["admin", "auditor"]),
    ("POST", "/v1/audit/replay", &["admin", "auditor"]),
    ("GET", "/v1/tokens", &["admin"]),
    ("POST", "/v1/tokens", &["admin"]),
    ("DELETE", "/v1/tokens/nothing", &["admin"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_role_may_do_its_own_and_an_agent_never_answers() -> Result<()> {
    let scene = Scene::set("roles").await?;
    for (method, path, allowed) in ROLES {
        for role in ["agent", "approver", "auditor", "admin"] {
            let (path, body) = match *path {
                // A digest that is wrong: who may answer is told so, and the question goes on waiting.
                "ANSWER" => (scene.answer_path(), json!({"verdict": "allow", "digest": "0"})),
                "/v1/decide" => ((*path).to_owned(), json!({"tool": "Bash", "input": {"command": "ls"}, "cwd": "/w"})),
                "/v1/tokens" => ((*path).to_owned(), json!({"name": "of a role", "role": "agent"})),
                path => (path.to_owned(), json!({})),
            };
            let body = if *method == "GET" { String::new() } else { body.to_string() };
            let reply = scene.server.client(role)?.send(method.parse()?, &path, (&[JSON], &body)).await?;
            let refused = reply.status == 403;
            assert_eq!(!refused, allowed.contains(&role), "{role}: {method} {path}: {reply:?}");
            assert!(reply.status < 500, "{role}: {method} {path}: {reply:?}");
        }
    }
    let agent = scene.server.client("agent")?;
    agent.post(&scene.answer_path(), &scene.answer()).await?.must(403)?;
    scene.is_pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_sees_and_ends_only_what_is_its_own() -> Result<()> {
    let scene = Scene::set("own").await?;
    let made = scene
        .server
        .client("admin")?
        .post("/v1/tokens", &json!({"name": "other", "role": "agent"}))
        .await?
        .must(201)?;
    let other = Client::stranger(&scene.server.base())?.with(&made.text("/token")?);
    let agent = scene.server.client("agent")?;
    let session = json!({"id": "mine", "agent": "test", "directory": "/w", "host": "h"});
    agent.post("/v1/sessions", &session).await?.must(201)?;
    for path in [format!("/v1/approvals/{}", scene.id), "/v1/sessions/mine".to_owned()] {
        agent.get(&path).await?.must(200)?;
        for method in [Method::GET, Method::DELETE] {
            let reply = other.send(method.clone(), &path, (&[], "")).await?;
            assert!([403, 404].contains(&reply.status), "{method} {path}: {reply:?}");
        }
        agent.get(&path).await?.must(200)?;
    }
    // Nor does it decide in the other's session, with the other's mode and rules.
    let line = json!({"tool": "Bash", "input": {"command": "git status"}, "cwd": "/w", "session": "mine"});
    let reply = other.post("/v1/decide", &line).await?;
    assert!([403, 404].contains(&reply.status), "{reply:?}");
    scene.is_pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_and_rebound_names_get_nothing() -> Result<()> {
    let scene = Scene::set("origins").await?;
    let approver = scene.server.client("approver")?;
    let port = scene.server.address().port();
    let (foreign_port, https) = (format!("http://127.0.0.1:{}", port ^ 1), format!("https://127.0.0.1:{port}"));
    let origins = [
        "https://evil.example",
        "null",
        "http://evil.example",
        &foreign_port,
        &https,
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "file://",
    ];
    for origin in origins {
        let reply = approver
            .send(Method::POST, &scene.answer_path(), (&[JSON, ("origin", origin)], &scene.answer().to_string()))
            .await?;
        assert_eq!(reply.status, 403, "{origin}: {reply:?}");
        assert!(reply.header("access-control-allow-origin").is_none(), "{origin}: {reply:?}");
    }
    let hosts = [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "169.254.169.254",
        "[::ffff:1.2.3.4]",
        "127.0.0.1@evil.example",
    ];
    for host in hosts.iter().flat_map(|host| [(*host).to_owned(), format!("{host}:{port}")]) {
        for (method, path, body) in [
            (Method::GET, "/v1/me".to_owned(), String::new()),
            (Method::POST, scene.answer_path(), scene.answer().to_string()),
            (Method::GET, "/".to_owned(), String::new()),
        ] {
            let reply = approver.send(method, &path, (&[JSON, ("host", &host)], &body)).await?;
            assert!([400, 403, 421].contains(&reply.status), "{host} {path}: {reply:?}");
        }
    }
    scene.is_pending().await?;
    let own = format!("http://127.0.0.1:{port}");
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        approver.send(Method::GET, "/v1/me", (&[("host", &host)], "")).await?.must(200)?;
    }
    approver
        .send(Method::POST, &scene.answer_path(), (&[JSON, ("origin", &own)], &scene.answer().to_string()))
        .await?
        .must(200)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browsers_cookie_alone_changes_nothing() -> Result<()> {
    let scene = Scene::set("csrf").await?;
    let stranger = Client::stranger(&scene.server.base())?;
    let link = scene.server.sign_in_link()?;
    let code = link.split_once("#sign-in=").context("no code")?.1.to_owned();
    let origin = scene.server.base();
    let own = [JSON, ("origin", origin.as_str())];
    let signed = stranger.send(Method::POST, "/v1/sign-in", (&own, &json!({"code": code}).to_string())).await?;
    assert!((200..300).contains(&signed.status), "{signed:?}");
    let cookie = signed.header("set-cookie").context("no cookie")?.to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.to_lowercase().contains(&word.to_lowercase()), "{word}: {cookie}");
    }
    let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
    let again = stranger.send(Method::POST, "/v1/sign-in", (&own, &json!({"code": code}).to_string())).await?;
    assert!([401, 403, 410].contains(&again.status), "a link works once: {again:?}");
    let me = stranger.send(Method::GET, "/v1/me", (&[("cookie", &cookie)], "")).await?.must(200)?;
    let csrf = me.text("/csrf")?;
    let body = scene.answer().to_string();
    let without: [&[(&str, &str)]; 4] = [
        &[JSON, ("cookie", &cookie)],
        &[JSON, ("cookie", &cookie), ("mayi-csrf", "")],
        &[JSON, ("cookie", &cookie), ("mayi-csrf", "0000")],
        &[
            ("content-type", "text/plain"),
            ("cookie", &cookie),
            ("origin", "https://evil.example"),
            ("mayi-csrf", &csrf),
        ],
    ];
    for headers in without {
        let reply = stranger.send(Method::POST, &scene.answer_path(), (headers, &body)).await?;
        assert_eq!(reply.status, 403, "{headers:?}: {reply:?}");
    }
    scene.is_pending().await?;
    let headers = [JSON, ("cookie", cookie.as_str()), ("origin", &origin), ("mayi-csrf", &csrf)];
    stranger.send(Method::POST, &scene.answer_path(), (&headers, &body)).await?.must(200)?;
    let out = stranger.send(Method::POST, "/v1/sign-out", (&headers, "")).await?;
    assert!((200..400).contains(&out.status), "{out:?}");
    let me = stranger.send(Method::GET, "/v1/me", (&[("cookie", &cookie)], "")).await?;
    assert_eq!(me.status, 401, "a cookie ends with the sign-out: {me:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_for_the_call_that_was_shown_and_no_other() -> Result<()> {
    let scene = Scene::set("replay").await?;
    let (agent, approver) = (scene.server.client("agent")?, scene.server.client("approver")?);
    let other = agent.decide("other", "npm install right-pad").await?.must(200)?;
    let (other_id, other_digest) = (other.text("/approval/id")?, other.text("/approval/digest")?);
    assert_ne!(scene.digest, other_digest);
    approver.answer(&other_id, &scene.digest, "allow").await?.must(409)?;
    approver.answer(&scene.id, &other_digest, "allow").await?.must(409)?;
    approver.answer(&scene.id, "", "allow").await?.must(409)?;
    scene.is_pending().await?;
    approver.answer(&scene.id, &scene.digest, "allow").await?.must(200)?;
    let again = approver.answer(&scene.id, &scene.digest, "deny").await?.must(200)?;
    assert_eq!((again.header("mayi-answered"), again.text("/answer/verdict")?), (Some("before"), "allow".to_owned()));
    // The same agent, almost the same call: each difference needs an answer of its own.
    let calls = [
        json!({"tool": "Bash", "input": {"command": "npm install  left-pad"}, "cwd": "/w"}),
        json!({"tool": "Bash", "input": {"command": "npm install left-pad"}, "cwd": "/other"}),
        json!({"tool": "Bash", "input": {"command": "npm install left-pad", "timeout": 1}, "cwd": "/w"}),
        json!({"tool": "Bash", "input": {"command": "npm install left-pad"}, "cwd": "/w"}),
    ];
    for call in calls {
        let asked = agent.post("/v1/decide", &call).await?.must(200)?;
        assert_eq!(asked.text("/verdict")?, "ask", "an answer is for once: {asked:?}");
        assert_ne!(asked.text("/approval/id")?, scene.id);
    }
    // A client that decided by itself cannot bind the answer to something that it does not show.
    let question = json!({"question": {
        "agent": "test", "session": "s", "tool": "Bash", "input": {"command": "ls"}, "cwd": "/w", "policy": "p",
        "digest": scene.digest, "mode": "default", "step": "3", "message": "",
    }});
    let forged = agent.post("/v1/approvals", &question).await?;
    assert!([400, 409, 422].contains(&forged.status), "{forged:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_writes_no_rule_that_was_not_offered() -> Result<()> {
    let scene = Scene::set("rules").await?;
    let approver = scene.server.client("approver")?;
    for (rule, layer, remember) in [
        ("Bash", "session", "session"),
        ("Bash(npm install left-pad) ", "session", "session"),
        ("*", "user", "always"),
        ("Bash(npm:*)\n", "managed", "always"),
    ] {
        let answer =
            json!({"verdict": "allow", "digest": scene.digest, "remember": remember, "rule": rule, "layer": layer});
        let reply = approver.post(&scene.answer_path(), &answer).await?;
        assert_eq!(reply.status, 422, "{rule} {layer}: {reply:?}");
    }
    scene.is_pending().await
}

/// Texts that mean something to a database, to a page, to a terminal, to a log, or to nobody.
fn payloads() -> Vec<String> {
    let mut texts: Vec<String> = [
        "'; DROP TABLE audit; --",
        "\" OR \"\"=\"",
        "1' UNION SELECT hash FROM tokens --",
        "%",
        "_",
        "$1",
        "?1",
        "\\",
        "')); VACUUM; --",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\"><svg onload=alert(1)>",
        "javascript:alert(1)",
        "{{7*7}}",
        "${jndi:ldap://x}",
        "\u{1b}[2J\u{1b}]0;x\u{7}",
        "\u{202e}gnp.exe",
        "\u{2066}a\u{2069}",
        "a\u{0}b",
        "a\r\nSet-Cookie: x=1",
        "\n\nevent: approval\ndata: {}\n\n",
        "\u{feff}",
        "\u{d7ff}\u{e000}\u{10ffff}",
        "../../../../etc/passwd",
        "%00",
        "%2e%2e%2f",
        " ",
    ]
    .map(str::to_owned)
    .into();
    texts.push("x".repeat(4000));
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_in_every_field_of_a_call_are_kept_to_the_letter() -> Result<()> {
    let scene = Scene::set("fields").await?;
    let (agent, auditor) = (scene.server.client("agent")?, scene.server.client("auditor")?);
    let fields =
        ["/call_id", "/agent", "/child", "/host", "/session", "/tool", "/cwd", "/input/command", "/input/other", "/id"];
    let mut kept = Vec::new();
    for (number, payload) in payloads().iter().enumerate() {
        for field in fields {
            let mut line = json!({
                "id": "x", "tool": "Bash", "input": {"command": "git status", "other": ""}, "cwd": "/w", "call_id": format!("field-{number}"),
                "agent": "test", "child": "c", "host": "h", "dry_run": false,
            });
            if field == "/session" {
                line["session"] = Value::Null;
            }
            *line.pointer_mut(field).context("no such field")? = payload.clone().into();
            let reply = agent.post("/v1/decide", &line).await?;
            assert!(reply.status == 200 || (400..500).contains(&reply.status), "{field} {payload:?}: {reply:?}");
            assert_eq!(content_type(&reply), "application/json", "{field} {payload:?}: {reply:?}");
            let is_kept = reply.status == 200 && reply.text("/verdict").is_ok();
            if is_kept && ["/call_id", "/input/command"].contains(&field) {
                kept.push((field, payload.clone()));
            }
        }
    }
    let records = audit::exported(&auditor).await?;
    for (field, payload) in kept {
        let found = records.iter().any(|record| record.pointer(field).and_then(Value::as_str) == Some(&payload));
        // What looks like a secret is hidden before it is written; none of these does.
        assert!(found, "{field} {payload:?} is not in the audit as it was sent");
    }
    audit::verified(&auditor).await?;
    scene.is_pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_in_addresses_and_in_other_bodies_do_no_harm() -> Result<()> {
    let scene = Scene::set("addresses").await?;
    let (admin, agent) = (scene.server.client("admin")?, scene.server.client("agent")?);
    let queries = [
        "audit?text=",
        "audit?session=",
        "audit?kind=",
        "audit?verdict=",
        "audit?after=",
        "audit?since=",
        "approvals?state=",
        "approvals?session=",
        "approvals/",
        "sessions/",
        "insights?since=",
    ];
    for payload in payloads() {
        let encoded: String = payload.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for query in queries {
            let reply = admin.get(&format!("/v1/{query}{encoded}")).await?;
            assert!(reply.status < 500, "{query}{payload:?}: {reply:?}");
            assert_eq!(content_type(&reply), "application/json", "{query}{payload:?}: {reply:?}");
        }
        let bodies = [
            ("/v1/tokens", json!({"name": payload, "role": "agent"})),
            ("/v1/tokens", json!({"name": "n", "role": payload})),
            ("/v1/sign-in", json!({"code": payload})),
            (&scene.answer_path(), json!({"verdict": payload, "digest": scene.digest})),
            (&scene.answer_path(), json!({"verdict": "allow", "digest": payload, "comment": payload})),
            ("/v1/policy/diff", json!({"old": {"permissions": {"allow": [payload]}}, "new": {}})),
        ];
        for (path, body) in bodies {
            let reply = admin.post(path, &body).await?;
            assert!(reply.status < 500, "{path} {payload:?}: {reply:?}");
        }
        let session = json!({"id": payload, "agent": payload, "directory": payload, "host": payload, "mode": payload, "lead": payload});
        assert!(agent.post("/v1/sessions", &session).await?.status < 500, "{payload:?}");
        let shipment =
            json!({"source": payload, "first": 1, "records": [{"kind": payload, "session": payload, "at": 1}]});
        assert!(agent.post("/v1/audit", &shipment).await?.status < 500, "{payload:?}");
    }
    audit::verified(&admin).await?;
    assert_eq!(admin.get("/v1/tokens").await?.status, 200);
    scene.is_pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_means_the_text_and_no_pattern() -> Result<()> {
    let scene = Scene::set("search").await?;
    let (agent, auditor) = (scene.server.client("agent")?, scene.server.client("auditor")?);
    for (call, command) in [("percent", "echo 100%"), ("under", "echo a_b"), ("plain", "echo axb")] {
        agent.decide(call, command).await?.must(200)?;
    }
    for (text, found) in [("100%25", 1), ("a_b", 1), ("axb", 1), ("1%25%25", 0), ("echo", 3), ("ech_", 0)] {
        let reply = auditor.get(&format!("/v1/audit?kind=decision&text={text}")).await?.must(200)?;
        let count = reply.json()?.pointer("/records").and_then(Value::as_array).map(Vec::len);
        assert_eq!(count, Some(found), "{text}: {reply:?}");
    }
    Ok(())
}

fn content_type(reply: &Reply) -> &str {
    reply.header("content-type").and_then(|kind| kind.split(';').next()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_trusts_nothing_from_elsewhere() -> Result<()> {
    let scene = Scene::set("headers").await?;
    let page = Client::stranger(&scene.server.base())?.get("/").await?.must(200)?;
    let policy = page.header("content-security-policy").context("no policy")?;
    assert!(policy.contains("default-src 'none'") || policy.contains("default-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe-") && !policy.contains('*'), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    let answer = scene.server.client("approver")?.get("/v1/approvals").await?.must(200)?;
    for reply in [&page, &answer] {
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{reply:?}");
        assert!(reply.header("referrer-policy").is_some(), "{reply:?}");
        assert!(reply.header("access-control-allow-origin").is_none(), "{reply:?}");
    }
    assert!(answer.header("cache-control").is_some_and(|value| value.contains("no-store")), "{answer:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_large_or_too_deep_are_refused_and_hurt_nobody() -> Result<()> {
    let scene = Scene::set("sizes").await?;
    let agent = scene.server.client("agent")?;
    let nested = |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let deep = nested("[", "]", 100_000);
    let line = |input: &str| format!("{{\"tool\":\"Bash\",\"cwd\":\"/w\",\"input\":{input}}}");
    let huge = "x".repeat(64 << 20);
    let bodies = [
        line(&format!("{{\"command\":{deep}}}")),
        line(&nested("{\"a\":", "}", 100_000).replace("{\"a\":}", "{}")),
        deep.clone(),
        line("{\"command\":1e999999}"),
        line("{\"command\":\"\\ud800\"}"),
        "{\"tool\":".to_owned(),
        String::new(),
        "\u{0}".repeat(1000),
        line(&format!("{{\"command\":\"{}\"}}", "$(".repeat(50_000))),
        line(&format!("{{\"command\":\"{}\"}}", "{a,b}".repeat(5000))),
    ];
    for body in bodies {
        let reply = agent.send(Method::POST, "/v1/decide", (&[JSON], &body)).await?;
        let shown: String = body.chars().take(60).collect();
        assert!(reply.status == 200 || (400..500).contains(&reply.status), "{shown}: {reply:?}");
        if reply.status == 200 {
            let allowed = reply.text("/verdict").is_ok_and(|verdict| verdict == "allow");
            assert!(!allowed, "{shown}: {reply:?}");
        }
    }
    // A server that has heard enough may also close while the rest is still being sent.
    let large = agent.send(Method::POST, "/v1/decide", (&[JSON], &line(&format!("{{\"command\":\"{huge}\"}}")))).await;
    assert!(large.as_ref().map_or(true, |reply| reply.status == 413), "{large:?}");
    let lines = agent
        .send(Method::POST, "/v1/decide", (&[("content-type", "application/x-ndjson")], &"\n".repeat(32 << 20)))
        .await;
    assert!(lines.as_ref().map_or(true, |reply| reply.status == 413), "{lines:?}");
    let memory = scene.server.memory("VmHWM")?;
    assert!(memory < 1_000_000, "{memory} kB were used");
    scene.is_pending().await
}

/// Requests whose end can be seen in two ways. Behind `TOKEN` and `INNER` stand a token and a request of its own.
const SMUGGLED: &[(&str, &str)] = &[
    (
        "length and chunks",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nINNER",
    ),
    (
        "chunks and length",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\nINNER",
    ),
    (
        "two lengths",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 0\r\nContent-Length: 400\r\n\r\nINNER",
    ),
    (
        "a list of lengths",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 0, 400\r\n\r\nINNER",
    ),
    (
        "a signed length",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: +0\r\n\r\nINNER",
    ),
    (
        "a negative length",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: -1\r\n\r\nINNER",
    ),
    (
        "an unknown coding",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: xchunked\r\n\r\nINNER",
    ),
    (
        "chunked not last",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nINNER",
    ),
    (
        "a space before the colon",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nINNER",
    ),
    (
        "a folded header",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\nINNER",
    ),
    (
        "a chunk with a huge length",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n\r\nINNER",
    ),
    (
        "a chunk whose end is wrong",
        "POST /v1/decide HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nZINNER",
    ),
    ("two hosts", "GET /v1/me HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\nAuthorization: Bearer TOKEN\r\n\r\n"),
    (
        "another host in the address",
        "GET http://evil.example/v1/me HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\r\n",
    ),
    ("no host", "GET /v1/me HTTP/1.1\r\nAuthorization: Bearer TOKEN\r\n\r\n"),
    (
        "two tokens",
        "GET /v1/tokens HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nAuthorization: Bearer x\r\n\r\n",
    ),
    ("a NUL in a header", "GET /v1/me HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nX: a\0b\r\n\r\n"),
    ("an address that climbs", "GET /v1/../v1/tokens HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\r\n"),
    ("another protocol", "GET / HTTP/9.9\r\nHost: HOST\r\n\r\n"),
    ("no protocol", "GET /\r\n\r\n"),
    ("not HTTP", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_request_hides_no_other() -> Result<()> {
    let scene = Scene::set("smuggled").await?;
    let agent = scene.server.client("agent")?;
    let token = agent.token().context("no token")?.to_owned();
    let host = scene.server.address().to_string();
    for (name, shape) in SMUGGLED {
        let body =
            json!({"tool": "Bash", "input": {"command": "ls"}, "cwd": "/w", "call_id": format!("smuggled: {name}")})
                .to_string();
        let inner = format!(
            "POST /v1/decide HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let bytes = shape.replace("HOST", &host).replace("TOKEN", &token).replace("INNER", &inner);
        let heard = raw::exchange(scene.server.address(), bytes.as_bytes(), Duration::from_secs(3)).await?;
        let statuses = raw::statuses(&heard);
        assert!(!statuses.contains(&200), "{name}: {heard}");
        assert!(statuses.iter().all(|status| *status < 500), "{name}: {heard}");
    }
    let text = audit::exported_text(&scene.server.client("auditor")?).await?;
    assert!(!text.contains("smuggled: "), "a hidden request was heard");
    scene.is_pending().await
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_without_end_are_cut_off() -> Result<()> {
    let scene = Scene::set("endless").await?;
    let host = scene.server.address();
    let long = format!("GET /v1/me?{} HTTP/1.1\r\nHost: {host}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("GET /v1/me HTTP/1.1\r\nHost: {host}\r\n{}\r\n", "x: y\r\n".repeat(10_000));
    let wide = format!("GET /v1/me HTTP/1.1\r\nHost: {host}\r\nx: {}\r\n\r\n", "y".repeat(4 << 20));
    for (name, bytes) in [("a long address", long), ("many headers", many), ("a wide header", wide)] {
        let heard = raw::exchange(host, bytes.as_bytes(), Duration::from_secs(5)).await?;
        assert!(raw::statuses(&heard).iter().all(|status| (400..500).contains(status)), "{name}: {heard}");
    }
    scene.is_pending().await
}
