//! Runners: programs that run a command many times, elsewhere, or under a name.

use super::options::{Wrapper, options, unsure};
use super::scripts::one;
use super::{Inner, ScriptText, ShellKind};
use crate::command::Via;
use crate::word::{Hole, HoleKind, Part, Quoting, Span, Value, Word};

const XARGS: Wrapper = Wrapper {
    name: "xargs",
    valued: "IiEedlLnPsa",
    flags: "0rtpxo",
    long_valued: &[
        "--arg-file",
        "--delimiter",
        "--max-lines",
        "--max-args",
        "--max-procs",
        "--max-chars",
        "--process-slot-var",
    ],
    operands: 0,
};

fn inserted(at: Span) -> Word {
    let parts = vec![Part::Hole(Hole { kind: HoleKind::Inserted, quoted: true })];
    Word { span: Span { start: at.end, end: at.end }, quoting: Quoting::Bare, value: Value::Template(parts) }
}

/// The words with every `placeholder` replaced by what the runner inserts.
fn with_placeholder(words: &[Word], placeholder: &str) -> Vec<Word> {
    let replaced = |word: &Word| match word.text().filter(|text| text.contains(placeholder)) {
        None => word.clone(),
        Some(text) => {
            let mut parts = Vec::new();
            for (at, piece) in text.split(placeholder).enumerate() {
                if at > 0 {
                    parts.push(Part::Hole(Hole { kind: HoleKind::Inserted, quoted: true }));
                }
                if !piece.is_empty() {
                    parts.push(Part::Text(piece.to_owned()));
                }
            }
            Word { value: Value::Template(parts), ..word.clone() }
        }
    };
    words.iter().map(replaced).collect()
}

pub(super) fn xargs(words: &[Word]) -> Vec<Inner> {
    let options = options(&XARGS, words);
    let mut result = Vec::new();
    if options.unsure {
        result.push(unsure("xargs"));
    }
    let Some(command) = words.get(options.first..).filter(|command| !command.is_empty()) else { return result };
    let via = Via::Runner("xargs".to_owned());
    let replacement = options.seen.iter().find_map(|&at| {
        let prefix = words.get(at)?.known_prefix();
        match prefix.strip_prefix("-I")? {
            "" => words.get(at + 1)?.text(),
            attached => Some(attached),
        }
    });
    let words = match replacement {
        Some(placeholder) if !placeholder.is_empty() => with_placeholder(command, placeholder),
        _ => {
            let end = command.last().map(|word| word.span).unwrap_or_default();
            command.iter().cloned().chain([inserted(end)]).collect()
        }
    };
    result.push(Inner::Words { words, via });
    result
}

pub(super) fn find(words: &[Word]) -> Vec<Inner> {
    let mut result = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        if !matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            continue;
        }
        let rest = words.get(at..).unwrap_or_default();
        let ends = |word: &Word| matches!(word.text(), Some(";" | "+"));
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let command = rest.get(..length).unwrap_or_default();
        if !command.is_empty() {
            let words = with_placeholder(command, "{}");
            result.push(Inner::Words { words, via: Via::Runner("find".to_owned()) });
        }
        at += length;
    }
    result
}

pub(super) fn watch(words: &[Word]) -> Vec<Inner> {
    const WATCH: Wrapper = Wrapper {
        name: "watch",
        valued: "nqs",
        flags: "bCcdefghprtvwx",
        long_valued: &["--interval", "--equexit", "--shotsdir"],
        operands: 0,
    };
    let options = options(&WATCH, words);
    let mut result = Vec::new();
    if options.unsure {
        result.push(unsure("watch"));
    }
    if options.first < words.len() {
        let via = Via::Runner("watch".to_owned());
        let words = options.first..words.len();
        result.push(Inner::Script(ScriptText { words, offset: 0, arguments: None, via, shell: ShellKind::New }));
    }
    result
}

/// `parallel cmd ::: a b`: the command is shell text, with each argument inserted.
pub(super) fn parallel(words: &[Word]) -> Vec<Inner> {
    let first =
        words.iter().skip(1).position(|word| !word.known_prefix().starts_with('-')).map_or(words.len(), |at| at + 1);
    let end = words.iter().position(|word| word.known_prefix().starts_with(":::")).unwrap_or(words.len());
    let Some(command) = words.get(first..end).filter(|command| !command.is_empty()) else {
        return vec![Inner::Unsure { reason: "`parallel` runs commands from its input".to_owned() }];
    };
    let via = Via::Runner("parallel".to_owned());
    let unsure = Inner::Unsure { reason: "`parallel` builds shell text from what it is given".to_owned() };
    if let [only] = command
        && only.known_prefix().contains(' ')
    {
        let script = ScriptText { words: first..first + 1, offset: 0, arguments: None, via, shell: ShellKind::New };
        return vec![unsure, Inner::Script(script)];
    }
    let last = command.last().map(|word| word.span).unwrap_or_default();
    let words = with_placeholder(command, "{}").into_iter().chain([inserted(last)]).collect();
    vec![unsure, Inner::Words { words, via }]
}

pub(super) fn ssh(words: &[Word]) -> Vec<Inner> {
    const SSH: Wrapper = Wrapper {
        name: "ssh",
        valued: "BbcDEeFIiJLlmOoPpQRSWw",
        flags: "46AaCfGgKkMNnqsTtVvXxYy",
        long_valued: &[],
        operands: 1,
    };
    let options = options(&SSH, words);
    let mut result = Vec::new();
    if options.unsure {
        result.push(unsure("ssh"));
    }
    let first = options.first + 1;
    if first < words.len() {
        let via = Via::Elsewhere("ssh".to_owned());
        let words = first..words.len();
        result.push(Inner::Script(ScriptText { words, offset: 0, arguments: None, via, shell: ShellKind::Elsewhere }));
    }
    result
}

/// `su - user -c 'text'`, `script -qc 'text'`.
pub(super) fn command_option(name: &str, words: &[Word]) -> Vec<Inner> {
    for (at, word) in words.iter().enumerate().skip(1) {
        let prefix = word.known_prefix();
        if let Some(text) = prefix.strip_prefix("--command=") {
            let via = Via::Shell(name.to_owned());
            let offset = prefix.len() - text.len();
            let (arguments, shell) = (None, ShellKind::New);
            return vec![Inner::Script(ScriptText { words: at..at + 1, offset, arguments, via, shell })];
        }
        let short = prefix.starts_with('-') && !prefix.starts_with("--") && prefix.ends_with('c');
        if short || prefix == "--command" {
            return one(at + 1, name);
        }
    }
    vec![Inner::Unsure { reason: format!("`{name}` starts a shell") }]
}

/// `docker exec [options] container cmd…`, `kubectl exec pod -- cmd…`.
pub(super) fn container(name: &str, words: &[Word]) -> Vec<Inner> {
    const EXEC: Wrapper = Wrapper {
        name: "exec",
        valued: "euwcn",
        flags: "itdqT",
        long_valued: &[
            "--env",
            "--env-file",
            "--user",
            "--workdir",
            "--detach-keys",
            "--container",
            "--namespace",
            "--context",
            "--kubeconfig",
        ],
        operands: 1,
    };
    let Some(at) = words.iter().position(|word| word.text() == Some("exec")) else { return Vec::new() };
    let rest = words.get(at..).unwrap_or_default();
    let dashes = rest.iter().position(|word| word.text() == Some("--"));
    let first = match dashes {
        Some(dashes) if name == "kubectl" => dashes + 1,
        _ => options(&EXEC, rest).first + 1,
    };
    match rest.get(first..).filter(|command| !command.is_empty()) {
        None => Vec::new(),
        Some(command) => vec![Inner::Words { words: command.to_vec(), via: Via::Elsewhere(name.to_owned()) }],
    }
}

/// `mayi run [options] cmd…`: one word is shell text, several are a command, as `mayi check` takes them.
pub(super) fn mayi(words: &[Word]) -> Vec<Inner> {
    const RUN: Wrapper = Wrapper {
        name: "mayi run",
        valued: "",
        flags: "h",
        long_valued: &[
            "--mode",
            "--settings",
            "--cwd",
            "--add-dir",
            "--allowed-tools",
            "--disallowed-tools",
            "--report",
            "--permit",
            "--mechanism",
            "--apply",
            "--discard",
        ],
        operands: 0,
    };
    let Some(subcommand) = words.get(1) else { return Vec::new() };
    match subcommand.text() {
        None => return vec![Inner::Unsure { reason: "`mayi` may run something".to_owned() }],
        Some("run") => {}
        Some(_) => return Vec::new(),
    }
    let options = options(&RUN, words.get(1..).unwrap_or_default());
    let first = options.first + 1;
    let mut result = Vec::new();
    if options.unsure {
        result.push(unsure(RUN.name));
    }
    match words.get(first..).unwrap_or_default() {
        [] => {}
        [_] => result.extend(one(first, RUN.name)),
        several => result.push(Inner::Words { words: several.to_vec(), via: Via::Runner(RUN.name.to_owned()) }),
    }
    result
}

/// `git -c alias.x='!cmd' x`.
pub(super) fn git_aliases(words: &[Word]) -> Vec<Inner> {
    let mut result = Vec::new();
    for (at, pair) in words.windows(2).enumerate() {
        let [option, value] = pair else { continue };
        let prefix = value.known_prefix();
        let is_alias = prefix.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("alias."));
        let Some(bang) = prefix.find("=!").filter(|_| is_alias && option.text() == Some("-c")) else { continue };
        let via = Via::Task("git alias".to_owned());
        let words = at + 1..at + 2;
        let (offset, arguments, shell) = (bang + 2, None, ShellKind::New);
        result.push(Inner::Script(ScriptText { words, offset, arguments, via, shell }));
    }
    result
}
