//! Whether permissions may be bypassed at all: not as root outside a sandbox, where one wrong command is the end of the machine.

use std::path::Path;

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
            Bypass::NotAsRoot => {
                let (variable, exists) = (|name: &str| std::env::var(name).ok(), |mark: &str| Path::new(mark).exists());
                !is_root() || is_sandbox(&variable, &exists)
            }
        }
    }
}

/// Whether this is a sandbox, by its variables and by the files that are there.
fn is_sandbox(variable: &dyn Fn(&str) -> Option<String>, exists: &dyn Fn(&str) -> bool) -> bool {
    let says_no = |value: &str| matches!(value, "" | "0" | "false" | "no");
    let said = |name: &str| variable(name).is_some_and(|value| !says_no(&value));
    VARIABLES.into_iter().any(said) || MARKS.into_iter().any(exists)
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_is_known_by_a_variable_or_a_file() {
        for (name, value, mark, expected) in [
            ("IS_SANDBOX", "1", "", true),
            ("container", "podman", "", true),
            ("OTHER", "1", "/.dockerenv", true),
            ("OTHER", "1", "/run/.containerenv", true),
            ("IS_SANDBOX", "0", "", false),
            ("IS_SANDBOX", "", "", false),
            ("OTHER", "1", "/etc/passwd", false),
        ] {
            let variable = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(is_sandbox(&variable, &|asked| asked == mark), expected, "{name}={value} {mark}");
        }
    }
}
