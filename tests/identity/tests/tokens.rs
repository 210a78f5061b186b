//! The life of tokens: renewed in time, by one process for all, never lost, and over when the provider says so.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use mayi_identity_tests::{Parts, Request, Said};
use serde_json::json;

/// Asks the model something, as any command does that needs it.
fn explained(parts: &Parts) -> Result<Said> {
    parts.stage.well(&["explain", "--json", "frob"])
}

/// Asks the model, who must answer.
fn answered(parts: &Parts) -> Result<()> {
    let said = explained(parts)?;
    ensure!(said.says("source", "model")? && said.err.is_empty(), "{said:#?}");
    Ok(())
}

/// Signed in, with a token that is due to be renewed.
fn due(name: &str) -> Result<Parts> {
    let parts = Parts::set(name)?;
    parts.sign_in("alice")?;
    parts.stage.age(3500)?;
    parts.provider.requests()?;
    Ok(parts)
}

fn to_the_model(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.path.starts_with("/model/")).collect()
}

fn renewals(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.grant == "refresh_token").collect()
}

#[test]
fn a_token_is_used_until_five_minutes_before_its_end() -> Result<()> {
    let parts = Parts::set("fresh")?;
    parts.sign_in("alice")?;
    for (seconds, renewed) in [(0, 0), (3600 - 400, 0), (100 + 50, 1), (0, 0)] {
        parts.provider.requests()?;
        parts.stage.age(seconds)?;
        answered(&parts)?;
        let asked = parts.provider.requests()?;
        assert_eq!(renewals(&asked).len(), renewed, "{seconds}: {asked:#?}");
    }
    Ok(())
}

#[test]
fn every_renewal_brings_a_new_refresh_token_which_is_kept() -> Result<()> {
    let parts = due("rotation")?;
    for _ in 0..4 {
        parts.stage.age(3500)?;
        answered(&parts)?;
        let asked = parts.provider.requests()?;
        let [renewal] = renewals(&asked)[..] else { anyhow::bail!("not one renewal: {asked:#?}") };
        let [question] = to_the_model(&asked)[..] else { anyhow::bail!("not one question: {asked:#?}") };
        assert_eq!((renewal.status, question.status), (200, 200));
        assert_eq!(renewal.token, question.token, "the new token is the one that is used");
    }
    Ok(())
}

#[test]
fn the_end_of_a_signed_token_is_read_from_the_token() -> Result<()> {
    let parts = Parts::set("signed")?;
    parts.provider.issue_signed_tokens()?;
    parts.sign_in("alice")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let expires = parts.stage.standing()?["expires"].as_u64().context("it has no end")?;
    assert!((now + 3500..=now + 3600).contains(&expires), "{expires} at {now}");
    answered(&parts)?;
    parts.stage.age(3500)?;
    parts.provider.requests()?;
    answered(&parts)?;
    assert_eq!(renewals(&parts.provider.requests()?).len(), 1);
    Ok(())
}

#[test]
fn a_token_that_is_refused_is_renewed_once_and_the_question_asked_once_more() -> Result<()> {
    let parts = Parts::set("refused-token")?;
    parts.sign_in("alice")?;
    parts.provider.forget_access_tokens()?;
    parts.provider.requests()?;
    answered(&parts)?;
    let asked = parts.provider.requests()?;
    let statuses: Vec<u64> = to_the_model(&asked).iter().map(|request| request.status).collect();
    assert_eq!((statuses, renewals(&asked).len()), (vec![401, 200], 1), "{asked:#?}");
    Ok(())
}

#[test]
fn a_sign_in_that_was_taken_back_is_over_and_says_so() -> Result<()> {
    let parts = due("taken-back")?;
    parts.provider.revoke_everything()?;
    for tried in [1, 0, 0] {
        let said = explained(&parts)?;
        assert_eq!(said.json()?["source"], "static");
        assert!(said.err.contains("sign in again"), "{said:#?}");
        let asked = parts.provider.requests()?;
        assert_eq!(renewals(&asked).len(), tried, "it does not try over and over: {asked:#?}");
    }
    let who = parts.stage.mayi(&["whoami"])?;
    assert!(who.code == 1 && (who.out + &who.err).contains("sign in again"));
    parts.sign_in("alice")?;
    answered(&parts)
}

#[test]
fn a_refresh_token_that_is_used_twice_ends_the_sign_in_for_thief_and_owner() -> Result<()> {
    let parts = due("reuse")?;
    let folder = parts.stage.state();
    let copy = parts.stage.folder().join("copy");
    ensure!(std::process::Command::new("cp").arg("-a").args([&folder, &copy]).status()?.success());
    answered(&parts)?;
    let newer = parts.stage.folder().join("newer");
    fs::rename(&folder, &newer)?;
    fs::rename(&copy, &folder)?;
    let said = explained(&parts)?;
    assert!(said.err.contains("sign in again"), "the old copy: {said:#?}");
    fs::rename(&folder, &copy)?;
    fs::rename(&newer, &folder)?;
    let said = explained(&parts)?;
    assert!(said.err.contains("sign in again"), "its owner: {said:#?}");
    assert_eq!(parts.provider.good_tokens()?, 0, "the provider took everything back");
    Ok(())
}

#[test]
fn a_provider_that_fails_in_passing_is_asked_again() -> Result<()> {
    let parts = due("passing")?;
    parts.provider.fail("/token", 503, 2)?;
    answered(&parts)?;
    let statuses: Vec<u64> = parts.provider.grants()?.iter().map(|grant| grant.status).collect();
    assert_eq!(statuses, [503, 503, 200]);
    Ok(())
}

#[test]
fn a_token_that_is_still_good_is_used_while_the_provider_is_away() -> Result<()> {
    let parts = due("away")?;
    parts.provider.fail("/token", 503, 3)?;
    let said = explained(&parts)?;
    assert_eq!(said.json()?["source"], "model", "{said:#?}");
    assert!(said.err.starts_with("warning: ") && said.err.contains("status 503"), "it is said: {said:#?}");
    let statuses: Vec<u64> = parts.provider.grants()?.iter().map(|grant| grant.status).collect();
    assert_eq!(statuses, [503, 503, 503], "three tries and no more");
    answered(&parts)
}

#[test]
fn nonsense_from_the_provider_costs_nobody_their_sign_in() -> Result<()> {
    let parts = due("nonsense")?;
    let long = format!(r#"{{"access_token":"{}","token_type":"Bearer"}}"#, "x".repeat(300_000));
    for body in ["<html>", "{}", r#"{"access_token":""}"#, r#"{"access_token":7,"token_type":"Bearer"}"#, &long] {
        parts.stage.age(3500)?;
        parts.provider.answer("/token", 200, body)?;
        let said = explained(&parts)?;
        assert_eq!(said.code, 0, "{said:#?}");
        answered(&parts).with_context(|| format!("after {}", &body[..body.len().min(40)]))?;
    }
    Ok(())
}

#[test]
fn twenty_processes_that_need_a_new_token_at_once_ask_for_one() -> Result<()> {
    let parts = due("twenty")?;
    let running: Vec<_> = (0..20).map(|_| parts.stage.start(&["explain", "--json", "frob"])).collect::<Result<_>>()?;
    for one in running {
        let said = parts.stage.end(one)?;
        assert_eq!((said.code, &said.json()?["source"]), (0, &json!("model")), "{said:#?}");
    }
    let asked = parts.provider.requests()?;
    let [renewal] = renewals(&asked)[..] else { anyhow::bail!("not one renewal: {asked:#?}") };
    let questions = to_the_model(&asked);
    assert_eq!(questions.len(), 20);
    assert!(questions.iter().all(|question| question.token == renewal.token && question.status == 200), "{asked:#?}");
    Ok(())
}
