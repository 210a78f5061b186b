//! Commands that come as lists of words, and words put into commands.

use mayi_core::path;
use serde_json::Value;

/// A word as a shell reads it back, whatever is in it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The script of `["bash", "-lc", SCRIPT]`, where a list of words is one.
pub(super) fn script(list: &[Value]) -> Option<&str> {
    let [shell, flag, script] = list else { return None };
    let is_shell = matches!(path::name(shell.as_str()?), "bash" | "sh");
    (is_shell && matches!(flag.as_str()?, "-c" | "-lc")).then(|| script.as_str())?
}

/// A list of words as one command, unless something in it is no word.
pub(super) fn command(list: &[Value]) -> Option<String> {
    if let Some(script) = script(list) {
        return Some(script.to_owned());
    }
    let words: Option<Vec<String>> = list.iter().map(|word| word.as_str().map(quoted)).collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
}

/// What is put before a command that runs in a directory of its own, so that it is judged there.
///
/// A line of its own, not `&&`: in `cd DIR && a & b` the shell runs `b` where it was.
pub(super) fn entering(directory: &str) -> String {
    format!("cd -- {}\n", quoted(directory))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_read_back_as_they_were() {
        let rows = [
            ("plain", "plain"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
            ("~", "'~'"),
            ("a\nb", "'a\nb'"),
        ];
        for (word, expected) in rows {
            assert_eq!(quoted(word), expected, "{word}");
        }
    }

    #[test]
    fn a_list_is_its_script_or_its_words() {
        let rows = [
            (json!(["bash", "-lc", "ls | wc"]), Some("ls | wc")),
            (json!(["/bin/sh", "-c", "ls"]), Some("ls")),
            (json!(["rm", "-rf", "a b"]), Some("rm -rf 'a b'")),
            (json!(["bash", "-lc", "ls", "extra"]), Some("bash -lc ls extra")),
            (json!(["bash", "-x", "ls"]), Some("bash -x ls")),
            (json!(["ls", 1]), None),
            (json!([]), None),
        ];
        for (list, expected) in rows {
            assert_eq!(command(list.as_array().unwrap()).as_deref(), expected, "{list}");
        }
    }
}
