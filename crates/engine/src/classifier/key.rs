//! The key of the API: where it comes from, and that it is shown to nobody.

use std::ffi::{OsStr, OsString};
use std::process::Stdio;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;

use super::client::{Problem, Provider};

/// This program's own variable; it wins over the provider's.
const OWN: &str = "MAYI_CLASSIFIER_KEY";
/// How long a helper may take, and how much it may print.
const HELPER: (Duration, u64) = (Duration::from_secs(10), 64 * 1024);

/// The variables of a process.
pub type Environment = [(OsString, OsString)];

/// The text of a variable.
pub(super) fn variable(environment: &Environment, name: &str) -> Option<String> {
    let found = environment.iter().find(|(own, _)| own == OsStr::new(name))?;
    found.1.to_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A key, or the way to one. `Debug` shows neither the key nor the variables of the helper.
pub(crate) enum Key {
    /// None is needed.
    None,
    /// From a variable.
    Given(SecretString),
    /// From a command, run when a key is first needed.
    Helper { command: String, environment: Vec<(OsString, OsString)>, fetched: Mutex<Option<SecretString>> },
}

impl std::fmt::Debug for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::None => "Key::None",
            Self::Given(_) => "Key::Given([secret])",
            Self::Helper { .. } => "Key::Helper([secret])",
        })
    }
}

impl Key {
    /// The key for a provider, by the first source that has one.
    pub(crate) fn of(provider: Provider, environment: &Environment, helper: Option<&str>) -> Self {
        let given = variable(environment, OWN).or_else(|| variable(environment, provider.key_variable()));
        match (given, helper.map(str::trim).filter(|helper| !helper.is_empty())) {
            (Some(key), _) => Self::Given(key.into()),
            (None, Some(command)) => Self::Helper {
                command: command.to_owned(),
                environment: environment.to_vec(),
                fetched: Mutex::new(None),
            },
            (None, None) => Self::None,
        }
    }

    /// The key itself.
    pub(super) async fn fetch(&self) -> Result<Option<SecretString>, Problem> {
        let Self::Helper { command, environment, fetched } = self else {
            return Ok(match self {
                Self::Given(key) => Some(key.clone()),
                Self::None | Self::Helper { .. } => None,
            });
        };
        let mut fetched = fetched.lock().await;
        if fetched.is_none() {
            *fetched = Some(run(command, environment).await?);
        }
        Ok(fetched.clone())
    }

    /// The server did not take it: a helper is asked again the next time.
    pub(super) async fn forget(&self) {
        if let Self::Helper { fetched, .. } = self {
            *fetched.lock().await = None;
        }
    }
}

/// Runs a helper and takes the first line that it prints. What it prints is never part of an error.
async fn run(command: &str, environment: &Environment) -> Result<SecretString, Problem> {
    let failed = |what: &str| Problem::KeyHelper(what.to_owned());
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
        .map_err(|_| failed("cannot be started"))?;
    let (within, most) = HELPER;
    let mut printed = Vec::new();
    let finished = async {
        if let Some(output) = child.stdout.take() {
            output.take(most).read_to_end(&mut printed).await?;
        }
        child.wait().await
    };
    match tokio::time::timeout(within, finished).await {
        Err(_) => return Err(failed("took too long")),
        Ok(Err(_)) => return Err(failed("could not be run to its end")),
        Ok(Ok(status)) if !status.success() => return Err(failed("ended with an error")),
        Ok(Ok(_)) => {}
    }
    let text = SecretString::from(String::from_utf8(printed).map_err(|_| failed("printed no text"))?);
    let first = text.expose_secret().lines().next().unwrap_or_default().trim();
    if first.is_empty() { Err(failed("printed nothing")) } else { Ok(first.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn fetched(key: &Key) -> Result<Option<String>, Problem> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(key.fetch()).map(|key| key.map(|key| key.expose_secret().to_owned()))
    }

    #[test]
    fn the_first_source_that_has_a_key_gives_it() {
        let both = environment(&[("ANTHROPIC_API_KEY", "theirs"), ("MAYI_CLASSIFIER_KEY", " own ")]);
        let one = environment(&[("ANTHROPIC_API_KEY", "theirs"), ("MAYI_CLASSIFIER_KEY", "")]);
        let table = [
            (Provider::Anthropic, &both, Some("echo helped"), Some("own")),
            (Provider::Anthropic, &one, Some("echo helped"), Some("theirs")),
            (Provider::OpenAi, &one, Some("printf 'helped\\nmore'"), Some("helped")),
            (Provider::OpenAi, &one, None, None),
        ];
        for (provider, environment, helper, expected) in table {
            let key = Key::of(provider, environment, helper);
            assert_eq!(fetched(&key).unwrap().as_deref(), expected);
            assert!(!format!("{key:?}").contains("own") && !format!("{key:?}").contains("theirs"));
        }
    }

    #[test]
    fn a_helper_that_fails_gives_no_key_and_tells_nothing_it_printed() {
        for helper in ["echo sk-hidden; exit 1", "true", "printf '\\377'", "exec /nowhere/at/all"] {
            let problem = fetched(&Key::of(Provider::OpenAi, &environment(&[]), Some(helper))).unwrap_err();
            assert!(matches!(problem, Problem::KeyHelper(_)));
            assert!(!format!("{problem:?} {problem}").contains("sk-hidden"));
        }
    }

    #[test]
    fn a_helper_is_run_once_until_its_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let helper = format!("echo x >> {0}; wc -l < {0}", log.display());
        let path = environment(&[("PATH", "/usr/bin:/bin")]);
        let key = Key::of(Provider::OpenAi, &path, Some(&helper));
        assert_eq!(fetched(&key), fetched(&key));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(key.forget());
        assert_eq!(fetched(&key).unwrap().as_deref(), Some("2"));
    }
}
