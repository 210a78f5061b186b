//! People who sign in at the organisation's provider: a certified one, in a real browser, before a real server.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mayi_identity_tests::Provider;
use mayi_server_tests::page::{Browser, LIGHT, Window};
use mayi_server_tests::{Client, Options, Reply, Server};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const SECRET: &str = "a-secret-of-the-server-and-the-provider";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A provider, a server that sends people there, and somebody who can go as far as they like.
struct House {
    provider: Provider,
    server: Server,
    stranger: Client,
    traveller: mayi_identity_tests::Browser,
}

/// A sign-in on its way: where the browser was sent, and the cookie that it has.
struct Begun {
    to: Url,
    cookie: String,
}

impl House {
    fn open(name: &str) -> Result<Self> {
        let provider = Provider::start()?;
        let mut options = Options::sqlite(&format!("people-{name}"))?;
        let roles = json!({"admin": ["groups:ops"], "approver": ["ann@example.com"], "auditor": ["*@audit.example"]});
        let oidc = json!({"issuer": provider.issuer(), "clientId": "page", "clientSecretEnv": "HUSH",
            "scopes": ["email", "groups"], "roles": roles});
        options.settings(&json!({"server": {"oidc": oidc}}))?;
        options.before = vec!["env".to_owned(), format!("HUSH={SECRET}")];
        let server = Server::start(options)?;
        provider.enrol(("page", SECRET), &format!("{}/sign-in/oidc/callback", server.base()))?;
        let stranger = Client::stranger(&server.base())?;
        Ok(Self { provider, server, stranger, traveller: mayi_identity_tests::Browser::open()? })
    }

    /// Somebody before the page who goes to the provider, signs in and agrees.
    fn visitor(&self, browser: &Browser, login: &str) -> Result<Window> {
        let window = browser.window(login, &self.server.base(), LIGHT)?;
        window.click("Sign in with your organisation")?;
        window.see("input[name=login]")?;
        window.fill("input[name=login]", login)?;
        window.fill("input[name=password]", "any will do")?;
        window.click_on("button[type=submit]")?;
        window.click("Continue")?;
        Ok(window)
    }

    /// Begins to sign in, without a browser.
    async fn begin(&self) -> Result<Begun> {
        let reply = self.stranger.get("/sign-in/oidc").await?.must(303)?;
        let to = reply.header("location").context("it leads nowhere")?.parse()?;
        let cookie = reply.header("set-cookie").and_then(|cookie| cookie.split(';').next()).context("no cookie")?;
        Ok(Begun { to, cookie: cookie.to_owned() })
    }

    /// Signs somebody in where the browser was sent: the way back, which nobody has taken yet.
    fn agreed(&self, to: &Url, login: &str) -> Result<Url> {
        let back = self.traveller.intercept(to.as_str(), login)?;
        ensure!(back.starts_with(&self.server.base()), "it leads to {back}");
        Ok(back.parse()?)
    }

    /// Takes the way back with a cookie.
    async fn come_back(&self, back: &Url, cookie: &str) -> Result<Reply> {
        let path = format!("{}?{}", back.path(), back.query().unwrap_or_default());
        self.stranger.send(Method::GET, &path, (&[("cookie", cookie)], "")).await
    }

    /// Who somebody is with the cookie of an answer.
    async fn me(&self, reply: &Reply) -> Result<Value> {
        let cookies = reply.headers.get_all("set-cookie").iter().filter_map(|cookie| cookie.to_str().ok());
        let all: Vec<&str> = cookies.filter_map(|cookie| cookie.split(';').next()).collect();
        self.stranger.send(Method::GET, "/v1/me", (&[("cookie", &all.join("; "))], "")).await?.json()
    }
}

fn parameter(address: &Url, name: &str) -> Result<String> {
    let found = address.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned());
    found.with_context(|| format!("no `{name}` in {address}"))
}

/// The address with one of its parameters replaced.
fn with(address: &Url, name: &str, value: &str) -> Url {
    let mut changed = address.clone();
    let pairs = address.query_pairs().filter(|(own, _)| own != name);
    changed.query_pairs_mut().clear().extend_pairs(pairs).append_pair(name, value);
    changed
}

/// A refusal gives nobody a cookie, and says why.
fn refused(reply: &Reply, words: &str) -> Result<()> {
    let said = reply.json()?;
    ensure!(reply.status == 403 && reply.header("set-cookie").is_none(), "{words}: {reply:?}");
    ensure!(said["error"].as_str().is_some_and(|error| error.contains(words)), "{words}: {said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_the_organisation_get_their_roles_and_leave_again() -> Result<()> {
    let house = House::open("roles")?;
    let browser = Browser::open()?;
    house.provider.claim("olga", &json!({"groups": ["dev", "ops"]}))?;
    house.provider.claim("ivo", &json!({"email": "ivo@audit.example"}))?;
    for (login, name, role) in [
        ("ann", "ann@example.com", "approver"),
        ("olga", "olga@example.com", "admin"),
        ("ivo", "ivo@audit.example", "auditor"),
    ] {
        let person = house.visitor(&browser, login)?;
        person.see("#connection[data-state=open]")?;
        let me = person.run("fetch('/v1/me').then(answer => answer.json())")?;
        assert_eq!((&me["name"], &me["role"]), (&json!(name), &json!(role)), "{login}");
        assert_eq!(person.run("document.cookie")?, "", "no script sees the cookie");
        person.click("Sign out")?;
        person.see("#token")?;
        assert_eq!(person.run("fetch('/v1/me').then(answer => answer.status)")?, 401, "{login} is still there");
    }
    let signed_in = house.server.client("auditor")?.get("/v1/audit?kind=sign-in&order=oldest").await?.json()?;
    let all = signed_in["records"].as_array().context("no records")?;
    let people: Vec<&Value> = all.iter().filter(|one| one["event"] == "signed-in").map(|one| &one["by"]).collect();
    assert_eq!(people, ["ann@example.com", "olga@example.com", "ivo@audit.example"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_settings_do_not_name_gets_no_further_than_the_provider() -> Result<()> {
    let house = House::open("nobody")?;
    house.provider.claim("mallory", &json!({"email": "ann@example.com", "email_verified": false}))?;
    for login in ["eve", "mallory"] {
        let begun = house.begin().await?;
        let back = house.agreed(&begun.to, login)?;
        refused(&house.come_back(&back, &begun.cookie).await?, "has no role here")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_somebody_meddled_with_is_refused() -> Result<()> {
    let house = House::open("meddled")?;
    let begun = house.begin().await?;
    let back = house.agreed(&begun.to, "ann")?;
    let state = with(&back, "state", "AAAAAAAAAAAAAAAAAAAAAA");
    refused(&house.come_back(&state, &begun.cookie).await?, "another browser")?;
    refused(&house.come_back(&back, &house.begin().await?.cookie).await?, "another browser")?;
    let issuer = with(&back, "iss", "https://evil.example");
    refused(&house.come_back(&issuer, &begun.cookie).await?, "another sign-in service")?;
    // Each was sent on its way with something else than what the server remembers.
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest("a verifier of somebody else, long enough for it"));
    for (name, value, words) in [("nonce", "other", "another sign-in"), ("code_challenge", &*challenge, "answered 400")]
    {
        let begun = house.begin().await?;
        let back = house.agreed(&with(&begun.to, name, value), "ann")?;
        refused(&house.come_back(&back, &begun.cookie).await?, words)?;
    }
    // And one that nobody meddled with works, once.
    let begun = house.begin().await?;
    let back = house.agreed(&begun.to, "ann")?;
    let reply = house.come_back(&back, &begun.cookie).await?.must(303)?;
    assert_eq!(house.me(&reply).await?["role"], "approver");
    assert_eq!(house.come_back(&back, &begun.cookie).await?.status, 410);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_issued_to_another_program_is_refused() -> Result<()> {
    let house = House::open("audience")?;
    let begun = house.begin().await?;
    let back = house.agreed(&begun.to, "ann")?;
    // The same person signs in to another program of the same organisation, with the very nonce of the server.
    let (verifier, redirect) = ("v".repeat(50), "http://127.0.0.1:9/callback");
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
    let changes =
        [("client_id", "mayi"), ("redirect_uri", redirect), ("scope", "openid"), ("code_challenge", &challenge)];
    let other = changes.into_iter().fold(begun.to.clone(), |to, (name, value)| with(&to, name, value));
    let code: Url = house.traveller.intercept(other.as_str(), "ann")?.parse()?;
    let code = parameter(&code, "code")?;
    let form = format!(
        "grant_type=authorization_code&client_id=mayi&code={code}&code_verifier={verifier}&redirect_uri={redirect}"
    );
    let provider = house.stranger.at(house.provider.issuer());
    let issued = provider.send(Method::POST, "/token", (&[FORM], &form)).await?.must(200)?;
    ensure!(issued.json()?["id_token"].is_string(), "{issued:?}");
    // A provider that mixes them up hands it to the server.
    house.provider.answer("/token", 200, &issued.body)?;
    refused(&house.come_back(&back, &begun.cookie).await?, "for somebody else")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_away_lets_nobody_in() -> Result<()> {
    let house = House::open("away")?;
    let begun = house.begin().await?;
    let back = house.agreed(&begun.to, "ann")?;
    house.provider.go_down()?;
    let reply = house.come_back(&back, &begun.cookie).await?;
    ensure!(reply.status == 503 && reply.header("set-cookie").is_none(), "{reply:?}");
    assert_eq!(house.stranger.get("/sign-in/oidc").await?.status, 503);
    house.provider.come_up()?;
    house.stranger.get("/sign-in/oidc").await?.must(303).map(drop)
}
