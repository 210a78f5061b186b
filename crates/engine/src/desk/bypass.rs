//! Whether permissions may be bypassed at all: not as root outside a sandbox, where one wrong command is the end of the machine.

/// What an agent's word that permissions are bypassed is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bypass {
    /// It is taken. Whoever embeds the desk has seen to it.
    #[default]
    Taken,
    /// It is not taken as root outside a sandbox. Looked for only when somebody says it.
    NotAsRoot,
}

/// Why it is not taken, and what to do.
pub(super) const REFUSED: &str =
    "bypassPermissions does not count as root outside a sandbox: run as another user, or set IS_SANDBOX=1 in one";

/// Files that containers have.
const MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];
/// Variables that say that this is a sandbox or a container.
const VARIABLES: [&str; 2] = ["IS_SANDBOX", "container"];

impl Bypass {
    /// Whether it counts here and now.
    pub(super) fn counts(self) -> bool {
        match self {
            Bypass::Taken => true,
            Bypass::NotAsRoot => !is_root() || is_sandbox(),
        }
    }
}

fn is_sandbox() -> bool {
    let says_no = |value: &str| matches!(value, "" | "0" | "false" | "no");
    let said = |name: &str| std::env::var(name).is_ok_and(|value| !says_no(&value));
    VARIABLES.into_iter().any(said) || MARKS.iter().any(|mark| std::path::Path::new(mark).exists())
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}
