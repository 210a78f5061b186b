//! Slips: what a hook leaves for `mayi run`. A hook decides and cannot run; the run that it puts in the place of a
//! command must not decide again, because a person or a model may have answered. So the hook writes down what was
//! decided about the very text, and the run takes that slip, once.
//!
//! Slips lie in mayi's own state, which no confined command can write and no agent may edit without a person's word.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mayi_core::call::Call;
use mayi_core::reason::Reason;
use mayi_core::referral::{self, PersonAnswer};
use mayi_core::step::Step;
use mayi_core::trace::{Finding, Trace};
use mayi_core::verdict::{Bounds, Decision, Terms, Verdict};
use mayi_settings::trust::make_private;
use serde::{Deserialize, Serialize};

use crate::settler::Settler;

/// How long a slip counts. A person may take their time to answer an agent's prompt.
const LASTS: Duration = Duration::from_secs(24 * 60 * 60);
/// Longer files are no slips.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Letters of a slip's name: 120 bits.
const LETTERS: usize = 24;

/// What was decided about a command that is to run confined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// The agent program.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// The agent within the session.
    pub child: Option<String>,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: String,
    /// The text that may run, letter by letter.
    pub command: String,
    /// The project: where settings are looked for.
    pub directory: PathBuf,
    /// Settings that the hook was given, as its arguments.
    pub settings: Vec<String>,
    /// Allow; or ask, which the agent puts to a person before it runs anything.
    pub verdict: Verdict,
    /// The step that decided, by its id.
    pub step: String,
    /// Why, in words.
    pub message: String,
    /// It was allowed because it will be confined.
    pub confined: bool,
}

/// Why there is no slip.
#[derive(Debug, thiserror::Error)]
pub enum SlipError {
    /// It was used, has expired or never was.
    #[error(
        "`{0}` is no permit that still counts: it was used, or it is too old\nhelp: give the agent the command itself; mayi decides it anew"
    )]
    Unknown(String),
    /// It is about something else.
    #[error("the permit `{0}` is for another command\nhelp: give the agent the command itself; mayi decides it anew")]
    OtherCommand(String),
    /// The file does not work.
    #[error("the permit `{path}` cannot be used: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Slip {
    /// The decision, as it stands when the command is about to run: whoever was to be asked said yes, or the agent
    /// would not run it.
    pub fn decision(&self) -> Decision {
        let step = Settler::step(&self.step).unwrap_or(Step::Fallback);
        let reason = Reason::Hook { message: self.message.clone() };
        let mut trace = Trace::default();
        trace.push(step, Finding::Settle(self.verdict, reason.clone()));
        let terms = Terms { confined: self.confined, bounds: Bounds::Inside };
        let decision = Decision { verdict: self.verdict, step, reason, terms, trace };
        let answer = PersonAnswer { verdict: Verdict::Allow, comment: Some("at the agent's own prompt".to_owned()) };
        referral::answered(decision, answer)
    }

    /// The call that runs: whatever the agent's tool is called, it is a shell command.
    pub fn call(&self) -> Call {
        Call::shell(&self.command)
    }
}

/// The slips below a state folder.
#[derive(Clone, Debug)]
pub struct Slips {
    folder: PathBuf,
}

impl Slips {
    /// The slips of a state folder. Nothing is opened yet.
    pub fn in_folder(state: &Path) -> Self {
        Self { folder: state.join("permits") }
    }

    /// Writes a slip, and gives its name.
    pub fn put(&self, slip: &Slip) -> Result<String, SlipError> {
        let name = name().map_err(|source| SlipError::Io { path: self.folder.clone(), source })?;
        let path = self.folder.join(&name);
        let write = || {
            let bytes = serde_json::to_vec(slip)?;
            match private().open(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    make_private(&self.folder)?;
                    private().open(&path)?.write_all(&bytes)
                }
                opened => opened?.write_all(&bytes),
            }
        };
        write().map_err(|source| SlipError::Io { path: path.clone(), source })?;
        Ok(name)
    }

    /// Whether a slip is there for this command of this session. It stays.
    pub fn holds(&self, name: &str, session: &str, command: &str) -> bool {
        self.read(name).is_ok_and(|(slip, _)| slip.session == session && slip.command == command)
    }

    /// Takes a slip for a command. Nobody can take it again; a slip for another command stays where it is.
    pub fn take(&self, name: &str, command: &str) -> Result<Slip, SlipError> {
        let (slip, path) = self.read(name)?;
        if slip.command != command {
            return Err(SlipError::OtherCommand(name.to_owned()));
        }
        match fs::remove_file(&path) {
            Ok(()) => Ok(slip),
            // Another process was quicker.
            Err(error) if error.kind() == ErrorKind::NotFound => Err(SlipError::Unknown(name.to_owned())),
            Err(source) => Err(SlipError::Io { path, source }),
        }
    }

    fn read(&self, name: &str) -> Result<(Slip, PathBuf), SlipError> {
        let unknown = || SlipError::Unknown(name.to_owned());
        if !is_name(name) {
            return Err(unknown());
        }
        let path = self.folder.join(name);
        let read = || {
            let file = fs::File::open(&path)?;
            let written = file.metadata()?.modified()?;
            let mut bytes = Vec::new();
            file.take(LONGEST).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>((written, bytes))
        };
        let (written, bytes) = match read() {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(unknown()),
            Err(source) => return Err(SlipError::Io { path, source }),
        };
        if SystemTime::now().duration_since(written).unwrap_or_default() > LASTS {
            return Err(unknown());
        }
        let slip: Slip = serde_json::from_slice(&bytes)
            .map_err(|error| SlipError::Io { path: path.clone(), source: error.into() })?;
        // INVARIANT: nobody writes a slip for a denied call; one that says so was not written by us.
        if slip.verdict == Verdict::Deny { Err(unknown()) } else { Ok((slip, path)) }
    }

    /// Removes slips that no longer count. Called where a session begins.
    pub fn sweep(&self, now: SystemTime) -> io::Result<()> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries.flatten() {
            let written = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > LASTS));
            if is_old && entry.file_name().to_str().is_some_and(is_name) {
                // Another process may have removed it just now.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

/// Whether a text is the name of a slip.
pub(super) fn is_name(text: &str) -> bool {
    text.len() == LETTERS && text.bytes().all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte))
}

/// A name that nobody can guess.
fn name() -> io::Result<String> {
    const ALPHABET: [char; 32] = [
        'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
        'w', 'x', 'y', 'z', '2', '3', '4', '5', '6', '7',
    ];
    let mut bytes = [0; LETTERS];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 31))).collect())
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip(command: &str, verdict: Verdict) -> Slip {
        Slip {
            agent: "claude-code".to_owned(),
            session: "s".to_owned(),
            child: None,
            call_id: None,
            tool: "Bash".to_owned(),
            command: command.to_owned(),
            directory: "/p".into(),
            settings: Vec::new(),
            verdict,
            step: "2b".to_owned(),
            message: "a rule".to_owned(),
            confined: true,
        }
    }

    #[test]
    fn a_slip_is_taken_once_and_only_for_its_command() {
        let folder = tempfile::tempdir().unwrap();
        let slips = Slips::in_folder(folder.path());
        let name = slips.put(&slip("npm test", Verdict::Allow)).unwrap();
        assert!(is_name(&name), "{name}");
        assert!(slips.holds(&name, "s", "npm test") && !slips.holds(&name, "other", "npm test"));
        assert!(matches!(slips.take(&name, "npm test; rm x"), Err(SlipError::OtherCommand(_))));
        assert_eq!(slips.take(&name, "npm test").unwrap(), slip("npm test", Verdict::Allow));
        assert!(matches!(slips.take(&name, "npm test"), Err(SlipError::Unknown(_))));
    }

    #[test]
    fn what_is_no_slip_is_not_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let slips = Slips::in_folder(folder.path());
        for name in ["", "..", "../audit.jsonl", "ABC", &"a".repeat(23), &"a".repeat(24)] {
            assert!(matches!(slips.take(name, "x"), Err(SlipError::Unknown(_))), "{name}");
        }
        let denied = slips.put(&slip("x", Verdict::Deny)).unwrap();
        assert!(slips.take(&denied, "x").is_err());
        let old = slips.put(&slip("x", Verdict::Allow)).unwrap();
        let path = folder.path().join("permits").join(&old);
        let long_ago = SystemTime::now() - LASTS - Duration::from_secs(60);
        fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        assert!(slips.take(&old, "x").is_err());
        slips.sweep(SystemTime::now()).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_slip_of_a_question_becomes_the_answer_and_keeps_its_terms() {
        for (verdict, step) in [(Verdict::Allow, Step::AllowRules), (Verdict::Ask, Step::Human)] {
            let decision = slip("x", verdict).decision();
            assert_eq!((decision.verdict, decision.step), (Verdict::Allow, step));
            assert!(decision.terms.confined);
        }
    }
}
