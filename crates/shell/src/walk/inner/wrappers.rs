//! Wrappers: programs that run the rest of their words as a command, once and in place.

use super::options::{Options, Wrapper, options, unsure};
use super::scripts::one;
use super::{Inner, ScriptText, ShellKind};
use crate::command::{Assignment, Via};
use crate::word::{Part, Value, Word};
use std::ops::Range;

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "sudo",
        valued: "ugCDhprRtTU",
        flags: "ABbEeHiKklNnPSsVv",
        long_valued: &[
            "--user",
            "--group",
            "--chdir",
            "--host",
            "--prompt",
            "--close-from",
            "--role",
            "--type",
            "--chroot",
            "--other-user",
            "--command-timeout",
        ],
        operands: 0,
    },
    Wrapper { name: "doas", valued: "uC", flags: "nsL", long_valued: &[], operands: 0 },
    Wrapper {
        name: "env",
        valued: "uCS",
        flags: "i0v",
        long_valued: &["--unset", "--chdir", "--split-string"],
        operands: 0,
    },
    Wrapper { name: "timeout", valued: "ks", flags: "v", long_valued: &["--kill-after", "--signal"], operands: 1 },
    Wrapper { name: "time", valued: "fo", flags: "apvq", long_valued: &["--format", "--output"], operands: 0 },
    Wrapper { name: "nice", valued: "n", flags: "0123456789", long_valued: &["--adjustment"], operands: 0 },
    Wrapper { name: "nohup", valued: "", flags: "", long_valued: &[], operands: 0 },
    Wrapper { name: "stdbuf", valued: "ioe", flags: "", long_valued: &["--input", "--output", "--error"], operands: 0 },
    Wrapper { name: "command", valued: "", flags: "p", long_valued: &[], operands: 0 },
    Wrapper { name: "builtin", valued: "", flags: "", long_valued: &[], operands: 0 },
    Wrapper { name: "exec", valued: "a", flags: "cl", long_valued: &[], operands: 0 },
    Wrapper { name: "setsid", valued: "", flags: "cfw", long_valued: &[], operands: 0 },
    Wrapper {
        name: "ionice",
        valued: "cnpPu",
        flags: "t",
        long_valued: &["--class", "--classdata", "--pid", "--pgid", "--uid"],
        operands: 0,
    },
    Wrapper { name: "chroot", valued: "", flags: "", long_valued: &["--userspec", "--groups"], operands: 1 },
    Wrapper {
        name: "nsenter",
        valued: "tSGWN",
        flags: "amuinpCUTrwFZe",
        long_valued: &["--target", "--setuid", "--setgid"],
        operands: 0,
    },
    Wrapper {
        name: "unshare",
        valued: "SGRw",
        flags: "muinpCUTfrc",
        long_valued: &[
            "--setuid",
            "--setgid",
            "--root",
            "--wd",
            "--map-user",
            "--map-group",
            "--map-users",
            "--map-groups",
            "--propagation",
            "--setgroups",
            "--monotonic",
            "--boottime",
        ],
        operands: 0,
    },
    Wrapper { name: "busybox", valued: "", flags: "", long_valued: &[], operands: 0 },
    Wrapper {
        name: "flock",
        valued: "wE",
        flags: "sxeunoFv",
        long_valued: &["--timeout", "--wait", "--conflict-exit-code"],
        operands: 1,
    },
    Wrapper { name: "noglob", valued: "", flags: "", long_valued: &[], operands: 0 },
    Wrapper { name: "nocorrect", valued: "", flags: "", long_valued: &[], operands: 0 },
];

/// The wrapper of this name.
pub(super) fn named(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// The command inside a wrapper.
pub(super) fn wrapped(wrapper: &Wrapper, words: &[Word]) -> Vec<Inner> {
    let name = wrapper.name;
    let options = options(wrapper, words);
    let option = |wanted: &[&str]| {
        options.seen.iter().copied().find(|&at| words.get(at).is_some_and(|word| wanted.contains(&word.known_prefix())))
    };
    let mut result = Vec::new();
    if options.unsure && !(name == "command" && option(&["-v", "-V", "-pv", "-pV"]).is_some()) {
        result.push(unsure(name));
    }
    if name == "command" && option(&["-v", "-V", "-pv", "-pV"]).is_some() {
        return result;
    }
    if name == "env" {
        result.extend(split_string(words, &options));
    }
    let mut first = options.first + wrapper.operands;
    if name == "flock" && words.get(first).and_then(Word::text).is_some_and(|word| matches!(word, "-c" | "--command")) {
        result.extend(one(first + 1, name));
        return result;
    }
    let mut assignments = Vec::new();
    if matches!(name, "env" | "sudo" | "doas") {
        while let Some(assignment) = words.get(first).and_then(assignment) {
            assignments.push(assignment);
            first += 1;
        }
    }
    if first < words.len() {
        result.push(Inner::Wrapped { wrapper: name.to_owned(), first, assignments });
    }
    result
}

/// `NAME=value` given to a wrapper.
fn assignment(word: &Word) -> Option<Assignment> {
    let prefix = word.known_prefix();
    let (name, rest) = prefix.split_once('=')?;
    if !crate::walk::expand::is_name(name) {
        return None;
    }
    let value = match &word.value {
        Value::Literal(_) => Value::Literal(rest.to_owned()),
        Value::Template(parts) => {
            let mut value = vec![Part::Text(rest.to_owned())];
            value.extend(parts.iter().skip(1).cloned());
            Value::Template(value)
        }
    };
    Some(Assignment { span: word.span, name: name.to_owned(), value: Some(Word { value, ..word.clone() }) })
}

/// `env -S 'cmd args'`.
fn split_string(words: &[Word], options: &Options) -> Option<Inner> {
    for &at in &options.seen {
        let prefix = words.get(at)?.known_prefix();
        let via = Via::Shell("env -S".to_owned());
        let script = |words: Range<usize>, offset| {
            let shell = ShellKind::New;
            Inner::Script(ScriptText { words, offset, arguments: None, via: via.clone(), shell })
        };
        if let Some(rest) = prefix.strip_prefix("--split-string=") {
            return Some(script(at..at + 1, prefix.len() - rest.len()));
        }
        if prefix == "--split-string" {
            return Some(script(at + 1..words.len(), 0));
        }
        let short = prefix.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?.find('S');
        if let Some(letter) = short {
            let offset = letter + 2;
            return Some(if offset == prefix.len() {
                script(at + 1..words.len(), 0)
            } else {
                script(at..words.len(), offset)
            });
        }
    }
    None
}
