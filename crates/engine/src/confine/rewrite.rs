//! The text that takes a command's place so that it runs confined, and the way back from it.
//!
//! The way back is exact: only what this very program would have written is read as its own. Everything else that
//! begins with `mayi run` is a command like any other, and is judged by what stands behind it.

use mayi_settings::own_hook::{quoted, words};

use serde_json::Value;

use super::slip::is_name;

/// `PROGRAM run --permit NAME -- COMMAND`.
pub fn rewritten(program: &str, permit: &str, command: &str) -> String {
    format!("{} run --permit {permit} -- {}", quoted(program), quoted(command))
}

/// The permit's name and the command, if `program` wrote the text.
pub fn original(program: &str, text: &str) -> Option<(String, String)> {
    if !text.starts_with(&quoted(program)) {
        return None;
    }
    let words = words(text);
    let [_, _, _, permit, _, command] = words.as_slice() else { return None };
    let same = is_name(permit) && rewritten(program, permit, command) == text;
    same.then(|| (permit.clone(), command.clone()))
}

/// A call's input as the agent meant it: without what this program put in the place of its command.
pub fn shown(mut input: Value) -> Value {
    let text = input.get("command").and_then(Value::as_str).filter(|text| text.contains(" run --permit "));
    let program = || std::env::current_exe().ok()?.to_str().map(str::to_owned);
    let command = text.and_then(|text| Some(original(&program()?, text)?.1));
    if let (Some(field), Some(command)) = (input.get_mut("command"), command) {
        *field = command.into();
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "abcdefghijklmnopqrstuvwx";

    #[test]
    fn every_command_comes_back_as_it_was() {
        for program in ["/usr/bin/mayi", "/opt/it's here/mayi"] {
            for command in ["ls", "", "echo 'a b' | wc", "a\nb\\", "$(rm -rf ~)", "x -- y", "é \u{202e}"] {
                let text = rewritten(program, NAME, command);
                assert_eq!(original(program, &text), Some((NAME.to_owned(), command.to_owned())), "{text}");
            }
        }
    }

    #[test]
    fn what_another_program_or_hand_wrote_is_not_ours() {
        let text = rewritten("/usr/bin/mayi", NAME, "ls");
        for other in [
            text.replace("/usr/bin", "/tmp/evil"),
            format!("{text}; rm x"),
            format!("{text} > f"),
            format!("{text} "),
            format!("A=1 {text}"),
            text.replace("ls", "$X"),
            text.replace("ls", "\"ls\""),
            text.replace("ls", "l's'"),
            text.replace(NAME, "../../etc/passwd"),
            text.replace("run", "check"),
            text.replace("--permit", "--settings"),
            text.replace(" -- ", " "),
        ] {
            assert_eq!(original("/usr/bin/mayi", &other), None, "{other}");
        }
    }
}
