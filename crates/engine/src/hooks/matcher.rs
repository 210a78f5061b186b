//! Matchers: which tools a hook is for. A matcher that cannot be read is for every tool, so that a guard with a typing
//! mistake still stands guard.

use mayi_core::catalogue;
use regex::RegexBuilder;

/// Larger patterns are not compiled.
const SIZE_LIMIT: usize = 1 << 20;

/// Whether a matcher names a tool, by its present or an old name. `Err` says why nobody can tell.
pub(super) fn names(matcher: Option<&str>, tool: &str) -> Result<bool, String> {
    let matcher = matcher.unwrap_or_default().trim();
    if matches!(matcher, "" | "*") {
        return Ok(true);
    }
    if matcher.chars().all(is_plain) {
        let mut listed = matcher.split([',', '|']).map(str::trim).filter(|name| !name.is_empty()).peekable();
        return Ok(listed.peek().is_none() || listed.any(|name| called(tool).any(|called| called == name)));
    }
    let pattern = RegexBuilder::new(matcher).size_limit(SIZE_LIMIT).build();
    let pattern = pattern.map_err(|_| format!("the matcher `{matcher}` cannot be read, so it is for every tool"))?;
    Ok(called(tool).any(|name| pattern.is_match(name)))
}

/// Letters of a list of names. Anything else makes the matcher a regular expression.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ' ' | ',' | '|')
}

/// What a tool is and was called: settings outlive a renaming.
fn called(tool: &str) -> impl Iterator<Item = &str> {
    let old = catalogue::old_names().iter().filter(move |(_, present)| *present == tool).map(|(old, _)| *old);
    std::iter::once(tool).chain(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lists_and_patterns() {
        let table = [
            ("", "Bash", true),
            ("*", "Bash", true),
            (" ", "Bash", true),
            ("|", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("bash", "Bash", false),
            ("Bash|PowerShell", "PowerShell", true),
            ("Edit, Write", "Write", true),
            ("Edit, Write", "NotebookEdit", false),
            ("Edit.*", "NotebookEdit", true),
            ("^Edit$", "NotebookEdit", false),
            ("mcp__memory", "mcp__memory__read", false),
            ("mcp__memory__.*", "mcp__memory__read", true),
            ("mcp__my-server__a-b", "mcp__my-server__a-b", true),
            (r"mcp__\w+__(read|write)", "mcp__gh__write", true),
            ("Bash.", "Bash", false),
            ("Task", "Agent", true),
            ("^Tas.$", "Agent", true),
        ];
        for (matcher, tool, expected) in table {
            assert_eq!(names(Some(matcher), tool), Ok(expected), "{matcher} {tool}");
        }
        assert_eq!(names(None, "Bash"), Ok(true));
    }

    #[test]
    fn a_pattern_that_cannot_be_read_says_so() {
        for matcher in ["(?!Bash).*", "(", r"(a)\1", "(a{1000}){1000}{1000}"] {
            assert!(names(Some(matcher), "Bash").unwrap_err().contains("every tool"), "{matcher}");
        }
    }
}
