//! A path that starts somewhere else than it seems to.

use mayi_core::path;
use mayi_core::policy::Layer;

use super::about;
use crate::load::Loaded;
use crate::problem::{Code, Problem};

/// Folders at the root of file systems that projects seldom have at theirs.
const ROOTS: [&str; 14] = [
    "Users", "home", "etc", "root", "private", "Volumes", "proc", "sys", "usr", "opt", "mnt", "media", "Library",
    "System",
];

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    for entry in loaded.policy.entries() {
        let content = entry.rule.content.as_deref().unwrap_or_default();
        let text = content.strip_prefix('!').unwrap_or(content);
        let is_path =
            matches!(entry.rule.tool.as_str(), "Read" | "Edit") && text.starts_with('/') && !text.starts_with("//");
        let is_managed_value = entry.origin.layer == Layer::Managed;
        if !is_path || is_managed_value && entry.origin.file.as_deref().is_none_or(|file| !file.contains('/')) {
            continue;
        }
        if let Some(better) = better(text, loaded) {
            let message = format!("`{text}` starts at the root of these settings, not of the file system");
            let fix = format!("write `{}({better})`", entry.rule.tool);
            found.push(about(entry, Code::WrongAnchor, message).fix(fix));
        }
    }
}

/// The pattern that was meant by a path pattern that begins with one slash, if another one was.
pub fn better(text: &str, loaded: &Loaded) -> Option<String> {
    let workspace = &loaded.policy.workspace;
    let inside = |folder: &str| folder != "/" && path::is_within(text, folder);
    if let Some(home) = workspace.home.as_deref().filter(|home| inside(home)) {
        return Some(format!("~{}", text.strip_prefix(home)?));
    }
    let first = path::segments(text).next()?;
    (ROOTS.contains(&first) || inside(&workspace.directory)).then(|| format!("/{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Given, of_values};
    use mayi_core::call::Workspace;
    use serde_json::json;

    #[test]
    fn absolute_looking_paths_come_with_the_absolute_spelling() {
        let settings = json!({"permissions": {"deny": ["Read(/etc/passwd)", "Read(/home/u/x)", "Edit(/w/src)", "Read(/src/**)",
            "Read(//etc/x)", "Bash(/etc/x)"]}});
        let workspace = Workspace::at("/w").with_home("/home/u");
        let loaded = of_values(&[(Layer::User, &settings)], &workspace, &Given::default());
        let mut found = Vec::new();
        check(&loaded, &mut found);
        let fixes: Vec<&str> = found.iter().filter_map(|problem| problem.fix.as_deref()).collect();
        assert_eq!(fixes, ["write `Read(//etc/passwd)`", "write `Read(~/x)`", "write `Edit(//w/src)`"]);
    }
}
