//! Signing in and out: with a browser, with a code on another device, and everything that can go wrong on the way.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use mayi_identity_tests::{Parts, Said, Stage, until};
use rustix::process::Signal;
use serde_json::json;

/// Opens the way back to mayi without a browser, and returns the first line of the answer.
fn opened(address: &str) -> Result<String> {
    let rest = address.strip_prefix("http://").context("no plain address")?;
    let (host, path) = rest.split_once('/').context("no path")?;
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// The address with one of its parameters replaced.
fn with(address: &str, name: &str, value: &str) -> Result<String> {
    let (path, query) = address.split_once('?').context("no query")?;
    let changed = query.split('&').map(|pair| match pair.split_once('=') {
        Some((own, _)) if own == name => format!("{name}={value}"),
        Some(_) | None => pair.to_owned(),
    });
    Ok(format!("{path}?{}", changed.collect::<Vec<_>>().join("&")))
}

fn parameter(address: &str, name: &str) -> Result<String> {
    let query = address.split_once('?').context("no query")?.1;
    let found = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    Ok(found.with_context(|| format!("no `{name}` in {address}"))?.to_owned())
}

/// Nobody is signed in, and nothing was kept.
fn nobody_is_signed_in(stage: &Stage) -> Result<()> {
    let said = stage.mayi(&["whoami", "--json"])?;
    ensure!(said.code == 1 && said.says("well", false)?, "{said:#?}");
    ensure!(stage.mayi(&["whoami"])?.out.contains("not signed in"), "{said:#?}");
    Ok(())
}

fn failed(said: &Said, words: &str) -> Result<()> {
    ensure!(said.code == 1 && said.err.contains(words), "{words}: {said:#?}");
    Ok(())
}

#[test]
fn a_person_signs_in_with_a_browser_and_the_model_takes_the_token() -> Result<()> {
    let parts = Parts::set("browser")?;
    let (running, address) = parts.begin()?;
    assert_eq!(parameter(&address, "code_challenge_method")?, "S256");
    assert!(parameter(&address, "redirect_uri")?.starts_with("http%3A%2F%2F127.0.0.1%3A"), "{address}");
    let page = parts.browser.agree(&address, "alice")?;
    assert!(page.text.contains("go back to the terminal"), "{page:?}");
    let said = parts.stage.end(running)?;
    assert_eq!(said.code, 0, "{said:#?}");
    let grants: Vec<_> = parts.provider.grants()?.into_iter().map(|grant| (grant.grant, grant.status)).collect();
    assert_eq!(grants, [("authorization_code".to_owned(), 200)]);
    let who = parts.stage.standing()?;
    assert_eq!((&who["who"], &who["at"]), (&json!("alice"), &json!(parts.provider.issuer())), "{who:#}");
    let explained = parts.stage.well(&["explain", "--json", "frob"])?;
    assert_eq!(explained.json()?["source"], "model", "{explained:#?}");
    let asked = parts.provider.requests()?;
    assert!(asked.iter().any(|request| request.path.starts_with("/model/") && request.who == "alice"), "{asked:#?}");
    Ok(())
}

#[test]
fn the_browser_is_opened_by_the_desktop() -> Result<()> {
    let parts = Parts::set("opener")?;
    let told = parts.stage.folder().join("opened.txt");
    parts.stage.program("xdg-open", &format!("printf '%s' \"$1\" > {0}.new && mv {0}.new {0}", told.display()))?;
    let mut running = parts.stage.start(&["login"])?;
    let address = until("the opened address", || Ok(std::fs::read_to_string(&told).ok()))?;
    assert_eq!(running.address()?, address, "the same address is printed");
    parts.browser.agree(&address, "alice")?;
    assert_eq!(parts.stage.end(running)?.code, 0);
    Ok(())
}

#[test]
fn a_person_who_does_not_want_to_is_not_signed_in() -> Result<()> {
    let parts = Parts::set("refused")?;
    let (running, address) = parts.begin()?;
    let page = parts.browser.refuse(&address)?;
    assert!(page.text.contains("did not work"), "{page:?}");
    failed(&parts.stage.end(running)?, "access_denied")?;
    assert_eq!(parts.provider.grants()?, [], "nothing was fetched");
    nobody_is_signed_in(&parts.stage)
}

#[test]
fn an_answer_that_is_not_to_our_question_is_not_taken() -> Result<()> {
    let parts = Parts::set("foreign")?;
    for (name, value) in [("state", "AAAAAAAAAAAAAAAAAAAAAA"), ("iss", "https%3A%2F%2Fevil.example")] {
        let (running, address) = parts.begin()?;
        let back = parts.browser.intercept(&address, "alice")?;
        let answer = opened(&with(&back, name, value)?)?;
        assert!(answer.contains(" 400 "), "{name}: {answer}");
        running.signal(Signal::INT)?;
        let said = parts.stage.end(running)?;
        assert_eq!(said.code, 1, "{name}: {said:#?}");
        assert_eq!(parts.provider.grants()?, [], "{name}: the code was used");
        nobody_is_signed_in(&parts.stage)?;
    }
    Ok(())
}

#[test]
fn a_stolen_code_is_worth_nothing_without_the_verifier() -> Result<()> {
    let parts = Parts::set("stolen")?;
    let (running, address) = parts.begin()?;
    let back = parts.browser.intercept(&address, "alice")?;
    for verifier in ["", "&code_verifier=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"] {
        let redirect = parameter(&address, "redirect_uri")?;
        let code = parameter(&back, "code")?;
        let form =
            format!("grant_type=authorization_code&client_id=mayi&code={code}&redirect_uri={redirect}{verifier}");
        assert!(posted(&format!("{}/token", parts.provider.issuer()), &form)?.contains(" 400 "));
    }
    assert!(opened(&back)?.contains(" 200 "));
    assert_eq!(parts.stage.end(running)?.code, 0, "the one who has the verifier is signed in");
    Ok(())
}

fn posted(address: &str, form: &str) -> Result<String> {
    let rest = address.strip_prefix("http://").context("no plain address")?;
    let (host, path) = rest.split_once('/').context("no path")?;
    let mut stream = TcpStream::connect(host)?;
    let head = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}", form.len());
    write!(stream, "{head}\r\ncontent-type: application/x-www-form-urlencoded\r\n\r\n{form}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn a_code_that_came_too_late_or_twice_is_told_of() -> Result<()> {
    let parts = Parts::set("late")?;
    let (running, address) = parts.begin()?;
    let back = parts.browser.intercept(&address, "alice")?;
    parts.provider.pass(120)?;
    opened(&back)?;
    failed(&parts.stage.end(running)?, "invalid_grant")?;
    nobody_is_signed_in(&parts.stage)
}

#[test]
fn a_provider_that_is_down_is_told_of_at_every_step() -> Result<()> {
    let parts = Parts::set("down")?;
    parts.provider.go_down()?;
    failed(&parts.stage.mayi(&["login", "--no-browser"])?, "cannot be reached")?;
    failed(&parts.stage.mayi(&["login", "--device"])?, "cannot be reached")?;
    parts.provider.come_up()?;
    let (running, address) = parts.begin()?;
    let back = parts.browser.intercept(&address, "alice")?;
    parts.provider.go_down()?;
    opened(&back)?;
    failed(&parts.stage.end(running)?, "cannot be reached")?;
    nobody_is_signed_in(&parts.stage)
}

#[test]
fn a_person_signs_in_on_another_device() -> Result<()> {
    let parts = Parts::set("device")?;
    let mut running = parts.stage.start(&["login", "--device", "--json"])?;
    let (address, code) = (running.address()?, running.line("and enter this code: ")?);
    let page = parts.browser.agree_to_device(&address, &code, "bob")?;
    assert!(page.text.contains("successful"), "{page:?}");
    let said = parts.stage.end(running)?;
    assert_eq!((said.code, &said.json()?["who"]), (0, &json!("bob")), "{said:#?}");
    let polls = parts.provider.grants()?;
    assert!(polls.iter().rev().skip(1).all(|poll| poll.error == "authorization_pending"), "{polls:#?}");
    Ok(())
}

#[test]
fn a_device_that_is_refused_or_forgotten_is_not_signed_in() -> Result<()> {
    let parts = Parts::set("no-device")?;
    let mut running = parts.stage.start(&["login", "--device"])?;
    let (address, code) = (running.address()?, running.line("and enter this code: ")?);
    parts.browser.refuse_device(&address, &code)?;
    failed(&parts.stage.end(running)?, "access_denied")?;
    let mut running = parts.stage.start(&["login", "--device"])?;
    running.line("and enter this code: ")?;
    parts.provider.pass(700)?;
    failed(&parts.stage.end(running)?, "the sign-in service answered `")?;
    nobody_is_signed_in(&parts.stage)
}

#[test]
fn signing_in_is_cancelled_by_an_interrupt() -> Result<()> {
    let parts = Parts::set("cancelled")?;
    let (running, address) = parts.begin()?;
    running.signal(Signal::INT)?;
    failed(&parts.stage.end(running)?, "cancelled")?;
    let back = parameter(&address, "redirect_uri")?.replace("%3A", ":").replace("%2F", "/");
    assert!(opened(&format!("{back}?code=x&state=y")).is_err(), "nobody listens any more");
    assert_eq!(parts.provider.grants()?, []);
    nobody_is_signed_in(&parts.stage)
}

#[test]
fn signing_out_takes_the_tokens_back() -> Result<()> {
    let parts = Parts::set("logout")?;
    parts.sign_in("alice")?;
    assert_eq!(parts.provider.good_tokens()?, 2, "an access and a refresh token");
    let said = parts.stage.well(&["logout", "--json"])?;
    assert_eq!(said.json()?["revoked"], json!([parts.provider.issuer()]), "{said:#?}");
    assert_eq!(parts.provider.good_tokens()?, 0);
    nobody_is_signed_in(&parts.stage)?;
    let said = parts.stage.well(&["logout"])?;
    assert!(said.out.contains("nobody is signed in"), "{said:#?}");
    Ok(())
}

#[test]
fn signing_out_forgets_the_tokens_even_when_the_provider_is_down() -> Result<()> {
    let parts = Parts::set("logout-down")?;
    parts.sign_in("alice")?;
    parts.provider.go_down()?;
    let said = parts.stage.mayi(&["logout", "--json"])?;
    assert_eq!((said.code, &said.json()?["revoked"]), (1, &json!([])), "{said:#?}");
    nobody_is_signed_in(&parts.stage)
}
