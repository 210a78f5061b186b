//! What can go wrong with a hook, in words that follow its name. None of it ever allows a call.

use std::time::Duration;

use mayi_settings::secret;

/// Why a hook gave no answer that counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot be run: {0}")]
    Unusable(String),
    #[error("could not be started: {0}")]
    NotStarted(String),
    #[error("gave no answer within {} s", seconds(.0))]
    TimedOut(Duration),
    #[error("was not asked: no time was left")]
    NoTime,
    #[error("was not asked: a hook started this mayi, and hooks of hooks could go on without end")]
    WithinHook,
    #[error("said more than 1 MiB")]
    TooMuch,
    #[error("ended with exit code {code}{}", after(.stderr))]
    Exit { code: i32, stderr: String },
    #[error("was ended by signal {signal}{}", after(.stderr))]
    Signal { signal: i32, stderr: String },
    #[error("ended, but something it started still holds its output open (help: redirect that output)")]
    LeftRunning,
    #[error("began its answer with `{{`, but it is no JSON: {0}")]
    BadJson(String),
    #[error("answered with a body that is no JSON object")]
    NoObject,
    #[error("gave an answer that was not understood: {0}")]
    NotUnderstood(String),
    #[error("answered with status {0}")]
    Status(u16),
    #[error("could not be reached: {0}")]
    Unreachable(String),
    #[error("broke off its answer: {0}")]
    BrokenOff(String),
    #[error("has an address that `allowedHttpHookUrls` does not list")]
    NotAllowed,
    #[error("has a header that cannot be sent: `{0}`")]
    BadHeader(String),
    #[error("has no address that can be called: {0}")]
    BadAddress(String),
}

/// Seconds, to the tenth above.
fn seconds(time: &Duration) -> String {
    let tenths = time.as_millis().div_ceil(100);
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        part => format!("{}.{part}", tenths / 10),
    }
}

/// What the hook complained about, as far as one line goes.
fn after(stderr: &str) -> String {
    match shortened(stderr, 200) {
        line if line.is_empty() => line,
        line => format!(": {line}"),
    }
}

/// The first line of a text that says anything, and no more of it than so many letters. Half a secret is not found any more,
/// so secrets are hidden before anything is cut off.
pub(super) fn shortened(text: &str, letters: usize) -> String {
    let mut text = text.to_owned();
    secret::redact(&mut text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}
