//! The environment of a hook: a short list of harmless variables, never the credentials of the process around it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use mayi_core::policy::Layer;

use crate::hooks::NESTED;

/// Variables that a hook gets when they are set. A name that ends in `*` is a prefix.
const PASSED: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "XDG_*",
    // How text and time should look.
    "LANG",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
];

/// The variables of the process, the ones settings add, and who may see which.
#[derive(Clone, Default)]
pub(super) struct Environment {
    process: Vec<(OsString, OsString)>,
    settings: BTreeMap<String, String>,
}

impl Environment {
    pub(super) fn new(process: Vec<(OsString, OsString)>, settings: BTreeMap<String, String>) -> Self {
        Self { process, settings }
    }

    /// What a hook of this layer, working in this directory for this project, is given. `env` of settings may add
    /// variables but replace none, and adds none to the organisation's hooks: a project must not steer its guards.
    pub(super) fn of_hook(&self, layer: Layer, directory: &Path, project: &Path) -> Vec<(OsString, OsString)> {
        let passed = self.process.iter().filter(|(name, _)| is_passed(name)).cloned();
        let mut variables: Vec<(OsString, OsString)> = passed.collect();
        variables.push(("PWD".into(), directory.into()));
        variables.push(("CLAUDE_PROJECT_DIR".into(), project.into()));
        variables.push(("MAYI_PROJECT_DIR".into(), project.into()));
        variables.push((NESTED.into(), "1".into()));
        if layer != Layer::Managed {
            let new = |name: &OsStr| !is_passed(name) && variables.iter().all(|(other, _)| other != name);
            let added = self.settings.iter().filter(|(name, _)| is_name(name) && new(OsStr::new(name)));
            let added: Vec<_> = added.map(|(name, value)| (name.into(), value.into())).collect();
            variables.extend(added);
        }
        variables
    }

    /// A variable of the process, for whoever was named it.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.process.iter().find(|(own, _)| own == name)?.1.to_str()
    }

    /// Whether this process was started by a hook, or by something that one started.
    pub(super) fn is_within_hook(&self) -> bool {
        self.process.iter().any(|(name, _)| name == NESTED)
    }

    /// Where programs are looked for.
    pub(super) fn search(&self) -> &OsStr {
        let found = self.process.iter().find(|(name, _)| name == "PATH");
        found.map(|(_, value)| value.as_os_str()).unwrap_or_default()
    }
}

/// Names alone: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.process.iter().map(|(name, _)| name)).entries(self.settings.keys()).finish()
    }
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PASSED.iter().any(|passed| match passed.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *passed,
    })
}

/// What a shell takes for a variable's name; other names and stray NULs could not be handed over.
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let process = [("PATH", "/bin"), ("API_KEY", "secret"), ("LC_ALL", "C"), ("LD_PRELOAD", "x.so")];
        let settings = [("PATH", "/evil"), ("HOME", "/evil"), ("MORE", "1"), ("A=B", "2"), ("PWD", "/evil")];
        Environment::new(
            process.map(|(name, value)| (name.into(), value.into())).to_vec(),
            settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        )
    }

    fn names(layer: Layer) -> Vec<(String, String)> {
        let given = environment().of_hook(layer, Path::new("/here"), Path::new("/project"));
        given.into_iter().map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap())).collect()
    }

    #[test]
    fn only_listed_variables_pass_and_settings_replace_none() {
        let expected = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("PWD", "/here"),
            ("CLAUDE_PROJECT_DIR", "/project"),
            ("MAYI_PROJECT_DIR", "/project"),
            ("MAYI_IN_HOOK", "1"),
            ("MORE", "1"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(names(Layer::User), expected);
        assert_eq!(names(Layer::Managed), expected[..6]);
    }

    #[test]
    fn values_are_never_printed() {
        assert!(!format!("{:?}", environment()).contains("secret"));
    }
}
