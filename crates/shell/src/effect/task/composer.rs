//! Reads the scripts of a `composer.json`. Composer loads the project's plugins first, so that a script is never all
//! that runs.

use crate::effect::task::expansion::{Expansion, Extent, order};
use crate::effect::task::json;

/// What a script and the scripts it refers to run.
pub(super) fn script(text: &str, name: &str) -> Option<Expansion> {
    let lines = |name: &str| json::strings(json::member(text, &["scripts", name])?);
    lines(name)?;
    let needs = |name: &str| Some(lines(name)?.iter().filter_map(|line| reference(line)).collect());
    let all = order(name, &needs).names;
    let texts = all.iter().filter_map(|name| lines(name)).flatten().filter_map(|line| shell_text(&line)).collect();
    Some(Expansion { texts, extent: Extent::Part })
}

/// The script that `@name` refers to.
fn reference(line: &str) -> Option<String> {
    let name = line.strip_prefix('@')?.split_whitespace().next()?;
    (!matches!(name, "php" | "composer" | "putenv")).then(|| name.to_string())
}

/// The line as a shell gets it; a PHP method and a reference are no shell text.
fn shell_text(line: &str) -> Option<String> {
    match line.strip_prefix('@') {
        Some(program) if program.starts_with("php ") || program.starts_with("composer ") => Some(program.to_string()),
        Some(_) => None,
        None if line.contains("::") && !line.contains(' ') => None,
        None => Some(line.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn scripts_and_references_are_read() {
        let text =
            r#"{"scripts": {"a": ["@b", "ls", "App\\Run::now", "@php x.php", "@putenv A=1"], "b": "@a", "c": 1}}"#;
        assert_eq!(script(text, "a").map(|found| found.texts), Some(vec!["ls".to_string(), "php x.php".to_string()]));
        assert_eq!(script(text, "c"), None);
        assert_eq!(script("", "a"), None);
    }
}
