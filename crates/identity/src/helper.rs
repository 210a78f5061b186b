//! The command that prints a key: run when a key is first needed, and again when its key was refused. What it prints
//! is never part of an error.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use crate::problem::Problem;

/// How long a helper may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much it may print.
const PRINTED: u64 = 64 * 1024;
/// How long its key is believed.
const BELIEVED: Duration = Duration::from_secs(5 * 60);

/// The helper, and the key that it gave last.
pub(crate) struct Helper {
    command: String,
    fetched: Mutex<Option<(SecretString, tokio::time::Instant)>>,
}

impl std::fmt::Debug for Helper {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Helper")
    }
}

impl Helper {
    /// A helper, if settings name one.
    pub(crate) fn of(command: Option<&str>) -> Option<Self> {
        let command = command.map(str::trim).filter(|command| !command.is_empty())?;
        Some(Self { command: command.to_owned(), fetched: Mutex::new(None) })
    }

    /// The key. The command is run with these variables, once for several who ask at the same time.
    pub(crate) async fn key(&self, environment: &[(OsString, OsString)]) -> Result<SecretString, Problem> {
        let mut fetched = self.fetched.lock().await;
        if let Some((key, at)) = fetched.as_ref()
            && at.elapsed() < BELIEVED
        {
            return Ok(key.clone());
        }
        let key = run(&self.command, environment).await.map_err(Problem::Helper)?;
        *fetched = Some((key.clone(), tokio::time::Instant::now()));
        Ok(key)
    }

    /// Forgets this key, so that the command is run again. Somebody else may have fetched a newer one already.
    pub(crate) async fn forget(&self, refused: &SecretString) {
        let mut fetched = self.fetched.lock().await;
        if fetched.as_ref().is_some_and(|(key, _)| key.expose_secret() == refused.expose_secret()) {
            *fetched = None;
        }
    }
}

/// Runs a helper and takes the first line that it prints.
async fn run(command: &str, environment: &[(OsString, OsString)]) -> Result<SecretString, &'static str> {
    let mut child = tokio::process::Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| "cannot be started")?;
    // Room for all of it from the start: a vector that grows leaves copies behind.
    let mut printed = Zeroizing::new(Vec::with_capacity(PRINTED.try_into().unwrap_or_default()));
    let finished = async {
        if let Some(output) = child.stdout.take() {
            output.take(PRINTED).read_to_end(&mut printed).await?;
        }
        child.wait().await
    };
    match tokio::time::timeout(PATIENCE, finished).await {
        Err(_) => return Err("took too long"),
        Ok(Err(_)) => return Err("could not be run to its end"),
        Ok(Ok(status)) if !status.success() => return Err("ended with an error"),
        Ok(Ok(_)) => {}
    }
    let text = std::str::from_utf8(&printed).map_err(|_| "printed no text")?;
    let first = text.lines().next().unwrap_or_default().trim();
    if first.is_empty() { Err("printed nothing") } else { Ok(first.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), "/usr/bin:/bin".into())]
    }

    #[tokio::test]
    async fn a_helper_that_fails_gives_no_key_and_tells_nothing_it_printed() {
        for command in ["echo sk-hidden; exit 1", "true", "printf '\\377'", "exec /nowhere/at/all"] {
            let problem = Helper::of(Some(command)).unwrap().key(&environment()).await.unwrap_err();
            assert!(matches!(problem, Problem::Helper(_)));
            assert!(!format!("{problem:?} {problem}").contains("sk-hidden"));
        }
    }

    #[tokio::test]
    async fn a_helper_is_run_once_until_its_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let helper = Helper::of(Some(&format!("echo x >> {0}; wc -l < {0}", log.display()))).unwrap();
        let first = helper.key(&environment()).await.unwrap();
        assert_eq!(helper.key(&environment()).await.unwrap().expose_secret(), first.expose_secret());
        helper.forget(&"another".into()).await;
        assert_eq!(helper.key(&environment()).await.unwrap().expose_secret(), "1", "only the refused one is forgotten");
        helper.forget(&first).await;
        assert_eq!(helper.key(&environment()).await.unwrap().expose_secret(), "2");
    }

    #[tokio::test]
    async fn the_first_line_is_the_key() {
        let helper = Helper::of(Some("printf ' helped \\nmore'")).unwrap();
        assert_eq!(helper.key(&environment()).await.unwrap().expose_secret(), "helped");
        assert!(Helper::of(Some("  ")).is_none());
        assert!(Helper::of(None).is_none());
    }
}
