//! Credentials in a real Secret Service: kept there and nowhere else, and honest words when it is locked, gone or silent.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mayi_identity::{Config, Identity, Problem, Purpose, StoreName, Vendor};
use mayi_identity_tests::{Parts, SecretService, Stage};
use mayi_settings::settings::Settings;
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::json;

const KEY: &str = "sk-known-to-the-test-0123456789abcdef";

/// Parts on a desktop with a keyring.
fn desktop(name: &str) -> Result<(Parts, SecretService)> {
    let mut parts = Parts::set(name)?;
    parts.stage.settings(&Stage::settings_for_any_store(&parts.provider))?;
    let service = SecretService::start(&parts.stage.folder().join("desk"))?;
    parts.stage.variable("DBUS_SESSION_BUS_ADDRESS", service.address());
    parts.provider.accept_key(KEY)?;
    Ok((parts, service))
}

fn keep_the_key(stage: &Stage) -> Result<()> {
    let said = stage.fed(&["login", "--api-key", "--json"], &format!("{KEY}\n"))?;
    ensure!(said.code == 0 && said.says("store", "secret-service")?, "{said:#?}");
    Ok(())
}

/// Every file below a folder that holds a text.
fn files_with(folder: &std::path::Path, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_with(&path, text)?);
        } else if path.is_file() && String::from_utf8_lossy(&fs::read(&path)?).contains(text) {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}

#[test]
fn a_key_is_kept_in_the_keyring_and_in_no_file() -> Result<()> {
    let (parts, mut service) = desktop("kept")?;
    keep_the_key(&parts.stage)?;
    assert_eq!(files_with(parts.stage.folder(), KEY)?, [""; 0], "the keyring's own file is locked");
    let said = parts.stage.well(&["explain", "--json", "frob"])?;
    assert_eq!((said.json()?["source"].as_str(), said.err.as_str()), (Some("model"), ""), "{said:#?}");
    service.kill_keyring()?;
    service.start_keyring()?;
    let said = parts.stage.well(&["explain", "--json", "frob"])?;
    assert_eq!(said.json()?["source"], "model", "after a restart: {said:#?}");
    parts.stage.well(&["logout", "--json"])?;
    assert!(parts.stage.mayi(&["whoami"])?.out.contains("not signed in"));
    Ok(())
}

#[test]
fn a_sign_in_is_kept_and_renewed_in_the_keyring() -> Result<()> {
    let (parts, _service) = desktop("signed-in")?;
    parts.sign_in("alice")?;
    for _ in 0..3 {
        parts.provider.forget_access_tokens()?;
        let said = parts.stage.well(&["explain", "--json", "frob"])?;
        assert_eq!((said.json()?["source"].as_str(), said.err.as_str()), (Some("model"), ""), "{said:#?}");
    }
    let who = parts.stage.standing()?;
    assert_eq!((&who["who"], &who["store"]), (&json!("alice"), &json!("secret-service")));
    for secret in parts.provider.secrets()? {
        assert_eq!(files_with(parts.stage.folder(), &secret)?, [""; 0]);
    }
    Ok(())
}

#[test]
fn a_keyring_that_is_locked_gone_or_silent_is_told_of_and_nobody_is_signed_out() -> Result<()> {
    let (parts, mut service) = desktop("failing")?;
    keep_the_key(&parts.stage)?;
    let told = |what: &str| -> Result<()> {
        let said = parts.stage.well(&["explain", "--json", "frob"])?;
        ensure!(said.says("source", "static")? && said.err.contains("Secret Service"), "{what}: {said:#?}");
        let who = parts.stage.mayi(&["whoami"])?;
        let text = format!("{}{}", who.out, who.err);
        ensure!(who.code == 1 && text.contains("Secret Service"), "{what}: {who:#?}");
        ensure!(!text.contains("not signed in"), "{what}: {who:#?}");
        Ok(())
    };
    service.lock()?;
    told("locked")?;
    service.kill_keyring()?;
    told("gone")?;
    service.start_keyring()?;
    parts.stage.well(&["whoami"])?;
    service.signal(Signal::STOP)?;
    told("silent")?;
    service.signal(Signal::CONT)?;
    let said = parts.stage.well(&["explain", "--json", "frob"])?;
    assert_eq!(said.json()?["source"], "model", "it is back: {said:#?}");
    Ok(())
}

#[test]
fn without_a_keyring_a_private_file_is_used_and_the_warning_comes_once() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let parts = Parts::set("no-keyring")?;
    parts.provider.accept_key(KEY)?;
    let said = parts.stage.fed(&["login", "--api-key"], KEY)?;
    assert!(said.code == 0 && said.err.contains("private file"), "{said:#?}");
    let files = files_with(parts.stage.folder(), KEY)?;
    let [file] = &files[..] else { anyhow::bail!("not one file: {files:?}") };
    assert_eq!(fs::metadata(file)?.permissions().mode() & 0o777, 0o600);
    let folder = std::path::Path::new(file).parent().map(fs::metadata).transpose()?;
    assert_eq!(folder.map(|folder| folder.permissions().mode() & 0o777), Some(0o700));
    let said = parts.stage.well(&["explain", "--json", "frob"])?;
    assert_eq!((said.json()?["source"].as_str(), said.err.as_str()), (Some("model"), ""), "no second warning");
    Ok(())
}

/// An identity inside this very process, as a long-lived one has it.
fn within(stage: &Stage, service: &SecretService) -> Identity {
    let bus = ("DBUS_SESSION_BUS_ADDRESS".into(), service.address().into());
    let config = Config::of(&Settings::default(), &[bus]);
    Identity::open(config.in_state_folder(&stage.folder().join("state")))
}

#[test]
fn a_process_that_lives_on_serves_the_last_good_key_while_the_keyring_fails_and_says_so() -> Result<()> {
    let stage = Stage::set("stale")?;
    let mut service = SecretService::start(&stage.folder().join("desk"))?;
    let purpose = Purpose::Model(Vendor::OpenAi);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let identity = within(&stage, &service);
    let kept = runtime.block_on(identity.keep_key(&purpose, KEY.into()))?;
    assert_eq!(kept.store, StoreName::SecretService, "{kept:?}");
    // After a while the key is looked for again: what was read lately would be served whatever happens.
    let asked = || {
        runtime.block_on(async {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(3600)).await;
            tokio::time::resume();
            identity.credential(&purpose).await
        })
    };
    let served = |what: &str, problem: bool| -> Result<()> {
        let credential = asked()?.with_context(|| format!("{what}: signed out"))?;
        ensure!(credential.secret.expose_secret() == KEY, "{what}: another key");
        ensure!(credential.warning.is_some() == problem, "{what}: {:?}", credential.warning);
        Ok(())
    };
    served("kept", false)?;
    service.lock()?;
    served("locked", true)?;
    service.kill_keyring()?;
    served("killed", true)?;
    let fresh = runtime.block_on(within(&stage, &service).credential(&purpose));
    assert!(matches!(fresh, Err(Problem::Store(_))), "who never read it is told, and not signed out: {fresh:?}");
    service.start_keyring()?;
    served("back again", false)
}
