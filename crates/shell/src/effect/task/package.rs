//! What a `package.json` says that a script runs, with the hooks around it.

use crate::effect::task::json;

/// Files whose settings can put another program in the place of the shell or of the tool itself.
pub(super) const SETTINGS: [&str; 5] = [".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", "pnpm-workspace.yaml"];

/// Parts of the settings that do so: `script-shell`, `scriptShell`, `node-options`, `yarnPath`, `preload`, plugins.
const TELLING: [&str; 5] = ["shell", "options", "path", "preload", "plugin"];

/// Whether settings leave the shell and the tool alone.
pub(super) fn is_plain(settings: &str) -> bool {
    let settings = settings.to_ascii_lowercase();
    !TELLING.iter().any(|part| settings.contains(part))
}

/// The texts that running a script runs.
pub(super) fn scripts(text: &str, name: &str) -> Option<Vec<String>> {
    let script = |name: &str| json::member(text, &["scripts", name]).and_then(json::string);
    let own = script(name)?;
    let (before, after) = (script(&format!("pre{name}")), script(&format!("post{name}")));
    Some(before.into_iter().chain([own]).chain(after).collect())
}

#[cfg(test)]
mod tests {
    use super::{is_plain, scripts};

    #[test]
    fn hooks_stand_around_their_script() {
        let text = r#"{"scripts": {"postb": "c", "prebuild": "x", "b": "b", "preb": "a"}}"#;
        assert_eq!(scripts(text, "b"), Some(vec!["a".to_string(), "b".to_string(), "c".to_string()]));
        assert_eq!(scripts(text, "build"), None);
    }

    #[test]
    fn settings_that_replace_the_shell_are_noticed() {
        assert!(is_plain("save-exact=true\n"));
        assert!(!is_plain("script-shell=./x\n"));
        assert!(!is_plain("yarnPath: .yarn/x.cjs\n"));
    }
}
